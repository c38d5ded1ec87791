// All samples: searched, sorted, chosen by cluster and period, and drawn a page at a time.

const PAGE = 20; // rows that are drawn
const WAIT = 120; // milliseconds after the last key before a search
const browse = { cluster: "", first: "", last: "", query: null, page: 0, found: [] };
let samples = null; // the columns, once they are unpacked
let unpacking = null;

function unpack(id) {
  const text = atob($(id).textContent);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) packed[i] = text.charCodeAt(i); // thrice as fast as Uint8Array.from
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
}

async function unpackAll() {
  const columns = await unpack("samples").json();
  if (data.image) columns.pixels = new Uint8Array(await unpack("images").arrayBuffer());
  return columns;
}

// The columns, unpacked at the first use of the list; those that search are in lower case.
function withSamples(then) {
  unpacking ??= (window.DecompressionStream ? unpackAll() : Promise.reject(new Error("too old"))).then((columns) => {
    samples = columns;
    samples.searched = columns.name.map((text, i) => `${text}\n${columns.text?.[i] ?? ""}\n${columns.class?.[i] ?? ""}`.toLowerCase());
    $("list-note").textContent = columns.note;
  });
  unpacking.then(then, () => { $("list-status").textContent = "This browser is too old to unpack the list: labels.csv has it."; });
}

const wanted = () => $("search").value.toLowerCase().split(/\s+/).filter(Boolean);

function find() {
  const words = wanted();
  const cluster = browse.cluster === "" ? null : Number(browse.cluster);
  const [first, last] = browse.first === "" ? [null, null] : [Number(browse.first), Number(browse.last)];
  const found = [];
  for (let i = 0; i < samples.name.length; i += 1) {
    if (cluster !== null && samples.cluster[i] !== cluster) continue;
    if (first !== null && (samples.period[i] < first || samples.period[i] > last)) continue;
    if (words.every((word) => samples.searched[i].includes(word))) found.push(i);
  }
  const order = samples.numbers[$("list-sort").value.slice(1)];
  if (order) {
    const sign = $("list-sort").value[0] === "-" ? -1 : 1;
    found.sort((i, j) => sign * (order.values[i] - order.values[j]) || i - j);
  }
  browse.found = found;
}

// The text with the searched words marked; as text, never as HTML.
function marked(text, words) {
  const node = make("span", { dir: "auto" });
  const low = text.toLowerCase();
  if (!words.length || low.length !== text.length) { // some letters change their length
    node.textContent = text;
    return node;
  }
  let at = 0;
  while (at < text.length) {
    const [next, word] = words.map((w) => [low.indexOf(w, at), w]).filter(([place]) => place >= 0)
      .reduce((a, b) => (b[0] < a[0] ? b : a), [Infinity, ""]);
    node.append(text.slice(at, Math.min(next, text.length)));
    if (next === Infinity) break;
    node.append(make("mark", {}, text.slice(next, next + word.length)));
    at = next + word.length;
  }
  return node;
}

// The part of a text around the first searched word, if that is far from its beginning.
function excerpt(text, words) {
  const low = text.toLowerCase();
  const at = Math.min(...words.map((word) => low.indexOf(word)).filter((place) => place >= 0), Infinity);
  return at < 200 || at === Infinity ? text : `… ${text.slice(text.indexOf(" ", at - 80) + 1)}`;
}

function row(i, words) {
  const [k, text] = [samples.cluster[i], samples.text?.[i]];
  const facts = Object.values(samples.numbers).map(({ title, values, digits }) => `${title.toLowerCase()} ${values[i].toFixed(digits)}`);
  if (samples.class) facts.unshift(samples.class[i]);
  if (samples.period) facts.unshift(data.periods[samples.period[i]]);
  const item = make("li", {}, make("div", { className: "row-head" },
    make("b", { className: "name" }, marked(samples.name[i], words)),
    make("button", { type: "button", className: "chip", onclick: () => read({ cluster: k }) }, swatch(k), short(clusterTitle(k), 40)),
    make("span", { className: "row-facts" }, facts.join(" · "))));
  if (samples.pixels) item.prepend(thumbnail(samples.pixels, i, samples.name[i]));
  if (text) {
    const shown = make("p", { className: "text" }, marked(excerpt(text, words), words));
    shown.addEventListener("click", () => {
      if (String(getSelection())) return;
      shown.classList.toggle("open");
      shown.replaceChildren(marked(shown.classList.contains("open") ? text : excerpt(text, words), words));
    });
    item.append(shown);
  }
  return item;
}

