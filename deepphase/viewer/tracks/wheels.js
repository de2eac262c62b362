// A wheel for each phase channel: the angle of its hand is the phase, the length the amplitude.

import { look } from "../page_content.js";
import { clamp } from "../vectors.js";
import { fontOf, faded, Surface } from "../scene/surface2d.js";

const WHEEL_TRAIL_S = 0.35;
// Minimum width in pixels for number and frequency on one line.
const ONE_LINE = 74;
// And for a frequency with its unit.
const WITH_UNIT = 46;
// Radius below which wheels have no frequency.
const SMALL = 14;

// A wheel of the tips (cycles, share of the radius) of its hand, up to now; dashed where `inside` is false.
export function drawWheel(context, { x, y, radius, colour, tips, inside = true }) {
  const placed = tips.map(([cycles, share]) => {
    const angle = 2 * Math.PI * cycles;
    return [x + radius * share * Math.sin(angle), y - radius * share * Math.cos(angle)];
  });
  const disc = (size, fill) => {
    context.fillStyle = fill;
    context.beginPath();
    context.arc(x, y, size, 0, 7);
    context.fill();
  };
  const line = (from, to, width, stroke) => {
    context.strokeStyle = stroke;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
  };
  context.lineCap = "round";
  disc(radius, faded(look.page, 0.6));
  context.lineWidth = 1;
  context.strokeStyle = faded(look.soft, 0.45);
  context.setLineDash(inside ? [] : [3, 3]);
  context.stroke();
  context.setLineDash([]);
  const [, share] = tips[tips.length - 1];
  disc(radius * share, faded(colour, 0.16));
  context.fillStyle = faded(look.soft, 0.6);
  context.fillRect(x - 0.5, y - radius - 2, 1, 4);
  for (let at = 1; at < placed.length; at++) line(placed[at - 1], placed[at], 2, faded(colour, (0.6 * at) / (placed.length - 1)));
  const end = placed[placed.length - 1];
  line([x, y], end, 2.5, colour);
  context.fillStyle = colour;
  context.beginPath();
  context.arc(...end, Math.min(4, 0.25 * radius), 0, 7);
  context.fill();
}

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
    const { shown } = channels.choice;
    const count = shown.length;
    if (!count) return;
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
    for (const [at, c] of shown.entries()) {
      const row = Math.floor(at / columns);
      const inRow = Math.min(columns, count - row * columns);
      const x = surface.width / 2 + ((at % columns) - (inRow - 1) / 2) * cell;
      const y = row * line + (line - caption) / 2;
      this.drawWheel(context, c, time, x, y, radius, inside, cell, bare);
    }
  }

  drawWheel(context, c, time, x, y, radius, inside, cell, bare) {
    const { phase, frequency, amplitude } = this.channels;
    const { colour } = this.channels.choice.style(c);
    const tip = (at) => [phase.cyclesAt(c, at), Math.min(1, amplitude.at(c, at) / this.largest)];
    const steps = 12;
    const tips = Array.from({ length: steps + 1 }, (_, at) => tip(Math.max(phase.start, time - (WHEEL_TRAIL_S * (steps - at)) / steps)));
    drawWheel(context, { x, y, radius, colour, tips, inside });
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
