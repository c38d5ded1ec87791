// The map of samples and the list of clusters beside it.

function legend() {
  const most = Math.max(1, ...data.clusters.map((c) => c.size));
  const buttons = data.clusters.map((cluster, k) => {
    return make("button", { type: "button", tabIndex: k ? -1 : 0, onclick: () => isolate(k) },
      swatch(k), make("span", {}, cluster.name ? name(cluster.name) : clusterName(k)), make("span", {}, whole(cluster.size)),
      cluster.name ? make("span", { className: "words" }, clusterName(k)) : null,
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
    this.picture = document.createElement("canvas"); // the map without the mark of the sample pointed at
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
      const fainter = i < this.map.interpolated;
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

  svg() { // the same as a drawing, for print
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const parts = [];
    const fills = data.styles.map((_, k) => colour(tint(k)));
    const none = colour("var(--soft)");
    for (let i = 0; i < this.map.x.length; i += 1) {
      const k = this.map.cluster[i];
      const fainter = i < this.map.interpolated;
      const [x, y] = this.place(i).map((place) => place.toFixed(2));
      parts.push(draw("path", { d: data.shapes[k < 0 ? 0 : data.styles[k][1]], fill: k < 0 ? none : fills[k],
        "fill-opacity": fainter || !this.visible(i) ? 0.5 : 0.85,
        transform: `translate(${x} ${y}) scale(${(this.radius * (fainter ? 1.5 : 2)).toFixed(2)})` }));
    }
    const font = getComputedStyle(document.body).fontFamily;
    for (const [x, y, , text] of this.names ?? []) {
      parts.push(draw("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": 13,
        "font-weight": 600, "font-family": font, fill: colour("var(--ink)") }, text));
    }
    const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, xmlns: SVG }, ...parts);
    return new XMLSerializer().serializeToString(picture);
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
    const most = Math.min(32, Math.floor(this.canvas.clientWidth / 18)); // characters of a name
    this.crests.forEach((crest, k) => { // the largest first: a smaller one yields
      if (!crest || (isolated !== null && k !== isolated)) return;
      const text = `${data.ids[k]} ${short(data.clusters[k].name, most)}`.trim();
      const half = brush.measureText(text).width / 2 + 3;
      const [at, y] = this.spot(...crest).map((place, axis) => place - axis * 3 * this.radius);
      const x = Math.max(half, Math.min(this.canvas.clientWidth - half, at));
      if (taken.some(([a, b, other]) => Math.abs(a - x) < half + other && Math.abs(b - y) < 17)) return;
      taken.push([x, y, half, text]);
      brush.strokeText(text, x, y);
      brush.fillText(text, x, y);
    });
    this.names = taken;
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
    $("tip").replaceChildren(make("b", {}, name(this.map.sample[i])), clusterTitle(k));
    if (i < this.map.interpolated) $("tip").append(make("div", {}, "placed between its neighbours"));
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
