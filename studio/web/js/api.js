// The studio's API: docs in /api/openapi.json.
import { params } from "./router.js";

export function address(path, query = {}) {
  const q = params(query).toString();
  return "api/" + path.map((p) => encodeURIComponent(p)).join("/") + (q ? "?" + q : "");
}

// get fetches JSON. An error has the server's words.
export async function get(path, query, signal) {
  const response = await fetch(address(path, query), { signal, headers: { accept: "application/json" } });
  if (!response.ok) throw await failure(response);
  return response.json();
}

export async function send(method, path, body, signal) {
  const response = await fetch(address(path), { method, signal, headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  if (!response.ok) throw await failure(response);
  return response;
}

async function failure(response) {
  let text = "";
  try { text = (await response.json()).error?.message ?? ""; } catch { /* not JSON: the status must do */ }
  const error = new Error(text || `the studio's server answered ${response.status} ${response.statusText}`);
  error.status = response.status;
  return error;
}

// events reads a stream of server-sent events from a response and calls f with each one's JSON.
export async function events(response, f) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const data = block.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trim()).join("\n");
      if (data) f(JSON.parse(data));
    }
  }
}
