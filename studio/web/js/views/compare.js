// Several runs beside each other: what differs in their configuration, their curves, and the tasks they share.
import { h, put } from "../dom.js";
import { get } from "../api.js";
import { link } from "../router.js";
import { stateBadge } from "./runs.js";
import { runLegend, tab } from "./metrics.js";
import { fixed, number, plain, plural } from "../format.js";

export async function show(view) {
  const ids = [...new Set(view.query.getAll("run"))];
  view.crumbs([["Compare", null]]);
  if (ids.length < 2) {
    put(view.root, h("h1", null, "Compare runs"), h("p.note", null, "Choose at least two runs in the ", h("a", { href: "#/runs" }, "table of runs"), "."));
    return;
  }
  const [{ config }, ...runs] = await Promise.all([get(["compare"], { run: ids }, view.signal), ...ids.map((id) => get(["runs", id], {}, view.signal))]);
  const curves = h("div"), tasks = h("div");
  put(view.root, h("h1", null, `Compare ${runs.length} runs`), runLegend(null, runs), overview(runs), difference(config, runs),
    h("section", null, h("h2", null, "Curves"), curves), h("section", null, h("h2", null, "The same task in all runs"), tasks));
  const query = new URLSearchParams(view.query);
  query.delete("with");
  ids.slice(1).forEach((id) => query.append("with", id));
  await tab({ ...view, query }, runs[0], curves);
  shared(view, runs, tasks).catch((error) => put(tasks, h("p.note.bad", null, error.message)));
}

function grid(label, head, rows) {
  return h("div.scroll", { tabindex: 0, role: "region", "aria-label": label }, h("table.wrap", null, h("thead", null, h("tr", null, head.map((t) => h("th", { scope: "col" }, t)))), h("tbody", null, rows)));
}

function overview(runs) {
  const line = (name, f) => h("tr", null, h("th", { scope: "row" }, name), runs.map((r) => h("td.num", null, f(r))));
  return grid("Runs", ["Run", ...runs.map((r, i) => [h("span", { class: `dash dash${i % 6}`, "aria-hidden": "true" }), h("a", { href: link(["run", r.id]) }, r.name)])], [
    line("State", stateBadge), line("Step", (r) => `${number(r.step)}${r.steps ? ` of ${number(r.steps)}` : ""}`), line("Last reward", (r) => fixed(r.reward?.at(-1)?.[1])), ...(runs.some((r) => r.loss?.length) ? [line("Last loss", (r) => fixed(r.loss?.at(-1)?.[1]))] : []),
    line("Evaluation", (r) => r.evaluation ? `${fixed(r.evaluation.before)}${r.evaluation.after == null ? "" : ` → ${fixed(r.evaluation.after)}`}` : "–"), line("Tokens/s", (r) => number(r.tokens_per_second == null ? null : Math.round(r.tokens_per_second))),
    line("Algorithm", (r) => r.algorithm || "–"), line("Model", (r) => r.model || "–"),
  ]);
}

function difference(config, runs) {
  return h("section", null, h("h2", null, "Configuration: ", h("span.muted", null, config.length ? `${plural(config.length, "key")} ${config.length === 1 ? "differs" : "differ"}` : "no difference")),
    config.length ? grid("Configuration", ["Key", ...runs.map((r) => r.name)], config.map((c) => h("tr", null, h("th", { scope: "row" }, h("code", null, c.key)),
      runs.map((r) => h("td", null, r.id in c.values ? h("code", null, plain(c.values[r.id])) : h("span.muted", null, "not set")))))) : null);
}

// shared lists tasks of the last steps of the first run, each with a link to its answers in all runs.
async function shared(view, runs, root) {
  const { steps } = await get(["runs", runs[0].id, "steps"], {}, view.signal);
  const last = [...steps].sort((a, b) => Number(Boolean(b.set)) - Number(Boolean(a.set)) || b.step - a.step)[0];
  if (!last) return void put(root, h("p.empty", null, "The first run has no samples."));
  const { samples } = await get(["runs", runs[0].id, "samples"], { step: last.step, set: last.set, limit: 400, sort: "task" }, view.signal);
  const by = new Map(samples.filter((s) => s.key).map((s) => [s.key, s]));
  put(root, h("p.muted", null, `Tasks of ${last.set ? `the evaluation ${last.set}` : "training"} at step ${last.step}. More can be opened from a sample or a group.`),
    h("ul.row", null, [...by.values()].slice(0, 60).map((s) => h("li", null, h("a.badge", { href: link(["task"], { run: runs.map((r) => r.id), task: s.key }), title: s.head }, s.task_name || `task ${s.task}`)))));
}
