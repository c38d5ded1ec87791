// Any figure as a file: a canvas becomes a PNG, a drawing an SVG with its colours written into it.

const KEPT = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "font-family", "font-size", "opacity"];

function download(blob, file) {
  const link = make("a", { href: URL.createObjectURL(blob), download: file });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function drawn(svg) {
  const copy = svg.cloneNode(true);
  const [from, to] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const key of KEPT) to[i].setAttribute(key, style.getPropertyValue(key)); // the page forbids style attributes
  });
  const { width, height } = svg.viewBox.baseVal;
  for (const [key, value] of [["xmlns", SVG], ["width", width], ["height", height]]) copy.setAttribute(key, value);
  return new XMLSerializer().serializeToString(copy);
}

function saver(figure, file) {
  const drawing = figure instanceof SVGElement;
  const save = () => (drawing
    ? download(new Blob([drawn(figure)], { type: "image/svg+xml" }), `${file}.svg`)
    : figure.toBlob((blob) => download(blob, `${file}.png`)));
  return make("button", { type: "button", className: "save", title: `Save this figure as ${drawing ? "SVG" : "PNG"}`,
    onclick: save }, drawing ? "SVG" : "PNG");
}
