// A histogram whose bars filter. Bars are buttons, so that the keyboard and screen readers have them too.
import { h } from "./dom.js";
import { number } from "./format.js";

// histogram draws edges (one more than counts). range is what is chosen now, as texts; choose is called with the new one and whether its upper end is left out, or with "" to choose all.
export function histogram({ edges, counts }, [from, to], choose) {
  if (!counts?.length) return h("p.empty", null, "No rewards.");
  const most = Math.max(...counts);
  const chosen = (i) => from !== "" && to !== "" && Number(from) <= edges[i] + 1e-12 && Number(to) >= edges[i + 1] - 1e-12;
  const bars = counts.map((n, i) => {
    const text = `${number(edges[i], 3)} to ${number(edges[i + 1], 3)}: ${n}`;
    const fill = h("i");
    fill.style.height = `${n ? Math.max(3, (100 * n) / most) : 0}%`;
    return h("button.hist-bar", { type: "button", title: text, "aria-label": `Reward ${text} samples`, "aria-pressed": String(chosen(i)), disabled: n === 0,
      onclick: () => chosen(i) ? choose("", "", false) : choose(String(edges[i]), String(edges[i + 1]), i < counts.length - 1) }, h("span.hist-count", { "aria-hidden": "true" }, n ? number(n) : ""), fill);
  });
  const any = from !== "" || to !== "";
  return h("div.hist", null, h("div.hist-bars", { class: any ? "picked" : "", role: "group", "aria-label": "Reward histogram" }, bars),
    h("div.hist-axis.num", { "aria-hidden": "true" }, h("span", null, number(edges[0], 3)), h("span", null, number((edges[0] + edges[edges.length - 1]) / 2, 3)), h("span", null, number(edges[edges.length - 1], 3))));
}
