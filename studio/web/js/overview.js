// All positions of a token strip as one small chart: where something happens, and a click to go there.
import { h } from "./dom.js";
import { measures } from "./colour.js";

const height = 44;

export class Overview {
  constructor(go) {
    this.canvas = h("canvas.overview", { height, role: "img", "aria-label": "The measure over all positions" });
    this.canvas.addEventListener("click", (e) => go(Math.floor((e.offsetX / this.canvas.clientWidth) * this.n)));
    this.element = h("div.overview-box", { title: "The measure over all positions. Click to go there." }, this.canvas);
    this.n = 1;
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  draw(tokens = this.tokens, measure = this.measure, most = this.most) {
    Object.assign(this, { tokens, measure, most });
    const width = this.element.clientWidth;
    if (!tokens || !width) return;
    const m = measures[measure], css = getComputedStyle(document.documentElement), c = this.canvas.getContext("2d"), ratio = devicePixelRatio || 1;
    this.n = tokens.length;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    c.scale(ratio, ratio);
    const columns = Math.min(width, this.n), w = width / columns;
    for (let x = 0; x < columns; x++) {
      const v = extreme(tokens, Math.floor((x * this.n) / columns), Math.max(Math.floor(((x + 1) * this.n) / columns), Math.floor((x * this.n) / columns) + 1), m);
      if (v === null) continue;
      const shade = m.shade(v, most), size = Number(shade.slice(1) || 0), two = m.both;
      c.fillStyle = css.getPropertyValue(shade[0] === "p" ? "--run0" : "--run1");
      const tall = two ? (size / 4) * (height / 2 - 2) : 1 + (size / 8) * (height - 3);
      c.fillRect(x * w, two ? (shade[0] === "p" ? height / 2 - tall : height / 2) : height - tall, Math.max(1, w - (w > 4 ? 1 : 0)), Math.max(1, tall));
    }
    if (this.index !== undefined) {
      c.fillStyle = css.getPropertyValue("--text");
      c.fillRect(Math.min(width - 2, (this.index / this.n) * width), 0, 2, height);
    }
  }

  at(i) {
    this.index = i;
    this.draw();
  }
}

// extreme is the value farthest from zero among tokens from to end.
function extreme(tokens, from, end, m) {
  let most = null;
  for (let i = from; i < end; i++) {
    const v = tokens[i] ? m.value(tokens[i]) : null;
    if (v !== null && v !== undefined && (most === null || Math.abs(m === measures.ratio ? Math.log(v) : v) > Math.abs(m === measures.ratio ? Math.log(most) : most))) most = v;
  }
  return most;
}
