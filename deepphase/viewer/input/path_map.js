// A map of the ground, seen from above: forward (+Z) is up, left (+X) is left. Metres.
// Shows a path, or lets one be drawn by mouse, touch or keys.

import { componentOf } from "./component.js";
import { node } from "../scene/elements.js";

const MIN_STEP_M = 0.12;
const MAX_POINTS = 400;
const STEP_M = 0.25;

// The part of the ground in view: half its width and height, and its middle, in metres.
function frameOf(data, points) {
  if (data.editable) return { wide: data.half, high: data.half * 0.8, x: 0, z: data.half * 0.5 };
  let [left, right, back, front] = [0, 0, 0, 0];
  for (const [x, z] of points) {
    left = Math.min(left, x), right = Math.max(right, x);
    back = Math.min(back, z), front = Math.max(front, z);
  }
  const reach = 1.25 * Math.max((right - left) / 2, (front - back) / 2 / 0.8, 1);
  return { wide: reach, high: reach * 0.8, x: (left + right) / 2, z: (back + front) / 2 };
}

function gridStep(half) {
  return [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => (2 * half) / step <= 14) ?? 1000;
}

function line(points) {
  return points.map(([x, z]) => `${(-x).toFixed(3)},${(-z).toFixed(3)}`).join(" ");
}

class GroundMap {
  constructor(root) {
    this.root = root;
    this.svg = root.querySelector("svg");
    this.status = root.querySelector(".status");
    this.points = null;
    this.cursor = null;
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.move(event));
    this.svg.addEventListener("pointerup", (event) => this.lift(event));
    this.svg.addEventListener("pointercancel", (event) => this.lift(event));
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.svg.addEventListener("blur", () => { this.cursor = null; this.draw(); });
    root.querySelector(".undo").addEventListener("click", () => this.undo());
    root.querySelector(".clear").addEventListener("click", () => this.clear());
    this.strokes = [];
  }

  show(data) {
    this.data = data;
    if (this.points === null || this.mark !== data.mark) {
      this.points = data.points.map(([x, z]) => [x, z]);
      this.strokes = this.points.length ? [0] : [];
      this.mark = data.mark;
    }
    this.root.querySelector(".buttons").hidden = !data.editable;
    this.svg.setAttribute("tabindex", data.editable ? "0" : "-1");
    this.svg.setAttribute("role", data.editable ? "application" : "img");
    this.svg.setAttribute("aria-label", data.editable
      ? "Map to draw a path on. Arrow keys move, Enter sets a point, Backspace takes it back."
      : data.words);
    this.svg.classList.toggle("editable", data.editable);
    this.draw();
  }

  visiblePoints() {
    return this.data.editable ? this.points : this.data.points;
  }

  draw() {
    const { svg } = this;
    const points = this.visiblePoints();
    const view = frameOf(this.data, points);
    this.view = view;
    svg.replaceChildren();
    svg.setAttribute("viewBox",
      `${-view.x - view.wide} ${-view.z - view.high} ${2 * view.wide} ${2 * view.high}`);
    const step = gridStep(view.wide);
    const unit = view.wide / 100;
    for (const [low, high, across] of [
      [view.x - view.wide, view.x + view.wide, true], [view.z - view.high, view.z + view.high, false],
    ]) {
      for (let at = Math.ceil(low / step) * step; at <= high; at += step) {
        const ends = across
          ? { x1: -at, x2: -at, y1: -view.z - view.high, y2: -view.z + view.high }
          : { y1: -at, y2: -at, x1: -view.x - view.wide, x2: -view.x + view.wide };
        node("line", { ...ends, class: "grid" }, svg);
      }
    }
    const scale = node("g", { class: "scale" }, svg);
    const [x, y] = [-view.x - view.wide + 5 * unit, -view.z + view.high - 5 * unit];
    node("path", { d: `M${x} ${y}h${step}`, class: "ruler" }, scale);
    node("text", { x, y: y - 3 * unit, "font-size": 7 * unit }, scale).textContent = `${step} m`;
    if (points.length > 1) {
      node("polyline", { points: line(points), class: "path" }, svg);
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
    } else if (this.data.editable) {
      const words = node("text", {
        x: -view.x, y: -view.z, "font-size": 8 * unit, "text-anchor": "middle", class: "hint",
      }, svg);
      words.textContent = "Draw the path here: drag, or set points";
    }
    if (this.cursor) {
      const [cx, cz] = this.cursor;
      node("path", {
        d: `M${-cx - 4 * unit} ${-cz}h${8 * unit}M${-cx} ${-cz - 4 * unit}v${8 * unit}`,
        class: "cursor",
      }, svg);
    }
    this.root.querySelector(".undo").disabled = !points.length;
    this.root.querySelector(".clear").disabled = !points.length;
  }

  place(event) {
    const at = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(this.svg.getScreenCTM().inverse());
    const round = (value) => Math.round(value * 100) / 100;
    return [round(-at.x), round(-at.y)];
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
    const steps = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [1, 0], ArrowRight: [-1, 0] };
    const step = steps[event.key];
    const size = event.shiftKey ? 4 * STEP_M : STEP_M;
    if (step) {
      const from = this.cursor ?? this.points.at(-1) ?? [0, 0];
      const { wide, high, x, z } = this.view;
      this.cursor = [
        Math.min(Math.max(from[0] + step[0] * size, x - wide), x + wide),
        Math.min(Math.max(from[1] + step[1] * size, z - high), z + high),
      ];
      this.status.textContent =
        `${this.cursor[1].toFixed(2)} m forward, ${this.cursor[0].toFixed(2)} m to the left`;
      this.draw();
    } else if (event.key === "Enter" || event.key === " ") {
      this.strokes.push(this.points.length);
      if (this.add([...(this.cursor ?? [0, 0])], 0.01)) this.changed();
    } else if (event.key === "Backspace") {
      this.undo();
    } else if (event.key === "Escape") {
      this.clear();
    } else {
      return;
    }
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
