// The tokens of a sample: a coloured strip, an overview of all positions, and an inspector of one token.
import { h, put, later } from "./dom.js";
import { get } from "./api.js";
import { keep } from "./router.js";
import { measures, legend } from "./colour.js";
import { Strip, hex } from "./strip.js";
import { Overview } from "./overview.js";
import { number, plural } from "./format.js";
import { visible } from "./text.js";
import { options } from "./checkpoint.js";

export async function show({ run, sample, root, query, signal }) {
  const tokens = sample.tokens ?? [], count = sample.token_count ?? tokens.length;
  if (!count) return void put(root, h("p.empty", null, "This record has no tokens."));
  const inspector = h("aside.card.inspector", { "aria-live": "polite", "aria-label": "Token" });
  const key = h("div"), problem = h("p", { role: "alert" });
  const overview = new Overview((i) => strip.select(i));
  const redraw = later(() => overview.draw(strip.tokens, strip.measure, strip.most), 60);
  const strip = new Strip({ tokens, count, signal, loaded: redraw,
    load: async (from, n) => (await get(["runs", run.id, "samples", sample.id], { from, count: n }, signal)).tokens,
    pick: (i, t) => { put(inspector, inspect(i, t, count)); overview.at(i); keep({ at: i }); } });

  const has = (m) => tokens.some((t) => measures[m].value(t) != null);
  const select = h("select", { "aria-label": "Colour tokens by", onchange: () => paint(select.value) }, Object.entries(measures).map(([m, { label }]) =>
    h("option", { value: m, disabled: m !== "change" && !has(m) }, m !== "change" && !has(m) ? `${label} (not recorded)` : label)));
  const versions = h("select", { "aria-label": "Version to compare with", hidden: true, onchange: () => score() });
  const white = h("input", { type: "checkbox", onchange: () => strip.paint(strip.measure, white.checked) });
  function paint(m) {
    select.value = m;
    versions.hidden = m !== "change";
    strip.paint(m);
    put(key, legend(m));
    keep({ by: m === "logprob" ? null : m });
    redraw();
    if (m === "change") score();
  }
  async function score() {
    if (!versions.value) return;
    put(problem, "The engine computes the logprobs of this version…");
    try {
      const { logprobs, alternatives } = await get(["runs", run.id, "samples", sample.id, "score"], { checkpoint: versions.value }, signal);
      await strip.need(0, Math.min(count, 100000));
      logprobs.forEach((l, i) => {
        const t = strip.tokens[i];
        if (!t) return;
        t.change = l === null || t.logprob == null ? null : t.logprob - l;
        if (alternatives?.[i]) Object.assign(t, { alternatives: alternatives[i], under: versions.selectedOptions[0].textContent });
      });
      put(problem);
      strip.paint("change");
      redraw();
      if (strip.current >= 0) strip.select(strip.current, false);
    } catch (error) { if (!signal.aborted) put(problem, h("span.note.bad", null, error.message)); }
  }
  get(["runs", run.id, "checkpoints"], {}, signal).then((c) => {
    put(versions, options(c.checkpoints));
    versions.value = c.checkpoints.some((x) => x.name === "base") ? "base" : versions.value; // what training changed
    const option = select.querySelector("[value=change]");
    if (!c.score || !c.checkpoints.length) { option.disabled = true; option.textContent = `${measures.change.label} (${c.checkpoints.length ? "not here" : "no checkpoint"})`; }
    else if (query.get("by") === "change") paint("change");
  }).catch(() => {});

  const trained = tokens.filter((t) => t.mask === 1).length;
  put(root, sample.decoded === false ? h("p.note", null, "The tokenizer of the model is not here, so tokens are shown by their ids.") : null,
    h("div.row", null, h("label.field", null, "Colour by", select), versions, h("label.field", null, white, "Show white space"),
    h("span.muted.small", null, `${plural(count, "token")}${count === tokens.length ? `, ${number(trained)} trained on` : ""}; dimmed ones are not trained on`)), key, problem,
  overview.element, h("div.token-view", null, strip.element, inspector));
  put(inspector, h("p.muted", null, "Point at a token, or move with the arrow keys, to see its id, bytes, logprob and alternatives. n finds the next unlikely token."));
  const by = query.get("by");
  paint(by in measures && by !== "change" ? by : has("logprob") || !has("entropy") ? "logprob" : "entropy");
  if (query.get("at")) strip.select(Number(query.get("at")));
  strip.need(0, Math.min(count, 200000)).catch(() => {});
}

function inspect(i, t, count) {
  const line = (name, value) => h("div", null, h("dt", null, name), h("dd", null, value));
  const bytes = t.bytes ? hex(atob(t.bytes)) : [...new TextEncoder().encode(t.text)].map((b) => b.toString(16).padStart(2, "0")).join(" ");
  const values = Object.entries(measures).map(([m, { label, value, text }]) => {
    const v = value(t);
    return v === null || v === undefined ? null : line(label, text(v));
  });
  return [
    h("p.token-text", null, h("code", null, t.text ? visible(t.text, true) : t.bytes ? hex(atob(t.bytes)) : `#${t.id}`), t.special ? h("span.badge", null, "special") : null),
    h("dl.pairs.num", null, line("Position", `${number(i)} of ${number(count)}`), line("Id", String(t.id)), line("Bytes", h("code", null, bytes)), values,
      t.reference != null ? line("Reference's logprob", number(t.reference)) : null, line("Trained on", t.mask === 0 ? "no" : "yes")),
    t.alternatives?.length ? [h("h3", null, t.under ? `Alternatives, ${t.under}` : "Alternatives"), h("table.alternatives", null, h("thead", { class: "unseen" }, h("tr", null, h("th", null, "token"), h("th", null, "probability"))),
      h("tbody", null, t.alternatives.map((a) => h("tr", null, h("td", null, h("code", null, visible(a.text, true))), h("td.n", null, number(Math.exp(a.logprob), 3))))))] : null,
  ];
}
