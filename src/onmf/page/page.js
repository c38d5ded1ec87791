// The top of the page, its colours, the record at its end. This part runs last and starts all others.

function lead() {
  $("title").textContent = data.title;
  $("sentence").textContent = data.sentence;
  $("fit").textContent = data.fit;
  figures($("fit-figures"), Object.entries(data.fit_figures));
  $("answer").hidden = data.choice === null;
  if (data.choice) $("answer").prepend(data.choice.answer);
  figures($("figures"), Object.entries(data.figures));
  for (const id of ["dots", "heat", "truth", "choice"]) $(id).hidden = data[id] === null;
  $("convergence").hidden = !data.convergence.length;
  for (const section of document.querySelectorAll("main > section[id]:not([hidden])")) {
    const title = section.dataset.short ?? section.querySelector("h2").textContent;
    if (title) document.querySelector("nav").append(make("a", { href: `#${section.id}` }, title));
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

function record(run) {
  const text = (value) => {
    if (value === null || typeof value !== "object") return value === null ? "not set" : String(value);
    if (Array.isArray(value)) return value.map(text).join(", ") || "none";
    return Object.entries(value).map(([key, part]) => `${key} ${text(part)}`).join("; ");
  };
  const isGroup = ([, value]) => value !== null && typeof value === "object" && !Array.isArray(value);
  const groups = Object.entries(run).filter(isGroup);
  const single = Object.entries(run).filter((entry) => !isGroup(entry));
  if (single.length) groups.push(["run", Object.fromEntries(single)]);
  for (const [title, values] of groups) {
    const rows = Object.entries(values).flatMap(([key, value]) => [make("dt", {}, name(key)), make("dd", {}, name(text(value)))]);
    $("record").append(make("div", {}, make("h3", {}, name(title)), make("dl", {}, ...rows)));
  }
}

lead();
legend();
const atlas = new Atlas($("canvas"));
$("map-note").textContent = data.map.note;
cards();
sampleList();
$("map-title").after(saver($("canvas"), "map"), saveButton("SVG", () => saveSvg(atlas.svg(), "map")));
if (data.dots) dots(data.dots);
if (data.heat) heat(data.heat);
if (data.truth) truth(data.truth);
if (data.choice) choice(data.choice);
$("curves").append(...data.convergence.map((c) => chart({ ...c, under: "stage" })).filter(Boolean));
record(data.run);
theme();
