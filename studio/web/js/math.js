// Mathematics by KaTeX, which is loaded when the first formula appears. What it makes is checked before it is shown.
import { h } from "./dom.js";

let ready = null;

function load() {
  ready ??= (async () => {
    document.head.append(h("link", { rel: "stylesheet", href: "npm/katex/katex.min.css" }));
    await import("../npm/katex/katex.min.js"); // an older module format: it sets self.katex
    return self.katex;
  })();
  return ready;
}

const options = { trust: false, strict: "ignore", throwOnError: true, maxSize: 8, maxExpand: 300, output: "htmlAndMathml" };
const longest = 5000;

// mathematics is an element that shows source at once and the set formula as soon as it can. What cannot be set stays source.
export function mathematics(tex, source, display) {
  const element = h(display ? "span.math.display" : "span.math", null, source);
  if (tex.length > longest) return element;
  load().then((katex) => {
    const box = document.createElement("span");
    katex.render(tex, box, { ...options, displayMode: display });
    if (harmless(box)) {
      element.replaceChildren(...box.childNodes);
      element.title = source;
    }
  }).catch(() => { element.classList.add("unset"); });
  return element;
}

const elements = new Set(["span", "svg", "path", "line", "math", "semantics", "annotation", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt",
  "mroot", "mtable", "mtr", "mtd", "mlabeledtr", "mover", "munder", "munderover", "mpadded", "mphantom", "menclose", "mstyle"]);

// harmless reports that there are only elements that show something, without addresses and handlers.
export function harmless(root) {
  for (const e of root.querySelectorAll("*")) {
    if (!elements.has(e.localName)) return false;
    for (const a of e.attributes) {
      if (/^on|href$|^src|^action|^formaction|^id$/i.test(a.name)) return false;
      if (a.name === "style" && /url|expression|position\s*:\s*fixed/i.test(a.value)) return false;
    }
  }
  return true;
}
