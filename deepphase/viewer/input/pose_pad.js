// A pose from the front and from the side; its hand or foot is dragged, and the limb follows.

import { componentOf, node } from "./component.js";
import { add, clamp, length, scaled, subtract, without } from "../vectors.js";

const WIDTH = 230, HEIGHT = 250, MARGIN = 22;
// Metres of an arrow key, and milliseconds after the last one until the page learns of it.
const KEY_M = 0.02, PAUSE_MS = 500;
// Body axes across and up the screen: +x is to the body's left, +z ahead.
const VIEWS = [{ name: "front", axes: [0, 1] }, { name: "right", axes: [2, 1] }];
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

/** The pose with a limb's dragged `joint` as near to a place as the bones `upper` and `middle` reach; `moved` hang on its `end`. */
export function reached(positions, limb, place) {
  const [start, bend, tip] = [limb.upper, limb.middle, limb.end].map((joint) => positions[joint]);
  const desired = add(subtract(place, subtract(positions[limb.joint], tip)), start, -1);
  const [first, second] = [length(subtract(bend, start)), length(subtract(tip, bend))];
  const far = length(desired);
  if (!(far > 1e-6)) return positions;
  const along = scaled(desired, 1 / far);
  const distance = clamp(far, Math.abs(first - second) + 1e-4, 0.9999 * (first + second));
  let side = without(subtract(bend, start), along);
  // A straight limb bends to the front or, where it points there, upwards.
  if (length(side) < 1e-4) side = without([0, 0, 1], along);
  if (length(side) < 1e-4) side = [0, 1, 0];
  const forward = (first * first + distance * distance - second * second) / (2 * distance);
  const out = Math.sqrt(Math.max(first * first - forward * forward, 0)) / length(side);
  const middle = add(add(start, along, forward), side, out);
  const moved = subtract(add(start, along, distance), tip);
  const found = positions.map((each) => [...each]);
  found[limb.middle] = middle;
  for (const joint of limb.moved) found[joint] = add(positions[joint], moved);
  return found;
}

class Pad {
  constructor(root) {
    this.root = root;
    this.place = null;
    this.views = VIEWS.map((view) => this.view(view));
  }

  view({ name, axes }) {
    const svg = node("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}` }, this.root);
    const view = { name, axes, svg };
    for (const [event, react] of [
      ["pointerdown", "grab"], ["pointermove", "drag"], ["pointerup", "drop"], ["pointercancel", "drop"], ["keydown", "step"],
    ]) svg.addEventListener(event, (given) => this[react](view, given));
    return view;
  }

  show(data) {
    // A page that ran meanwhile does not take the hand away.
    if (this.dragged || this.waiting) return;
    this.data = data;
    this.place = data.place;
    const heights = data.positions.map(([, y]) => y);
    this.low = Math.min(0, ...heights);
    this.scale = (HEIGHT - 2 * MARGIN) / (1.15 * Math.max(Math.max(...heights) - this.low, 0.1));
    this.draw();
  }

  toScreen(view, position) {
    return [0.5 * WIDTH + this.scale * position[view.axes[0]], HEIGHT - MARGIN - this.scale * (position[1] - this.low)];
  }

  draw() {
    const { data } = this;
    const pose = reached(data.positions, data.limb, this.place);
    this.found = pose[data.limb.joint];
    const limb = new Set([data.limb.middle, ...data.limb.moved]);
    for (const view of this.views) {
      const at = (position) => this.toScreen(view, position).map((value) => value.toFixed(1));
      const line = (joint, parent, positions, kind) => {
        const [[x, y], [px, py]] = [joint, parent].map((end) => at(positions[end]));
        return `<line class="${kind}" x1="${px}" y1="${py}" x2="${x}" y2="${y}"/>`;
      };
      const before = data.links.filter(([joint]) => limb.has(joint));
      const [x, y] = at(this.found);
      const floor = HEIGHT - MARGIN + this.scale * this.low;
      const said = this.found.map((value) => value.toFixed(2)).join(", ");
      const focused = view.svg.contains(this.root.getRootNode().activeElement);
      view.svg.innerHTML =
        `<line class="floor" x1="8" x2="${WIDTH - 8}" y1="${floor}" y2="${floor}"/>` +
        before.map(([joint, parent]) => line(joint, parent, data.positions, "before")).join("") +
        data.links.map(([joint, parent]) => line(joint, parent, pose, limb.has(joint) ? "limb" : "")).join("") +
        `<circle class="handle" tabindex="0" role="slider" cx="${x}" cy="${y}" r="8" aria-valuemin="-1000"` +
        ` aria-valuemax="1000" aria-valuenow="${Math.round(100 * this.found[1])}" aria-valuetext="${said} metres"/>` +
        `<text x="${WIDTH / 2}" y="${HEIGHT - 4}">from the ${view.name}</text>`;
      const handle = view.svg.querySelector(".handle");
      handle.setAttribute("aria-label", `${data.name} from the ${view.name}: drag, or arrow keys`);
      if (focused) handle.focus();
    }
  }

  grab(view, event) {
    if (!event.target.classList.contains("handle")) return;
    event.preventDefault();
    event.target.focus();
    view.svg.setPointerCapture(event.pointerId);
    this.dragged = view;
    const box = view.svg.getBoundingClientRect();
    this.ratio = WIDTH / box.width;
    this.grabbed = { x: event.clientX, y: event.clientY, place: [...this.found] };
  }

  drag(view, event) {
    if (this.dragged !== view) return;
    const { x, y, place } = this.grabbed;
    const metres = this.ratio / this.scale;
    this.move(view, place, metres * (event.clientX - x), -metres * (event.clientY - y));
  }

  // Desire a place that is metres across and up from another.
  move(view, from, across, up) {
    this.place = [...from];
    this.place[view.axes[0]] += across;
    this.place[1] += up;
    this.draw();
  }

  drop(view) {
    if (this.dragged !== view) return;
    this.dragged = null;
    this.place = this.found;
    this.send(this.found);
  }

  step(view, event) {
    const arrow = ARROWS[event.key];
    if (!arrow || !event.target.classList.contains("handle")) return;
    event.preventDefault();
    this.move(view, this.found, KEY_M * arrow[0], KEY_M * arrow[1]);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.waiting = null;
      this.send(this.found);
    }, PAUSE_MS);
  }

  close() {
    clearTimeout(this.waiting);
    this.root.replaceChildren();
  }
}

export const component = componentOf(".pose-pad", Pad, "placed");
