// A table that holds only the rows in sight, so that 100,000 rows scroll like ten. j and k move from row to row.
import { h, put, later } from "./dom.js";

const margin = 12; // rows kept above and below what is in sight

// Table shows rows: an array, or an object with length and get(i), which may be undefined while a row is on its way; want(from, to) asks for rows.
// A column is {label, title, cell(row, i), n (a number), cut, wide (left out on narrow screens), sort (the key of its order)}.
// The first link of a row is what opens it.
export class Table {
  constructor({ columns, rows, label, sort = null, onsort = null, tall = true, empty = "Nothing here." }) {
    Object.assign(this, { columns, rows, sort, onsort, empty });
    this.height = 35;
    this.at = -1;
    this.head = h("tr", { "aria-rowindex": 1 });
    this.body = h("tbody");
    this.table = h("table", { "aria-label": label }, h("thead", null, this.head), this.body);
    this.element = h(tall ? "div.scroll.tall" : "div.scroll", null, this.table);
    this.element.addEventListener("scroll", later(() => this.draw(), 30), { passive: true });
    this.body.addEventListener("focusin", (e) => {
      const index = e.target.closest("tr")?.dataset.index;
      if (index !== undefined) this.at = Number(index);
    });
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.heads();
    this.draw(true);
  }

  heads() {
    put(this.head, this.columns.map((c) => {
      const mine = c.sort && this.sort?.replace(/^-/, "") === c.sort;
      const down = mine && this.sort.startsWith("-");
      const text = mine ? `${c.label} ${down ? "↓" : "↑"}` : c.label;
      return h("th", { scope: "col", class: classes(c), title: c.title, "aria-sort": mine ? (down ? "descending" : "ascending") : null },
        c.sort && this.onsort ? h("button", { type: "button", onclick: () => this.order(c, mine, down) }, text) : text);
    }));
  }

  order(column, mine, down) {
    const first = column.n ? "-" : ""; // numbers begin with the largest
    this.sort = mine ? (down ? "" : "-") + column.sort : first + column.sort;
    this.heads();
    this.onsort(this.sort);
    this.head.children[this.columns.indexOf(column)].firstChild.focus?.();
  }

  // set shows other rows from the top.
  set(rows) {
    this.rows = rows;
    this.at = -1;
    this.element.scrollTop = 0;
    this.draw(true);
  }

  // draw makes the rows in sight. again makes those anew that are there already, because their contents changed.
  draw(again = false) {
    const n = this.rows.length;
    this.table.setAttribute("aria-rowcount", n + 1);
    if (!n) {
      this.from = this.to = 0;
      put(this.body, h("tr.spacer", null, h("td", { colspan: this.columns.length }, h("p.empty", null, this.empty))));
      return;
    }
    const top = Math.floor(this.element.scrollTop / this.height), sight = Math.ceil((this.element.clientHeight || 700) / this.height);
    const from = Math.max(0, top - margin), to = Math.min(n, top + sight + margin);
    if (!again && from === this.from && to === this.to) return;
    this.rows.want?.(from, to);
    const focus = this.body.contains(document.activeElement) ? this.at : -1;
    const before = new Map([...this.body.children].map((tr) => [Number(tr.dataset.index), tr]));
    const rows = [];
    for (let i = from; i < to; i++) rows.push((!again && before.get(i)?.dataset.full && before.get(i)) || this.row(i));
    put(this.body, this.space(from), rows, this.space(n - to));
    [this.from, this.to] = [from, to];
    this.steady(rows[0]);
    if (focus >= from && focus < to) rows[focus - from].querySelector("a,button")?.focus({ preventScroll: true });
  }

  row(i) {
    const row = this.rows.get ? this.rows.get(i) : this.rows[i];
    return h("tr", { "aria-rowindex": i + 2, "data-index": i, "data-full": row ? "1" : null },
      this.columns.map((c) => h("td", { class: classes(c) }, row ? c.cell(row, i) : "…")));
  }

  space(rows) {
    if (!rows) return null;
    const cell = h("td", { colspan: this.columns.length });
    cell.style.height = `${rows * this.height}px`;
    return h("tr.spacer", { "aria-hidden": "true" }, cell);
  }

  // steady measures rows, and keeps columns from becoming narrower while one scrolls.
  steady(row) {
    if (!row?.offsetHeight) return;
    this.height = row.offsetHeight;
    const width = this.element.clientWidth;
    for (const th of this.head.children) {
      if (width !== this.width) th.style.minWidth = "";
      else th.style.minWidth = `${th.offsetWidth}px`;
    }
    this.width = width;
  }

  // step moves the focus by some rows.
  step(by) {
    if (!this.rows.length) return;
    this.at = Math.max(0, Math.min(this.rows.length - 1, this.at + by));
    const y = this.at * this.height, sight = this.element.clientHeight - this.head.offsetHeight - this.height;
    if (y < this.element.scrollTop) this.element.scrollTop = y;
    if (y > this.element.scrollTop + sight) this.element.scrollTop = y - sight;
    this.draw();
    const tr = this.body.querySelector(`tr[data-index="${this.at}"]`);
    tr?.querySelector("a,button")?.focus({ preventScroll: true });
    tr?.scrollIntoView({ block: "nearest" });
  }

  keys() {
    return [
      ["j", "Next row", () => this.step(1)],
      ["k", "Row before", () => this.step(-1)],
      ["Enter", "Open the row", () => this.step(0)],
    ];
  }
}

function classes(column) {
  return [column.n && "n", column.cut && "cut", column.wide && "wide"].filter(Boolean).join(" ") || null;
}
