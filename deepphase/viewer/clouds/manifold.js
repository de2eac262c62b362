// Position of the current frame on the phase manifold, in the plane or in space.

import { scene, styleOf, look } from "../page_content.js";
import { pressed } from "../scene/elements.js";
import { arrayOf, Series } from "../tracks/take_data.js";
import { onTurn } from "../input/pointer.js";
import { clamp } from "../vectors.js";
import { fontOf, faded, LayeredSurface, strokeLine } from "../scene/surface2d.js";
import { Plot } from "./plot.js";

const RECENT_S = 1.5;
const PATH_POINTS = 3000;
const CLEAR_FRAMES = 1500;
const MARGINS = [58, 10, 12, 34];

export class Manifold {
  constructor(canvas, buttons, onChange) {
    this.surface = new LayeredSurface(canvas, onChange);
    this.part = null;
    this.plot = new Plot({ margins: MARGINS });
    this.choose = (axes) => {
      this.plot.space = axes === 3;
      buttons.forEach((button, i) => pressed(button, i + 2 === axes));
      canvas.classList.toggle("turns", axes === 3);
      this.surface.redraw();
    };
    buttons.forEach((button, i) => button.addEventListener("click", () => this.choose(i + 2)));
    onTurn(canvas, this.plot.camera, { onChange: () => this.surface.redraw(), active: () => this.plot.space });
  }

  open(part) {
    this.part = part;
    if (!part) return;
    this.path = new Series(part, part.path);
    this.points = arrayOf(part.points);
    this.colours = arrayOf(part.colours);
    this.dimensions = part.path.shape[1];
    this.plot.fit([this.points, this.pathPoints(0, this.path.frames - 1, 1)], this.dimensions);
    this.choose(this.dimensions === 3 && this.plot.space ? 3 : 2);
  }

  // Numbers of every so many frames of the path, point by point.
  pathPoints(from, to, stride) {
    const columns = Array.from({ length: this.dimensions }, (_, axis) => this.path.column(axis));
    const points = [];
    for (let f = from; f <= to; f += stride) for (const column of columns) points.push(column[f]);
    return points;
  }

  // Places in pixels of points.
  places(points) {
    const { plot, dimensions: size } = this;
    return Array.from({ length: points.length / size }, (_, i) => plot.place(points[size * i], points[size * i + 1], size > 2 ? points[size * i + 2] : 0));
  }

  label(axis) {
    const share = `${Math.round(100 * this.part.explained[axis])} %`;
    return `PC ${axis + 1} (${this.plot.space ? share : `latent unit; ${share} of variance`})`;
  }

  drawBack(context) {
    const { surface, plot, colours } = this;
    context.font = fontOf(10.5);
    plot.frame(surface.width, surface.height);
    plot.drawAxes(context, look, (plot.space ? [0, 1, 2] : [0, 1]).map((axis) => this.label(axis)));
    const places = this.places(this.points);
    const size = places.length > 3000 ? 1.6 : 2.4;
    context.globalAlpha = colours ? 0.6 : 0.4;
    context.fillStyle = scene.palette.neutral;
    places.forEach(([x, y], i) => {
      if (colours) context.fillStyle = `rgb(${colours[3 * i]} ${colours[3 * i + 1]} ${colours[3 * i + 2]})`;
      context.fillRect(x - size / 2, y - size / 2, size, size);
    });
    context.globalAlpha = 1;
    // Long paths are fainter, as they would hide the cloud.
    const { frames } = this.path;
    const path = this.places(this.pathPoints(0, frames - 1, Math.max(1, Math.ceil(frames / PATH_POINTS))));
    strokeLine(context, path, faded(look.ink, clamp((0.28 * CLEAR_FRAMES) / frames, 0.06, 0.28)), 1);
  }

  draw(time) {
    if (!this.part || !this.surface.drawable) return;
    const context = this.surface.beginOver((behind) => this.drawBack(behind));
    const now = this.path.nearest(time);
    const first = Math.max(0, now - Math.round(RECENT_S * this.path.fps));
    const moment = Array.from({ length: this.dimensions }, (_, axis) => this.path.at(axis, time));
    const places = this.places([...this.pathPoints(first, now, 1), ...moment]);
    this.plot.drawTrail(context, places, { colour: look.ink, disc: styleOf(5).colour, rim: look.page });
  }
}
