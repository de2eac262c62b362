// Drawing of columns of numbers as curves.

import { styleOf, look } from "../page_content.js";
import { rangeOf, Timed } from "./take_data.js";
import { clamp } from "../vectors.js";
import { fontOf, faded, fillBox, fitted, niceTicks, shortNumber, strokeLine, write } from "../scene/surface2d.js";

// From this number of frames per pixel, a line is drawn as the range in each pixel.
const DENSE = 1.5;

// Columns that are computed from others.
export class Derived extends Timed {
  constructor(series, columnOf) {
    super(series, series.frames);
    Object.assign(this, { counted: series.counted, columns: series.columns, columnOf, computed: [] });
  }

  column(index) { return (this.computed[index] ||= this.columnOf(index)); }
  range(index) { return rangeOf(this.column(index), this.counted); }
}

export function visibleFrames(timed, plot) {
  return [
    clamp(Math.floor((plot.from - timed.start) * timed.fps) - 1, 0, timed.frames - 1),
    clamp(Math.ceil((plot.to - timed.start) * timed.fps) + 1, 0, timed.frames - 1),
  ];
}

// Call with (x, low, high) for each pixel that holds frames.
export function eachPixel(timed, plot, values, call) {
  const [first, last] = visibleFrames(timed, plot);
  const perFrame = (plot.right - plot.left) / ((plot.to - plot.from) * timed.fps);
  const origin = plot.x(timed.start);
  let frame = first;
  while (frame <= last) {
    const pixel = Math.floor(origin + frame * perFrame);
    let low = values[frame];
    let high = low;
    while (++frame <= last && Math.floor(origin + frame * perFrame) === pixel) {
      if (values[frame] < low) low = values[frame];
      if (values[frame] > high) high = values[frame];
    }
    call(pixel, low, high);
  }
}

export function isDense(timed, plot) {
  return ((plot.to - plot.from) * timed.fps) / (plot.right - plot.left) > DENSE;
}

export function strokeColumn(context, timed, plot, values, y, wraps) {
  context.beginPath();
  if (isDense(timed, plot)) {
    let before = NaN;
    eachPixel(timed, plot, values, (x, low, high) => {
      const jump = wraps && !(Math.abs(low - before) < 0.5);
      jump ? context.moveTo(x + 0.5, y(low)) : context.lineTo(x + 0.5, y(low));
      context.lineTo(x + 0.5, y(high));
      before = high;
    });
  } else {
    const [first, last] = visibleFrames(timed, plot);
    for (let f = first; f <= last; f++) {
      const x = plot.x(timed.start + f / timed.fps);
      const jump = f === first || (wraps && Math.abs(values[f] - values[f - 1]) > 0.5);
      jump ? context.moveTo(x, y(values[f])) : context.lineTo(x, y(values[f]));
    }
  }
  context.stroke();
}

export function drawTicks(context, plot, low, high, y) {
  for (const tick of niceTicks(low, high, Math.max(2, Math.floor((plot.bottom - plot.top) / 26)))) {
    const at = Math.round(y(tick)) + 0.5;
    fillBox(context, plot.left, at - 0.5, plot.right - plot.left, 1, faded(look.soft, 0.22));
    write(context, shortNumber(tick), plot.left - 6, at, { colour: look.soft, align: "right" });
  }
}

// Shade frames whose window reaches past the clip.
export function shadeEdges(context, plot, { interior, fps, start }) {
  const place = (frame) => clamp(plot.x(start + frame / fps), plot.left, plot.right);
  for (let f = 0; f < (interior?.length ?? 0); f++) {
    if (interior[f]) continue;
    const first = f;
    while (f + 1 < interior.length && !interior[f + 1]) f++;
    fillBox(context, place(first - 0.5), plot.top, place(f + 0.5) - place(first - 0.5), plot.bottom - plot.top, faded(look.soft, 0.14));
  }
}

export function drawLegend(context, plot, lines, solid) {
  context.font = fontOf(10.5, "600");
  let x = plot.left + 6;
  lines.forEach((line, i) => {
    const text = fitted(context, line, 110);
    const width = context.measureText(text).width;
    if (x + width + 28 > plot.right) return;
    fillBox(context, x - 3, plot.top + 2, width + 28, 15, faded(look.page, 0.8));
    const style = styleOf(i);
    context.setLineDash(solid ? [] : style.dash);
    strokeLine(context, [[x, plot.top + 9], [x + 18, plot.top + 9]], style.colour, 2.5);
    context.setLineDash([]);
    write(context, text, x + 22, plot.top + 4, { weight: "600", colour: look.ink, baseline: "top" });
    x += width + 36;
  });
}

// Areas of `columns` quantities stacked over `count` places, with an edge between them, as they stay two in
// grey, too: `value` of a column and place, `x` of a place, `y` of a sum; `after` each area, with its edges.
export function drawStack(context, { columns, count, value, x, y, after, colour = (column) => styleOf(column).colour }) {
  const [below, above] = [new Float32Array(count), new Float32Array(count)];
  for (let column = 0; column < columns; column++) {
    context.fillStyle = colour(column);
    context.globalAlpha = 0.85;
    context.beginPath();
    for (let i = 0; i < count; i++) {
      above[i] = below[i] + Math.max(0, value(column, i));
      context.lineTo(x(i), y(above[i]));
    }
    for (let i = count - 1; i >= 0; i--) context.lineTo(x(i), y(below[i]));
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = look.page;
    context.lineWidth = 1;
    context.stroke();
    after?.(column, below, above);
    below.set(above);
  }
}
