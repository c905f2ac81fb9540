// Rows of samples, loaded in pages as they come into sight.
import { get } from "./api.js";

const page = 200;

// Rows loads what query selects. Where the server knows the total, any page can be loaded; a search goes on by its cursor.
// changed is called whenever there is something new to show.
export class Rows {
  constructor(run, query, signal, changed) {
    Object.assign(this, { run, query, signal, changed });
    this.list = [];
    this.asked = new Set();
    this.length = 0;
    this.search = Boolean(query.q || query.regex);
    this.progress = { scanned: 0, of: 0, done: false };
  }

  async start() {
    this.take(0, await this.load({ limit: page }));
    if (this.search) this.goOn().catch(() => {}); // the view was left
  }

  load(more) {
    return get(["runs", this.run, "samples"], { ...this.query, ...more }, this.signal);
  }

  take(at, answer) {
    answer.samples.forEach((row, i) => { this.list[at + i] = row; });
    this.cursor = answer.cursor;
    this.total = answer.total;
    this.length = this.search ? Math.max(this.list.length, 0) : answer.total ?? this.list.length;
    this.progress = { scanned: answer.scanned, of: answer.of, done: !answer.cursor };
    this.changed();
  }

  // goOn searches to the end, up to a thousand hits beyond those in sight.
  async goOn() {
    while (this.cursor && this.list.length < (this.sight ?? 0) + 1000 && !this.signal.aborted) {
      this.take(this.list.length, await this.load({ limit: page, cursor: this.cursor }));
    }
    this.running = false;
  }

  get(i) { return this.list[i]; }

  want(from, to) {
    this.sight = to;
    if (this.search) {
      if (this.cursor && !this.running && to + 100 > this.list.length && this.list.length) {
        this.running = true;
        this.goOn().catch(() => {});
      }
      return;
    }
    for (let p = Math.floor(from / page); p * page < to; p++) {
      if (this.asked.has(p) || this.list[p * page] !== undefined) continue;
      this.asked.add(p);
      this.load({ limit: page, offset: p * page }).then((a) => this.take(p * page, a)).catch(() => this.asked.delete(p));
    }
  }
}
