// Drawing on the ground: grid, shadows, trails, paths and contacts.

import { styleOf, look } from "../page_content.js";
import { faded } from "./surface2d.js";

const TRAIL_S = 1.2;
const PATH_S = 2;
const PATH_MARK_S = 0.5;
const WHOLE_PATH_POINTS = 400;
const GRID_LINES = 13;

// Base class of the stage, which provides the camera, the floor and the colours of bodies.
export class Ground {
  // Height of the ground under a place, for this body.
  level(body, x, z) {
    return this.terrain ? this.terrain.at(x, z) : body.floor;
  }

  // Add a line on the ground to the context's path.
  groundLine(context, body, ax, az, bx, bz) {
    this.camera.line(context, ax, this.level(body, ax, az), az, bx, this.level(body, bx, bz), bz);
  }

  drawGround(context) {
    const { camera, grid, floor } = this;
    if (this.terrain) {
      this.terrain.draw(context, camera, this.height);
      return;
    }
    const reach = Math.ceil(GRID_LINES * Math.max(1, camera.distance / (5 * this.height)));
    const step = grid * Math.max(1, Math.round(reach / 40));
    const lines = Math.min(reach, 40);
    const [cx, cz] = [Math.round(camera.target[0] / step) * step, Math.round(camera.target[2] / step) * step];
    this.gridStep = step;
    // Lines consist of cells that fade with their distance: four strokes in all.
    const rings = [[], [], [], []];
    for (let i = -lines; i <= lines; i++) {
      for (let j = -lines; j < lines; j++) {
        const away = Math.hypot(i, j + 0.5) / lines;
        if (away < 1) rings[Math.floor(away * 4)].push(i, j);
      }
    }
    rings.forEach((cells, ring) => {
      context.beginPath();
      for (let at = 0; at < cells.length; at += 2) {
        const [i, j] = [cells[at] * step, cells[at + 1] * step];
        camera.line(context, cx + i, floor, cz + j, cx + i, floor, cz + j + step);
        camera.line(context, cx + j, floor, cz + i, cx + j + step, floor, cz + i);
      }
      context.strokeStyle = faded(look.soft, [0.34, 0.24, 0.14, 0.06][ring]);
      context.lineWidth = 1;
      context.stroke();
    });
  }

  drawShadow(context, body, pose) {
    const { camera } = this;
    context.beginPath();
    for (let link = 0; link < body.links.length; link += 2) {
      const [a, b] = [3 * body.links[link], 3 * body.links[link + 1]];
      this.groundLine(context, body, pose[a], pose[a + 2], pose[b], pose[b + 2]);
    }
    const depth = camera.project(pose[0], this.level(body, pose[0], pose[2]), pose[2])[2];
    context.lineWidth = Math.max(1, (0.055 * body.height * camera.focal) / Math.max(depth, camera.near));
    context.strokeStyle = look.dark ? "rgba(0, 0, 0, 0.38)" : "rgba(27, 31, 36, 0.11)";
    context.stroke();
  }

  drawBallShadow(context, body, time) {
    const { camera } = this;
    const [x, , z] = body.ballAt(time);
    const [px, py, depth] = camera.project(x, this.level(body, x, z), z);
    if (depth < camera.near) return;
    const across = (body.ballRadius * camera.focal) / depth;
    context.beginPath();
    context.ellipse(px, py, across, 0.5 * across, 0, 0, 7);
    context.fillStyle = look.dark ? "rgba(0, 0, 0, 0.38)" : "rgba(27, 31, 36, 0.11)";
    context.fill();
  }

  drawTrails(context, body, time) {
    const colour = body.colour;
    const last = body.nearest(time);
    const first = Math.max(0, last - Math.round(TRAIL_S * body.fps));
    const [a, b] = [[0, 0, 0], [0, 0, 0]];
    const quarter = Math.max(1, Math.ceil((last - first) / 4));
    for (const joint of body.trailing) {
      for (let part = 0; part < 4; part++) {
        context.beginPath();
        for (let f = first + part * quarter; f < Math.min(last, first + (part + 1) * quarter); f++) {
          body.joint(f, joint, a);
          body.joint(f + 1, joint, b);
          this.camera.line(context, a[0], a[1], a[2], b[0], b[1], b[2]);
        }
        context.lineCap = "butt";
        context.strokeStyle = faded(colour, 0.12 + 0.16 * part);
        context.lineWidth = 1 + 0.35 * part;
        context.stroke();
      }
    }
    context.lineCap = "round";
  }

