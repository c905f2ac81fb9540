// News from the server: one stream for all views, and for all tabs: a browser keeps only six connections to a server,
// so one tab listens and tells the others.

const listeners = new Set();
let source = null;

// listen calls f with every event until signal ends.
export function listen(f, signal) {
  listeners.add(f);
  signal.addEventListener("abort", () => listeners.delete(f));
}

// connect listens for as long as the page lives, and shows in the bar whether the stream is open.
export function connect(element) {
  const channel = new BroadcastChannel("studio-events");
  let open = false, leads = false;
  const show = (on) => {
    open = on;
    element.classList.toggle("off", !on);
    element.textContent = on ? "live" : "not live";
    element.title = on ? "New data appears by itself." : "The studio's server does not answer. The page tries again.";
    if (leads) channel.postMessage({ open });
  };
  const deliver = (event) => { for (const f of listeners) f(event); };
  channel.onmessage = ({ data }) => {
    if (data.ask && leads) channel.postMessage({ open });
    if ("open" in data && !leads) show(data.open);
    if (data.event && !leads) deliver(data.event);
  };
  const lead = () => {
    leads = true;
    stream(show, (event) => { deliver(event); channel.postMessage({ event }); });
    return new Promise(() => {}); // until the tab is closed; then another one leads
  };
  if (navigator.locks) navigator.locks.request("studio-events", lead);
  else lead(); // other addresses than this machine's have no locks over plain HTTP
  channel.postMessage({ ask: true });
}

// stream opens the stream. The browser connects again by itself, except after a refusal.
function stream(show, deliver) {
  source = new EventSource("api/events");
  source.onopen = () => show(true);
  source.onmessage = (e) => deliver(JSON.parse(e.data));
  source.onerror = () => {
    show(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(() => stream(show, deliver), 3000);
  };
}
