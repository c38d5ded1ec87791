// One card per cluster, and the confusion table.

function bars(entries) {
  const most = Math.max(1e-300, ...entries.map(([, value]) => Math.abs(value ?? 0)));
  return entries.map(([label, value, colour]) => make("li", {}, label,
    make("span", { className: "bar", "--w": Math.abs(value ?? 0) / most, "--tint": colour }),
    make("span", { className: "value" }, fixed(value))));
}

// Number i of the images whose pixels follow each other.
function thumbnail(pixels, i, label) {
  const [width, height, channels] = data.image;
  const canvas = make("canvas", { width, height, className: "thumbnail", role: "img", "aria-label": label });
  const image = new ImageData(width, height);
  for (let p = 0; p < width * height; p += 1) {
    const at = (i * width * height + p) * channels;
    const colours = [0, 1, 2].map((c) => pixels[at + (channels === 3 ? c : 0)]);
    image.data.set([...colours, 255], 4 * p);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function list(title, rows, picture) {
  if (!rows.length) return null;
  const items = rows.map(([text, value], i) =>
    make("li", {}, picture(i, text), name(text), make("span", { className: "value" }, value)));
  return make("div", {}, make("h4", {}, title), make("ul", { className: "pairs" }, ...items));
}

// The mean of a feature in every cluster; that of the card has its colour.
function feature(entry, k) {
  const known = entry.levels.filter((level, l) => data.clusters[l].size);
  const [low, high] = known.length > 1 ? [Math.min(...known), Math.max(...known)] : [0, known[0]];
  const columns = entry.levels.map((level, l) => make("i", { "--w": Math.max(0, (level - low) / (high - low || 1)),
    "--tint": l === k ? tint(k) : "var(--faded)", title: `${clusterName(l)}: ${brief(level)}` }));
  const facts = entry.shares === undefined ? "" :
    `mean ${brief(entry.levels[k])} inside, ${brief(entry.outside)} outside; in ${percent(entry.shares[0])} of the ${data.words.samples} inside, ` +
    `${percent(entry.shares[1])} outside; log2 fold change ${brief(entry.change)}; adjusted p ${brief(entry.p)}`;
  return make("li", { title: facts }, name(entry.name), make("span", { className: "levels" }, ...columns),
    make("span", { className: "value" }, brief(entry.levels[k] ?? entry.levels[0])));
}

function cards() {
  const total = data.clusters.reduce((sum, c) => sum + c.size, 0);
  const made = data.clusters.map((c, k) => card(c, k, total));
  $("cards").append(...made);
  listeners.push(() => made.forEach((card, k) =>
    card.classList.toggle("dim", isolated !== null && isolated !== k)));
}

function card(c, k, total) {
  const pixels = c.pictures === undefined ? null : Uint8Array.from(atob(c.pictures), (one) => one.charCodeAt(0));
  const picture = (first) => (i, label) => (pixels ? thumbnail(pixels, first + i, label) : null);
  return make("article", { className: "card" },
    make("header", {}, swatch(k), make("h3", {}, c.name ? name(c.name) : clusterName(k))),
    picture(0)(0, `${clusterName(k)}: mean`),
    make("p", { className: "size" }, [clusterName(k), c.size
      ? `${whole(c.size)} ${c.size === 1 ? data.words.sample : data.words.samples}, ${percent(c.size / total)}`
      : `no ${data.words.samples}`].join(" · ")),
    ...c.lines.map((line) => make("p", { className: "size" }, line)),
    make("ul", { className: "bars" }, ...c.features.map((entry) => feature(entry, k))),
    list("Most typical", c.typical.map(([s, e]) => [s, `${percent(e)} explained`]), picture(1)),
    list("Least certain", c.unsure.map(([s, p, other]) =>
      [s, `${p}${other === null ? "" : ` · or ${data.words.cluster} ${data.ids[other]}`}`]), picture(1 + c.typical.length)),
    make("footer", {},
      make("button", { type: "button", disabled: !c.size, onclick: () => read({ cluster: k }) },
        c.size === 1 ? `The ${data.words.sample}` : `All ${whole(c.size)} ${data.words.samples}`),
      make("button", { type: "button", onclick: () => show(k) }, "On the map")));
}

function show(k) {
  if (isolated !== k) isolate(k);
  $("map").scrollIntoView();
  $("canvas").focus({ preventScroll: true });
}

function truth({ scores, classes, clusters, match, counts, rest }) {
  figures($("scores"), Object.entries(scores).map(([s, v]) => [s, v.toFixed(3)]));
  const nowhere = [...counts, rest.counts].some((row) => row.at(-1) > 0);
  const heads = clusters.map((k) => make("th", { scope: "col" }, swatch(k), String(data.ids[k]),
    data.clusters[k].name ? make("span", { className: "upright" }, name(data.clusters[k].name)) : null));
  if (nowhere) heads.push(make("th", { scope: "col" }, "none"));
  const line = (label, row, hit) => {
    const sum = row.reduce((a, b) => a + b, 0) || 1;
    const cells = row.slice(0, heads.length).map((n, k) => make("td", {
      className: (n ? "count" : "none") + (k === hit ? " match" : ""), "--w": n / sum,
    }, n ? whole(n) : "·"));
    return make("tr", {}, make("th", { scope: "row" }, label), ...cells);
  };
  const body = counts.map((row, i) => line(name(classes[i]), row, match[i]));
  if (rest.classes) body.push(line(`${rest.classes} smaller classes`, rest.counts, null));
  $("confusion").append(
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "class"), ...heads)),
    make("tbody", {}, ...body));
}
