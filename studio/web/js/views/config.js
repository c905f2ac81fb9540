// The configuration of a run: each value with its origin.
import { h, put, settle } from "../dom.js";
import { get } from "../api.js";
import { link, keep, go } from "../router.js";
import { plain, plural } from "../format.js";

export async function tab(view, run, body) {
  const all = run.config ?? [];
  const find = h("input", { type: "search", "data-search": "", placeholder: "Find keys and values", "aria-label": "Find keys and values", value: view.query.get("find") ?? "" });
  const own = h("input", { type: "checkbox", checked: view.query.get("own") === "1" });
  const rows = h("tbody"), count = h("span.muted", { role: "status" });
  const draw = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = all.filter((c) => (!own.checked || !/^default/i.test(c.origin ?? "")) && words.every((w) => `${c.key} ${plain(c.value)} ${c.origin}`.toLowerCase().includes(w)));
    put(count, `${plural(shown.length, "key")} of ${all.length}`);
    put(rows, shown.map((c) => h("tr", null, h("th", { scope: "row" }, h("code", null, c.key)), h("td", null, h("code", null, plain(c.value))), h("td.muted", null, c.origin ?? ""))));
  };
  const against = h("select", { "aria-label": "Show the difference to a run", onchange: () => go(link(["compare"], { run: [run.id, against.value] })) }, h("option", { value: "" }, "Difference to…"));
  get(["runs"], {}, view.signal).then(({ runs }) => against.append(...runs.filter((r) => r.id !== run.id).map((r) => h("option", { value: r.id }, [r.project, r.name].filter(Boolean).join("/"))))).catch(() => {});
  find.addEventListener("input", settle(() => { keep({ find: find.value }); draw(); }, 120));
  own.addEventListener("change", () => { keep({ own: own.checked }); draw(); });
  put(body, h("div.row", null, h("span.grow", null, find), h("label.field", null, own, "Without defaults"), count, h("span.push", null, against)),
    all.length ? h("div.scroll", { tabindex: 0, role: "region", "aria-label": "Configuration" }, h("table.wrap", null, h("thead", null, h("tr", null, ["Key", "Value", "Origin"].map((t) => h("th", { scope: "col" }, t)))), rows))
      : h("p.empty", null, "The configuration of this run is not known."));
  draw();
}
