// Clusters x distinctive features: colour is the level of a feature, size the share of samples that have it.

function dots({ features, levels, shares }) {
  const [step, left, above] = [22, 150, 104];
  const rows = data.clusters.map((_, k) => k).filter((k) => data.clusters[k].size);
  const [width, height] = [left + step * features.length + 70, above + step * rows.length + 8];
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const parts = features.map((feature, j) => {
    const [x, y] = [left + step * (j + 0.5), above - 8];
    return draw("text", { x, y, transform: `rotate(-55 ${x} ${y})` }, short(feature, 16), draw("title", {}, feature));
  });
  rows.forEach((k, i) => {
    const y = above + step * (i + 0.5);
    const title = data.clusters[k].name ? `${k} ${data.clusters[k].name}` : clusterName(k);
    parts.push(draw("text", { x: left - 12, y: y + 4, "text-anchor": "end" }, short(title, 22), draw("title", {}, title)));
    features.forEach((feature, j) => {
      const dot = draw("circle", { class: "level", cx: left + step * (j + 0.5), cy: y, r: 1 + 9 * Math.sqrt(shares[k][j]), "fill-opacity": 0.06 + 0.94 * levels[k][j] },
        draw("title", {}, `${feature} in ${clusterName(k)}: level ${brief(levels[k][j])} from 0, its lowest, to 1, in ${percent(shares[k][j])} of the samples`));
      parts.push(dot);
    });
  });
  const label = `Dot plot of ${features.length} distinctive features in ${rows.length} clusters`;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...parts);
  $("dots-figure").append(svg);
  $("dots-title").after(saver(svg, "features"));
}
