// The steps of a run with what their samples earned.
import { h, put, later } from "../dom.js";
import { get } from "../api.js";
import { link } from "../router.js";
import { Table } from "../table.js";
import { range } from "../spark.js";
import { number, fixed, percent } from "../format.js";
import { order } from "./runs.js";

export async function tab(view, run, body) {
  const state = { steps: [], sort: view.query.get("sort") ?? "-step" };
  const table = new Table({
    columns: columns(run, () => state.bounds), rows: [], label: "Steps", sort: state.sort, empty: "No step has written samples yet.",
    onsort: (by) => { state.sort = by; table.set(order(state.steps, by)); },
  });
  const load = async (again) => {
    state.steps = (await get(["runs", run.id, "steps"], {}, view.signal)).steps;
    state.bounds = [Math.min(...state.steps.map((s) => s.reward_min ?? 0)), Math.max(...state.steps.map((s) => s.reward_max ?? 0))];
    const rows = order(state.steps, state.sort);
    if (again) { table.rows = rows; table.draw(true); } else table.set(rows);
  };
  put(body, table.element, h("p.legend", null, "Reward: the bar goes from the lowest to the highest, the mark is the mean. Without signal: groups in which all samples have the same reward, so nothing is learned from them."));
  view.keys(table.keys());
  const fresh = later(() => load(true).catch(() => {}), 900);
  view.listen((e) => { if (e.run === run.id) fresh(); });
  await load(false);
}

function columns(run, bounds) {
  const share = (s) => s.groups ? s.no_signal / s.groups : 0;
  return [
    { label: "Step", sort: "step", cell: (s) => h("a", { href: link(["run", run.id, "step", s.step], { set: s.set }) }, s.set ? `${s.step} · evaluation ${s.set}` : `${s.step}`) },
    { label: "Reward", n: true, sort: "reward_mean", cell: (s) => fixed(s.reward_mean) },
    { label: h("span.unseen", null, "Range"), cell: (s) => range(s.reward_min, s.reward_mean, s.reward_max, bounds()) },
    { label: "Samples", n: true, sort: "samples", cell: (s) => s.indexed === false ? h("span.muted", null, "being indexed") : number(s.samples) },
    { label: "Groups", n: true, wide: true, cell: (s) => number(s.groups) },
    { label: "Without signal", n: true, sort: "no_signal", cell: (s) => [number(s.no_signal), h("span.muted", null, ` ${percent(share(s))}`)] },
    { label: "Truncated", n: true, sort: "truncated", wide: true, cell: (s) => [number(s.truncated), h("span.muted", null, ` ${percent(s.samples ? s.truncated / s.samples : 0)}`)] },
  ];
}
