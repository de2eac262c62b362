// A map of the ground, seen from above: forward (+Z) is up, left (+X) is left. Metres.
// Shows a path, or lets one be drawn by mouse, touch or keys.

import { componentOf, describeDrawing, node } from "./component.js";
import { clamp } from "../vectors.js";

const MIN_STEP_M = 0.12;
const MAX_POINTS = 400;
const STEP_M = 0.25;

// The part of the ground in view: half its width and height, and its middle, in metres.
function frameOf(data, points) {
  if (data.editable) return { wide: data.half, high: data.half * 0.8, x: 0, z: data.half * 0.5 };
  const [[left, right], [back, front]] = [0, 1].map((axis) => {
    const values = [0, ...points.map((point) => point[axis])];
    return [Math.min(...values), Math.max(...values)];
  });
  const reach = 1.25 * Math.max((right - left) / 2, (front - back) / 2 / 0.8, 1);
  return { wide: reach, high: reach * 0.8, x: (left + right) / 2, z: (back + front) / 2 };
}

function gridStep(half) {
  return [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => (2 * half) / step <= 14) ?? 1000;
}

class GroundMap {
  constructor(root) {
    this.root = root;
    this.svg = root.querySelector("svg");
    this.status = root.querySelector(".status");
    this.points = null;
    this.cursor = null;
    this.strokes = [];
    for (const [name, react] of [
      ["pointerdown", "press"], ["pointermove", "move"], ["pointerup", "lift"], ["pointercancel", "lift"], ["keydown", "key"],
    ]) this.svg.addEventListener(name, (event) => this[react](event));
    this.svg.addEventListener("blur", () => { this.cursor = null; this.draw(); });
    this.buttons = ["undo", "clear"].map((name) => {
      const button = root.querySelector(`.${name}`);
      button.addEventListener("click", () => this[name]());
      return button;
    });
  }

  show(data) {
    this.data = data;
    if (this.points === null || this.mark !== data.mark) {
      this.points = data.points.map(([x, z]) => [x, z]);
      this.strokes = this.points.length ? [0] : [];
      this.mark = data.mark;
    }
    this.root.querySelector(".buttons").hidden = !data.editable;
    describeDrawing(this.svg, data.editable,
      "Map to draw a path on. Arrow keys move, Enter sets a point, Backspace takes it back.", data.words);
    this.draw();
  }

  draw() {
    const { svg, data, cursor } = this;
    const points = data.editable ? this.points : data.points;
    this.view = frameOf(data, points);
    const { wide, high, x: middleX, z: middleZ } = this.view;
    const [left, right, top, bottom] = [-middleX - wide, -middleX + wide, -middleZ - high, -middleZ + high];
    svg.replaceChildren();
    svg.setAttribute("viewBox", `${left} ${top} ${2 * wide} ${2 * high}`);
    const step = gridStep(wide);
    const unit = wide / 100;
    const lines = (low, most, endsOf) => {
      for (let at = Math.ceil(low / step) * step; at <= most; at += step) node("line", { ...endsOf(-at), class: "grid" }, svg);
    };
    lines(middleX - wide, middleX + wide, (x) => ({ x1: x, x2: x, y1: top, y2: bottom }));
    lines(middleZ - high, middleZ + high, (y) => ({ y1: y, y2: y, x1: left, x2: right }));
    const scale = node("g", { class: "scale" }, svg);
    const [x, y] = [left + 5 * unit, bottom - 5 * unit];
    node("path", { d: `M${x} ${y}h${step}`, class: "ruler" }, scale);
    node("text", { x, y: y - 3 * unit, "font-size": 7 * unit }, scale).textContent = `${step} m`;
    if (points.length > 1) {
      node("polyline", { points: points.map(([px, pz]) => `${(-px).toFixed(3)},${(-pz).toFixed(3)}`).join(" "), class: "path" }, svg);
      const [[ax, az], [bx, bz]] = points.slice(-2);
      const turn = (Math.atan2(-(bz - az), -(bx - ax)) * 180) / Math.PI;
      const size = 5 * unit;
      node("path", {
        d: `M${-size} ${-size * 0.7}L${size * 0.4} 0L${-size} ${size * 0.7}`, class: "path",
        transform: `translate(${-bx} ${-bz}) rotate(${turn})`,
      }, svg);
    }
    if (points.length) {
      const [x0, z0] = points[0];
      node("circle", { cx: -x0, cy: -z0, r: 3.2 * unit, class: "start" }, svg);
    } else if (data.editable) {
      const words = { x: -middleX, y: -middleZ, "font-size": 8 * unit, "text-anchor": "middle", class: "hint" };
      node("text", words, svg).textContent = "Draw the path here: drag, or set points";
    }
    if (cursor) {
      const [cx, cz] = cursor;
      node("path", { d: `M${-cx - 4 * unit} ${-cz}h${8 * unit}M${-cx} ${-cz - 4 * unit}v${8 * unit}`, class: "cursor" }, svg);
    }
    for (const button of this.buttons) button.disabled = !points.length;
  }

  place(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.svg.getScreenCTM().inverse());
    return [-x, -y].map((value) => Math.round(value * 100) / 100);
  }

  add(point, minStep) {
    const last = this.points.at(-1);
    if (this.points.length >= MAX_POINTS) return false;
    if (last && Math.hypot(point[0] - last[0], point[1] - last[1]) < minStep) return false;
    this.points.push(point);
    return true;
  }

  press(event) {
    if (!this.data.editable || event.button) return;
    this.svg.setPointerCapture(event.pointerId);
    this.pressed = true;
    this.strokes.push(this.points.length);
    this.add(this.place(event), MIN_STEP_M);
    this.draw();
  }

  move(event) {
    if (!this.pressed) return;
    if (this.add(this.place(event), Math.max(MIN_STEP_M, this.view.wide / 80))) this.draw();
  }

  lift(event) {
    if (!this.pressed) return;
    this.pressed = false;
    this.add(this.place(event), MIN_STEP_M);
    this.changed();
  }

  key(event) {
    if (!this.data.editable) return;
    const step = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [1, 0], ArrowRight: [-1, 0] }[event.key];
    const size = event.shiftKey ? 4 * STEP_M : STEP_M;
    if (step) {
      const from = this.cursor ?? this.points.at(-1) ?? [0, 0];
      const { wide, high, x, z } = this.view;
      this.cursor = [clamp(from[0] + step[0] * size, x - wide, x + wide), clamp(from[1] + step[1] * size, z - high, z + high)];
      this.status.textContent = `${this.cursor[1].toFixed(2)} m forward, ${this.cursor[0].toFixed(2)} m to the left`;
      this.draw();
    } else if (event.key === "Enter" || event.key === " ") {
      this.strokes.push(this.points.length);
      if (this.add([...(this.cursor ?? [0, 0])], 0.01)) this.changed();
    } else if (event.key === "Backspace") this.undo();
    else if (event.key === "Escape") this.clear();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  undo() {
    this.points.length = Math.min(this.strokes.pop() ?? 0, this.points.length);
    this.changed();
  }

  clear() {
    this.points.length = this.strokes.length = 0;
    this.changed();
  }

  changed() {
    this.status.textContent = `${this.points.length} points`;
    this.draw();
    this.send(this.points.map((point) => [...point]));
  }
}

export const component = componentOf(".map", GroundMap, "points", true);
