// A plot of points in the plane, or in a cube that turns: places of the points, axes, and a path among them.

import { Camera } from "../scene/camera.js";
import { faded, fillDisc, niceTicks, shortNumber, strokeLine } from "../scene/surface2d.js";
import { clamp } from "../vectors.js";

// Distance of the eye from the middle of a cube with edges of 2.
const AWAY = 5.2;
// Depths of points around that of the middle, for their closeness.
const DEEP = Math.sqrt(2);
// Share of a plot's place that the points take.
const FILLED = 0.96;

export class Plot {
  // `margins`: pixels to the left, at the top, to the right and at the bottom of a plane, for its axes.
  constructor({ margins, yaw = 0.8, pitch = 0.45 }) {
    this.planeMargins = margins;
    this.camera = new Camera({ yaw, pitch, distance: AWAY });
    this.space = false;
    this.view = { x: 0, y: 0, zoom: 1 };
    [this.width, this.height] = [100, 100];
  }

  // Fit to points (x, y, z, ...) or (x, y, ...), of `dimensions` numbers each, in several arrays.
  fit(arrays, dimensions) {
    this.low = [Infinity, Infinity, dimensions === 3 ? Infinity : 0];
    this.high = this.low.map((least) => -least);
    for (const points of arrays) {
      for (let i = 0; i < points.length; i++) {
        const axis = i % dimensions;
        this.low[axis] = Math.min(this.low[axis], points[i]);
        this.high[axis] = Math.max(this.high[axis], points[i]);
      }
    }
    this.half = Math.max(1e-9, ...this.low.map((low, axis) => (this.high[axis] - low) / 2));
    this.middle = this.low.map((low, axis) => (low + this.high[axis]) / 2);
  }

  get margins() { return this.space ? [8, 8, 8, 8] : this.planeMargins; }

  frame(width, height) {
    [this.width, this.height] = [width, height];
    const [left, top, right, bottom] = this.margins;
    const [wide, high] = [Math.max(1, width - left - right), Math.max(1, height - top - bottom)];
    [this.wide, this.tall] = [wide, high];
    this.centre = [left + wide / 2 + this.view.x, top + high / 2 + this.view.y];
    const [dx, dy] = [0, 1].map((axis) => this.high[axis] - this.low[axis] || 1);
    this.scale = this.view.zoom * FILLED * Math.min(wide / dx, high / dy);
    this.camera.frame(wide, high);
  }

  // Pixels of a place.
  place(x, y, z = 0) {
    const { centre: [cx, cy], middle, half } = this;
    if (!this.space) return [cx + (x - middle[0]) * this.scale, cy - (y - middle[1]) * this.scale];
    const p = this.camera.project((x - middle[0]) / half, (y - middle[1]) / half, (z - middle[2]) / half);
    return [cx + this.view.zoom * (p[0] - this.wide / 2), cy + this.view.zoom * (p[1] - this.tall / 2)];
  }

  // Pixels (x, y) of many places (x, y, z), and in space the closeness of each, 0 to 1.
  placeAll(points, screen, closeness) {
    for (let i = 0, count = points.length / 3; i < count; i++) {
      [screen[2 * i], screen[2 * i + 1]] = this.place(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
      if (this.space) closeness[i] = clamp((AWAY + DEEP - this.camera.screen[2]) / (2 * DEEP), 0, 1);
    }
  }

  // Zoom around a place in the picture.
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = clamp(this.view.zoom * factor, 0.5, 60);
    const part = zoom / this.view.zoom;
    const [mx, my] = [this.centre[0] - this.view.x, this.centre[1] - this.view.y];
    this.view.x = (this.view.x - (x - mx)) * part + (x - mx);
    this.view.y = (this.view.y - (y - my)) * part + (y - my);
    this.view.zoom = zoom;
  }

  reset() { Object.assign(this.view, { x: 0, y: 0, zoom: 1 }); }

  // Axes with their titles: of a plane with numbers, or of a cube. `look`: ink, soft and line.
  drawAxes(context, look, titles) {
    context.lineWidth = 1;
    if (this.space) this.drawCube(context, look, titles);
    else this.drawPlane(context, look, titles);
  }

