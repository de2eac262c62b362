// The picture of the live page where the browser has no WebGL 2: limbs as lines on a grid.

import { drawCapsules, shadesOf } from "./capsules.js";
import { LOOKS, fitCanvas } from "./renderer.js";

// Width of a limb in metres.
const LIMB_M = 0.07;
const GRID_LINES = 16;
// Values of a vertex of a mark: position (3), colour (4), place across (2).
const MARK_VALUES = 9;

export class PlainRenderer {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.look = LOOKS.light;
    this.quality = 1;
    this.solids = [];
  }

  addBody(mesh, parents) {
    return { parents: Array.from(parents) };
  }

  setObstacles({ positions }) {
    this.solids = positions;
  }

  // Uneven ground is not drawn.
  setTerrain() {}

  resize() {
    fitCanvas(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight, this.quality);
  }

  // (x, y) in pixels and depth; null behind the eye.
  place(x, y, z) {
    const at = this.camera.project([x, y, z]);
    const m = this.camera.matrix;
    return at && [at[0] * this.canvas.width, at[1] * this.canvas.height, m[3] * x + m[7] * y + m[11] * z + m[15]];
  }

  line(a, b) {
    const [from, to] = [this.place(...a), this.place(...b)];
    if (!from || !to) return;
    this.context.moveTo(from[0], from[1]);
    this.context.lineTo(to[0], to[1]);
  }

  draw({ camera, groups, balls, marks, gridStep }) {
    const { context, canvas, look } = this;
    this.camera = camera;
    this.scale = 0.5 * canvas.height * camera.projection[5];
    context.globalAlpha = 1;
    context.fillStyle = look.ground;
    context.fillRect(0, 0, canvas.width, canvas.height);
    this.grid(camera, 4 * gridStep);
    this.triangles(this.solids, 3, () => look.solid);
    this.triangles(marks.mark, MARK_VALUES, (values, at) => this.colourAt(values, at));
    this.rings(marks.ring);
    const pieces = balls.map(({ model }) => this.ball(model)).filter(Boolean);
    for (const { body, characters } of groups) for (const character of characters) this.limbs(pieces, body.parents, character);
    drawCapsules(context, pieces);
  }

  grid({ target }, step) {
    const { context } = this;
    const [cx, cz] = [target[0], target[2]].map((v) => Math.round(v / step) * step);
    context.strokeStyle = this.look.line;
    context.lineWidth = 1;
    context.globalAlpha = 0.5;
    context.beginPath();
    for (let i = -GRID_LINES; i <= GRID_LINES; i++) {
      for (let j = -GRID_LINES; j < GRID_LINES; j++) {
        this.line([cx + i * step, 0, cz + j * step], [cx + i * step, 0, cz + (j + 1) * step]);
        this.line([cx + j * step, 0, cz + i * step], [cx + (j + 1) * step, 0, cz + i * step]);
      }
    }
    context.stroke();
    context.globalAlpha = 1;
  }

  colourAt(values, at) {
    const [r, g, b, a] = values.slice(at + 3, at + 7);
    return `rgba(${Math.round(255 * r)}, ${Math.round(255 * g)}, ${Math.round(255 * b)}, ${a})`;
  }

  triangles(values, size, colourOf) {
    const { context } = this;
    for (let at = 0; at + 3 * size <= values.length; at += 3 * size) {
      const corners = [0, 1, 2].map((i) => this.place(values[at + i * size], values[at + i * size + 1], values[at + i * size + 2]));
      if (corners.includes(null)) continue;
      context.fillStyle = colourOf(values, at);
      context.beginPath();
      for (const [x, y] of corners) context.lineTo(x, y);
      context.fill();
    }
  }

  // Contacts: circles in squares of two triangles.
  rings(values) {
    const { context } = this;
    context.lineWidth = 2;
    for (let at = 0; at < values.length; at += 6 * MARK_VALUES) {
      const opposite = at + 2 * MARK_VALUES;
      const middle = [0, 1, 2].map((a) => 0.5 * (values[at + a] + values[opposite + a]));
      const radius = 0.5 * Math.abs(values[opposite] - values[at]);
      context.strokeStyle = this.colourAt(values, at);
      context.beginPath();
      for (let i = 0; i < 24; i++) {
        const angle = (2 * Math.PI * i) / 24;
        const p = this.place(middle[0] + radius * Math.cos(angle), middle[1], middle[2] + radius * Math.sin(angle));
        if (p) context.lineTo(p[0], p[1]);
      }
      context.closePath();
      context.stroke();
    }
  }

  ball(model) {
    const p = this.place(...model.slice(12, 15));
    if (!p) return null;
    const width = (2 * Math.hypot(...model.slice(0, 3)) * this.scale) / p[2];
    return { ax: p[0], ay: p[1], bx: p[0] + 0.01, by: p[1], depth: p[2], width, colours: shadesOf("#e8e8e8", this.look.ground, false) };
  }

  limbs(pieces, parents, { positions, tint }) {
    const colours = shadesOf(tint, this.look.ground, this.look === LOOKS.dark);
    const places = parents.map((_, j) => this.place(positions[3 * j], positions[3 * j + 1], positions[3 * j + 2]));
    parents.forEach((above, joint) => {
      // Not the line from a root on the ground to the hips.
      if (above < 0 || parents[above] < 0 && positions[3 * above + 1] < 0.05) return;
      const [a, b] = [places[above], places[joint]];
      if (!a || !b) return;
      const depth = 0.5 * (a[2] + b[2]);
      pieces.push({ ax: a[0], ay: a[1], bx: b[0], by: b[1], depth, width: (LIMB_M * this.scale) / depth, colours });
    });
  }
}
