// The keyboard. A view adds keys for as long as it is shown; ? lists them all.
import { h, put } from "./dom.js";

const layers = []; // the last one wins

// keys adds bindings [key, what it does, function] until signal ends.
export function keys(bindings, signal) {
  layers.push(bindings);
  signal?.addEventListener("abort", () => layers.splice(layers.indexOf(bindings), 1));
}

function typing(target) {
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
    (target.tagName === "INPUT" && !/^(checkbox|radio|range|button)$/.test(target.type));
}

export function startKeys() {
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
    if (typing(e.target)) {
      if (e.key === "Escape") { // the field keeps its text: Chromium would empty a search field
        e.preventDefault();
        e.target.blur();
      }
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (e.key === "Enter" && e.target.closest("a, button, summary, input")) return; // it does what it is for
    for (const bindings of [...layers].reverse()) {
      const found = bindings.find(([key]) => key === e.key);
      if (found) {
        e.preventDefault();
        found[2](e);
        return;
      }
    }
  });
}

// help shows every key that works now.
export function help() {
  const seen = new Set();
  const rows = [...layers].reverse().flat().filter(([key]) => !seen.has(key) && seen.add(key));
  const close = h("button", { type: "button", onclick: () => dialog.close() }, "Close");
  const dialog = h("dialog", { "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl.keys", null, rows.map(([key, what]) => [h("dt", null, h("kbd", null, shown(key))), h("dd", null, what)])),
    put(h("p"), close));
  document.body.append(dialog);
  dialog.showModal();
}

function shown(key) {
  return { Escape: "esc", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Enter: "enter" }[key] ?? key;
}
