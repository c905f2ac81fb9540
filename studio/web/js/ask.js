// Ask again: the same prompt, an edited one, or a longer answer, from any checkpoint of the run, beside the old answer.
import { h, put } from "./dom.js";
import { get, send, events } from "./api.js";
import { measures, legend } from "./colour.js";
import { shown } from "./strip.js";
import { fixed, number } from "./format.js";
import { visible } from "./text.js";
import { options } from "./checkpoint.js";

export async function show({ run, sample, root, signal }) {
  const answer = await get(["runs", run.id, "checkpoints"], {}, signal);
  if (!answer.ask) return void put(root, h("p.note", null, answer.why || "This run has no checkpoint that can be asked."));
  const checkpoint = h("select", { name: "checkpoint" }, options(answer.checkpoints));
  const field = (name, label, value, attributes) => h("label.field", null, label, h("input.short", { name, value, type: "number", ...attributes }));
  const how = h("select", { name: "how", onchange: () => edit() }, h("option", { value: "sample" }, "the same prompt"), sample.messages?.length ? h("option", { value: "messages" }, "edited messages") : null,
    h("option", { value: "continue" }, "for more: the answer goes on"), h("option", { value: "prompt" }, "edited text"));
  const editor = h("div"), output = h("pre.text.message", { role: "region", tabindex: 0, "aria-label": "New answer" }), status = h("p.muted", { role: "status" });
  const start = h("button.main", null, "Ask"), stop = h("button", { type: "button", disabled: true, onclick: () => controller?.abort() }, "Stop");
  let controller = null;

  function edit() {
    if (how.value === "sample" || how.value === "continue") return put(editor);
    if (how.value === "prompt") return put(editor, area("prompt", "Text that the model continues", (sample.prompt ?? "") + "", 8));
    const before = sample.messages.findLastIndex((m) => m.role === "assistant");
    put(editor, sample.messages.slice(0, before < 0 ? undefined : before).map((m, i) => area(`message-${i}`, m.role, m.content ?? "", 3)));
  }
  function body(form) {
    const f = new FormData(form), number = (name) => f.get(name) === "" ? null : Number(f.get(name));
    const request = { checkpoint: f.get("checkpoint"), temperature: number("temperature"), max_tokens: number("max_tokens"), seed: number("seed"), sample: null, messages: null, prompt: null };
    if (f.get("how") === "sample") request.sample = sample.id;
    else if (f.get("how") === "continue") Object.assign(request, { sample: sample.id, continue: true });
    else if (f.get("how") === "prompt") request.prompt = f.get("prompt");
    else request.messages = sample.messages.map((m, i) => ({ role: m.role, content: f.get(`message-${i}`) })).filter((m) => m.content !== null);
    return request;
  }
  async function ask(e) {
    e.preventDefault();
    controller?.abort();
    controller = new AbortController();
    start.disabled = true;
    stop.disabled = false;
    put(output);
    put(status, "Waiting for the first token…");
    let n = 0;
    const began = performance.now();
    try {
      const response = await send("POST", ["runs", run.id, "ask"], body(form), AbortSignal.any([controller.signal, signal]));
      await events(response, (event) => {
        if (event.error) throw new Error(event.error.message);
        if (event.token) { output.append(token(event.token)); put(status, `${number(++n)} tokens`); }
        if (event.done) put(status, `${number(n)} tokens in ${fixed((performance.now() - began) / 1000, 1)} s, stop: ${event.done.stop ?? "–"}`, event.done.reward != null ? `, reward ${fixed(event.done.reward)}` : "");
      });
    } catch (error) {
      if (!signal.aborted) put(status, controller.signal.aborted ? `Stopped after ${number(n)} tokens.` : h("span.note.bad", null, error.message));
    }
    start.disabled = false;
    stop.disabled = true;
  }

  const form = h("form.card", { onsubmit: ask }, h("div.row", null, h("label.field", null, "Checkpoint", checkpoint), h("label.field", null, "Ask", how), field("temperature", "Temperature", "1", { min: 0, max: 10, step: "any" }),
    field("max_tokens", "Tokens at most", Math.max(64, 2 * sample.response_tokens), { min: 1, max: 100000 }), field("seed", "Seed", "", { placeholder: "new" }), start, stop), editor);
  put(root, form, status, h("div.beside", null, h("section", null, h("h3", null, `The run's answer, reward ${fixed(sample.reward)}`), h("pre.text.message", { dir: "auto" }, visible(sample.response ?? ""))),
    h("section", null, h("h3", null, "New answer"), output)), legend("logprob"));
}

function area(name, label, value, rows) {
  return h("label.area", null, h("span.muted", null, label), h("textarea", { name, rows, value, spellcheck: "false", dir: "auto" }));
}

function token(t) {
  const shade = t.logprob === null || t.logprob === undefined ? "" : measures.logprob.shade(t.logprob);
  return h("span", { class: `t ${shade}`, title: t.logprob == null ? null : `logprob ${number(t.logprob)}` }, shown(t));
}
