// The samples of a step, or of a whole run: a table, a histogram of the reward whose bars filter, filters and search.
import { h, put, settle, say } from "../dom.js";
import { get, address } from "../api.js";
import { link, keep, go } from "../router.js";
import { Table } from "../table.js";
import { Rows } from "../rows.js";
import { histogram } from "../histogram.js";
import { number, fixed, signed, plural } from "../format.js";
import { visible } from "../text.js";

const filters = ["task", "repeat", "reward_min", "reward_max", "reward_open", "stop", "signal", "q", "regex", "sort", "set"];

export async function show(view) {
  const [, id, , at] = view.path;
  const step = view.path[2] === "step" ? Number(at) : null;
  const [run, { steps }] = await Promise.all([get(["runs", id], {}, view.signal), get(["runs", id, "steps"], {}, view.signal)]);
  const query = Object.fromEntries(filters.map((f) => [f, view.query.get(f) ?? ""]));
  const here = steps.find((s) => s.step === step && (s.set ?? "") === query.set);
  const title = step === null ? "All samples" : query.set ? `Evaluation ${query.set}, step ${step}` : `Step ${step}`;
  view.crumbs([[run.name, link(["run", id])], ["Steps", link(["run", id, "steps"])], [title, null]]);

  const state = { query: { ...query, step: step === null ? null : step } };
  const status = h("p.muted", { role: "status" }), bars = h("div"), exports = h("span.row");
  const table = new Table({ columns: columns(id, step, () => state.pattern), rows: { length: 0, get() {} }, label: "Samples", sort: query.sort, empty: "No sample matches.", onsort: (sort) => change({ sort }) });
  let controller = new AbortController();

  async function load() {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    state.pattern = pattern(state.query);
    put(exports, ["jsonl", "csv"].map((format) => h("a.button", { href: address(["runs", id, "export"], { ...state.query, format }), download: `${run.name}-${step ?? "all"}.${format}` }, `Export ${format}`)));
    let first = true;
    const rows = new Rows(id, state.query, AbortSignal.any([signal, view.signal]), () => {
      if (first) { first = false; table.set(rows); } else table.draw(true);
      put(status, told(rows));
    });
    histogramOf().catch(() => {});
    try { await rows.start(); } catch (error) {
      if (signal.aborted) return;
      table.set([]);
      put(status, h("span.note.bad", null, error.message));
    }
  }
  async function histogramOf() {
    const answer = await get(["runs", id, "histogram"], { ...state.query, sort: null }, view.signal);
    put(bars, histogram(answer, [state.query.reward_min, state.query.reward_max], (from, to, open) => change({ reward_min: from, reward_max: to, reward_open: open ? "1" : "" })));
  }
  function change(changes) {
    Object.assign(state.query, changes);
    keep(changes);
    form.set(state.query);
    load();
  }

  const form = controls(state.query, change, step === null ? [...new Set(steps.map((s) => s.set ?? ""))].filter(Boolean) : []);
  view.keys([...table.keys(), ...(step === null ? [] : [["]", "Next step", () => move(1)], ["[", "Step before", () => move(-1)]])]);
  const same = steps.filter((s) => (s.set ?? "") === query.set).map((s) => s.step).sort((a, b) => a - b);
  const to = (by) => same[same.indexOf(step) + by];
  const move = (by) => { if (to(by) !== undefined) go(link(["run", id, "step", to(by)], { ...query })); };
  put(view.root,
    h("div.row", null, h("h1", null, title), step === null ? null : stepLinks(id, query, to), here && here.indexed !== false ? facts(here, change) : null, h("span.push", null, exports)),
    h("div.step-top", null, h("section.card", { "aria-labelledby": "hist" }, h("h2", { id: "hist" }, "Reward"), bars), form.element),
    status, table.element);
  view.listen((e) => { if (e.type === "run" && e.run === id && (step === null || e.step === step)) fresh(); });
  const fresh = settle(load, 800);
  await load();
}

function told(rows) {
  const p = rows.progress;
  const found = rows.total !== null && rows.total !== undefined ? plural(rows.total, "sample") : `${plural(rows.list.length, "sample")} found${p.done ? "" : " so far"}`;
  return p.done || !rows.search ? found : `${found}, ${number(p.scanned)} of ${number(p.of)} searched`;
}

function stepLinks(id, query, to) {
  const one = (by, text, label) => to(by) === undefined ? h("span.button", { "aria-disabled": "true", class: "off" }, text) : h("a.button", { href: link(["run", id, "step", to(by)], query), "aria-label": label, title: label }, text);
  return h("span.row.tight", null, one(-1, "←", "Step before ([)"), one(1, "→", "Next step (])"));
}

function facts(s, change) {
  return h("span.muted", null, `${plural(s.samples, "sample")} in ${plural(s.groups, "group")}, mean reward ${fixed(s.reward_mean)}, `,
    h("button.text-button", { type: "button", onclick: () => change({ signal: "0" }), title: "Show only groups in which all rewards are equal" }, `${plural(s.no_signal, "group")} without signal`), `, ${number(s.truncated)} truncated`);
}