// Clusters whose name or features have all the words.
function clustersWith(words) {
  if (!words.length) return [];
  return data.clusters.map((_, k) => k).filter((k) => {
    const own = `${clusterTitle(k)}\n${data.clusters[k].features.map((entry) => entry.name).join("\n")}`.toLowerCase();
    return words.every((word) => own.includes(word));
  });
}

function showPage() {
  const { found, page } = browse;
  const words = wanted();
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  const from = page * PAGE;
  $("rows").replaceChildren(...found.slice(from, from + PAGE).map((i) => row(i, words)));
  const noun = found.length === 1 ? data.words.sample : data.words.samples;
  $("list-status").textContent = found.length > PAGE
    ? `${whole(from + 1)} to ${whole(Math.min(from + PAGE, found.length))} of ${whole(found.length)} ${noun}`
    : `${whole(found.length)} ${noun}`;
  $("leaf").textContent = `${whole(page + 1)} / ${whole(pages)}`;
  $("back").disabled = page === 0;
  $("forth").disabled = page >= pages - 1;
}

// Nothing is drawn again for what is shown already: the texts that were opened stay open.
function refresh() {
  withSamples(() => {
    const query = [$("search").value, browse.cluster, browse.first, browse.last, $("list-sort").value].join("\n");
    if (query === browse.query && browse.page === 0) return;
    Object.assign(browse, { query, page: 0 });
    find();
    showPage();
    const own = clustersWith(wanted());
    $("found-clusters").replaceChildren(...(own.length ? [`${data.words.Clusters}: `] : []), ...own.map((k) =>
      make("button", { type: "button", className: "chip", onclick: () => { $("search").value = ""; read({ cluster: k }); } }, swatch(k), clusterTitle(k))));
  });
}

// Show the samples of a cluster, or of some periods of it, at the top of the list.
function read({ cluster = "", first = "", last = first }) {
  Object.assign(browse, { cluster: String(cluster), first: String(first), last: String(last) });
  $("list-cluster").value = browse.cluster;
  const value = browse.first === "" ? "" : `${browse.first} ${browse.last}`;
  if (![...$("list-period").options].some((option) => option.value === value)) {
    const names = [first, last].map((t) => data.periods[t]);
    $("list-period").append(make("option", { value }, `${names[0]} to ${names[1]}`));
  }
  $("list-period").value = value;
  refresh();
  $("list").scrollIntoView();
}

function sampleList() {
  const known = data.clusters.map((c, k) => k).filter((k) => data.clusters[k].size);
  $("list-cluster").append(make("option", { value: "" }, `all ${data.words.clusters}`),
    ...known.map((k) => make("option", { value: String(k) }, `${short(clusterTitle(k), 60)} (${whole(data.clusters[k].size)})`)));
  if (data.outside) $("list-cluster").append(make("option", { value: "-1" }, `no ${data.words.cluster} (${whole(data.outside)})`));
  $("list-sort").append(...data.orders.flatMap(({ key, title, falls }) => (falls ? ["-", "+"] : ["+", "-"]).map((sign) =>
    make("option", { value: sign + key }, `${title.toLowerCase()}, ${sign === "-" ? "highest" : "lowest"} first`))),
  make("option", { value: "" }, "order of the input"));
  $("period-label").hidden = !data.periods.length;
  $("list-period").append(make("option", { value: "" }, "all periods"),
    ...data.periods.map((name, t) => make("option", { value: `${t} ${t}` }, name)));
  let timer;
  $("search").addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, WAIT);
  });
  $("filters").addEventListener("submit", (event) => { event.preventDefault(); refresh(); });
  $("filters").addEventListener("change", (event) => {
    if (event.target.id === "search") return;
    [browse.first, browse.last] = $("list-period").value ? $("list-period").value.split(" ") : ["", ""];
    browse.cluster = $("list-cluster").value;
    refresh();
  });
  const turn = (step) => () => {
    browse.page += step;
    showPage();
    $("list").scrollIntoView();
  };
  $("back").addEventListener("click", turn(-1));
  $("forth").addEventListener("click", turn(1));
  for (const link of document.querySelectorAll("a[data-cluster]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const { cluster, first, last } = link.dataset;
      read({ cluster: data.ids.indexOf(Number(cluster)), first, last });
    });
  }
  new IntersectionObserver((seen, watcher) => { // the list is unpacked when it is about to be seen
    if (!seen.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    if (!samples) refresh();
  }, { rootMargin: "600px" }).observe($("list"));
}
