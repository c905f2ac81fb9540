// Colours of tokens. A value becomes one of nine shades by class; the shades are safe for colour-blind readers and have a legend.
import { h } from "./dom.js";
import { number, signed } from "./format.js";

// measures are the ways to colour tokens: what a token's value is, and its shade.
// One-sided shades are u0 (none) to u8 (strong, orange); two-sided ones are n4 (orange) … z … p4 (blue).
export const measures = {
  logprob: {
    label: "Logprob", value: (t) => t.logprob, shade: (v) => one(-v / 4), text: (v) => `${number(v)} (probability ${chance(v)})`,
    scale: ["certain (0)", "unlikely (−4 or less)"], about: "ln of the probability with which the sampler drew the token",
  },
  entropy: {
    label: "Entropy", value: (t) => t.entropy, shade: (v) => one(v / 2), text: (v) => `${number(v)} nats`,
    scale: ["no choice (0)", "open (2 nats or more)"], about: "uncertainty over all tokens at this place",
  },
  advantage: {
    label: "Advantage", value: (t) => t.advantage, shade: (v, most) => two(v / (most || 1)), text: (v) => signed(v, 4), both: true,
    scale: ["made less likely", "made more likely"], about: "what training pushes the token by",
  },
  ratio: {
    label: "Ratio to the reference", value: (t) => t.ratio ?? (t.reference != null && t.logprob != null ? Math.exp(t.logprob - t.reference) : null),
    shade: (v) => two(Math.log(v) / Math.log(2)), text: (v) => number(v), both: true,
    scale: ["half as likely", "twice as likely"], about: "probability of the token divided by the reference model's",
  },
  change: {
    label: "Change since a version", value: (t) => t.change, shade: (v) => two(v / 2), text: (v) => `${signed(v, 4)} nats`, both: true,
    scale: ["less likely now", "more likely now"], about: "logprob when it was sampled minus the chosen version's",
  },
};

function one(x) { return "u" + Math.round(8 * Math.max(0, Math.min(1, x))); }

function two(x) {
  const n = Math.round(4 * Math.max(-1, Math.min(1, x)));
  return n === 0 ? "z" : n < 0 ? "n" + -n : "p" + n;
}

function chance(v) {
  const p = Math.exp(v);
  return p > 0.9995 && v < 0 ? `1 − ${number(1 - p, 2)}` : number(p, 3);
}

// legend shows the shades of a measure with words at both ends.
export function legend(measure) {
  const m = measures[measure];
  const shades = m.both ? ["n4", "n3", "n2", "n1", "z", "p1", "p2", "p3", "p4"] : [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => "u" + i);
  return h("p.legend", null, h("span", null, m.scale[0]), h("span.shades", { "aria-hidden": "true" }, shades.map((c) => h("i", { class: c }))), h("span", null, m.scale[1]),
    h("span", null, `· ${m.about}`));
}
