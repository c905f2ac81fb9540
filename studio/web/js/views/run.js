// A run: what it is, how healthy it is, and tabs for metrics, steps, timeline and configuration.
import { h, put, later } from "../dom.js";
import { get, address } from "../api.js";
import { link } from "../router.js";
import { icon, kind } from "../spark.js";
import { stateBadge } from "./runs.js";
import { number, fixed, bytes, seconds, ago } from "../format.js";

const tabs = [["metrics", "Metrics"], ["steps", "Steps"], ["timeline", "Timeline"], ["config", "Configuration"]];

export async function show(view) {
  const [, id, tab = "metrics"] = view.path;
  if (!tabs.some(([name]) => name === tab)) throw new Error(`a run has no view called ${tab}`);
  const [run, module] = await Promise.all([get(["runs", id], {}, view.signal), import(`./${tab}.js`)]);
  view.crumbs([[run.name, link(["run", id])], ...(tab === "metrics" ? [] : [[tabs.find(([n]) => n === tab)[1], null]])]);

  const top = h("div.run-top");
  const state = { run };
  const draw = () => put(top, heading(state.run), health(state.run));
  draw();
  const body = h("div.tab");
  put(view.root, top, h("nav.tabs", { "aria-label": "Views of the run" }, tabs.map(([name, label]) =>
    h("a", { href: link(["run", id, name]), "aria-current": name === tab ? "page" : null }, label)),
    h("a", { href: link(["run", id, "samples"]) }, "All samples")), body);
  view.keys(tabs.map(([name, label], i) => [String(i + 1), label, () => { location.hash = link(["run", id, name]); }]));
  const refresh = later(async () => { state.run = await get(["runs", id], {}, view.signal); draw(); }, 1500);
  view.listen((e) => { if (e.run === id) refresh(); });
  await module.tab(view, run, body);
}

function heading(run) {
  const facts = [
    ["Step", run.steps ? `${number(run.step)} of ${number(run.steps)}` : number(run.step)], ["Algorithm", run.algorithm], ["Model", run.model], ["Mode", run.mode],
    ["Last loss", run.loss?.length ? fixed(run.loss.at(-1)[1]) : null],
    run.evaluation && [run.evaluation.name, `${fixed(run.evaluation.before)}${run.evaluation.after == null ? "" : ` → ${fixed(run.evaluation.after)}`}`],
    ["Tokens/s", number(run.tokens_per_second == null ? null : Math.round(run.tokens_per_second))],
    run.state === "running" && ["Time left", seconds(run.seconds_left)], ["Disk", bytes(run.disk_bytes)], ["Changed", ago(run.updated)],
  ];
  return [
    h("div.row", null, h("h1", null, run.name), stateBadge(run), h("span.muted", null, run.why), (run.tags ?? []).map((t) => h("span.badge.tag", null, t)),
      h("a.button.push", { href: address(["runs", run.id, "report"]), download: `${run.name}.html` }, "Report")),
    h("dl.facts", null, facts.filter((f) => f && f[1]).map(([k, v]) => h("div", null, h("dt", null, k), h("dd", null, v)))),
    run.indexed < 1 ? h("p.note", { role: "status" }, `Its samples are being indexed: ${Math.round(100 * run.indexed)} %. Steps can be opened already.`) : null,
  ];
}

// health lists the lights: what is wrong with its reason, what is right in one line.
function health(run) {
  if (!run.health?.length) return null;
  const worst = ["bad", "warn", "unknown", "ok"];
  const lights = [...run.health].sort((a, b) => worst.indexOf(a.state) - worst.indexOf(b.state));
  const fine = lights.filter((l) => l.state === "ok"), rest = lights.filter((l) => l.state !== "ok");
  if (innerWidth > 720 || !fine.length) return h("section.health", { "aria-label": "Health" }, h("ul", null, lights.map(light)));
  return h("section.health", { "aria-label": "Health" }, h("ul", null, rest.map(light)),
    h("details", null, h("summary", null, `✓ ${fine.length} ${rest.length ? "others are" : "lights, all"} fine`), h("ul", null, fine.map(light))));
}

function light(l) {
  return h("li", null, h("span.light", { class: kind(l.state), "aria-hidden": "true" }, icon(l.state)), h("span.unseen", null, `${l.state}: `), h("b", null, l.name), " ", h("span.muted", null, l.reason));
}
