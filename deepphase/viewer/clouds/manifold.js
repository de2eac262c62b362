// Position of the current frame on the phase manifold, in the plane or in space.

import { scene, styleOf, look } from "../page_content.js";
import { arrayOf, Series } from "../tracks/take_data.js";
import { clamp } from "../scene/vectors.js";
import { fontOf, faded, niceTicks, shortNumber, Surface, onDrag } from "../scene/surface2d.js";
import { Camera } from "../scene/orbit.js";

const RECENT_S = 1.5;
const PATH_POINTS = 3000;
const CLEAR_FRAMES = 1500;
// Pixels for the numbers and titles of the axes: left, bottom.
const AXIS_ROOM = [58, 34];

export class Manifold {
  constructor(canvas, buttons, onChange) {
    this.surface = new Surface(canvas, () => { this.stale = true; onChange(); });
    this.back = document.createElement("canvas");
    this.part = null;
    this.axes = 2;
    this.camera = new Camera({ yaw: 0.8, pitch: 0.45, distance: 4 });
    this.stale = true;
    const choose = (axes) => {
      this.axes = axes;
      this.stale = true;
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", i + 2 === axes));
      canvas.classList.toggle("turns", axes === 3);
      onChange();
    };
    this.choose = choose;
    buttons.forEach((button, i) => button.addEventListener("click", () => choose(i + 2)));
    const turn = (dx, dy) => {
      if (this.axes !== 3) return;
      this.camera.turn(dx, dy);
      this.stale = true;
      onChange();
    };
    onDrag(canvas, { move: (event, dx, dy) => turn(dx, dy) });
    canvas.addEventListener("wheel", (event) => {
      if (this.axes !== 3) return;
      event.preventDefault();
      this.camera.zoom(clamp(event.deltaY, -100, 100) * 0.0015);
      this.stale = true;
      onChange();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const by = { a: [-12, 0], d: [12, 0], w: [0, 12], s: [0, -12] }[event.key.toLowerCase()];
      if (by && !event.ctrlKey && !event.metaKey) turn(...by);
    });
  }

  open(part) {
    this.part = part;
    this.stale = true;
    if (!part) return;
    this.path = new Series(part, part.path);
    this.points = arrayOf(part.points);
    this.colours = arrayOf(part.colours);
    this.dimensions = part.path.shape[1];
    this.bounds = [];
    for (let axis = 0; axis < this.dimensions; axis++) {
      let [low, high] = this.path.range(axis);
      for (let i = axis; i < this.points.length; i += this.dimensions) {
        low = Math.min(low, this.points[i]);
        high = Math.max(high, this.points[i]);
      }
      this.bounds.push([low, high]);
    }
    this.half = Math.max(1e-9, ...this.bounds.map(([low, high]) => (high - low) / 2));
    this.choose(this.dimensions === 2 ? 2 : this.axes);
  }

  redraw() { this.stale = true; }

  // Pixels of a point; in space, points are scaled to a cube of -1 to 1.
  place(x, y, z) {
    const { width, height } = this.surface;
    const [[xl, xh], [yl, yh]] = this.bounds;
    if (this.axes === 2) {
      const [left, bottom] = AXIS_ROOM;
      const scale = Math.min((width - left - 12) / (xh - xl || 1), (height - bottom - 10) / (yh - yl || 1));
      this.scale = scale;
      return [
        left + (width - left - 12) / 2 + (x - (xl + xh) / 2) * scale,
        10 + (height - bottom - 10) / 2 - (y - (yl + yh) / 2) * scale,
      ];
    }
    const [zl, zh] = this.bounds[2];
    const p = this.camera.project(
      (x - (xl + xh) / 2) / this.half, (z - (zl + zh) / 2) / this.half, -(y - (yl + yh) / 2) / this.half);
    return [p[0], p[1]];
  }

  label(context, axis, room) {
    const share = `${Math.round(100 * this.part.explained[axis])} %`;
    const whole = `PC ${axis + 1} (latent unit; ${share} of variance)`;
    return context.measureText(whole).width < room ? whole : `PC ${axis + 1} (${share})`;
  }

