// What all parts share. Text from the data is only ever set as text, never as HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

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
const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const clusterName = (k) => (k < 0 ? `no ${data.words.cluster}` : `${data.words.Cluster} ${data.ids[k]}`);
const clusterTitle = (k) => (k < 0 || !data.clusters[k].name ? clusterName(k) : `${data.ids[k]} ${data.clusters[k].name}`);
const whole = (n) => n.toLocaleString("en");
const brief = (x) => (x === null ? "–" : String(Number(x.toPrecision(3))));
const fixed = (x) => (x === null ? "–" : Math.abs(x) < 5e-4 && x ? x.toExponential(0) : x.toFixed(3));
const percent = (x) => `${(100 * x).toFixed(x < 0.1 ? 1 : 0)}\u00a0%`;

function tint(k) {
  return k < 0 ? "var(--soft)" : `var(--c${data.styles[k][0]})`;
}

// The value of a CSS variable: a canvas cannot use variables.
function colour(value) {
  const probe = make("i", { hidden: true });
  probe.style.color = value;
  document.body.append(probe);
  const resolved = getComputedStyle(probe).color;
  probe.remove();
  return resolved;
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

// ---- one cluster at a time: every part that shows clusters adds a listener -------------------

let isolated = null; // the cluster that is shown alone, or null
const listeners = [];

function isolate(k) {
  isolated = k === isolated ? null : k;
  for (const listener of listeners) listener();
  say(isolated === null ? `All ${data.words.clusters}` : `${clusterName(isolated)} only`);
}

function say(text) {
  $("spoken").textContent = text;
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isolated !== null) isolate(isolated);
});
$("all").addEventListener("click", () => isolate(isolated));
listeners.push(() => { $("all").disabled = isolated === null; });
