// One chart of one metric: a line per run, drawn by uPlot. Drag to zoom, double click to see all, click a point to open its step.
import uPlot from "../npm/uplot/uPlot.esm.js";
import { h, put } from "./dom.js";
import { number, seconds } from "./format.js";
import { smoothed, columns, elapsed } from "./series.js";

const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3], [12, 4], [1, 4]]; // with the colours, so that lines differ without them
const charts = new Set(); // those in sight share cursor and zoom

// Chart shows series: [{label, colour (0 to 5), step, time, value, min, max}]. options: smooth (0 to 0.99), log, axis ("step" or "time").
export class Chart {
  constructor(name, { open, zoomed, signal }) {
    Object.assign(this, { name, open, zoomed });
    this.readout = h("output.readout.num");
    this.plot = h("div.plot");
    this.element = h("div.card.chart", { tabindex: 0, role: "group", "aria-label": name, onkeydown: (e) => this.key(e) },
      h("div.caption", null, h("span.name", { title: name }, name), this.readout), this.plot);
    this.resize = new ResizeObserver(() => this.size());
    this.resize.observe(this.plot);
    charts.add(this);
    const paint = () => this.draw();
    document.addEventListener("studio-theme", paint);
    signal.addEventListener("abort", () => { this.remove(); document.removeEventListener("studio-theme", paint); });
  }

  remove() {
    charts.delete(this);
    this.resize.disconnect();
    this.u?.destroy();
    this.u = null;
  }

  show(series, options) {
    Object.assign(this, { series, options });
    this.draw();
  }

  size() {
    const width = this.plot.clientWidth;
    if (!width || !this.series) return;
    if (!this.u) this.draw();
    else if (width !== this.u.width) this.u.setSize({ width, height: 168 });
  }

  draw() {
    if (!this.series || !this.plot.clientWidth) return;
    this.u?.destroy();
    this.u = null;
    const drawn = this.series.filter((s) => s.value.some((v) => v !== null));
    if (!drawn.length) {
      put(this.plot, h("p.empty", null, "no values yet"));
      return;
    }
    put(this.plot);
    const { data, lines, bands } = columns(drawn, this.options, smoothed);
    this.data = data;
    this.lines = lines;
    this.u = new uPlot(this.settings(lines, bands), data, this.plot);
    const zoom = this.options.zoom;
    if (zoom) this.u.setScale("x", { min: zoom[0], max: zoom[1] });
    this.tell(null);
  }

  settings(lines, bands) {
    const css = getComputedStyle(document.documentElement), colour = (name) => css.getPropertyValue(name).trim();
    const font = `12px ${colour("--sans")}`, axis = { stroke: colour("--muted"), font, grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const time = this.options.axis === "time";
    return {
      width: this.plot.clientWidth, height: 168, padding: [8, 8, 0, 0], legend: { show: false },
      cursor: { sync: { key: "studio", scales: ["x", null] }, drag: { x: true, y: false }, points: { size: 6 }, bind: {} },
      scales: { x: { time: false }, y: this.options.log ? { distr: 3 } : { range: (u, low, high) => range(low, high) } },
      axes: [
        { ...axis, size: 28, values: (u, ticks) => ticks.map((v) => time ? seconds(v) : number(v)) },
        { ...axis, size: 56, values: (u, ticks) => ticks.map((v) => v === null ? "" : number(v, 3)) },
      ],
      series: [{}, ...lines.map((l) => ({
        stroke: colour(`--run${l.colour % 6}`) + (l.faint ? "55" : ""), width: l.faint ? 1 : l.bound ? 0 : 1.75, dash: l.faint || l.bound ? [] : dashes[l.colour % 6],
        points: { show: l.faint || l.bound ? false : l.points }, spanGaps: true,
      }))],
      bands: bands.map((b) => ({ series: [b.high, b.low], fill: colour(`--run${b.colour % 6}`) + "2e" })),
      hooks: {
        setCursor: [(u) => this.tell(u.cursor.idx)],
        setSelect: [(u) => { if (u.select.width > 0) this.zoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")); }],
        ready: [(u) => this.listen(u)],
      },
    };
  }

  listen(u) {
    let down = 0;
    u.over.addEventListener("mousedown", (e) => { down = e.clientX; });
    u.over.addEventListener("click", (e) => {
      if (Math.abs(e.clientX - down) < 4 && u.cursor.idx !== null) this.open(this.stepAt(u.cursor.idx));
    });
    u.over.addEventListener("dblclick", () => this.zoom(null, null));
  }

  // zoom zooms all charts alike, or shows everything.
  zoom(min, max) {
    for (const c of charts) {
      if (!c.u) continue;
      const x = c.data[0];
      c.u.setScale("x", min === null ? { min: x[0], max: x[x.length - 1] } : { min, max });
    }
    this.zoomed(min === null ? null : [min, max]);
  }

  stepAt(i) {
    const x = this.data[0][i], s = this.series[0], times = this.options.axis === "time" ? elapsed(s.time ?? []) : [];
    const near = times.reduce((best, t, k) => t !== null && (best < 0 || Math.abs(t - x) < Math.abs(times[best] - x)) ? k : best, -1);
    return near < 0 ? Math.round(x) : s.step[near];
  }

  // tell shows the values under the cursor, or the last ones.
  tell(i) {
    if (!this.u) return;
    const shown = this.lines.map((l, k) => [l, this.data[k + 1]]).filter(([l]) => !l.faint && !l.bound);
    const at = i ?? this.data[0].length - 1, x = this.data[0][at];
    const where = i === null || i === undefined ? "" : this.options.axis === "time" ? `${seconds(x)}: ` : `step ${number(x)}: `;
    const values = shown.map(([l, column]) => {
      const v = i === null || i === undefined ? column.findLast((y) => y !== null && y !== undefined) : column[at];
      return h("span", { class: `run-text${l.colour % 6}` }, number(v));
    });
    put(this.readout, where, values.flatMap((v, k) => (k ? [" · ", v] : [v])));
  }

  key(e) {
    if (!this.u || e.target !== this.element) return;
    const n = this.data[0].length, i = this.u.cursor.idx ?? n - 1;
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: n - 1 }[e.key];
    if (to !== undefined) {
      const at = Math.max(0, Math.min(n - 1, to));
      e.preventDefault();
      this.u.setCursor({ left: this.u.valToPos(this.data[0][at], "x"), top: this.u.bbox.height / 4 / devicePixelRatio });
      this.tell(at);
    } else if (e.key === "Enter") {
      e.preventDefault();
      e.stopPropagation();
      this.open(this.stepAt(i));
    } else if (e.key === "Backspace") this.zoom(null, null);
  }
}

// range leaves room above and below, also for a curve that is flat.
function range(low, high) {
  if (low === null) return [0, 1];
  const room = high === low ? Math.abs(high) / 10 || 1 : (high - low) * 0.06;
  return [low - room, high + room];
}
