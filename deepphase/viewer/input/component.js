// Parts of the dashboard's pages, which keep what a user does between two runs of a page.

/** A component of the dashboard: `Part` (constructor of an element, `show(data)`, `close()`) is shown again with every run
 * of the page, and its `send` sends a value of a `name`, which is `kept` until the next one, else for one run. */
export function componentOf(selector, Part, name, kept = false) {
  const parts = new WeakMap();
  return ({ parentElement, data, setTriggerValue, setStateValue }) => {
    const root = parentElement.querySelector(selector);
    if (!parts.has(root)) parts.set(root, new Part(root));
    const part = parts.get(root), before = part.given;
    const send = part.send = (value) => (kept ? setStateValue : setTriggerValue)(name, value);
    const given = part.given = { data, send };
    part.show(data);
    return () => setTimeout(() => {
      if (part.given !== given) return;
      if (!root.isConnected) {
        part.close?.();
        parts.delete(root);
      } else if (before) {
        // Of two runs in quick succession, Streamlit may show the earlier one last, and ends it at once.
        Object.assign(part, { given: before, send: before.send }).show(before.data);
      }
    });
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
