// Elements of drawings in SVG.

const SVG = "http://www.w3.org/2000/svg";

export function node(name, attributes, parent) {
  const added = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) added.setAttribute(key, value);
  parent.append(added);
  return added;
}