  // The root path: faint as a whole, bold around the current time with marks of the facing.
  drawPath(context, body, time) {
    const source = body.root || body.centre;
    const colour = body.colour;
    const trace = (from, to, stride) => {
      context.beginPath();
      for (let f = from; f < to; f += stride) {
        const g = Math.min(f + stride, to);
        this.groundLine(context, body, source[3 * f], source[3 * f + 2], source[3 * g], source[3 * g + 2]);
      }
      context.stroke();
    };
    context.lineWidth = 1;
    context.strokeStyle = faded(colour, 0.3);
    trace(0, body.frames - 1, Math.max(1, Math.ceil(body.frames / WHOLE_PATH_POINTS)));
    const now = body.nearest(time);
    const reach = Math.round(PATH_S * body.fps);
    context.lineWidth = 2.5;
    context.strokeStyle = faded(colour, 0.75);
    trace(Math.max(0, now - reach), Math.min(body.frames - 1, now + reach), 1);
    const mark = Math.max(1, Math.round(PATH_MARK_S * body.fps));
    const size = 0.13 * body.height;
    for (let f = now - 4 * mark; f <= now + 4 * mark; f += mark) {
      if (f < 0 || f >= body.frames) continue;
      const [x, z] = [source[3 * f], source[3 * f + 2]];
      if (body.facing) {
        context.lineWidth = f === now ? 3 : 1.5;
        context.strokeStyle = faded(colour, f === now ? 1 : 0.75);
        context.beginPath();
        this.groundLine(context, body, x, z, x + size * body.facing[3 * f], z + size * body.facing[3 * f + 2]);
        context.stroke();
      }
      const p = this.camera.project(x, this.level(body, x, z), z);
      if (p[2] < this.camera.near) continue;
      context.fillStyle = colour;
      context.beginPath();
      context.arc(p[0], p[1], f === now ? 4 : 2.4, 0, 7);
      context.fill();
    }
  }

  // The desired path, and the desired trajectory at the current time.
  drawDesired(context, body, time) {
    const line = (places, from, to) => {
      context.beginPath();
      for (let p = from; p + 1 < to; p++) {
        this.groundLine(context, body, places[2 * p], places[2 * p + 1], places[2 * p + 2], places[2 * p + 3]);
      }
      context.stroke();
    };
    if (body.desiredPath) {
      context.lineWidth = 1.5;
      context.strokeStyle = faded(look.ink, 0.4);
      line(body.desiredPath, 0, body.desiredPath.length / 2);
    }
    if (!body.desiredTrajectory || !body.covers(time)) return;
    const trajectory = body.desiredTrajectory;
    const start = body.nearest(time) * body.trajectorySamples;
    const stop = start + body.trajectorySamples;
    context.lineWidth = 1.75;
    context.strokeStyle = faded(look.ink, 0.85);
    line(trajectory, start, stop);
    for (let p = start; p < stop; p++) {
      const [x, z] = [trajectory[2 * p], trajectory[2 * p + 1]];
      const point = this.camera.project(x, this.level(body, x, z), z);
      if (point[2] < this.camera.near) continue;
      context.beginPath();
      context.arc(point[0], point[1], 4, 0, 7);
      context.stroke();
    }
  }

  drawContacts(context, body, pose, time) {
    if (!body.contacts || !body.covers(time)) return;
    const frame = body.nearest(time);
    const radius = 0.06 * body.height;
    body.feet.forEach((joint, foot) => {
      const touches = body.contacts[frame * body.feet.length + foot];
      const [x, z] = [pose[3 * joint], pose[3 * joint + 2]];
      const points = [];
      for (let at = 0; at < 28; at++) {
        const angle = (2 * Math.PI * at) / 28;
        const [px, pz] = [x + radius * Math.sin(angle), z + radius * Math.cos(angle)];
        const p = this.camera.project(px, this.level(body, px, pz), pz);
        if (p[2] < this.camera.near) return;
        points.push(p[0], p[1]);
      }
      context.beginPath();
      for (let at = 0; at < points.length; at += 2) context.lineTo(points[at], points[at + 1]);
      context.closePath();
      context.lineWidth = 1.5;
      context.strokeStyle = faded(styleOf(2).colour, touches ? 1 : 0.3);
      context.fillStyle = faded(styleOf(2).colour, touches ? 0.5 : 0);
      context.fill();
      context.stroke();
    });
  }
}
