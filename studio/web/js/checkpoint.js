// The checkpoints of a run, by names that a person knows.
import { h } from "./dom.js";

// options are for a select: "step 50", and "before training" for the model that the run began with. Of several of one step the first counts.
export function options(checkpoints) {
  const steps = new Set();
  const list = [...checkpoints].sort((a, b) => b.step - a.step).filter((c) => c.name === "base" || !steps.has(c.step) && steps.add(c.step));
  return list.map((c) => h("option", { value: c.name, title: c.name }, c.name === "base" ? "before training" : `step ${c.step}`));
}
