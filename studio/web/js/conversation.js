// The conversation: roles, thinking, tool calls and turns. Texts are shown as texts; mathematics is set; hidden characters are named.
import { h, put } from "./dom.js";
import { number } from "./format.js";
import { prose, visible } from "./text.js";

const shown = { math: true, all: false, raw: false }; // kept from sample to sample
const longest = 60000; // characters of one message that are shown at once

export function show({ sample, root }) {
  const body = h("div");
  const draw = () => put(body, shown.raw || !sample.messages?.length ? raw(sample) : messages(sample));
  const check = (key, label) => h("label.field", null, h("input", { type: "checkbox", checked: shown[key], onchange: (e) => { shown[key] = e.target.checked; draw(); } }), label);
  put(root, h("div.row", null, check("math", "Set mathematics"), check("all", "Show white space"), check("raw", "As the model sees it")), body);
  draw();
}

function raw(sample) {
  return [h("h3", null, "Prompt"), h("pre.message.text", { dir: "auto" }, cut(sample.prompt ?? "", visible)), h("h3", null, "Answer"), h("pre.message.text", { dir: "auto" }, cut(sample.response ?? "", visible))];
}

function messages(sample) {
  let turn = null;
  const parts = sample.messages.flatMap((m) => {
    const first = m.turn != null && m.turn !== turn && sample.turns > 1;
    turn = m.turn ?? turn;
    return [first ? h("h3.turn", null, `Turn ${number(m.turn)}`, m.reward != null ? h("span.muted", null, ` reward ${number(m.reward)}`) : null) : null, message(m)];
  });
  return [sample.board ? [h("h3", null, "Board"), h("pre.board", { role: "img", "aria-label": "The board at the end" }, visible(sample.board))] : null, h("div.messages", null, parts)];
}

function message(m) {
  return h("article.message", { class: `role-${/^(system|user|assistant|tool)$/.test(m.role) ? m.role : "other"}`, "aria-label": m.role },
    h("header", null, h("b", null, visible(m.role ?? ""))),
    m.thinking != null ? h("details.thinking", { open: true }, h("summary", null, "Thinking"), h("div.text", { dir: "auto" }, m.thinking ? cut(m.thinking, text) : h("span.muted", null, "(nothing)"))) : null,
    m.content ? h("div.text", { dir: "auto" }, cut(m.content, text)) : m.thinking == null && !m.tool_calls?.length ? h("p.muted", null, "(empty)") : null,
    (m.tool_calls ?? []).map(call));
}

function call(c) {
  let args = c.arguments;
  try { args = JSON.stringify(typeof args === "string" ? JSON.parse(args) : args, null, 1); } catch { /* not JSON: shown as it is */ }
  return h("div.call", null, h("p", null, h("span.badge.run", null, "tool call"), " ", h("code", null, visible(String(c.name)))), h("pre", { dir: "auto" }, visible(String(args ?? ""))));
}

const text = (t) => prose(t, shown);

// cut shows the beginning of a long text, and the rest when asked.
function cut(t, nodes) {
  if (t.length <= longest) return nodes(t);
  const rest = h("span");
  const more = h("button", { type: "button", onclick: () => { more.remove(); put(rest, nodes(t.slice(longest, longest * 20))); } }, `Show ${number(t.length - longest)} more characters`);
  return [nodes(t.slice(0, longest)), rest, more];
}
