// Any figure as a file: a canvas becomes a PNG, a drawing an SVG with its colours written into it.
// A canvas may have a drawing of the same as well.

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

function saveButton(kind, save) {
  return make("button", { type: "button", className: "save", title: `Save this figure as ${kind}`, onclick: save }, kind);
}

const saveSvg = (text, file) => download(new Blob([text], { type: "image/svg+xml" }), `${file}.svg`);

function saver(figure, file) {
  if (figure instanceof SVGElement) return saveButton("SVG", () => saveSvg(drawn(figure), file));
  return saveButton("PNG", () => figure.toBlob((blob) => download(blob, `${file}.png`)));
}
