// Elements of pages, and files that they save.

// Milliseconds after which a browser has begun to save what a link leads to.
const SAVED_MS = 10_000;

export const element = (id) => document.getElementById(id);

// An element with properties, and with texts and elements inside.
export function created(tag, properties = {}, ...inside) {
  const added = Object.assign(document.createElement(tag), properties);
  added.append(...inside);
  return added;
}

export function pressed(button, on) {
  button.setAttribute("aria-pressed", on);
}

// A button that is pressed or not; `toggle` changes that, and returns whether it is.
export function chip(inside, on, toggle, properties = {}) {
  const button = created("button", { type: "button", ...properties }, ...inside);
  button.addEventListener("click", () => pressed(button, toggle()));
  pressed(button, on);
  return button;
}

// A dot in a colour, as legends have it.
export function dot(colour) {
  const added = created("span", { className: "dot" });
  added.style.background = colour;
  return added;
}

export function download(content, name) {
  const link = created("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), SAVED_MS);
}
