// Drawing of columns of numbers as curves.

import { styleOf, look } from "../page_content.js";
import { rangeOf, Timed } from "./take_data.js";
import { clamp } from "../vectors.js";
import { fontOf, faded, niceTicks, shortNumber, fitted } from "../scene/surface2d.js";

// From this number of frames per pixel, a line is drawn as the range in each pixel.
const DENSE = 1.5;

// Columns that are computed from others.
export class Derived extends Timed {
  constructor(series, columnOf) {
    super(series, series.frames);
    this.counted = series.counted;
    this.columns = series.columns;
    this.columnOf = columnOf;
    this.computed = [];
  }

  column(index) {
    this.computed[index] ||= this.columnOf(index);
    return this.computed[index];
  }

  range(index) {
    return rangeOf(this.column(index), this.counted);
  }
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
  context.font = fontOf(10.5);
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const tick of niceTicks(low, high, Math.max(2, Math.floor((plot.bottom - plot.top) / 26)))) {
    const at = Math.round(y(tick)) + 0.5;
    context.fillStyle = faded(look.soft, 0.22);
    context.fillRect(plot.left, at - 0.5, plot.right - plot.left, 1);
    context.fillStyle = look.soft;
    context.fillText(shortNumber(tick), plot.left - 6, at);
  }
}

// Shade frames whose window reaches past the clip.
export function shadeEdges(context, plot, channels) {
  if (!channels.interior) return;
  const { interior } = channels;
  const half = 0.5 / channels.fps;
  context.fillStyle = faded(look.soft, 0.14);
  for (let f = 0; f < interior.length; f++) {
    if (interior[f]) continue;
    let stop = f;
    while (stop + 1 < interior.length && !interior[stop + 1]) stop++;
    const x = clamp(plot.x(channels.start + f / channels.fps - half), plot.left, plot.right);
    const end = clamp(plot.x(channels.start + stop / channels.fps + half), plot.left, plot.right);
    context.fillRect(x, plot.top, end - x, plot.bottom - plot.top);
    f = stop;
  }
}

export function drawLegend(context, plot, lines, solid) {
  context.font = fontOf(10.5, "600");
  context.textAlign = "left";
  context.textBaseline = "top";
  let x = plot.left + 6;
  lines.forEach((line, i) => {
    const text = fitted(context, line, 110);
    const width = context.measureText(text).width;
    if (x + width + 28 > plot.right) return;
    context.fillStyle = faded(look.page, 0.8);
    context.fillRect(x - 3, plot.top + 2, width + 28, 15);
    const style = styleOf(i);
    context.strokeStyle = style.colour;
    context.lineWidth = 2.5;
    context.setLineDash(solid ? [] : style.dash);
    context.beginPath();
    context.moveTo(x, plot.top + 9);
    context.lineTo(x + 18, plot.top + 9);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = look.ink;
    context.fillText(text, x + 22, plot.top + 4);
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
