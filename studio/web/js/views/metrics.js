// The curves of a run, with other runs over them. Charts load when they come into sight.
import { h, put, later, settle } from "../dom.js";
import { get } from "../api.js";
import { link, keep, go } from "../router.js";
import { Chart } from "../chart.js";
import { band } from "../series.js";
import { plural } from "../format.js";

// first are the metrics a person looks at first, by whatever name the run's kind gives them.
const first = [/^actor\/nll$|^train_mean_nll$|^train\/nll$/, /^critic\/rewards\/mean$|^env\/all\/reward\/total$|^reward(\/mean)?$|^rollout\/reward\/mean$/, /^eval.*(accuracy|score|reward).*mean|^test\/.*reward/,
  /^response_length\/mean$|ac_tokens_per_turn$/, /^sampler\/token_entropy$|^actor\/entropy$|^optim\/entropy$/, /^grad_norm$|^actor\/grad_norm$/, /kl_sample_train_v1$/,
  /clipfrac$|^(?!prompt_length).*clip_ratio$/, /sampled_tokens_per_second$/, /^time\/step$|^time\/total$/];

export async function tab(view, run, body) {
  const loader = new Loader(view);
  const q = view.query;
  const runs = await withOthers(view, run, q.getAll("with"));
  const state = { smooth: Number(q.get("smooth") ?? 0), log: q.get("log") === "1", axis: q.get("x") ?? "step", seeds: q.get("seeds") === "1", find: q.get("find") ?? "",
    zoom: q.get("from") ? [Number(q.get("from")), Number(q.get("to"))] : null };
  const cards = new Map(), sections = h("div.sections");

  const observer = new IntersectionObserver((entries) => {
    for (const e of entries) if (e.isIntersecting) { observer.unobserve(e.target); fill(cards.get(e.target.dataset.name)); }
  }, { rootMargin: "300px" });
  view.signal.addEventListener("abort", () => observer.disconnect());

  async function fill(card) {
    card.loaded = true;
    try {
      const all = await Promise.all(runs.map((r) => loader.series(r.id, card.name)));
      card.data = all;
      paint(card);
    } catch (error) { if (!view.signal.aborted) put(card.chart.plot, h("p.note.bad", null, error.message)); }
  }
  function paint(card) {
    const lines = runs.map((r, i) => ({ ...card.data[i], colour: i, seed: r.seed })).filter((l) => l.value);
    const seeds = lines.filter((l) => l.seed);
    const shown = state.seeds && seeds.length > 1 ? [{ ...band(seeds), colour: 0 }, ...lines.filter((l) => !l.seed)] : lines;
    card.chart.show(shown, state);
  }
  const repaint = () => { for (const c of cards.values()) if (c.data) paint(c); };
  function card(name) {
    const chart = new Chart(name, { signal: view.signal, open: (step) => go(link(["run", run.id, "step", step])), zoomed: (z) => { state.zoom = z; keep({ from: z?.[0], to: z?.[1] }); } });
    const made = { name, chart };
    cards.set(name, made);
    chart.element.dataset.name = name;
    observer.observe(chart.element);
    return chart.element;
  }
  function draw() {
    for (const c of cards.values()) c.chart.remove();
    cards.clear();
    put(sections, groups(run.metrics ?? [], state.find).map(([title, names, open]) => section(title, names, open, card)));
    if (!sections.childElementCount) put(sections, h("p.empty", null, run.metrics?.length ? "No metric has this name." : "This run has no metrics yet."));
  }

  put(body, toolbar(view, run, runs, state, { repaint, draw }), sections);
  draw();
  const fresh = later(() => { loader.forget(); for (const c of cards.values()) if (c.loaded) fill(c); }, 900);
  view.listen((e) => { if (e.type === "run" && runs.some((r) => r.id === e.run)) fresh(); });
}

async function withOthers(view, run, ids) {
  const others = await Promise.all(ids.filter((id) => id !== run.id).map((id) => get(["runs", id], {}, view.signal)));
  const seeds = new Set([run.id, ...(run.siblings ?? [])]);
  return [run, ...others].map((r) => ({ ...r, seed: seeds.has(r.id) }));
}

// groups are sections of metric names: those to look at first, then by group. A search shows only what it finds, all open.
export function groups(metrics, find) {
  const names = metrics.map((m) => m.name);
  if (find) {
    const found = names.filter((n) => find.toLowerCase().split(/\s+/).every((w) => n.toLowerCase().includes(w)));
    return found.length ? [[plural(found.length, "metric"), found, true]] : [];
  }
  const top = first.flatMap((pattern) => names.find((n) => pattern.test(n)) ?? []);
  const by = new Map();
  for (const m of metrics) by.set(m.group || "other", [...(by.get(m.group || "other") ?? []), m.name]);
  return [...(top.length ? [["Overview", top, true]] : []), ...[...by].map(([g, list]) => [g, list, !top.length])];
}

