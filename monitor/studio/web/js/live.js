// News from the server: one stream for all views.

const listeners = new Set();
let source = null;

// listen calls f with every event until signal ends.
export function listen(f, signal) {
  listeners.add(f);
  signal.addEventListener("abort", () => listeners.delete(f));
}

// connect opens the stream and shows in the bar whether it is open. The browser connects again by itself, except after a refusal.
export function connect(element) {
  source = new EventSource("api/events");
  const show = (on) => {
    element.classList.toggle("off", !on);
    element.textContent = on ? "live" : "not live";
    element.title = on ? "New data appears by itself." : "The studio's server does not answer. The page tries again.";
  };
  source.onopen = () => { show(true); };
  source.onmessage = (e) => {
    const event = JSON.parse(e.data);
    for (const f of listeners) f(event);
  };
  source.onerror = () => {
    show(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(() => connect(element), 3000);
  };
}
