const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

// ---- small helpers: text from the data is only ever set as text ------------------------------

function make(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("--")) node.style.setProperty(name, value);
    else if (name in node && name !== "role") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

function draw(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const name = (text) => make("span", { className: "name", dir: "auto", title: text }, text);
const clusterName = (k) => (k < 0 ? "no cluster" : `Cluster ${k}`);
const whole = (n) => n.toLocaleString("en");
const brief = (x) => (x === null ? "–" : String(Number(x.toPrecision(3))));
const fixed = (x) => (x === null ? "–" : Math.abs(x) < 5e-4 && x ? x.toExponential(0) : x.toFixed(3));
const percent = (x) => `${(100 * x).toFixed(x < 0.1 ? 1 : 0)}%`;

function tint(k) {
  return k < 0 ? "var(--soft)" : `var(--c${data.styles[k][0]})`;
}

function swatch(k) {
  const shape = draw("path", { d: data.shapes[k < 0 ? 0 : data.styles[k][1]] });
  shape.style.fill = tint(k);
  return draw("svg", { class: "swatch", viewBox: "-.9 -.9 1.8 1.8", "aria-hidden": "true" }, shape);
}

function figures(list, entries) {
  for (const [label, value] of entries) {
    list.append(make("div", {}, make("dt", {}, label), make("dd", {}, value)));
  }
}

// ---- one cluster at a time -------------------------------------------------------------------

let isolated = null; // the cluster that is shown alone, or null
const listeners = [];

function isolate(k) {
  isolated = k === isolated ? null : k;
  for (const listener of listeners) listener();
  say(isolated === null ? "All clusters" : `${clusterName(isolated)} alone`);
}

function say(text) {
  $("spoken").textContent = text;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isolated !== null) isolate(isolated);
});
$("all").addEventListener("click", () => isolate(isolated));
listeners.push(() => { $("all").disabled = isolated === null; });

// ---- top -------------------------------------------------------------------------------------

function lead() {
  $("title").textContent = data.title;
  $("sentence").textContent = data.sentence;
  figures($("figures"), Object.entries(data.figures));
  for (const id of ["truth", "choice", "consensus"]) $(id).hidden = data[id] === null;
  $("convergence").hidden = !data.convergence.length;
  for (const section of document.querySelectorAll("main > section[id]:not([hidden])")) {
    const title = section.dataset.short ?? section.querySelector("h2").textContent;
    document.querySelector("nav").append(make("a", { href: `#${section.id}` }, title));
  }
}

function theme() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const apply = () => {
    $("theme").textContent = isDark() ? "Light" : "Dark";
    for (const listener of listeners) listener();
  };
  $("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    apply();
  });
  system.addEventListener("change", apply);
  let before;
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light"; // a canvas is printed as it was last drawn
    apply();
  });
  addEventListener("afterprint", () => {
    if (before) root.dataset.theme = before;
    else delete root.dataset.theme;
    apply();
  });
  apply();
}

function colour(value) {
  const probe = make("i", { hidden: true });
  probe.style.color = value;
  document.body.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
}

// ---- map -------------------------------------------------------------------------------------

function legend() {
  const most = Math.max(1, ...data.clusters.map((c) => c.size));
  const buttons = data.clusters.map((cluster, k) => {
    const words = cluster.features.slice(0, 4).map((f) => f[0]).join(", ");
    return make("button", { type: "button", tabIndex: k ? -1 : 0, onclick: () => isolate(k) },
      swatch(k), make("span", {}, clusterName(k)), make("span", {}, whole(cluster.size)),
      make("span", { className: "words", dir: "auto" }, words),
      make("span", { className: "bar", "--w": cluster.size / most, "--tint": tint(k) }));
  });
  $("legend").append(...buttons.map((button) => make("li", {}, button)));
  $("legend").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const ends = { Home: 0, End: buttons.length - 1 }[event.key];
    if (step === undefined && ends === undefined) return;
    event.preventDefault();
    const here = buttons.indexOf(document.activeElement);
    const next = ends ?? (here + step + buttons.length) % buttons.length;
    buttons[here].tabIndex = -1;
    buttons[next].tabIndex = 0;
    buttons[next].focus();
  });
  listeners.push(() => buttons.forEach((b, k) => b.setAttribute("aria-pressed", k === isolated)));
}

