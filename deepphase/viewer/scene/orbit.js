// Orbit camera around a target: angles in radians, lengths in metres (or any unit).

import { clamp } from "./vectors.js";

const FIELD_OF_VIEW = (36 * Math.PI) / 180;
const STEEPEST = 1.5;

export class Camera {
  constructor({ yaw = 0.6, pitch = 0.22, distance = 4 } = {}) {
    this.yaw = yaw;
    this.pitch = pitch;
    this.distance = distance;
    this.target = [0, 0, 0];
    this.near = 0.05;
    this.screen = new Float64Array(3);
    this.frame(100, 100);
  }

  // Set the size of the picture in pixels; called before projecting.
  frame(width, height) {
    const { yaw, pitch } = this;
    this.focal = (0.5 * Math.min(height, width * 1.15)) / Math.tan(FIELD_OF_VIEW / 2);
    this.middle = [width / 2, height / 2];
    const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
    this.right = [cy, 0, -sy];
    this.up = [-sp * sy, cp, -sp * cy];
    this.forward = [-cp * sy, -sp, -cp * cy];
    this.eye = this.target.map((v, i) => v - this.forward[i] * this.distance);
    this.near = 0.02 * this.distance;
  }

  // (x, y) in pixels and depth; the same array each time.
  project(x, y, z) {
    const [dx, dy, dz] = [x - this.eye[0], y - this.eye[1], z - this.eye[2]];
    const { right, up, forward, screen } = this;
    const depth = dx * forward[0] + dy * forward[1] + dz * forward[2];
    const scale = this.focal / Math.max(depth, this.near);
    screen[0] = this.middle[0] + scale * (dx * right[0] + dz * right[2]);
    screen[1] = this.middle[1] - scale * (dx * up[0] + dy * up[1] + dz * up[2]);
    screen[2] = depth;
    return screen;
  }

  // Add a line to the context's path, clipped in front of the eye.
  line(context, ax, ay, az, bx, by, bz) {
    const f = this.forward;
    const depthOf = (x, y, z) =>
      (x - this.eye[0]) * f[0] + (y - this.eye[1]) * f[1] + (z - this.eye[2]) * f[2];
    const [da, db] = [depthOf(ax, ay, az), depthOf(bx, by, bz)];
    if (da < this.near && db < this.near) return;
    if (da < this.near || db < this.near) {
      const part = (this.near - da) / (db - da);
      const [x, y, z] = [ax + (bx - ax) * part, ay + (by - ay) * part, az + (bz - az) * part];
      if (da < this.near) [ax, ay, az] = [x, y, z];
      else [bx, by, bz] = [x, y, z];
    }
    const a = this.project(ax, ay, az);
    context.moveTo(a[0], a[1]);
    const b = this.project(bx, by, bz);
    context.lineTo(b[0], b[1]);
  }

  turn(dx, dy) {
    this.yaw -= dx * 0.008;
    this.pitch = clamp(this.pitch + dy * 0.008, -STEEPEST, STEEPEST);
  }

  zoom(steps) {
    this.distance = clamp(this.distance * Math.exp(steps), 0.05, 500);
  }

  // Offset of the target for a move in the picture, given in pixels.
  pan(dx, dy) {
    const metres = this.distance / this.focal;
    return this.right.map((r, i) => (-dx * r + dy * this.up[i]) * metres);
  }
}
