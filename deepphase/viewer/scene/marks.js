// Marks on the ground and in the air, in metres: lines, arrows, rings and soft discs. Renderers draw them.

import { rgbOf, unit } from "../vectors.js";

// Heights over the ground at which marks are drawn, so that later ones cover earlier ones.
const DISC_M = 0.004, LINE_M = 0.006, ARROW_M = 0.01;

const COLOURS = {
  light: { predicted: "#0072b2", desired: "#d55e00", contact: "#009e73", shade: "#0d121a" },
  dark: { predicted: "#56b4e9", desired: "#f59e29", contact: "#33d99e", shade: "#000000" },
};

export class Marks {
  constructor() {
    // Height of the ground at a place.
    this.level = () => 0;
    this.clear("light");
  }

  clear(look) {
    this.colours = COLOURS[look];
    // Lines {points (x, y, z, ...), width, colour, alphas (at both ends), air, least}; arrows {corners}; circles
    // {x, y, z, radius, colour, alpha}.
    [this.lines, this.arrows, this.discs, this.rings] = [[], [], [], []];
  }

  // A line through points (x, y, z, ...) in the air, which faces the eye and fades from one opacity to the other.
  line(points, { width, colour, alphas, least = 1, air = true }) {
    if (points.length > 3) this.lines.push({ points, width, colour, alphas, least, air });
  }

  // A line through places (x, z, ...) on the ground, at least so many pixels wide.
  groundLine(places, { width, colour, alphas, least, height = LINE_M }) {
    const points = new Float32Array(1.5 * places.length);
    for (let at = 0; at < places.length; at += 2) {
      const [x, z] = [places[at], places[at + 1]];
      points.set([x, this.level(x, z) + height, z], 1.5 * at);
    }
    this.line(points, { width, colour, alphas, least, air: false });
  }

  arrow(x, z, dx, dz, size, colour, alpha) {
    const at = (along, side) => {
      const [px, pz] = [x + (dx * along - dz * side) * size, z + (dz * along + dx * side) * size];
      return [px, this.level(px, pz) + ARROW_M, pz];
    };
    this.arrows.push({ corners: [at(1.2, 0), at(-0.55, 0.62), at(-0.2, 0), at(-0.55, -0.62)], colour, alpha });
  }

  // Rows of (x, z, dx, dz) as a line that fades towards its ends, with an arrow for each row.
  trajectory(rows, name, size, alpha = 0.9) {
    const colour = this.colours[name];
    const count = rows.length / 4;
    const height = name === "desired" ? LINE_M : LINE_M + 0.002;
    const width = (name === "desired" ? 0.028 : 0.04) * size;
    const fade = (i) => alpha * (0.35 + 0.65 * Math.sin((Math.PI * (i + 0.6)) / (count + 0.2)));
    for (let i = 0; i < count; i++) {
      const [x, z, dx, dz] = rows.subarray(4 * i, 4 * i + 4);
      if (i + 1 < count) this.groundLine([x, z, rows[4 * i + 4], rows[4 * i + 5]], { width, colour, alphas: [fade(i), fade(i + 1)], height });
      const [ux, , uz] = unit([dx, 0, dz], [0, 0, 0]);
      if (ux || uz) this.arrow(x, z, ux, uz, 0.075 * size, colour, fade(i));
    }
  }

  ring(x, z, radius, colour, alpha) {
    this.rings.push({ x, y: this.level(x, z) + ARROW_M, z, radius, colour, alpha });
  }

  shade(x, z, radius, strength) {
    this.discs.push({ x, y: this.level(x, z) + DISC_M, z, radius, colour: this.colours.shade, alpha: strength });
  }
}

// Numbers of a vertex of marks: position (3), colour (4), place across (2), kind.
export const VERTEX = 10;
const CORNERS = [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]];
const LINE = 0, DISC = 1, RING = 2;

// Vertices of marks for the graphics card, which cover one another in their order.
export class MarkVertices {
  constructor() {
    this.values = new Float32Array(VERTEX * 1024);
    this.count = 0;
  }

  // Take the vertices of marks. `pixel`: size of a pixel at a distance of 1.
  fill({ discs, lines, arrows, rings }, camera, pixel) {
    this.count = 0;
    this.addCircles(discs, DISC);
    for (const line of lines) this.addLine(line, camera.eye, pixel);
    for (const { corners: [tip, left, notch, right], colour, alpha } of arrows) {
      const rgb = rgbOf(colour);
      for (const [x, y, z] of [tip, left, notch, tip, notch, right]) this.add(x, y, z, rgb, alpha, 0, 0.5, LINE);
    }
    this.addCircles(rings, RING);
  }

  add(x, y, z, [r, g, b], alpha, u, v, kind) {
    const at = VERTEX * this.count++;
    if (at + VERTEX > this.values.length) {
      const larger = new Float32Array(2 * this.values.length);
      larger.set(this.values);
      this.values = larger;
    }
    const { values } = this;
    [values[at], values[at + 1], values[at + 2]] = [x, y, z];
    [values[at + 3], values[at + 4], values[at + 5], values[at + 6]] = [r, g, b, alpha];
    [values[at + 7], values[at + 8], values[at + 9]] = [u, v, kind];
  }

  addCircles(circles, kind) {
    for (const { x, y, z, radius, colour, alpha } of circles) {
      const rgb = rgbOf(colour);
      for (const [u, v] of CORNERS) this.add(x + u * radius, y, z + v * radius, rgb, alpha, u, v, kind);
    }
  }

  // A ribbon: flat on the ground, or turned to the eye.
  addLine({ points, width, colour, alphas: [from, to], air, least }, eye, pixel) {
    const rgb = rgbOf(colour);
    const steps = points.length / 3 - 1;
    for (let step = 0; step < steps; step++) {
      const i = 3 * step;
      const ax = points[i], ay = points[i + 1], az = points[i + 2], bx = points[i + 3], by = points[i + 4], bz = points[i + 5];
      const dx = bx - ax, dy = by - ay, dz = bz - az;
      const ex = eye[0] - ax, ey = eye[1] - ay, ez = eye[2] - az;
      // At right angles to the line: as the eye sees it, and on the ground.
      let sx = dy * ez - dz * ey, sy = dz * ex - dx * ez, sz = dx * ey - dy * ex;
      const size = Math.sqrt(sx * sx + sy * sy + sz * sz), away = Math.sqrt(ex * ex + ey * ey + ez * ez);
      if (!(size > 1e-9)) continue;
      let seen = 1;
      if (!air) {
        const flat = Math.sqrt(dx * dx + dz * dz) || 1;
        seen = Math.max(Math.abs(dx * sz - dz * sx) / (flat * size), 0.05);
        [sx, sy, sz] = [-dz / flat, 0, dx / flat];
      } else [sx, sy, sz] = [sx / size, sy / size, sz / size];
      const half = Math.max(0.5 * width, (0.5 * least * pixel * away) / seen);
      [sx, sy, sz] = [sx * half, sy * half, sz * half];
      const near = from + ((to - from) * step) / steps, far = from + ((to - from) * (step + 1)) / steps;
      for (const [end, side] of [[0, 1], [0, -1], [1, -1], [0, 1], [1, -1], [1, 1]]) {
        this.add(ax + end * dx + side * sx, ay + end * dy + side * sy, az + end * dz + side * sz, rgb, end ? far : near, side, 0, LINE);
      }
    }
  }
}