class Atlas {
  constructor(canvas) {
    this.canvas = canvas;
    this.picture = document.createElement("canvas"); // the map without what is pointed at
    this.map = data.map;
    this.at = null; // number of the sample pointed at
    this.shapes = data.shapes.map((path) => new Path2D(path));
    this.wide = Math.max(1, ...this.map.x);
    this.high = Math.max(1, ...this.map.y);
    this.crests = data.clusters.map((_, k) => this.crest(k));
    new ResizeObserver(() => this.paint()).observe(canvas);
    listeners.push(() => this.paint());
    canvas.addEventListener("pointermove", (event) => this.point(this.nearest(event)));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("blur", () => this.point(null));
    canvas.addEventListener("click", (event) => this.click(this.nearest(event)));
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  visible(i) {
    return isolated === null || this.map.cluster[i] === isolated;
  }

  spot(x, y) {
    return [this.left + x * this.scale, this.bottom - y * this.scale];
  }

  place(i) {
    return this.spot(this.map.x[i], this.map.y[i]);
  }

  crest(k) { // where the cluster is densest: the middle of its fullest cell
    const cells = new Map();
    for (let i = 0; i < this.map.x.length; i += 1) {
      if (this.map.cluster[i] !== k) continue;
      const [x, y] = [this.map.x[i], this.map.y[i]];
      const key = `${Math.floor(x / 700)} ${Math.floor(y / 700)}`;
      const [n, sx, sy] = cells.get(key) ?? [0, 0, 0];
      cells.set(key, [n + 1, sx + x, sy + y]);
    }
    const fullest = [...cells.values()].reduce((a, b) => (b[0] > a[0] ? b : a), [0]);
    return fullest[0] ? [fullest[1] / fullest[0], fullest[2] / fullest[0]] : null;
  }

  measure() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const margin = Math.min(width, height) * 0.05;
    this.scale = Math.min((width - 2 * margin) / this.wide, (height - 2 * margin) / this.high);
    this.left = (width - this.scale * this.wide) / 2;
    this.bottom = (height + this.scale * this.high) / 2;
    this.radius = Math.max(1.5, Math.min(5, width / 160, 160 / Math.sqrt(this.map.x.length)));
    this.ratio = Math.max(2, devicePixelRatio || 1); // sharp in print, too
    for (const canvas of [this.canvas, this.picture]) {
      canvas.width = width * this.ratio;
      canvas.height = height * this.ratio;
    }
  }

  paint() {
    this.measure();
    const brush = this.picture.getContext("2d");
    const fills = data.styles.map((_, k) => colour(tint(k)));
    const [none, faded] = [colour("var(--soft)"), colour("var(--faded)")];
    const order = [...this.map.x.keys()].sort((i, j) => this.visible(i) - this.visible(j));
    for (const i of order) {
      const k = this.map.cluster[i];
      const fainter = i < this.map.placed;
      const size = this.radius * (fainter ? 1.5 : 2) * this.ratio;
      const [x, y] = this.place(i);
      brush.setTransform(size, 0, 0, size, x * this.ratio, y * this.ratio);
      brush.globalAlpha = fainter || !this.visible(i) ? 0.5 : 0.85;
      brush.fillStyle = !this.visible(i) ? faded : k < 0 ? none : fills[k];
      brush.fill(this.shapes[k < 0 ? 0 : data.styles[k][1]]);
    }
    this.label(brush);
    this.mark();
  }

  label(brush) {
    brush.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    brush.globalAlpha = 1;
    brush.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
    brush.textAlign = "center";
    brush.textBaseline = "middle";
    brush.lineJoin = "round";
    brush.lineWidth = 4;
    [brush.strokeStyle, brush.fillStyle] = [colour("var(--sheet)"), colour("var(--ink)")];
    const taken = [];
    this.crests.forEach((crest, k) => { // the largest first: a smaller one yields
      if (!crest || (isolated !== null && k !== isolated)) return;
      const word = data.named && data.clusters[k].features.length ? ` ${data.clusters[k].features[0][0].slice(0, 14)}` : "";
      const [text, [x, y]] = [`${k}${word}`, this.spot(...crest)];
      const half = brush.measureText(text).width / 2 + 3;
      if (taken.some(([a, b, other]) => Math.abs(a - x) < half + other && Math.abs(b - y) < 17)) return;
      taken.push([x, y, half]);
      brush.strokeText(text, x, y);
      brush.fillText(text, x, y);
    });
  }

