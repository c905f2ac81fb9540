// The frame around the views: address to view, the trail of links, theme and keys.
import { h, put, say } from "./dom.js";
import { here, link, go } from "./router.js";
import { keys, startKeys, help } from "./keys.js";
import { connect, listen } from "./live.js";

// views by the first matching rule: path pattern ("*" is any segment) and module.
const views = [
  [["runs"], "runs"],
  [["compare"], "compare"],
  [["task"], "task"],
  [["run", "*", "step", "*"], "step"],
  [["run", "*", "samples"], "step"],
  [["run", "*", "group", "*", "*"], "group"],
  [["run", "*", "sample", "*"], "sample"],
  [["run", "*"], "run"],
  [["run", "*", "*"], "run"],
];

const main = document.getElementById("main");
let leave = new AbortController();

function match(path) {
  return views.find(([pattern]) => pattern.length === path.length && pattern.every((p, i) => p === "*" || p === path[i]))?.[1];
}

async function show() {
  const { path, query } = here();
  if (!path.length) return void location.replace("#/runs");
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  const root = h("div.view");
  const context = {
    path, query, root, signal,
    keys: (bindings) => keys(bindings, signal),
    listen: (f) => listen(f, signal),
    crumbs: (trail) => crumbs(trail),
  };
  try {
    const name = match(path);
    if (!name) throw new Error(`there is no view at ${location.hash}`);
    const view = await import(`./views/${name}.js`);
    if (signal.aborted) return;
    await view.show(context);
    if (signal.aborted) return;
  } catch (error) {
    if (signal.aborted) return;
    put(root, h("h1", null, "This cannot be shown"), h("p.note.bad", { role: "alert" }, error.message),
      h("p", null, h("a", { href: "#/runs" }, "All runs")));
  }
  main.dataset.shown = path.map(encodeURIComponent).join("/"); // what is shown now, for those who wait for it
  if (root.parentNode === main) return;
  const moved = main.childElementCount > 0;
  put(main, root);
  if (moved) {
    scrollTo(0, 0);
    if (!main.contains(document.activeElement)) main.focus({ preventScroll: true });
  }
}

// crumbs shows the way from all runs to here: [text, address] pairs, the last without an address.
function crumbs(trail) {
  const all = [["Runs", "#/runs"], ...trail];
  put(document.getElementById("crumbs"), h("ol", null, all.map(([text, address], i) =>
    h("li", null, i === all.length - 1 ? h("span", { "aria-current": "page" }, text) : h("a", { href: address }, text)))));
  document.title = all.slice(1).map(([t]) => t).reverse().concat("trinity studio").join(" · ");
  say(all[all.length - 1][0]);
  main.dataset.up = all.length > 1 ? all[all.length - 2][1] ?? "" : "";
}

function themeButton() {
  const button = document.getElementById("theme");
  const name = () => { button.textContent = document.documentElement.dataset.theme === "dark" ? "Light" : "Dark"; };
  button.setAttribute("aria-label", "Change between the light and the dark theme");
  button.title = "Change between the light and the dark theme (t)";
  button.addEventListener("click", window.studioTheme);
  document.addEventListener("studio-theme", name);
  name();
}

keys([
  ["?", "Show the keys", help],
  ["Escape", "Go up one level", () => { if (main.dataset.up) go(main.dataset.up); }],
  ["t", "Light or dark", () => window.studioTheme()],
  ["/", "Search in this view", () => main.querySelector("[data-search]")?.focus()],
  ["g", "All runs", () => go(link(["runs"]))],
]);
startKeys();
document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); main.focus(); });
document.getElementById("help").addEventListener("click", help);
themeButton();
connect(document.getElementById("live"));
addEventListener("unhandledrejection", (e) => { if (e.reason?.name === "AbortError") e.preventDefault(); }); // a view was left
addEventListener("hashchange", show);
show();
