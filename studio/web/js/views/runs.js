// All runs: their state at a glance, with filter, order, tags, and a choice of runs to compare.
import { h, put, later, settle } from "../dom.js";
import { get, send } from "../api.js";
import { link, keep, go } from "../router.js";
import { Table } from "../table.js";
import { spark, meter, icon, kind } from "../spark.js";
import { number, fixed, bytes, seconds, ago, plural } from "../format.js";

const chosen = new Set(); // runs to compare, kept while the page lives

export async function show(view) {
  view.crumbs([]);
  const count = h("span.muted", { role: "status" });
  const compare = h("a.button", { href: link(["compare"]) });
  const filter = h("input", { type: "search", "data-search": "", placeholder: "Filter: name, model, state:running, tag:x", "aria-label": "Filter runs", value: view.query.get("q") ?? "" });
  const state = { runs: [], folders: [], q: filter.value, sort: view.query.get("sort") ?? "-updated" };
  const table = new Table({ columns: columns(choose, refresh), rows: [], label: "Runs", sort: state.sort, onsort: sort, empty: "No runs here." });
  const folders = h("p.muted.small");

  function choose(id, on) {
    on ? chosen.add(id) : chosen.delete(id);
    put(compare, chosen.size > 1 ? `Compare ${chosen.size} runs` : "Compare: choose two runs");
    compare.href = link(["compare"], { run: [...chosen] });
    compare.classList.toggle("off", chosen.size < 2);
  }
  function sort(by) {
    state.sort = by;
    keep({ sort: by });
    draw();
  }
  function draw(again = false) {
    const rows = order(state.runs.filter((r) => matches(r, state.q)), state.sort);
    const running = rows.filter((r) => r.state === "running").length;
    put(count, `${plural(rows.length, "run")}${running ? `, ${running} running` : ""}`);
    table.empty = state.runs.length ? "No run matches the filter." : `No runs below ${state.folders.join(", ")}. trinity run writes them below the configuration's checkpoint_root_dir.`;
    if (again) { table.rows = rows; table.draw(true); } else table.set(rows);
    put(folders, state.folders.length ? `Folders: ${state.folders.join(", ")}` : "");
  }
  async function refresh() {
    const answer = await get(["runs"], {}, view.signal);
    const again = state.runs.length > 0;
    Object.assign(state, { runs: answer.runs, folders: answer.folders ?? [] });
    draw(again);
  }

  filter.addEventListener("input", settle(() => { state.q = filter.value; keep({ q: filter.value }); draw(); }, 120));
  compare.addEventListener("click", (e) => { if (chosen.size < 2) e.preventDefault(); });
  view.keys([...table.keys(),
    ["x", "Choose the run for a comparison", () => table.body.querySelector(`tr[data-index="${table.at}"] input`)?.click()],
    ["c", "Compare the chosen runs", () => { if (chosen.size > 1) go(compare.getAttribute("href")); }]]);
  view.listen(later((e) => { if (e.type !== "step") refresh().catch(() => {}); }, 700));
  put(view.root, h("div.row", null, h("h1", null, "Runs"), count, h("span.push.grow.search", null, filter), compare), table.element, folders);
  choose();
  await refresh();
}

