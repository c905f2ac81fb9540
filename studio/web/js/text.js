// Texts of models and data sets: characters that cannot be seen are named, and mathematics is found.
import { h } from "./dom.js";
import { mathematics } from "./math.js";

// hidden characters change how a text is read without being seen: controls, directions, zero widths, tags, private use.
const hidden = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffd\ue000-\uf8ff]|[\u{e0000}-\u{e0fff}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/u;
const joined = /\u200d|\ufe0f/; // parts of an emoji: seen by what they do
const white = { " ": "·", "\t": "→", "\n": "↵", "\r": "␍" };
const names = {
  0: "NUL", 7: "BEL", 8: "BS", 27: "ESC", 127: "DEL", 0xad: "soft hyphen", 0x200b: "zero width space", 0x200c: "zero width non-joiner",
  0x200d: "zero width joiner", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding",
  0x202c: "end of embedding", 0x202d: "left-to-right override", 0x202e: "right-to-left override", 0x2060: "word joiner", 0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate", 0x2068: "first strong isolate", 0x2069: "end of isolate", 0xfeff: "byte order mark", 0xfffd: "replacement character",
};

const emoji = /\p{Extended_Pictographic}/u;

// visible gives the nodes of a text. Hidden characters are always named; all: white space is shown too.
export function visible(text, all = false) {
  const nodes = [];
  let plain = "";
  const flush = () => { if (plain) { nodes.push(plain); plain = ""; } };
  let before = "";
  for (const c of text) {
    if (joined.test(c) && (emoji.test(before) || /[#*0-9]/.test(before) && c === "\ufe0f")) { plain += c; continue; }
    if (hidden.test(c)) { flush(); nodes.push(named(c)); }
    else if (all && white[c]) { flush(); nodes.push(h("span.inv.ws", null, white[c]), c === "\n" ? "\n" : ""); }
    else plain += c;
    before = c;
  }
  flush();
  return nodes;
}

function named(c) {
  const code = c.codePointAt(0), hex = "U+" + code.toString(16).toUpperCase().padStart(4, "0");
  return h("span.inv", { title: names[code] ? `${hex} ${names[code]}` : hex }, names[code]?.length <= 4 ? names[code] : hex);
}

// formula finds $$…$$, \[…\], \(…\), \boxed{…} and $…$ that do not look like amounts of money.
const formula = /\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]|\\\(([\s\S]+?)\\\)|(\\boxed\{(?:[^{}]|\{[^{}]*\})*\})|\$(?![\s\d,.]*\$)((?:[^$\n\\]|\\.)*?[^\s\\$]|\d)\$(?!\d)/g;

// prose gives the nodes of a text with its mathematics set, where math is wanted.
export function prose(text, { all = false, math = true } = {}) {
  if (!math) return visible(text, all);
  const nodes = [];
  let at = 0;
  for (const m of text.matchAll(formula)) {
    const inline = m[5], body = m[1] ?? m[2] ?? m[3] ?? m[4] ?? inline;
    if (inline !== undefined && (/^\s/.test(inline) || !/[\\^_=+\-*/<>{}]|^[a-zA-Z]$/.test(inline))) continue;
    nodes.push(...visible(text.slice(at, m.index), all), mathematics(body, m[0], m[1] !== undefined || m[2] !== undefined));
    at = m.index + m[0].length;
  }
  nodes.push(...visible(text.slice(at), all));
  return nodes;
}

// common is the number of code units that all texts begin with alike; it never ends inside a character.
export function common(texts) {
  if (texts.length < 2) return texts[0]?.length ?? 0;
  let n = Math.min(...texts.map((t) => t.length));
  for (const t of texts) {
    let i = 0;
    while (i < n && t[i] === texts[0][i]) i++;
    n = i;
  }
  return /[\ud800-\udbff]/.test(texts[0][n - 1] ?? "") ? n - 1 : n;
}

// marked gives the nodes of a text with the places of a search marked.
export function marked(text, pattern) {
  if (!pattern) return visible(text);
  const nodes = [];
  let at = 0;
  for (const m of text.matchAll(pattern)) {
    if (!m[0]) continue;
    nodes.push(...visible(text.slice(at, m.index)), h("mark", null, visible(m[0])));
    at = m.index + m[0].length;
    if (nodes.length > 400) break;
  }
  nodes.push(...visible(text.slice(at)));
  return nodes;
}
