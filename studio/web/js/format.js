// Numbers, times and sizes as a person reads them. A missing value is an en dash.

const none = "–";
const missing = (x) => x === null || x === undefined || Number.isNaN(x);

// number has four significant digits, and powers of ten beyond six places.
export function number(x, digits = 4) {
  if (missing(x)) return none;
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return x.toLocaleString("en-US");
  const size = Math.abs(x);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return x.toExponential(2).replaceAll("-", "−");
  return String(Number(x.toPrecision(digits))).replace("-", "−");
}

// fixed has a fixed number of places, for columns.
export function fixed(x, places = 3) {
  return missing(x) ? none : x.toFixed(places).replace("-", "−");
}

export function signed(x, places = 3) {
  return missing(x) ? none : (x > 0 ? "+" : x < 0 ? "−" : "") + Math.abs(x).toFixed(places);
}

export function percent(x) {
  return missing(x) ? none : `${(100 * x).toFixed(x !== 0 && Math.abs(x) < 0.01 ? 2 : 0)} %`;
}

export function bytes(x) {
  if (missing(x)) return none;
  for (const unit of ["B", "kB", "MB", "GB"]) {
    if (x < 1000) return `${x < 10 && unit !== "B" ? x.toFixed(1) : Math.round(x)} ${unit}`;
    x /= 1000;
  }
  return `${x.toFixed(1)} TB`;
}

export function seconds(x) {
  if (missing(x)) return none;
  if (x < 1) return `${Math.round(1000 * x)} ms`;
  if (x < 60) return `${x < 10 ? x.toFixed(1) : Math.round(x)} s`;
  if (x < 3600) return `${Math.floor(x / 60)} min ${Math.round(x % 60)} s`;
  if (x < 172800) return `${Math.floor(x / 3600)} h ${Math.round((x % 3600) / 60)} min`;
  return `${Math.round(x / 86400)} days`;
}

export function ago(date) {
  if (missing(date) || date === "") return none;
  const s = (Date.now() - new Date(date).getTime()) / 1000;
  if (s < 5) return "now";
  if (s < 60) return `${Math.round(s)} s ago`;
  if (s < 5400) return `${Math.round(s / 60)} min ago`;
  if (s < 129600) return `${Math.round(s / 3600)} h ago`;
  return new Date(date).toISOString().slice(0, 10);
}

export function clock(unix) {
  return missing(unix) ? none : new Date(1000 * unix).toISOString().slice(0, 19).replace("T", " ") + " UTC";
}

// plain is a configuration value in one line.
export function plain(x) {
  return typeof x === "string" ? x : missing(x) ? none : JSON.stringify(x);
}

export function plural(n, one, many = one + "s") {
  return `${number(n)} ${n === 1 ? one : many}`;
}
