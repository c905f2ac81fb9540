// Elements are made here and nowhere else. Texts become text nodes, so nothing that a model or a data set wrote is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";

// h makes an HTML element: h("div.card", {id: "x", onclick: f}, "text", node, [more]). null and false are left out.
export function h(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  return fill(document.createElement(tag), classes, attributes, children);
}

// s makes an SVG element in the same way.
export function s(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  return fill(document.createElementNS(SVG, tag), classes, attributes, children);
}

function fill(element, classes, attributes, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes ?? {})) set(element, key, value);
  add(element, children);
  return element;
}

function set(element, key, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function") element.addEventListener(key.slice(2), value);
  else if (/^on|^style$|^srcdoc$/i.test(key)) throw new Error(`dom: attribute ${key} is not allowed`);
  else if (key === "class") element.setAttribute("class", [element.getAttribute("class"), value].filter(Boolean).join(" "));
  else if (key === "value" && "value" in element) element.value = value;
  else element.setAttribute(key, value === true ? "" : String(value));
}

function add(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(element, child);
    else element.append(child); // append makes a text node of anything that is not a node
  }
}

// put replaces what an element holds.
export function put(element, ...children) {
  element.replaceChildren();
  add(element, children);
  return element;
}

// say tells a screen reader.
export function say(text) {
  document.getElementById("announce").textContent = text;
}

// later calls f at most once in every period of ms, the last time with the last arguments.
export function later(f, ms) {
  let timer = 0, last = 0;
  return (...args) => {
    clearTimeout(timer);
    const wait = Math.max(0, last + ms - performance.now());
    timer = setTimeout(() => { last = performance.now(); f(...args); }, wait);
  };
}

// settle calls f when nothing happened for ms.
export function settle(f, ms) {
  let timer = 0;
  return (...args) => { clearTimeout(timer); timer = setTimeout(() => f(...args), ms); };
}
