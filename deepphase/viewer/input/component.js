// Parts of the dashboard's pages, which keep what a user does between two runs of a page.

/** A component of the dashboard: `Part` (constructor of an element, `show(data)`, `close()`) is shown again with every run
 * of the page, and its `send` sends a value of a `name`, which is `kept` until the next one, else for one run. */
export function componentOf(selector, Part, name, kept = false) {
  const parts = new WeakMap();
  return ({ parentElement, data, setTriggerValue, setStateValue }) => {
    const root = parentElement.querySelector(selector);
    if (!parts.has(root)) parts.set(root, new Part(root));
    const part = parts.get(root);
    part.send = (value) => (kept ? setStateValue : setTriggerValue)(name, value);
    const run = part.lastRun = Symbol();
    part.show(data);
    return () => {
      // Of runs in quick succession, the earlier ones end after the last one has been shown.
      if (part.lastRun !== run) return;
      part.close?.();
      parts.delete(root);
    };
  };
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing in SVG. */
export function node(name, attributes, parent) {
  const added = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) added.setAttribute(key, value);
  parent.append(added);
  return added;
}

/** What an SVG is for a reader: an application with keys where it can be changed, else a picture. */
export function describeDrawing(svg, editable, application, picture) {
  const attributes = { tabindex: editable ? 0 : -1, role: editable ? "application" : "img", "aria-label": editable ? application : picture };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  svg.classList.toggle("editable", editable);
}
