// How long each step took, and with what.
import { h, s, put, later } from "../dom.js";
import { get } from "../api.js";
import { link } from "../router.js";
import { Table } from "../table.js";
import { seconds, clock, percent } from "../format.js";

const parts = ["sample", "grade", "train", "publish", "evaluate", "other"];
const words = { sample: "sampling", grade: "grading", train: "training", publish: "publishing weights", evaluate: "evaluation", other: "other" };

export async function tab(view, run, body) {
  let longest = 1;
  const table = new Table({
    label: "Timeline", rows: [], empty: "This run has no times.",
    columns: [
      { label: "Step", cell: (t) => h("a", { href: link(["run", run.id, "step", t.step]), title: clock(t.start) }, String(t.step)) },
      { label: "Total", n: true, cell: (t) => seconds(total(t)) },
      { label: "Parts", cell: (t) => bar(t, longest) },
      ...parts.slice(0, 5).map((p) => ({ label: words[p][0].toUpperCase() + words[p].slice(1), n: true, wide: true, cell: (t) => seconds(part(t, p)) })),
    ],
  });
  const legend = h("p.legend");
  const load = async (again) => {
    const steps = (await get(["runs", run.id, "timeline"], {}, view.signal)).steps;
    longest = Math.max(1e-9, ...steps.map(shown));
    const all = steps.reduce((a, t) => a + shown(t), 0);
    put(legend, parts.filter((p) => steps.some((t) => part(t, p))).map((p) => h("span", null, s("svg.swatch", { viewBox: "0 0 12 12", "aria-hidden": "true" }, s("rect", { class: `part-${p}`, width: 12, height: 12 })),
      `${words[p]} ${percent(steps.reduce((a, t) => a + (part(t, p) ?? 0), 0) / (all || 1))}`)));
    if (again) { table.rows = steps; table.draw(true); } else table.set(steps);
  };
  put(body, legend, table.element);
  view.keys(table.keys());
  const fresh = later(() => load(true).catch(() => {}), 900);
  view.listen((e) => { if (e.run === run.id) fresh(); });
  await load(false);
}

const sum = (parts) => parts.reduce((a, p) => a + (p.seconds ?? 0), 0);
const total = (t) => sum(t.parts.filter((p) => !p.outside));
const shown = (t) => sum(t.parts); // with what is outside the step
const part = (t, name) => t.parts.some((p) => p.name === name) ? sum(t.parts.filter((p) => p.name === name)) : null;
const told = (p) => `${words[p.name] ?? p.name}${p.outside ? ", outside the step" : ""} ${seconds(p.seconds)}`;

function bar(t, longest) {
  let x = 0;
  return s("svg.timebar", { viewBox: "0 0 400 16", preserveAspectRatio: "none", role: "img", "aria-label": t.parts.map(told).join(", ") },
    t.parts.map((p) => {
      const width = 400 * ((p.seconds ?? 0) / longest), at = x;
      x += width;
      return s("rect", { class: `part-${parts.includes(p.name) ? p.name : "other"}`, x: at, y: p.outside ? 6 : 2, width: Math.max(0, width - 0.6), height: p.outside ? 4 : 12 }, s("title", null, told(p)));
    }));
}