// controls are the filters. change is called with what the person changed; set shows a query.
// sets are the evaluations to choose from, where more than one step is shown.
function controls(query, change, sets) {
  const number = (key, label) => h("label.field", null, label, h("input.short", { type: "number", step: "any", name: key, value: query[key] }));
  const choice = (key, label, options) => h("label.field", null, label, h("select", { name: key }, options.map(([value, text]) => h("option", { value }, text))));
  const search = h("input", { type: "search", "data-search": "", placeholder: "Search prompts and answers", "aria-label": "Search prompts and answers", value: query.q || query.regex });
  const regex = h("input", { type: "checkbox", name: "is-regex" });
  const element = h("form.card.filters", { "aria-label": "Filters", onsubmit: (e) => e.preventDefault() },
    h("div.row", null, h("span.grow", null, search), h("label.field", null, regex, "Regular expression")),
    h("details", { open: innerWidth > 720 }, h("summary", null, "Filters"), h("div.row", null, h("label.field", null, "Task", h("input.short", { name: "task", value: query.task })), number("repeat", "Repeat"), choice("stop", "Stop", [["", "any"], ["stop", "stop"], ["length", "length"]]),
      choice("signal", "Signal", [["", "any"], ["1", "with"], ["0", "without"]]),
      sets.length ? choice("set", "Samples of", [["", "training"], ...sets.map((s) => [s, `evaluation ${s}`]), ["*", "both"]]) : null),
    h("div.row", null, number("reward_min", "Reward from"), number("reward_max", "to"),
      h("button", { type: "button", onclick: () => change({ task: "", repeat: "", reward_min: "", reward_max: "", reward_open: "", stop: "", signal: "", q: "", regex: "" }) }, "Clear filters"))));
  const searched = () => change(regex.checked ? { regex: search.value, q: "" } : { q: search.value, regex: "" });
  search.addEventListener("input", settle(searched, 250));
  regex.addEventListener("change", searched);
  element.addEventListener("change", (e) => { if (e.target.name && e.target.name !== "is-regex") change({ [e.target.name]: e.target.value, ...(e.target.name === "reward_max" ? { reward_open: "" } : {}) }); });
  const set = (q) => {
    for (const field of element.elements) if (field.name && field.name in q && field !== document.activeElement) field.value = q[field.name] ?? "";
    if (search !== document.activeElement) search.value = q.q || q.regex || "";
    if (q.regex) regex.checked = true;
  };
  set(query);
  return { element, set };
}

function pattern({ q, regex }) {
  if (!q && !regex) return null;
  try { return new RegExp(regex || q.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "g" + (regex ? "" : "i")); } catch { return null; }
}

function columns(run, step, search) {
  const sample = (r, text, label) => h("a", { href: link(["run", run, "sample", r.id]), "aria-label": label }, text);
  return [
    { label: "Reward", n: true, sort: "reward", cell: (r) => sample(r, h("b", null, fixed(r.reward)), `Sample ${r.repeat} of ${r.task_name || r.task}, step ${r.step}: reward ${fixed(r.reward)}`) },
    ...(step === null ? [{ label: "Step", n: true, sort: "step", wide: true, cell: (r) => r.set ? `${r.step} ${r.set}` : String(r.step) }] : []),
    { label: "Task", sort: "task", cell: (r) => [h("a", { href: link(["run", run, "group", r.step, r.task], { set: r.set }), title: "All samples of this task in this step" }, visible(String(r.task_name || r.task))), h("span.muted", null, ` #${r.repeat}`)] },
    { label: "Answer", cut: true, cell: (r) => h("a.answer", { href: link(["run", run, "sample", r.id]), tabindex: -1, dir: "auto" }, head(r.head, search())) },
    { label: "Advantage", n: true, sort: "advantage", cell: (r) => r.signal ? signed(r.advantage) : h("span.badge", { title: "All samples of the group have this reward: nothing is learned from it" }, "no signal") },
    { label: "Tokens", n: true, wide: true, sort: "length", cell: (r) => number(r.response_tokens) },
    { label: "Stop", wide: true, cell: (r) => r.stop === "length" ? h("span.badge.warn", null, "length") : r.stop || "–" },
    { label: "Entropy", n: true, wide: true, sort: "entropy", cell: (r) => fixed(r.entropy) },
    { label: "Parts", wide: true, cell: (r) => Object.entries(r.parts ?? {}).map(([k, v]) => h("span.part", { title: k }, `${k} `, h("b.num", null, number(v)))) },
    { label: "Turns", n: true, wide: true, sort: "turns", cell: (r) => number(r.turns) },
    { label: "Tools", n: true, wide: true, sort: "tool_calls", cell: (r) => number(r.tool_calls) },
    { label: "Version", n: true, wide: true, sort: "version", cell: (r) => number(r.version) },
  ];
}

function head(text, pattern) {
  if (!pattern) return visible(text ?? "");
  const m = [...(text ?? "").matchAll(pattern)].find((x) => x[0]);
  return m ? [visible(text.slice(0, m.index)), h("mark", null, visible(m[0])), visible(text.slice(m.index + m[0].length))] : visible(text ?? "");
}
