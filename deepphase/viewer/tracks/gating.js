// A bar for each expert: its weight at the time cursor.

import { styleOf, look } from "../page_content.js";
import { clamp } from "../vectors.js";
import { fontOf, faded, Surface } from "../scene/surface2d.js";

export class GatingBars {
  constructor(canvas, onChange) {
    this.surface = new Surface(canvas, onChange);
    this.weights = null;
  }

  open(weights) {
    this.weights = weights;
  }

  draw(time) {
    const { weights, surface } = this;
    if (!weights || !surface.drawable) return;
    const context = surface.begin();
    const [left, top, bottom] = [26, 6, surface.height - 18];
    const cell = (surface.width - left - 4) / weights.columns;
    context.font = fontOf(10.5);
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of [0, 0.5, 1]) {
      const y = bottom - tick * (bottom - top);
      context.fillStyle = faded(look.soft, 0.3);
      context.fillRect(left, Math.round(y), surface.width - left - 4, 1);
      context.fillStyle = look.soft;
      context.fillText(`${tick}`, left - 5, y);
    }
    context.textAlign = "center";
    for (let expert = 0; expert < weights.columns; expert++) {
      const high = clamp(weights.at(expert, time), 0, 1) * (bottom - top);
      const width = Math.min(34, 0.68 * cell);
      const x = left + cell * (expert + 0.5);
      context.fillStyle = styleOf(expert).colour;
      context.fillRect(x - width / 2, bottom - high, width, high);
      context.fillStyle = look.soft;
      context.fillText(`${expert}`, x, bottom + 10);
    }
  }
}