function section(title, names, open, card) {
  const grid = h("div.charts");
  const details = h("details", { open, ontoggle: () => { if (details.open && !grid.childElementCount) put(grid, names.map(card)); } },
    h("summary", null, h("h2", null, title), h("span.muted.small", null, plural(names.length, "chart"))), grid);
  if (open) put(grid, names.map(card));
  return details;
}

function toolbar(view, run, runs, state, { repaint, draw }) {
  const missing = (run.siblings ?? []).filter((id) => !runs.some((r) => r.id === id));
  const check = (key, label, title) => h("label.field", { title }, h("input", { type: "checkbox", checked: state[key], onchange: (e) => {
    state[key] = e.target.checked;
    keep({ [key]: state[key] });
    if (key === "seeds" && state.seeds && missing.length) go(withRuns(run.id, [...runs.slice(1).map((r) => r.id), ...missing], { seeds: 1 }));
    else repaint();
  } }), label);
  const find = h("input", { type: "search", "data-search": "", placeholder: "Find metrics", "aria-label": "Find metrics", value: state.find });
  find.addEventListener("input", settle(() => { state.find = find.value.trim(); keep({ find: state.find }); draw(); }, 150));
  const smooth = h("input", { type: "range", min: 0, max: 0.99, step: 0.01, value: state.smooth, "aria-label": "Smoothing", oninput: () => {
    state.smooth = Number(smooth.value);
    out.textContent = smooth.value;
    keep({ smooth: state.smooth || null });
    repaint();
  } });
  const out = h("span.num", null, String(state.smooth));
  const axis = h("select", { "aria-label": "Horizontal axis", onchange: () => { state.axis = axis.value; state.zoom = null; keep({ x: axis.value === "step" ? null : axis.value, from: null, to: null }); repaint(); } },
    h("option", { value: "step" }, "Step"), h("option", { value: "time" }, "Wall time"));
  axis.value = state.axis;
  return h("div.toolbar", null,
    h("div.row", null, h("span.grow", null, find), h("label.field", null, "Smoothing", smooth, out), h("label.field", null, "Axis", axis), check("log", "Log scale"),
      run.siblings?.length ? check("seeds", "Band over seeds", "Mean, lowest and highest of the runs that differ only in their seed") : null, overlay(view, run, runs)),
    runs.length > 1 ? runLegend(run, runs) : null,
    h("p.muted.small", null, "Click a point to open its step. Drag to zoom, double click to see all."));
}

// overlay adds a run over this one.
function overlay(view, run, runs) {
  const select = h("select", { "aria-label": "Add a run to the charts" }, h("option", { value: "" }, "Add a run…"));
  const add = (ids) => go(withRuns(run.id, [...runs.slice(1).map((r) => r.id), ...ids]));
  get(["runs"], {}, view.signal).then(({ runs: all }) => {
    const missing = (run.siblings ?? []).filter((id) => !runs.some((r) => r.id === id));
    if (missing.length) select.append(h("option", { value: "*" }, "All other seeds"));
    select.append(...all.filter((r) => !runs.some((x) => x.id === r.id)).map((r) => h("option", { value: r.id }, [r.project, r.name].filter(Boolean).join("/"))));
    select.onchange = () => add(select.value === "*" ? missing : [select.value]);
  }).catch(() => {});
  return select;
}

const withRuns = (id, others, more = {}) => link(["run", id, "metrics"], { with: others, ...more });

export function runLegend(run, runs) {
  return h("ul.legend", null, runs.map((r, i) => h("li", null, h("span", { class: `dash dash${i % 6}`, "aria-hidden": "true" }), [r.project, r.name].filter(Boolean).join("/"),
    run && i ? [" ", h("a", { href: withRuns(run.id, runs.slice(1).filter((x) => x !== r).map((x) => x.id)) , "aria-label": `Remove ${r.name}` }, "remove")] : null)),
    run ? h("li", null, h("a", { href: link(["compare"], { run: runs.map((r) => r.id) }) }, "Compare configurations and answers")) : null);
}

// Loader asks for all series of a run that are wanted within a moment in one request.
export class Loader {
  constructor(view) { Object.assign(this, { view, waiting: new Map(), kept: new Map() }); }

  forget() { this.kept.clear(); }

  series(run, name) {
    const key = run + "\n" + name;
    if (!this.kept.has(key)) this.kept.set(key, this.ask(run, name));
    return this.kept.get(key);
  }

  ask(run, name) {
    return new Promise((resolve, reject) => {
      if (!this.waiting.has(run)) {
        this.waiting.set(run, []);
        setTimeout(() => this.flush(run), 15);
      }
      this.waiting.get(run).push({ name, resolve, reject });
    });
  }

  async flush(run) {
    const wanted = this.waiting.get(run);
    this.waiting.delete(run);
    try {
      const { series } = await get(["runs", run, "metrics"], { name: wanted.map((w) => w.name), points: 1000 }, this.view.signal);
      for (const w of wanted) w.resolve(series[w.name] ?? {});
    } catch (error) { for (const w of wanted) w.reject(error); }
  }
}
