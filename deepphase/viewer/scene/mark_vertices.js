// Vertices of marks for the graphics card: position (3), colour (4), place across (2).

import { rgbOf } from "../vectors.js";

const SIZE = 9;
const CORNERS = [[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]];

class Vertices {
  constructor() {
    this.values = new Float32Array(SIZE * 1024);
    this.count = 0;
  }

  add(x, y, z, [r, g, b], alpha, u, v) {
    if (SIZE * (this.count + 1) > this.values.length) {
      const larger = new Float32Array(2 * this.values.length);
      larger.set(this.values);
      this.values = larger;
    }
    const { values } = this, at = SIZE * this.count++;
    values[at] = x;
    values[at + 1] = y;
    values[at + 2] = z;
    values[at + 3] = r;
    values[at + 4] = g;
    values[at + 5] = b;
    values[at + 6] = alpha;
    values[at + 7] = u;
    values[at + 8] = v;
  }
}

export class MarkVertices {
  constructor() {
    this.kinds = { mark: new Vertices(), disc: new Vertices(), ring: new Vertices() };
  }

  // Vertices {values, count} by the program that draws them. `pixel`: size of a pixel at a distance of 1.
  of(marks, camera, pixel) {
    for (const kind of Object.values(this.kinds)) kind.count = 0;
    for (const line of marks.lines) this.line(line, camera.eye, pixel);
    for (const { corners: [tip, left, notch, right], colour, alpha } of marks.arrows) {
      const rgb = rgbOf(colour);
      for (const [x, y, z] of [tip, left, notch, tip, notch, right]) this.kinds.mark.add(x, y, z, rgb, alpha, 0, 0.5);
    }
    for (const [name, circles] of [["disc", marks.discs], ["ring", marks.rings]]) {
      for (const { x, y, z, radius, colour, alpha } of circles) {
        const rgb = rgbOf(colour);
        for (const [u, v] of CORNERS) this.kinds[name].add(x + u * radius, y, z + v * radius, rgb, alpha, u, v);
      }
    }
    return this.kinds;
  }

  // A ribbon: flat on the ground, or turned to the eye.
  line({ points, width, colour, alphas: [from, to], air, least }, eye, pixel) {
    const rgb = rgbOf(colour);
    const steps = points.length / 3 - 1;
    const { mark } = this.kinds;
    for (let step = 0; step < steps; step++) {
      const i = 3 * step;
      const ax = points[i], ay = points[i + 1], az = points[i + 2], bx = points[i + 3], by = points[i + 4], bz = points[i + 5];
      const dx = bx - ax, dy = by - ay, dz = bz - az;
      const ex = eye[0] - ax, ey = eye[1] - ay, ez = eye[2] - az;
      // At right angles to the line: as the eye sees it, and on the ground.
      let sx = dy * ez - dz * ey, sy = dz * ex - dx * ez, sz = dx * ey - dy * ex;
      const size = Math.sqrt(sx * sx + sy * sy + sz * sz), away = Math.sqrt(ex * ex + ey * ey + ez * ez);
      if (!(size > 1e-9)) continue;
      let half = 0.5 * width, seen = 1;
      if (!air) {
        const flat = Math.sqrt(dx * dx + dz * dz) || 1;
        seen = Math.max(Math.abs(dx * sz - dz * sx) / (flat * size), 0.05);
        [sx, sy, sz] = [-dz / flat, 0, dx / flat];
      } else [sx, sy, sz] = [sx / size, sy / size, sz / size];
      half = Math.max(half, (0.5 * least * pixel * away) / seen);
      [sx, sy, sz] = [sx * half, sy * half, sz * half];
      const near = from + ((to - from) * step) / steps, far = from + ((to - from) * (step + 1)) / steps;
      mark.add(ax + sx, ay + sy, az + sz, rgb, near, 1, 0);
      mark.add(ax - sx, ay - sy, az - sz, rgb, near, -1, 0);
      mark.add(bx - sx, by - sy, bz - sz, rgb, far, -1, 0);
      mark.add(ax + sx, ay + sy, az + sz, rgb, near, 1, 0);
      mark.add(bx - sx, by - sy, bz - sz, rgb, far, -1, 0);
      mark.add(bx + sx, by + sy, bz + sz, rgb, far, 1, 0);
    }
  }
}