function columns(choose, refresh) {
  return [
    { label: h("span.unseen", null, "Compare"), cell: (r) => h("input", { type: "checkbox", checked: chosen.has(r.id), "aria-label": `Compare ${r.name}`, onchange: (e) => choose(r.id, e.target.checked) }), wide: true },
    { label: "Run", sort: "name", cell: (r) => [h("a", { href: link(["run", r.id]), title: r.path }, h("b", null, r.name)), " ", h("span.muted.small.wide", null, [r.project, r.group].filter(Boolean).join("/")),
      (r.tags ?? []).map((t) => [" ", h("span.badge.tag.wide", null, t)]), " ", tagButton(r, refresh)] },
    { label: "State", sort: "state", cell: (r) => stateBadge(r) },
    { label: "Reward", title: "or the loss, of a run without rewards", cell: (r) => r.loss?.length ? spark(r.loss, "loss") : spark(r.reward) },
    { label: "Evaluation", title: "before → after training", cell: (r) => r.evaluation ? h("span.num", { title: r.evaluation.name }, fixed(r.evaluation.before), r.evaluation.after == null ? "" : [" → ", h("b", null, fixed(r.evaluation.after))]) : "–", wide: true },
    { label: "Step", n: true, sort: "step", cell: (r) => [r.steps ? meter(r.step / r.steps) : null, " ", number(r.step), h("span.muted", null, r.steps ? ` / ${number(r.steps)}` : "")], wide: true },
    { label: "Tokens/s", n: true, sort: "tokens_per_second", cell: (r) => number(r.tokens_per_second === null ? null : Math.round(r.tokens_per_second)), wide: true },
    { label: "Time left", n: true, sort: "seconds_left", cell: (r) => r.state === "running" ? seconds(r.seconds_left) : "–", wide: true },
    { label: "Algorithm", sort: "algorithm", cell: (r) => r.algorithm || "–", wide: true },
    { label: "Model", sort: "model", cell: (r) => h("span.model", { title: r.model }, short(r.model)), wide: true },
    { label: "Disk", n: true, sort: "disk_bytes", cell: (r) => bytes(r.disk_bytes), wide: true },
    { label: "Changed", sort: "updated", cell: (r) => h("span.muted", { title: r.updated }, ago(r.updated)), wide: true },
  ];
}

export function stateBadge(run) {
  return h("span.badge", { class: kind(run.state), title: run.why }, h("span", { "aria-hidden": "true" }, icon(run.state)), run.state);
}

const short = (name) => (name ?? "–").split("/").slice(-2).join("/") || "–";

function tagButton(run, refresh) {
  return h("button.quiet.tags.wide", { type: "button", "aria-label": `Tags of ${run.name}`, title: "Change tags", onclick: () => editTags(run, refresh) }, "#");
}

function editTags(run, refresh) {
  const input = h("input", { value: (run.tags ?? []).join(", "), "aria-describedby": "tags-hint" });
  const problem = h("p", { role: "alert" });
  const save = async (e) => {
    e.preventDefault();
    try {
      await send("PUT", ["runs", run.id, "tags"], { tags: input.value.split(",").map((t) => t.trim()).filter(Boolean) });
      dialog.close();
      await refresh();
    } catch (error) { put(problem, error.message); }
  };
  const dialog = h("dialog", { "aria-label": `Tags of ${run.name}`, onclose: () => dialog.remove() },
    h("h2", null, `Tags of ${run.name}`),
    h("form", { onsubmit: save }, h("label.field", null, "Tags", input), h("p.muted.small", { id: "tags-hint" }, "Separate tags by commas. They are kept beside the runs, in .studio."), problem,
      h("p.row", null, h("button.main", null, "Save"), h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  document.body.append(dialog);
  dialog.showModal();
}

// matches reports that a run fits every word of a filter; state:x, tag:x, model:x, algorithm:x, kind:x and name:x look at one field.
export function matches(run, text) {
  return text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => {
    const [field, value] = /^(state|tag|model|algorithm|kind|name):./.test(word) ? word.split(/:(.*)/) : [null, word];
    const of = { tag: (run.tags ?? []).join(" "), state: run.state, model: run.model, algorithm: run.algorithm, kind: run.kind, name: run.name };
    const where = field ? of[field] : [run.name, run.project, run.group, ...Object.values(of)].join(" ");
    return (where ?? "").toLowerCase().includes(value);
  });
}

export function order(runs, sort) {
  const key = sort.replace(/^-/, ""), sign = sort.startsWith("-") ? -1 : 1;
  if (!key) return runs;
  return [...runs].sort((a, b) => {
    const [x, y] = [a[key], b[key]];
    if (x === null || x === undefined) return y === null || y === undefined ? 0 : 1;
    if (y === null || y === undefined) return -1;
    return sign * (typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y);
  });
}
