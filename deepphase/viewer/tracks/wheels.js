// A wheel for each phase channel: the angle of its hand is the phase, the length the amplitude.

import { look } from "../page_content.js";
import { clamp } from "../vectors.js";
import { fontOf, faded, fillBox, fillDisc, strokeLine, Surface, write } from "../scene/surface2d.js";

const WHEEL_TRAIL_S = 0.35, WHEEL_STEPS = 12;
// Minimum width in pixels for number and frequency on one line, and for a frequency with its unit.
const ONE_LINE = 74, WITH_UNIT = 46;
// Radius below which wheels have no frequency.
const SMALL = 14;

// A wheel of the tips (cycles, share of the radius) of its hand, up to now; dashed where `inside` is false.
export function drawWheel(context, { x, y, radius, colour, tips, inside = true }) {
  const places = tips.map(([cycles, share]) => {
    const angle = 2 * Math.PI * cycles;
    return [x + radius * share * Math.sin(angle), y - radius * share * Math.cos(angle)];
  });
  const end = places.at(-1);
  context.lineCap = "round";
  fillDisc(context, x, y, radius, faded(look.page, 0.6));
  context.lineWidth = 1;
  context.strokeStyle = faded(look.soft, 0.45);
  context.setLineDash(inside ? [] : [3, 3]);
  context.stroke();
  context.setLineDash([]);
  fillDisc(context, x, y, radius * tips.at(-1)[1], faded(colour, 0.16));
  fillBox(context, x - 0.5, y - radius - 2, 1, 4, faded(look.soft, 0.6));
  for (let at = 1; at < places.length; at++) {
    strokeLine(context, [places[at - 1], places[at]], faded(colour, (0.6 * at) / (places.length - 1)), 2);
  }
  strokeLine(context, [[x, y], end], colour, 2.5);
  fillDisc(context, ...end, Math.min(4, 0.25 * radius), colour);
}

export class Wheels {
  constructor(canvas, onChange) {
    this.surface = new Surface(canvas, onChange);
    this.channels = null;
  }

  open(channels) {
    this.channels = channels;
    if (channels) this.largest = Math.max(1e-9, ...Array.from({ length: channels.amplitude.columns }, (_, c) => channels.amplitude.range(c)[1]));
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
        const cell = surface.width / Math.ceil(count / tried);
        const under = twoLines && cell < ONE_LINE ? 30 : 17;
        const fits = Math.min(cell, surface.height / tried - under) / 2 - 6;
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
      drawWheel(context, { x, y, radius, colour: channels.choice.style(c).colour, tips: this.tips(c, time), inside });
      this.drawCaption(context, c, time, x, y + radius, cell, bare);
    }
  }

  // Phase and share of the largest amplitude of a channel, up to a time.
  tips(c, time) {
    const { phase, amplitude } = this.channels;
    return Array.from({ length: WHEEL_STEPS + 1 }, (_, step) => {
      const at = Math.max(phase.start, time - (WHEEL_TRAIL_S * (WHEEL_STEPS - step)) / WHEEL_STEPS);
      return [phase.cyclesAt(c, at), Math.min(1, amplitude.at(c, at) / this.largest)];
    });
  }

  // The channel's number and frequency below its wheel.
  drawCaption(context, c, time, x, bottom, cell, bare) {
    const hertz = this.channels.frequency.at(c, time);
    const words = cell < WITH_UNIT ? hertz.toFixed(1) : `${hertz.toFixed(2)} Hz`;
    const number = { size: 11, weight: "600", colour: look.ink, baseline: "top" };
    const soft = { size: 11, colour: look.soft, baseline: "top" };
    if (cell >= ONE_LINE && !bare) {
      context.font = fontOf(11, "600");
      const wide = context.measureText(`${c}  `).width;
      context.font = fontOf(11);
      const left = x - (wide + context.measureText("00.00 Hz").width) / 2;
      write(context, words, left + wide, bottom + 5, soft);
      return write(context, `${c}`, left, bottom + 5, number);
    }
    write(context, `${c}`, x, bottom + 4, { ...number, align: "center" });
    if (!bare) write(context, words, x, bottom + 17, { ...soft, align: "center" });
  }
}
