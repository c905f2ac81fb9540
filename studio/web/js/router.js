// Every view has an address: #/run/ID/step/12?task=3. The part after # is a path and a query.

// here is the address as path segments and a query.
export function here() {
  const [path, query] = split(location.hash.replace(/^#\/?/, ""));
  return { path: path.split("/").filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

function split(hash) {
  const at = hash.indexOf("?");
  return at < 0 ? [hash, ""] : [hash.slice(0, at), hash.slice(at + 1)];
}

function decode(segment) {
  try { return decodeURIComponent(segment); } catch { return segment; }
}

// link is the address of a view. Values that are null, undefined or "" are left out; lists give a key several times.
export function link(path, query = {}) {
  const q = params(query).toString();
  return "#/" + path.map((p) => encodeURIComponent(p)).join("/") + (q ? "?" + q : "");
}

export function params(query) {
  const q = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    for (const v of Array.isArray(value) ? value : [value]) if (v !== null && v !== undefined && v !== "") q.append(key, v);
  }
  return q;
}

// go opens an address.
export function go(address) {
  location.hash = address.replace(/^#/, "");
}

// keep changes the query of the present address without opening the view anew and without a new entry in the history.
export function keep(changes) {
  const { path, query } = here();
  for (const [key, value] of Object.entries(changes)) {
    query.delete(key);
    for (const v of Array.isArray(value) ? value : [value]) if (v !== null && v !== undefined && v !== "" && v !== false) query.append(key, v === true ? "1" : v);
  }
  const q = query.toString();
  history.replaceState(null, "", "#/" + path.map((p) => encodeURIComponent(p)).join("/") + (q ? "?" + q : ""));
}
