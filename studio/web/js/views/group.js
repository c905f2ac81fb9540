// A group: the samples of one task in one step, side by side, with the place where they first differ.
import { h, put } from "../dom.js";
import { get } from "../api.js";
import { link, keep, go } from "../router.js";
import { fixed, signed, number, plural } from "../format.js";
import { verdict } from "../verdict.js";
import { prose, visible, common } from "../text.js";

export async function show(view) {
  const [, id, , step, task] = view.path, set = view.query.get("set") ?? "";
  const [run, group] = await Promise.all([get(["runs", id], {}, view.signal), get(["runs", id, "groups", step, task], { set }, view.signal)]);
  const title = taskName(group.task_name, task);
  view.crumbs([[run.name, link(["run", id])], [set ? `Evaluation ${set}, step ${step}` : `Step ${step}`, link(["run", id, "step", step], { set })], [title, null]]);
  const state = { base: view.query.get("base") ?? "", at: -1 };
  const columns = h("ol.columns");
  const select = h("select", { "aria-label": "Mark the first difference to", onchange: () => { state.base = select.value; keep({ base: select.value }); draw(); } },
    h("option", { value: "" }, "what all have in common"), group.samples.map((s) => h("option", { value: s.id }, `sample #${s.repeat} (reward ${fixed(s.reward)})`)));
  select.value = state.base;

  function draw() {
    const base = group.samples.find((s) => s.id === state.base);
    const all = common(group.samples.map((s) => s.response));
    put(columns, group.samples.map((s) => card(id, s, base ? (s === base ? s.response.length : common([base.response, s.response])) : all, base)));
  }
  const cards = () => [...columns.querySelectorAll("a.open")];
  const step1 = (by) => { state.at = Math.max(0, Math.min(group.samples.length - 1, state.at + by)); cards()[state.at]?.focus(); };
  view.keys([["j", "Next sample", () => step1(1)], ["k", "Sample before", () => step1(-1)], ["Enter", "Open the sample", () => cards()[Math.max(0, state.at)]?.click()],
    ["s", "The same task across steps and runs", () => go(across)]]);
  const across = link(["task"], { run: [id], task: group.key });
  draw();
  put(view.root,
    h("div.row", null, h("h1", null, title), h("span.muted", null, `${plural(group.samples.length, "sample")}, reward ${fixed(group.reward_mean)} ± ${fixed(group.reward_std)}`),
      group.signal ? null : h("span.badge.warn", { title: "All rewards are equal, so all advantages are 0: nothing is learned from this group" }, "no signal"),
      group.key ? h("a.button.push", { href: across }, "This task across steps and runs") : null),
    h("section.card", { "aria-labelledby": "prompt" }, h("h2", { id: "prompt" }, "Prompt"), promptOf(group)),
    h("div.row", null, h("label.field", null, "First difference to", select), h("p.legend", null, h("span.same", null, "alike"), " ", h("span", null, h("span.split", { "aria-hidden": "true" }, "▸"), " first difference"))),
    columns);
}

// promptOf shows the messages before the answer, else the prompt's text.
export function promptOf(group) {
  const messages = group.samples?.[0]?.messages ?? [];
  const last = messages.findIndex((m) => m.role === "assistant");
  const before = last >= 0 ? messages.slice(0, last) : messages;
  if (!before.length) return h("pre.prompt", { dir: "auto" }, visible(group.prompt ?? group.samples?.[0]?.prompt ?? ""));
  return h("dl.prompt", null, before.map((m) => h("div", null, h("dt", null, m.role), h("dd.text", { dir: "auto" }, prose(m.content ?? "")))));
}

function card(run, s, at, base) {
  const rest = s.response.slice(at);
  return h("li.card.column", { "aria-label": `Sample ${s.repeat}` },
    h("div.row", null, h("a.open", { href: link(["run", run, "sample", s.id]) }, `Sample #${s.repeat}`), h("b.num.push", null, fixed(s.reward)), verdict(s)),
    h("p.muted.small.num", null, `advantage ${signed(s.advantage)} · ${plural(s.response_tokens, "token")} · ${s.stop || "–"}`,
      s.grade?.extracted ? [" · answer ", h("code", null, visible(String(s.grade.extracted)))] : null),
    h("pre.text", { dir: "auto" }, h("span.same", null, visible(s.response.slice(0, at))),
      rest ? [h("span.split", { title: `first difference, at character ${number(at)}` }, "▸"), visible(rest)] : null,
      base === s ? h("p.muted.small", null, "the others are compared with this one") : rest ? null : h("p.muted.small", null, "(alike to the end)")));
}

// taskName is what a person calls a task.
export function taskName(name, id) {
  const text = String(name || id);
  return /^\d/.test(text) ? `Task ${text}` : text[0].toUpperCase() + text.slice(1);
}