  mark() {
    const brush = this.canvas.getContext("2d");
    brush.setTransform(1, 0, 0, 1, 0, 0);
    brush.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.picture.width && this.picture.height) brush.drawImage(this.picture, 0, 0);
    if (this.at === null) return;
    const [x, y] = this.place(this.at);
    brush.setTransform(this.ratio, 0, 0, this.ratio, x * this.ratio, y * this.ratio);
    brush.strokeStyle = colour("var(--ink)");
    brush.lineWidth = 2;
    brush.beginPath();
    brush.arc(0, 0, this.radius * 2 + 2, 0, 2 * Math.PI);
    brush.stroke();
  }

  nearest(event) {
    const box = this.canvas.getBoundingClientRect();
    const [px, py] = [event.clientX - box.left, event.clientY - box.top];
    let best = null;
    let least = 14 ** 2; // pixels
    for (let i = 0; i < this.map.x.length; i += 1) {
      const [x, y] = this.place(i);
      const distance = (x - px) ** 2 + (y - py) ** 2;
      if (distance <= least && this.visible(i)) [best, least] = [i, distance];
    }
    return best;
  }

  point(i) {
    if (i === this.at) return;
    this.at = i;
    this.mark();
    $("tip").hidden = i === null;
    if (i === null) return;
    const k = this.map.cluster[i];
    $("tip").replaceChildren(make("b", {}, name(this.map.sample[i])), clusterName(k));
    if (i < this.map.placed) $("tip").append(make("div", {}, "placed among its neighbours"));
    const [x, y] = this.place(i);
    const { offsetWidth: width, offsetHeight: height } = $("tip");
    $("tip").style.left = `${Math.max(4, Math.min(x + 12, this.canvas.clientWidth - width - 4))}px`;
    $("tip").style.top = `${y > height + 16 ? y - height - 12 : y + 14}px`;
  }

  click(i) {
    if (i !== null && this.map.cluster[i] >= 0) isolate(this.map.cluster[i]);
    else if (isolated !== null) isolate(isolated);
  }

  key(event) {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    if (event.key === "Enter" && this.at !== null) this.click(this.at);
    if (!ways[event.key]) return;
    event.preventDefault();
    const next = this.at === null ? this.middle() : this.beyond(ways[event.key]);
    if (next === null) return;
    this.point(next);
    say(`${this.map.sample[next]}, ${clusterName(this.map.cluster[next])}`);
  }

  middle() {
    return this.closest((i) => (this.map.x[i] - this.wide / 2) ** 2 + (this.map.y[i] - this.high / 2) ** 2);
  }

  beyond([right, up]) {
    const [x, y] = [this.map.x[this.at], this.map.y[this.at]];
    return this.closest((i) => {
      const [dx, dy] = [this.map.x[i] - x, this.map.y[i] - y];
      const along = dx * right + dy * up;
      const aside = Math.abs(dx * up) + Math.abs(dy * right);
      return along > 0 && aside <= along ? dx * dx + dy * dy : Infinity; // within 45 degrees
    });
  }

  closest(cost) {
    let [best, least] = [null, Infinity];
    for (let i = 0; i < this.map.x.length; i += 1) {
      const value = this.visible(i) ? cost(i) : Infinity;
      if (value < least) [best, least] = [i, value];
    }
    return best;
  }
}

// ---- clusters --------------------------------------------------------------------------------

function bars(entries) {
  const most = Math.max(1e-300, ...entries.map(([, value]) => Math.abs(value ?? 0)));
  return entries.map(([label, value, colour]) => make("li", {}, label,
    make("span", { className: "bar", "--w": Math.abs(value ?? 0) / most, "--tint": colour }),
    make("span", { className: "value" }, fixed(value))));
}

