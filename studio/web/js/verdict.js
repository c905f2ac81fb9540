// Why a sample has its reward, in words.
import { h } from "./dom.js";
import { icon, kind } from "./spark.js";
import { number, fixed } from "./format.js";
import { visible } from "./text.js";

const shapes = { right: "ok", wrong: "bad", partial: "warn", unknown: "unknown" };

// outcome is right, wrong or partial, as the grader says or the part called accuracy (correct in tinker-cookbook); null where neither does.
export function outcome(sample) {
  const v = sample.grade?.verdict, accuracy = sample.parts?.accuracy ?? sample.metrics?.accuracy ?? sample.parts?.correct;
  if (v in shapes && v !== "unknown") return v;
  if (accuracy === null || accuracy === undefined) return null;
  return accuracy >= 1 ? "right" : accuracy <= 0 ? "wrong" : "partial";
}

// verdict is a badge with the outcome.
export function verdict(sample) {
  const v = outcome(sample);
  if (!v) return null;
  return h("span.badge", { class: kind(v) }, h("span", { "aria-hidden": "true" }, icon(shapes[v])), v);
}

// reasons are sentences, from the most to the least important.
export function reasons(sample) {
  const g = sample.grade, list = [];
  const quote = (x) => h("code", null, visible(String(x)));
  if (sample.stop === "length") list.push([`The answer was cut off after ${number(sample.response_tokens)} tokens: it reached the limit before its end.`]);
  const told = g?.reason || (g?.verdict && !(g.verdict in shapes) ? g.verdict : "");
  if (told && !(g.extracted && g.expected)) list.push([visible(told[0].toUpperCase() + told.slice(1))]);
  if (g?.extracted && g.expected) {
    list.push(outcome(sample) === "right" ? ["The grader found the answer ", quote(g.extracted), ", which is right."]
      : ["The grader found the answer ", quote(g.extracted), " and expected ", quote(g.expected), "."]);
  } else if (g?.expected) {
    list.push(["The grader found no answer in the text. It expected ", quote(g.expected), "."]);
  } else if (sample.truth) list.push(["The task's own answer is ", quote(sample.truth), "."]);
  if (sample.signal === false && sample.set !== undefined && !sample.set) list.push(["All samples of the group have the same reward, so nothing is learned from it."]);
  return list;
}

// why is the panel that tells it: verdict, reasons and the parts that add up to the reward.
export function why(sample) {
  const parts = Object.entries(sample.parts ?? sample.grade?.parts ?? {});
  const list = reasons(sample);
  return h("section.card.why", { "aria-labelledby": "why" },
    h("div.row", null, h("h2", { id: "why" }, `Why the reward is ${fixed(sample.reward)}`), verdict(sample)),
    list.length ? h("ul.reasons", null, list.map((r) => h("li", null, r))) : h("p.muted", null, "The run did not record what its grader found."),
    sample.truth && sample.grade?.expected ? h("details.truth", null, h("summary", null, "The task's own solution"), h("pre.text", { dir: "auto" }, visible(sample.truth))) : null,
    parts.length ? h("dl.parts", null, parts.map(([k, v]) => h("div", null, h("dt", null, k), h("dd.num", null, number(v))))) : null);
}
