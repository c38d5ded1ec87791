// Clusters x features: a dot for each distinctive feature, a cell for each weight of a centroid.

// A row for each cluster and a column for each feature; `mark` draws a cell.
function grid(features, rows, across, label, mark) {
  // Room for whole names, such as ENSG00000141510; those of features are slanted.
  const longest = (names, most) => Math.max(...names.map((text) => short(text, most).length));
  const [slanted, plain] = [longest(features, 32), longest(rows.map(clusterTitle), 40)];
  const [down, left, above] = [22, 32 + 7.2 * plain, 28 + 6.2 * slanted];
  const [width, height] = [left + across * features.length + 16 + 4.4 * slanted, above + down * rows.length + 8];
  const parts = features.map((feature, j) => {
    const [x, y] = [left + across * (j + 0.5) + 2, above - 8];
    return draw("text", { x, y, transform: `rotate(-55 ${x} ${y})` }, short(feature, 32), draw("title", {}, feature));
  });
  rows.forEach((k, i) => {
    const y = above + down * (i + 0.5);
    const title = clusterTitle(k);
    parts.push(draw("text", { x: left - 12, y: y + 4, "text-anchor": "end" }, short(title, 40), draw("title", {}, title)));
    features.forEach((feature, j) => parts.push(mark(k, j, left + across * (j + 0.5), y)));
  });
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...parts);
}

function showGrid(id, svg) {
  $(`${id}-figure`).append(svg);
  $(`${id}-title`).after(saver(svg, id));
}

function dots({ features, levels, shares }) {
  const rows = data.clusters.map((_, k) => k).filter((k) => data.clusters[k].size);
  const label = `Dot plot of ${features.length} distinctive ${data.words.features} in ${rows.length} ${data.words.clusters}`;
  showGrid("dots", grid(features, rows, 22, label, (k, j, cx, cy) => draw("circle",
    { class: "level", cx, cy, r: 1 + 9 * Math.sqrt(shares[k][j]), "fill-opacity": 0.06 + 0.94 * levels[k][j] },
    draw("title", {}, `${features[j]} in ${clusterName(k)}: mean ${brief(levels[k][j])} (0: lowest, 1: highest), in ${percent(shares[k][j])} of the ${data.words.samples}`))));
}

function heat({ features, weights, largest, note }) {
  $("heat-note").textContent = note;
  const rows = data.clusters.map((_, k) => k);
  const label = `Heat map of ${features.length} ${data.words.features} in ${rows.length} centroids`;
  const across = features.length > 40 ? 14 : 22;
  showGrid("heat", grid(features, rows, across, label, (k, j, x, y) => draw("rect",
    { class: weights[k][j] < 0 ? "below" : "weight", x: x - across / 2, y: y - 11, width: across, height: 22, "fill-opacity": Math.abs(weights[k][j]) / largest },
    draw("title", {}, `${features[j]} in ${clusterName(k)}: ${brief(weights[k][j])}`))));
}