function list(title, rows) {
  if (!rows.length) return null;
  const items = rows.map(([text, value]) =>
    make("li", {}, name(text), make("span", { className: "value" }, value)));
  return make("div", {}, make("h4", {}, title), make("ul", { className: "pairs" }, ...items));
}

function cards() {
  const total = data.clusters.reduce((sum, c) => sum + c.size, 0);
  const made = data.clusters.map((c, k) => make("article", { className: "card" },
    make("header", {}, swatch(k), make("h3", {}, clusterName(k)),
      make("button", { type: "button", onclick: () => show(k) }, "On the map")),
    make("p", { className: "size" }, c.size
      ? `${whole(c.size)} samples, ${percent(c.size / total)} · mean certainty ${c.confidence.toFixed(2)}`
      : "No samples"),
    make("ul", { className: "bars" }, ...bars(c.features.map(([f, w]) => [name(f), w, tint(k)]))),
    list("Most typical", c.typical.map(([s, e]) => [s, `${percent(e)} explained`])),
    list("Least certain", c.unsure.map(([s, p, other]) =>
      [s, `${fixed(p)}${other === null ? "" : ` · or cluster ${other}`}`]))));
  $("cards").append(...made);
  listeners.push(() => made.forEach((card, k) =>
    card.classList.toggle("dim", isolated !== null && isolated !== k)));
}

function show(k) {
  if (isolated !== k) isolate(k);
  $("map").scrollIntoView();
  $("canvas").focus({ preventScroll: true });
}

// ---- known classes ---------------------------------------------------------------------------

function truth({ scores, classes, match, counts, rest }) {
  figures($("scores"), Object.entries(scores).map(([s, v]) => [s, v.toFixed(3)]));
  const nowhere = [...counts, rest.counts].some((row) => row.at(-1) > 0);
  const heads = data.clusters.map((_, k) => make("th", { scope: "col" }, swatch(k), String(k)));
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

// ---- charts ----------------------------------------------------------------------------------

function ticks(low, high, log) {
  if (low === high) return [low];
  if (log) {
    const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
    const step = Math.max(1, Math.ceil((last - first) / 4));
    const powers = [];
    for (let p = first; p <= last; p += step) powers.push(10 ** p);
    return powers;
  }
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * unit).find((s) => s >= rough);
  const found = [];
  for (let t = Math.ceil(low / step); t * step <= high * (1 + 1e-12); t += 1) {
    found.push(Number((t * step).toPrecision(12)));
  }
  return found;
}

