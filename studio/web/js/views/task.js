// One task across steps and runs: how its answers changed while a run trained, and what other runs say.
import { h, put } from "../dom.js";
import { get } from "../api.js";
import { link, go } from "../router.js";
import { spark } from "../spark.js";
import { fixed, plural } from "../format.js";
import { visible } from "../text.js";
import { promptOf, taskName } from "./group.js";

export async function show(view) {
  const ids = view.query.getAll("run"), task = view.query.get("task");
  const [{ runs: all }, { runs }] = await Promise.all([get(["runs"], {}, view.signal), get(["tasks"], { run: ids, task }, view.signal)]);
  const of = (id) => all.find((r) => r.id === id) ?? { id, name: id };
  const one = runs.flatMap((r) => r.steps.flatMap((s) => s.samples.map((x) => [r.run, x])))[0];
  view.crumbs([[of(ids[0]).name, link(["run", ids[0]])], ["One task across steps and runs", null]]);
  if (!one) return void put(view.root, h("h1", null, "One task across steps and runs"), h("p.note", null, "None of these runs has a sample of this task."), adder(all, ids, task));
  const group = await get(["runs", one[0], "groups", one[1].step, one[1].task], { set: one[1].set }, view.signal).catch(() => null);
  const steps = [...new Map(runs.flatMap((r) => r.steps.flatMap((s) => s.samples.map((x) => [`${s.step}\n${x.set ?? ""}`, { step: s.step, set: x.set ?? "" }])))).values()].sort((a, b) => a.step - b.step);
  const cell = (r, { step, set }) => {
    const samples = r.steps.filter((s) => s.step === step).flatMap((s) => s.samples).filter((x) => (x.set ?? "") === set);
    return h("td", null, samples.length ? answers(r.run, samples, set) : h("span.muted", null, "–"));
  };
  put(view.root,
    h("div.row", null, h("h1", null, taskName(one[1].task_name, one[1].task)), h("span.muted", null, `${plural(steps.length, "step")} in ${plural(runs.length, "run")}`), h("span.push", null, adder(all, ids, task))),
    group ? h("section.card", { "aria-labelledby": "prompt" }, h("h2", { id: "prompt" }, "Prompt"), promptOf(group)) : null,
    h("div.scroll", { tabindex: 0, role: "region", "aria-label": "Answers" }, h("table.wrap.across", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "Step"), runs.map((r) => h("th", { scope: "col" }, h("a", { href: link(["run", r.run]) }, of(r.run).name), trend(r))))),
      h("tbody", null, steps.map((s) => h("tr", null, h("th", { scope: "row" }, s.step, s.set ? h("div.muted.small", null, `evaluation ${s.set}`) : null), runs.map((r) => cell(r, s))))))));
}

const mean = (samples) => samples.reduce((a, s) => a + (s.reward ?? 0), 0) / samples.length;

function trend(run) {
  return run.steps.length > 1 ? spark(run.steps.map((s) => [s.step, mean(s.samples)])) : null;
}

// answers lists equal answers once, the best first.
function answers(run, samples, set) {
  const by = new Map();
  for (const s of samples) by.set(s.response, [...(by.get(s.response) ?? []), s]);
  const lists = [...by.values()].sort((a, b) => (b[0].reward ?? 0) - (a[0].reward ?? 0));
  return [h("p", null, h("a", { href: link(["run", run, "group", samples[0].step, samples[0].task], { set }) }, `mean ${fixed(mean(samples))}`), h("span.muted", null, ` of ${plural(samples.length, "sample")}, ${plural(by.size, "different answer")}`)),
    h("ul.answers", null, lists.map((same) => h("li", null, h("a.num", { href: link(["run", run, "sample", same[0].id]) }, fixed(same[0].reward)), same.length > 1 ? h("span.muted", null, ` ×${same.length}`) : null,
      h("pre.text", { dir: "auto" }, visible(same[0].response.slice(0, 1200))))))];
}

function adder(all, ids, task) {
  const rest = all.filter((r) => !ids.includes(r.id));
  if (!rest.length) return null;
  const select = h("select", { "aria-label": "Add a run", onchange: () => go(link(["task"], { run: [...ids, select.value], task })) }, h("option", { value: "" }, "Add a run…"),
    rest.map((r) => h("option", { value: r.id }, [r.project, r.name].filter(Boolean).join("/"))));
  return select;
}
