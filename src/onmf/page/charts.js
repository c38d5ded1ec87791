// Curves as SVG.

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
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);
  return make("figure", {}, make("figcaption", {}, title, saver(svg, title)), svg);
}

function choice({ best, reason, heads, rows, curves }) {
  $("reason").textContent = reason;
  const line = (row) => make("tr", { className: row[0] === String(best) ? "best" : "" },
    make("th", { scope: "row" }, row[0]), ...row.slice(1).map((cell) => make("td", {}, cell)));
  $("choice-table").append(
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", {}, ...rows.map(line)));
  $("choice-charts").append(...curves.map((c) => chart({ ...c, best, under: data.words.clusters })).filter(Boolean));
}