  drawBack() {
    const { surface, back } = this;
    back.width = surface.canvas.width;
    back.height = surface.canvas.height;
    const context = back.getContext("2d");
    context.setTransform(surface.ratio, 0, 0, surface.ratio, 0, 0);
    this.camera.frame(surface.width, surface.height);
    this.axes === 2 ? this.drawPlane(context) : this.drawCube(context);
    const count = this.points.length / this.dimensions;
    const size = count > 3000 ? 1.6 : 2.4;
    context.globalAlpha = this.colours ? 0.6 : 0.4;
    context.fillStyle = scene.palette.neutral;
    for (let i = 0; i < count; i++) {
      const at = i * this.dimensions;
      const [x, y] = this.place(this.points[at], this.points[at + 1], this.points[at + 2]);
      if (this.colours) {
        context.fillStyle = `rgb(${this.colours[3 * i]} ${this.colours[3 * i + 1]} ${this.colours[3 * i + 2]})`;
      }
      context.fillRect(x - size / 2, y - size / 2, size, size);
    }
    context.globalAlpha = 1;
    // Long paths are fainter, as they would hide the cloud.
    context.strokeStyle = faded(look.ink, clamp((0.28 * CLEAR_FRAMES) / this.path.frames, 0.06, 0.28));
    context.lineWidth = 1;
    this.trace(context, 0, this.path.frames - 1, Math.max(1, Math.ceil(this.path.frames / PATH_POINTS)));
    this.stale = false;
  }

  drawPlane(context) {
    const { width, height } = this.surface;
    this.place(0, 0, 0);
    const [left, bottom] = [AXIS_ROOM[0], height - AXIS_ROOM[1]];
    context.font = fontOf(10.5);
    context.strokeStyle = look.line;
    context.fillStyle = look.soft;
    context.lineWidth = 1;
    for (const axis of [0, 1]) {
      const [low, high] = this.bounds[axis];
      for (const tick of niceTicks(low, high, axis ? 4 : 5)) {
        const [x, y] = this.place(axis ? 0 : tick, axis ? tick : 0, 0);
        context.beginPath();
        context.textAlign = axis ? "right" : "center";
        context.textBaseline = axis ? "middle" : "top";
        if (axis) {
          context.moveTo(left, Math.round(y) + 0.5);
          context.lineTo(width - 8, Math.round(y) + 0.5);
          context.fillText(shortNumber(tick), left - 6, y);
        } else {
          context.moveTo(Math.round(x) + 0.5, 6);
          context.lineTo(Math.round(x) + 0.5, bottom);
          context.fillText(shortNumber(tick), x, bottom + 5);
        }
        context.stroke();
      }
    }
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(this.label(context, 0, width - left), (left + width) / 2, height - 1);
    context.save();
    context.translate(9, bottom / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "middle";
    context.fillText(this.label(context, 1, bottom), 0, 0);
    context.restore();
  }

  drawCube(context) {
    const [x, y, z] = this.bounds;
    const corner = [x[0], y[0], z[0]];
    context.font = fontOf(10.5);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let axis = 0; axis < 3; axis++) {
      const end = corner.slice();
      end[axis] = this.bounds[axis][1];
      const from = this.place(...corner);
      const to = this.place(...end);
      context.strokeStyle = faded(look.soft, 0.6);
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(...from);
      context.lineTo(...to);
      context.stroke();
      context.fillStyle = look.soft;
      const text = `PC ${axis + 1} (${Math.round(100 * this.part.explained[axis])} %)`;
      const half = context.measureText(text).width / 2 + 2;
      const beyond = to.map((v, i) => v + 0.06 * (v - from[i]));
      context.fillText(text, clamp(beyond[0], half, this.surface.width - half),
        clamp(beyond[1], 8, this.surface.height - 8));
    }
  }

  trace(context, from, to, stride) {
    const columns = [0, 1, 2].map((axis) => axis < this.dimensions ? this.path.column(axis) : null);
    context.beginPath();
    for (let f = from; f <= to; f += stride) {
      const [x, y] = this.place(columns[0][f], columns[1][f], columns[2]?.[f]);
      f === from ? context.moveTo(x, y) : context.lineTo(x, y);
    }
    context.stroke();
  }

  draw(time) {
    if (!this.part || !this.surface.drawable) return;
    if (this.stale) this.drawBack();
    const context = this.surface.begin();
    context.drawImage(this.back, 0, 0, this.surface.width, this.surface.height);
    this.camera.frame(this.surface.width, this.surface.height);
    const now = this.path.nearest(time);
    const first = Math.max(0, now - Math.round(RECENT_S * this.path.fps));
    context.lineJoin = context.lineCap = "round";
    context.strokeStyle = faded(look.ink, 0.85);
    context.lineWidth = 2;
    this.trace(context, first, now, 1);
    const [x, y] = this.place(...[0, 1, 2].map((a) => a < this.dimensions ? this.path.at(a, time) : 0));
    context.fillStyle = styleOf(5).colour;
    context.strokeStyle = look.page;
    context.beginPath();
    context.arc(x, y, 6, 0, 7);
    context.fill();
    context.stroke();
  }
}
