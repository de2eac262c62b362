// A wheel for each phase channel: the angle of its hand is the phase, the length the amplitude.

import { styleOf, look } from "../page_content.js";
import { clamp } from "../scene/vectors.js";
import { fontOf, faded, Surface } from "../scene/surface2d.js";

const WHEEL_TRAIL_S = 0.35;
// Minimum width in pixels for number and frequency on one line.
const ONE_LINE = 74;
// And for a frequency with its unit.
const WITH_UNIT = 46;
// Radius below which wheels have no frequency.
const SMALL = 14;

export class Wheels {
  constructor(canvas, onChange) {
    this.surface = new Surface(canvas, onChange);
    this.channels = null;
  }

  open(channels) {
    this.channels = channels;
    if (!channels) return;
    const { amplitude } = channels;
    this.largest = 1e-9;
    for (let c = 0; c < amplitude.columns; c++) {
      this.largest = Math.max(this.largest, amplitude.range(c)[1]);
    }
  }

  draw(time) {
    const { channels, surface } = this;
    if (!channels || !surface.drawable) return;
    const context = surface.begin();
    const count = channels.phase.columns;
    // The number of rows with the largest wheels; small ones have no frequency below them.
    const largest = (twoLines) => {
      let best = [1, 0, 0];
      for (let tried = 1; tried <= count; tried++) {
        const under = twoLines && surface.width / Math.ceil(count / tried) < ONE_LINE ? 30 : 17;
        const fits = Math.min(surface.width / Math.ceil(count / tried), surface.height / tried - under) / 2 - 6;
        if (fits > best[1]) best = [tried, fits, under];
      }
      return best;
    };
    let [rows, radius, caption] = largest(true);
    const bare = radius < SMALL;
    if (bare) [rows, radius, caption] = largest(false);
    radius = clamp(radius, 1, 64);
    const columns = Math.ceil(count / rows);
    const [cell, line] = [surface.width / columns, surface.height / rows];
    const inside = channels.covers(time) && (!channels.interior || channels.interior[channels.nearest(time)]);
    context.lineCap = "round";
    for (let c = 0; c < count; c++) {
      const row = Math.floor(c / columns);
      const inRow = Math.min(columns, count - row * columns);
      const x = surface.width / 2 + ((c % columns) - (inRow - 1) / 2) * cell;
      const y = row * line + (line - caption) / 2;
      this.drawWheel(context, c, time, x, y, radius, inside, cell, bare);
    }
  }

  drawWheel(context, c, time, x, y, radius, inside, cell, bare) {
    const { phase, frequency, amplitude } = this.channels;
    const { colour } = styleOf(c);
    const tip = (at) => {
      const angle = 2 * Math.PI * phase.cyclesAt(c, at);
      const length = radius * Math.min(1, amplitude.at(c, at) / this.largest);
      return [x + length * Math.sin(angle), y - length * Math.cos(angle), length];
    };
    const [tx, ty, length] = tip(time);
    context.lineWidth = 1;
    context.strokeStyle = faded(look.soft, 0.45);
    context.setLineDash(inside ? [] : [3, 3]);
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = faded(colour, 0.16);
    context.beginPath();
    context.arc(x, y, length, 0, 7);
    context.fill();
    context.fillStyle = faded(look.soft, 0.6);
    context.fillRect(x - 0.5, y - radius - 2, 1, 4);
    const steps = 12;
    for (let at = 0; at < steps; at++) {
      const from = tip(Math.max(phase.start, time - (WHEEL_TRAIL_S * (steps - at)) / steps));
      const to = tip(Math.max(phase.start, time - (WHEEL_TRAIL_S * (steps - at - 1)) / steps));
      context.strokeStyle = faded(colour, (0.6 * (at + 1)) / steps);
      context.lineWidth = 2;
      context.beginPath();
      context.moveTo(from[0], from[1]);
      context.lineTo(to[0], to[1]);
      context.stroke();
    }
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(tx, ty);
    context.stroke();
    context.beginPath();
    context.arc(tx, ty, Math.min(4, 0.25 * radius), 0, 7);
    context.fill();
    context.textBaseline = "top";
    const hertz = frequency.at(c, time);
    const words = cell < WITH_UNIT ? hertz.toFixed(1) : `${hertz.toFixed(2)} Hz`;
    if (cell >= ONE_LINE && !bare) {
      context.font = fontOf(11, "600");
      const number = context.measureText(`${c}  `).width;
      context.font = fontOf(11);
      const left = x - (number + context.measureText("00.00 Hz").width) / 2;
      context.textAlign = "left";
      context.fillStyle = look.soft;
      context.fillText(words, left + number, y + radius + 5);
      context.font = fontOf(11, "600");
      context.fillStyle = look.ink;
      context.fillText(`${c}`, left, y + radius + 5);
      return;
    }
    context.textAlign = "center";
    context.font = fontOf(11, "600");
    context.fillStyle = look.ink;
    context.fillText(`${c}`, x, y + radius + 4);
    if (bare) return;
    context.font = fontOf(11);
    context.fillStyle = look.soft;
    context.fillText(words, x, y + radius + 17);
  }
}
