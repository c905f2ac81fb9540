// A sample: why it has its reward, its conversation, its tokens, and a way to ask again.
import { h, put } from "../dom.js";
import { get } from "../api.js";
import { link, keep, go } from "../router.js";
import { taskName } from "./group.js";
import { why } from "../verdict.js";
import { number, fixed, signed } from "../format.js";

const tabs = [["conversation", "Conversation"], ["tokens", "Tokens"], ["ask", "Ask again"], ["record", "Record"]];
const firstTokens = 4000;

export async function show(view) {
  const [, id, , sampleId] = view.path;
  const [run, sample] = await Promise.all([get(["runs", id], {}, view.signal), get(["runs", id, "samples", sampleId], { from: 0, count: firstTokens }, view.signal)]);
  const set = sample.set ?? "", group = link(["run", id, "group", sample.step, sample.task], { set });
  view.crumbs([[run.name, link(["run", id])], [set ? `Evaluation ${set}, step ${sample.step}` : `Step ${sample.step}`, link(["run", id, "step", sample.step], { set })],
    [taskName(sample.task_name, sample.task), group], [`Sample #${sample.repeat}`, null]]);
  const tab = view.query.get("tab") ?? "conversation";
  const body = h("section.tab-body", { role: "tabpanel", id: "panel", tabindex: 0 });
  const buttons = tabs.map(([name, label]) => h("button.tab-button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", onclick: () => open(name), onkeydown: (e) => arrow(e, name) }, label));

  async function open(name) {
    const module = await import(`../${{ conversation: "conversation", tokens: "tokens", ask: "ask", record: "record" }[name] ?? "conversation"}.js`);
    if (view.signal.aborted) return;
    buttons.forEach((b, i) => { b.setAttribute("aria-selected", String(tabs[i][0] === name)); b.tabIndex = tabs[i][0] === name ? 0 : -1; });
    body.setAttribute("aria-labelledby", `tab-${name}`);
    keep({ tab: name === "conversation" ? null : name });
    put(body);
    await module.show({ ...view, run, sample, root: body });
  }
  function arrow(e, name) {
    const i = tabs.findIndex(([n]) => n === name), to = { ArrowRight: i + 1, ArrowLeft: i - 1 }[e.key];
    if (to === undefined || !tabs[to]) return;
    buttons[to].focus();
    open(tabs[to][0]);
  }

  const neighbours = h("span.row.tight");
  const across = sample.key ? link(["task"], { run: [id], task: sample.key }) : null;
  put(view.root,
    h("div.row", null, neighbours, h("h1", null, `Sample #${sample.repeat}`), h("span.muted", null, h("a", { href: group }, "of its group")), across ? h("a.button.push", { href: across }, "This task across steps and runs") : null),
    h("div.sample-top", null, why(sample), h("section.card", { "aria-label": "Facts" }, h("dl.facts", null, facts(sample).map(([k, v]) => h("div", null, h("dt", null, k), h("dd", null, v)))))),
    h("div.tabs", { role: "tablist", "aria-label": "Views of the sample" }, buttons), body);
  const ways = {};
  view.keys([...tabs.map(([name, label], i) => [String(i + 1), label, () => open(name)]),
    ["j", "Next sample of the group", () => ways.next && go(ways.next)], ["k", "Sample before", () => ways.before && go(ways.before)],
    ["o", "The group", () => go(group)], ["s", "The same task across steps and runs", () => across && go(across)]]);
  get(["runs", id, "groups", sample.step, sample.task], { set }, view.signal).then(({ samples }) => {
    const at = samples.findIndex((s) => s.id === sample.id);
    const to = (by) => samples[at + by] && link(["run", id, "sample", samples[at + by].id], { tab: view.query.get("tab") });
    Object.assign(ways, { before: to(-1), next: to(1) });
    put(neighbours, step("←", to(-1), "Sample before (k)"), step("→", to(1), "Next sample of the group (j)"));
  }).catch(() => {});
  await open(tabs.some(([n]) => n === tab) ? tab : "conversation");
}

function step(text, address, label) {
  return address ? h("a.button", { href: address, "aria-label": label, title: label }, text) : h("span.button.off", { "aria-hidden": "true" }, text);
}

function facts(s) {
  const more = Object.entries(s.metrics ?? {}).filter(([k]) => !(k in (s.parts ?? {})));
  return [["Reward", fixed(s.reward)], ["Advantage", signed(s.advantage)], ["Prompt", `${number(s.prompt_tokens)} tokens`], ["Answer", `${number(s.response_tokens)} tokens`],
    ["Stop", s.stop || "–"], ["Weights version", number(s.version)], ["Mean entropy", fixed(s.entropy)], ...(s.dropped ? [["Trained on", "no: left out"]] : []), ["Turns", number(s.turns)], ["Tool calls", number(s.tool_calls)],
    ...more.map(([k, v]) => [k, number(v)])];
}
