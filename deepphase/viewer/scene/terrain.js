// Ground with heights on a grid, drawn as shaded cells around the camera's target.

import { look } from "../page_content.js";
import { Heightmap } from "../runtime/ground/heightmap.js";
import { arrayOf } from "../tracks/take_data.js";
import { clamp } from "./vectors.js";
import { mixed } from "./surface2d.js";

// Cells on either side of the target, and the direction to the light.
const REACH_CELLS = 36;
const LIGHT = [0.4, 0.82, 0.41];
const GROUND_SHADES = 24;
// Cells that face away from the light by more than this cosine are equally dark.
const DARKEST = 0.3;

export class Terrain extends Heightmap {
  constructor({ heights, spacing, origin }) {
    super(arrayOf(heights), heights.shape[1], spacing, origin);
  }

  // Cells from far to near, fading at the edge; `size` is that of a body in metres.
  draw(context, camera, size) {
    const wide = Math.max(1, Math.round((0.075 * size) / this.spacing)) * this.spacing;
    const [cx, cz] = [0, 2].map((axis) => Math.round(camera.target[axis] / wide));
    const side = 2 * REACH_CELLS + 2;
    const points = new Float64Array(3 * side * side);
    const levels = new Float64Array(side * side);
    for (let row = 0; row < side; row++) {
      for (let column = 0; column < side; column++) {
        const [x, z] = [(cx + column - REACH_CELLS) * wide, (cz + row - REACH_CELLS) * wide];
        const at = row * side + column;
        levels[at] = this.at(x, z);
        points.set(camera.project(x, levels[at], z), 3 * at);
      }
    }
    const cells = [];
    for (let row = 0; row + 1 < side; row++) {
      for (let column = 0; column + 1 < side; column++) {
        const away = Math.hypot(row - REACH_CELLS, column - REACH_CELLS) / REACH_CELLS;
        const at = row * side + column;
        if (away < 1 && points[3 * at + 2] > camera.near) cells.push([points[3 * at + 2], at, away]);
      }
    }
    cells.sort((one, other) => other[0] - one[0]);
    const shades = this.shades();
    for (const [, at, away] of cells) {
      const corners = [at, at + 1, at + side + 1, at + side];
      if (corners.some((corner) => points[3 * corner + 2] < camera.near)) continue;
      const dx = (levels[at + 1] - levels[at]) / wide;
      const dz = (levels[at + side] - levels[at]) / wide;
      const lit = (LIGHT[1] - dx * LIGHT[0] - dz * LIGHT[2]) / Math.hypot(1, dx, dz);
      const shade = shades[clamp(Math.round(((lit - DARKEST) / (1 - DARKEST)) * GROUND_SHADES), 0, GROUND_SHADES)];
      context.globalAlpha = Math.min(1, 4 * (1 - away));
      context.fillStyle = context.strokeStyle = shade;
      context.lineWidth = 0.6;
      context.beginPath();
      for (const corner of corners) context.lineTo(points[3 * corner], points[3 * corner + 1]);
      context.closePath();
      context.fill();
      // Without its outline, gaps of less than a pixel show between cells.
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  shades() {
    const [dark, bright] = look.dark ? ["#0d1117", "#5b6672"] : ["#8d96a0", "#f3f5f7"];
    return Array.from({ length: GROUND_SHADES + 1 }, (_, at) => mixed(dark, bright, at / GROUND_SHADES));
  }
}