function chart({ title, x, y, log = false, best = null, under }) {
  const [width, height, left, right, above, below] = [340, 200, 46, 10, 8, 34];
  const good = x.map((v, i) => [v, y[i]]).filter(([, v]) => v !== null && (!log || v > 0));
  if (!good.length) return null;
  const values = good.map((p) => p[1]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [first, last] = [x[0], x.at(-1)];
  const level = (v) => (log ? Math.log10(v) : v);
  const across = (v) => left + ((v - first) / (last - first || 1)) * (width - left - right);
  const down = (v) => {
    const share = high > low ? (level(v) - level(low)) / (level(high) - level(low)) : 0.5;
    return height - below - share * (height - above - below);
  };
  const parts = [];
  for (const t of ticks(low, high, log)) {
    parts.push(draw("line", { class: "grid", x1: left, x2: width - right, y1: down(t), y2: down(t) }),
      draw("text", { x: left - 7, y: down(t) + 4, "text-anchor": "end" }, log ? t.toExponential(0) : brief(t)));
  }
  for (const t of ticks(first, last, false).filter(Number.isInteger)) {
    parts.push(draw("text", { x: across(t), y: height - below + 16, "text-anchor": "middle" }, String(t)));
  }
  parts.push(draw("text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, under));
  if (best !== null) {
    parts.push(draw("line", { class: "chosen", x1: across(best), x2: across(best), y1: above, y2: height - below }));
  }
  parts.push(draw("polyline", { class: "curve", points: good.map(([a, b]) => `${across(a)},${down(b)}`).join(" ") }));
  if (good.length <= 60) {
    parts.push(...good.map(([a, b]) => draw("circle", { class: "dot", cx: across(a), cy: down(b), r: 2.6 },
      draw("title", {}, `${under} ${a}: ${brief(b)}`))));
  }
  const label = `${title}: ${brief(values[0])} at ${under} ${good[0][0]}, ${brief(values.at(-1))} at ${under} ${good.at(-1)[0]}`;
  return make("figure", {}, make("figcaption", {}, title),
    draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts));
}

function choice({ best, reason, curves }) {
  $("reason").textContent = reason;
  $("choice-charts").append(...curves.map((c) => chart({ ...c, best, under: "clusters" })).filter(Boolean));
}

// ---- consensus -------------------------------------------------------------------------------

function consensus(c) {
  $("consensus-note").textContent =
    `Share of ${c.runs} runs that put two samples together, for ${whole(c.side)} samples in the order of ` +
    "average linkage. Clear squares on the diagonal are clusters that every run finds; the strips show the clusters.";
  figures($("consensus-figures"), [
    ["cophenetic correlation", c.cophenetic_se === null ? brief(c.cophenetic) : `${brief(c.cophenetic)} ± ${brief(c.cophenetic_se)}`],
    ["dispersion", brief(c.dispersion)], ["ambiguous pairs", brief(c.ambiguous)]]);
  $("stability").append(make("ul", {}, ...bars(c.stability.map((value, k) => {
    const label = make("span", {}, swatch(k), ` ${clusterName(k)}`);
    return [label, value, tint(k)];
  }))));
  const shares = Uint8Array.from(atob(c.shares), (byte) => byte.charCodeAt(0));
  $("shares").setAttribute("aria-label",
    `Consensus map; cophenetic correlation ${brief(c.cophenetic)}, ambiguous pairs ${brief(c.ambiguous)}`);
  const rgb = (value) => colour(value).match(/[\d.]+/g).slice(0, 3).map(Number);
  listeners.push(() => {
    const strip = Math.max(2, Math.round(c.side / 40));
    const side = c.side + strip + 1;
    const [from, to, fills] = [rgb("var(--sheet)"), rgb("var(--accent)"), c.stability.map((_, k) => rgb(tint(k)))];
    const image = new ImageData(side, side);
    for (let i = 0; i < side; i += 1) {
      for (let j = 0; j < side; j += 1) {
        const [row, column] = [i - strip - 1, j - strip - 1];
        let mix = null;
        if (row >= 0 && column >= 0) {
          const w = shares[row * c.side + column] / 255;
          mix = from.map((v, q) => v + w * (to[q] - v));
        } else if (Math.max(row, column) >= 0 && Math.min(row, column) < -1) {
          mix = fills[c.cluster[Math.max(row, column)]] ?? from;
        }
        if (mix) image.data.set([...mix, 255], 4 * (i * side + j));
      }
    }
    $("shares").width = $("shares").height = side;
    $("shares").getContext("2d").putImageData(image, 0, 0);
  });
}

// ---- the record ------------------------------------------------------------------------------

function record(run) {
  const text = (value) =>
    value === null ? "not set" : typeof value === "string" ? value : JSON.stringify(value);
  const isGroup = ([, value]) => value !== null && typeof value === "object" && !Array.isArray(value);
  const groups = Object.entries(run).filter(isGroup);
  const single = Object.entries(run).filter((entry) => !isGroup(entry));
  if (single.length) groups.push(["run", Object.fromEntries(single)]);
  for (const [title, values] of groups) {
    const rows = Object.entries(values).flatMap(([key, value]) => [make("dt", {}, name(key)), make("dd", {}, name(text(value)))]);
    $("record").append(make("div", {}, make("h3", {}, name(title)), make("dl", {}, ...rows)));
  }
}

// ---- all of it -------------------------------------------------------------------------------

lead();
legend();
new Atlas($("canvas"));
$("map-note").textContent = data.map.note;
cards();
if (data.truth) truth(data.truth);
if (data.choice) choice(data.choice);
if (data.consensus) consensus(data.consensus);
$("curves").append(...data.convergence.map((c) => chart({ ...c, under: "stage" })).filter(Boolean));
record(data.run);
theme();
