// Small drawings inside tables.
import { s } from "./dom.js";
import { number } from "./format.js";

// spark is a line of [x, y] points with a dot at its end.
export function spark(points, name = "reward") {
  const known = (points ?? []).filter(([, y]) => y !== null);
  if (!known.length) return "–";
  const xs = known.map(([x]) => x), ys = known.map(([, y]) => y);
  const x = scale(xs, 2, 94), y = scale(ys, 21, 3);
  const line = known.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  const text = `${name} from ${number(ys[0], 3)} to ${number(ys[ys.length - 1], 3)} over ${known.length} points`;
  return s("svg.spark", { viewBox: "0 0 96 24", role: "img", "aria-label": text },
    s("path", { d: line }), s("circle", { cx: x(xs[xs.length - 1]), cy: y(ys[ys.length - 1]), r: 2 }));
}

function scale(values, from, to) {
  const low = Math.min(...values), high = Math.max(...values);
  return (v) => high === low ? (from + to) / 2 : from + ((v - low) / (high - low)) * (to - from);
}

// meter is a bar that is filled up to share (0 to 1).
export function meter(share) {
  return s("svg.meter", { viewBox: "0 0 64 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { width: 64, height: 6, rx: 3 }), s("rect", { width: Math.max(0, Math.min(64, 64 * share)), height: 6, rx: 3 }));
}

const icons = { ok: "✓", warn: "!", bad: "✕", unknown: "?", running: "▶", finished: "✓", stopped: "■", killed: "✕" };
const kinds = { ok: "ok", warn: "warn", bad: "bad", running: "run", finished: "ok", stopped: "warn", killed: "bad", right: "ok", wrong: "bad", partial: "warn" };

// icon and kind give a state a shape and a colour: never the colour alone.
export const icon = (state) => icons[state] ?? "?";
export const kind = (state) => kinds[state] ?? "";

// range is a bar from low to high with a mark at mean, within bounds.
export function range(low, mean, high, [from, to] = [0, 1]) {
  if (low === null || low === undefined || to <= from) return "–";
  const x = (v) => 2 + 116 * ((v - from) / (to - from));
  return s("svg.range", { viewBox: "0 0 120 12", "aria-hidden": "true" }, s("rect.track", { x: 0, y: 5, width: 120, height: 2 }),
    s("rect.span", { x: x(low), y: 3, width: Math.max(1, x(high) - x(low)), height: 6, rx: 2 }), s("rect.mark", { x: x(mean) - 1.5, y: 0, width: 3, height: 12, rx: 1 }));
}
