// The picture on a plain canvas: skeletons of limbs, for point tracks and where a browser has no WebGL 2.

import { point } from "../vectors.js";
import { faded, mixed, strokeLine } from "./surface2d.js";

// Lines of the grid on either side of the camera's target, at least and at most.
const GRID_LINES = 13, MOST_LINES = 40;

// What a canvas draws of a scene. `look`: page, soft (lines) and whether it is dark.
export class PlainRenderer {
  constructor(look) {
    this.look = look;
  }

  begin(context, camera) {
    Object.assign(this, { context, camera });
    context.lineCap = context.lineJoin = "round";
  }

  // A grid on the ground, whose height `level` gives, in steps of at least `unit`; its step. `size`: of a body, in metres.
  drawGrid(level, unit, size) {
    const { camera, context } = this;
    const reach = Math.ceil(GRID_LINES * Math.max(1, camera.distance / (5 * size)));
    const step = unit * Math.max(1, Math.round(reach / MOST_LINES));
    const lines = Math.min(reach, MOST_LINES);
    const [cx, cz] = [Math.round(camera.target[0] / step) * step, Math.round(camera.target[2] / step) * step];
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
        for (const [ax, az, bx, bz] of [[i, j, i, j + step], [j, i, j + step, i]]) {
          camera.line(context, cx + ax, level(cx + ax, cz + az), cz + az, cx + bx, level(cx + bx, cz + bz), cz + bz);
        }
      }
      context.strokeStyle = faded(this.look.soft, [0.34, 0.24, 0.14, 0.06][ring]);
      context.lineWidth = 1;
      context.stroke();
    });
    return step;
  }

  // Corners (x, y, z) in pixels; null where one is behind the eye.
  seen(corners) {
    const found = corners.map(([x, y, z]) => [...this.camera.project(x, y, z)]);
    return found.some(([, , depth]) => depth < this.camera.near) ? null : found;
  }

  drawMarks({ lines, arrows, rings }) {
    const { context, camera } = this;
    for (const { points, width, colour, alphas: [from, to], least } of lines) {
      const middle = 3 * Math.floor(points.length / 6);
      const depth = camera.depth(points[middle], points[middle + 1], points[middle + 2]);
      context.lineWidth = Math.max(least, (width * camera.focal) / Math.max(depth, camera.near));
      // Lines that fade have four parts.
      const steps = points.length / 3 - 1, parts = from === to ? 1 : Math.min(4, steps);
      for (let part = 0; part < parts; part++) {
        context.beginPath();
        for (let i = 3 * Math.floor((part * steps) / parts); i < 3 * Math.floor(((part + 1) * steps) / parts); i += 3) {
          camera.line(context, points[i], points[i + 1], points[i + 2], points[i + 3], points[i + 4], points[i + 5]);
        }
        context.strokeStyle = faded(colour, from + ((to - from) * (part + 0.5)) / parts);
        context.stroke();
      }
    }
    for (const { corners, colour, alpha } of arrows) this.fillMark(corners, colour, alpha);
    for (const { x, y, z, radius, colour, alpha } of rings) {
      const corners = Array.from({ length: 28 }, (_, at) => {
        const angle = (2 * Math.PI * at) / 28;
        return [x + radius * Math.sin(angle), y, z + radius * Math.cos(angle)];
      });
      context.lineWidth = 1.5;
      context.strokeStyle = faded(colour, alpha);
      if (this.fillMark(corners, colour, 0.5 * alpha)) context.stroke();
    }
  }

  fillMark(corners, colour, alpha) {
    const seen = this.seen(corners), { context } = this;
    if (!seen) return false;
    context.fillStyle = faded(colour, alpha);
    context.beginPath();
    for (const [x, y] of seen) context.lineTo(x, y);
    context.closePath();
    context.fill();
    return true;
  }

  // The shadows of limbs and balls on the ground, whose height `level` gives.
  drawShadows(bodies, balls, level) {
    const { context, camera } = this;
    const colour = this.look.dark ? "rgba(0, 0, 0, 0.38)" : "rgba(27, 31, 36, 0.11)";
    context.strokeStyle = context.fillStyle = colour;
    for (const { pose, links, height } of bodies) {
      context.beginPath();
      for (let link = 0; link < links.length; link += 2) {
        const [[ax, az], [bx, bz]] = [links[link], links[link + 1]].map((joint) => [pose[3 * joint], pose[3 * joint + 2]]);
        camera.line(context, ax, level(ax, az), az, bx, level(bx, bz), bz);
      }
      const depth = camera.depth(pose[0], level(pose[0], pose[2]), pose[2]);
      context.lineWidth = Math.max(1, (0.055 * height * camera.focal) / Math.max(depth, camera.near));
      context.stroke();
    }
    for (const { place: [x, , z], radius } of balls) {
      const [px, py, depth] = camera.project(x, level(x, z), z);
      if (depth < camera.near) continue;
      const across = (radius * camera.focal) / depth;
      context.beginPath();
      context.ellipse(px, py, across, 0.5 * across, 0, 0, 7);
      context.fill();
    }
  }

  // Bodies {pose, links, radii (of links), height, colour, alpha} as limbs with round ends, and balls
  // {place, radius}, from far to near. A body without links is its points.
  drawLimbs(bodies, balls = []) {
    const pieces = [];
    const { look } = this;
    for (const body of bodies) {
      const { pose, links, radii, colour, height } = body;
      const shades = {
        rim: look.page, dark: mixed(colour, "#000000", look.dark ? 0.42 : 0.28), base: colour,
        bright: mixed(colour, "#ffffff", 0.42), alpha: body.alpha ?? 1,
      };
      radii.forEach((radius, link) => {
        const [from, to] = [links[2 * link], links[2 * link + 1]].map((joint) => point(pose, joint));
        this.addLimb(pieces, from, to, radius, shades, 0.8);
      });
      for (let joint = 0; !links.length && 3 * joint < pose.length; joint++) {
        this.addLimb(pieces, point(pose, joint), point(pose, joint), 0.012 * height, shades, 2);
      }
    }
    const { soft, page } = look;
    const shades = { rim: page, dark: soft, base: mixed(soft, "#ffffff", 0.75), bright: "#ffffff", alpha: 1 };
    for (const { place, radius } of balls) this.addLimb(pieces, place, place, radius, shades, 0);
    pieces.sort((one, other) => other.depth - one.depth);
    for (const piece of pieces) this.drawLimb(piece);
    this.context.globalAlpha = 1;
  }

  // A line with round ends and hardly any length is a disc. `least`: pixels of half its width.
  addLimb(pieces, from, to, radius, shades, least) {
    const ends = this.seen([from, to]);
    if (!ends) return;
    const [[ax, ay, near], [bx, by, far]] = ends;
    const depth = (near + far) / 2;
    const width = Math.max(2 * least, (2 * radius * this.camera.focal) / depth);
    pieces.push({ ax, ay, bx: bx + 0.01, by, depth, width, shades });
  }

  drawLimb({ ax, ay, bx, by, width, shades }) {
    const { context } = this;
    context.globalAlpha = shades.alpha;
    const stroke = (colour, wide, shift) => strokeLine(context, [[ax + shift, ay + shift], [bx + shift, by + shift]], colour, wide);
    stroke(shades.rim, width + Math.min(2, 0.4 * width), 0);
    stroke(shades.dark, width, 0);
    if (width > 2.5) {
      stroke(shades.base, 0.74 * width, -0.1 * width);
      stroke(shades.bright, 0.2 * width, -0.2 * width);
    }
  }
}
