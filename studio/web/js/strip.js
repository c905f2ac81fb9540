// A strip of tokens, coloured by a measure. Only the blocks in sight hold tokens, so that 100,000 of them stay fluid.
import { h, put } from "./dom.js";
import { measures } from "./colour.js";
import { visible } from "./text.js";

const block = 256; // tokens in one block
const page = 4000; // tokens in one request

export class Strip {
  // tokens are those known, of count in all; load(from, n) fetches more; pick(i, token) is called for the token under the pointer or the keyboard.
  constructor({ tokens, count, load, pick, loaded, signal }) {
    Object.assign(this, { tokens: [...tokens], count, load, pick, loaded, measure: "logprob", all: false, current: -1, most: 0, pages: new Map() });
    this.tokens.length = count;
    this.element = h("div.strip", { tabindex: 0, role: "group", "aria-roledescription": "tokens", "aria-label": `${count} tokens. Arrow keys move, n finds the next unlikely token.`,
      onkeydown: (e) => this.key(e), onpointerover: (e) => this.point(e), onclick: (e) => this.point(e, true) });
    this.observer = new IntersectionObserver((entries) => {
      for (const e of entries) e.isIntersecting ? this.render(e.target) : this.clear(e.target);
    }, { root: this.element, rootMargin: "600px 0px" });
    this.blocks = [];
    for (let at = 0; at < count; at += block) {
      const element = h("div.block", { "data-at": at });
      element.style.minHeight = `${Math.ceil(Math.min(block, count - at) / 18) * 26}px`;
      this.blocks.push(element);
      this.observer.observe(element);
    }
    put(this.element, this.blocks);
    signal.addEventListener("abort", () => this.observer.disconnect());
  }

  // paint colours anew.
  paint(measure, all = this.all) {
    Object.assign(this, { measure, all });
    this.most = 0;
    for (const t of this.tokens) if (t) this.most = Math.max(this.most, Math.abs(measures[measure].value(t) ?? 0));
    for (const b of this.blocks) if (b.dataset.full) this.render(b, true);
  }

  async render(element, again = false) {
    if (element.dataset.full && !again) return;
    const at = Number(element.dataset.at), end = Math.min(this.count, at + block);
    element.dataset.full = "1";
    if (!this.tokens[at] || !this.tokens[end - 1]) {
      try { await this.need(at, end); } catch { element.dataset.full = ""; return; }
    }
    const spans = [];
    for (let i = at; i < end; i++) spans.push(this.span(i));
    put(element, h("span.at", { "aria-hidden": "true" }, String(at)), spans);
    element.style.minHeight = "";
  }

  clear(element) {
    if (!element.dataset.full || !element.childElementCount) return;
    element.style.minHeight = `${element.offsetHeight}px`;
    element.dataset.full = "";
    put(element);
  }

  // need loads the pages that hold tokens from to end.
  need(from, end) {
    const wanted = [];
    for (let p = Math.floor(from / page); p * page < end; p++) {
      if (!this.pages.has(p)) {
        if (this.tokens[p * page] && this.tokens[Math.min(this.count, (p + 1) * page) - 1]) continue;
        this.pages.set(p, this.load(p * page, page).then((tokens) => {
          tokens.forEach((t, i) => { this.tokens[p * page + i] = t; });
          this.loaded();
        }).catch((error) => { this.pages.delete(p); throw error; }));
      }
      wanted.push(this.pages.get(p));
    }
    return Promise.all(wanted);
  }

  span(i) {
    const t = this.tokens[i], m = measures[this.measure], v = m.value(t);
    const shade = v === null || v === undefined || (t.mask === 0 && this.measure === "advantage") ? "" : m.shade(v, this.most);
    const name = ["t", shade, t.special && "special", t.begins && "begins", t.mask === 0 && "masked", i === this.current && "current"].filter(Boolean).join(" ");
    return h("span", { class: name, "data-i": i }, shown(t, this.all));
  }

  find(i) { return this.blocks[Math.floor(i / block)]?.querySelector(`[data-i="${i}"]`); }

  point(e, click) {
    const i = e.target.closest?.("[data-i]")?.dataset.i;
    if (i !== undefined && (click || !this.pinned)) this.select(Number(i), false);
    if (click) this.pinned = i !== undefined;
  }

  // select makes a token the current one.
  async select(i, scroll = true) {
    if (i < 0 || i >= this.count) return;
    this.find(this.current)?.classList.remove("current");
    this.current = i;
    const element = this.blocks[Math.floor(i / block)];
    if (!this.find(i)) await this.render(element, true);
    const span = this.find(i);
    span?.classList.add("current");
    if (scroll) span?.scrollIntoView({ block: "nearest" });
    this.pick(i, this.tokens[i]);
  }

  key(e) {
    const i = Math.max(0, this.current);
    const by = { ArrowRight: () => i + (this.current < 0 ? 0 : 1), ArrowLeft: () => i - 1, Home: () => 0, End: () => this.count - 1, PageDown: () => Math.min(this.count - 1, i + 100), PageUp: () => Math.max(0, i - 100),
      ArrowDown: () => this.line(i, 1), ArrowUp: () => this.line(i, -1), n: () => this.unlikely(i) }[e.key];
    if (!by || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    this.pinned = true;
    this.select(by());
  }

  // unlikely is the next token after i that the model drew against the odds, from the start again at the end.
  unlikely(i) {
    for (let k = 1; k <= this.count; k++) {
      const j = (i + k) % this.count, t = this.tokens[j];
      if (t && t.logprob !== null && t.logprob !== undefined && t.logprob < -1) return j;
    }
    return i;
  }

  line(i, by) {
    const box = this.find(i)?.getBoundingClientRect();
    if (!box) return i + 12 * by;
    for (let k = 1; k < 400; k++) {
      const there = this.find(i + by * k)?.getBoundingClientRect();
      if (!there) return Math.max(0, Math.min(this.count - 1, i + 12 * by));
      if (by * (there.top - box.top) > 8 && (by > 0 ? there.right >= box.left : there.left <= box.left)) return i + by * k;
    }
    return i;
  }
}

// shown is what a token looks like: its text, its bytes where they are no text, and a sign for a line's end.
export function shown(t, all = false) {
  if (t.bytes && !t.text) return h("span.inv", null, hex(atob(t.bytes)));
  if (!t.text) return h("span.inv", null, `#${t.id}`); // the tokenizer is not here
  const nodes = visible(t.text, all);
  if (all || !t.text.includes("\n")) return nodes;
  return t.text.split("\n").flatMap((part, i) => (i ? [h("span.inv.ws", null, "↵"), "\n", ...visible(part)] : visible(part)));
}

export function hex(binary) {
  return [...binary].map((c) => c.charCodeAt(0).toString(16).padStart(2, "0")).join(" ");
}
