// Marks on the ground and in the air, in metres: lines, arrows, rings and soft discs. Renderers draw them.

import { unit } from "../vectors.js";

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
    this.lines = [];
    this.arrows = [];
    this.discs = [];
    this.rings = [];
  }

  // A line through points (x, y, z, ...) in the air, which faces the eye and fades from one opacity to the other.
  line(points, { width, colour, alphas, least = 1, air = true }) {
    if (points.length > 3) this.lines.push({ points, width, colour, alphas, least, air });
  }

  // A line through places (x, z, ...) on the ground, at least so many pixels wide.
  groundLine(places, { width, colour, alphas, least, height = LINE_M }) {
    const points = new Float32Array(1.5 * places.length);
    for (let at = 0, out = 0; at < places.length; at += 2, out += 3) {
      const [x, z] = [places[at], places[at + 1]];
      points[out] = x;
      points[out + 1] = this.level(x, z) + height;
      points[out + 2] = z;
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

  contact(x, z, strength, radius) {
    if (strength > 0.05) this.ring(x, z, radius, this.colours.contact, 0.85 * strength);
  }

  shade(x, z, radius, strength) {
    this.discs.push({ x, y: this.level(x, z) + DISC_M, z, radius, colour: this.colours.shade, alpha: strength });
  }
}