  drawPlane(context, look, titles) {
    const [left, top] = this.margins;
    const { wide, tall, scale, middle, centre } = this;
    const [x0, y0] = [middle[0] + (left - centre[0]) / scale, middle[1] + (centre[1] - top - tall) / scale];
    // In the font of the context.
    const say = (words, x, y, colour, textAlign, textBaseline, room) => {
      Object.assign(context, { fillStyle: colour, textAlign, textBaseline });
      context.fillText(words, x, y, room);
    };
    context.strokeStyle = look.line;
    for (const value of niceTicks(x0, x0 + wide / scale, wide / 70)) {
      const [x] = this.place(value, 0);
      context.strokeRect(Math.round(x) - 0.5, top, 0, tall);
      say(shortNumber(value), x, top + tall + 5, look.soft, "center", "top");
    }
    for (const value of niceTicks(y0, y0 + tall / scale, tall / 50)) {
      const [, y] = this.place(0, value);
      context.strokeRect(left, Math.round(y) - 0.5, wide, 0);
      say(shortNumber(value), left - 5, y, look.soft, "right", "middle");
    }
    // Where they have no room, without the unit.
    const fitting = (title, room) => (context.measureText(title).width > room ? title.replace(/\(.*; (.*) of .*\)/, "($1)") : title);
    say(fitting(titles[0], wide), left + wide / 2, this.height - 2, look.ink, "center", "bottom", wide);
    context.save();
    context.translate(2, top + tall / 2);
    context.rotate(-Math.PI / 2);
    say(fitting(titles[1], tall), 0, 0, look.ink, "center", "top", tall);
    context.restore();
  }

  drawCube(context, look, titles) {
    const { low, high } = this;
    const corner = (i) => this.place(...[0, 1, 2].map((axis) => ((i >> axis) & 1 ? high : low)[axis]));
    context.strokeStyle = look.line;
    context.beginPath();
    for (let i = 0; i < 8; i++) {
      for (const bit of [1, 2, 4]) {
        if (i & bit) continue;
        context.moveTo(...corner(i));
        context.lineTo(...corner(i | bit));
      }
    }
    context.stroke();
    context.fillStyle = look.ink;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const [cx, cy] = this.place(...this.middle);
    titles.forEach((title, axis) => {
      // Without its unit, so that it fits beside the cube.
      const [words] = title.split(" (");
      // Beside that edge of the axis that is farthest from the data, below them where it can be.
      const others = [0, 1, 2].filter((each) => each !== axis).map((each) => 1 << each);
      const [x, y] = [0, others[0], others[1], others[0] + others[1]].map((from) => {
        const [a, b] = [corner(from), corner(from + (1 << axis))];
        return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
      }).reduce((best, each) => (away(each) > away(best) ? each : best));
      const far = Math.hypot(x - cx, y - cy) || 1;
      const half = context.measureText(words).width / 2 + 4;
      const [dx, dy] = [(x - cx) / far, (y - cy) / far];
      // Within the figure, so that no title is cut.
      context.fillText(words, clamp(x + dx * (half + 6), half, this.width - half), clamp(y + dy * 16, 10, this.height - 10));
    });
    function away([x, y]) {
      return Math.hypot(x - cx, y - cy) + 0.3 * (y - cy);
    }
  }

  // The path through places in pixels up to a moment, fading towards its past, and the moment as a disc.
  drawTrail(context, places, { colour, disc, rim, width = 2, radius = 6 }) {
    const count = places.length;
    context.lineJoin = context.lineCap = "round";
    for (let at = 1; at < count; at++) {
      strokeLine(context, [places[at - 1], places[at]], faded(colour, (0.85 * at) / count), 0.5 + (width * at) / count);
    }
    if (!count) return;
    fillDisc(context, ...places[count - 1], radius, disc);
    context.lineWidth = 2;
    context.strokeStyle = rim;
    context.stroke();
  }
}
