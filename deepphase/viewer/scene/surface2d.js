// Canvases in the resolution of the screen, and drawing helpers of all views.

import { between, rgbOf } from "../vectors.js";

export const FONT = getComputedStyle(document.documentElement).getPropertyValue("--font");
export const fontOf = (size, weight = "") => `${weight} ${size}px ${FONT}`;

export const faded = (colour, opacity) => `rgba(${rgbOf(colour).map((part) => 255 * part)}, ${opacity})`;

// Words in a colour at a place.
export function write(context, words, x, y, { size = 10.5, weight = "", colour, align = "left", baseline = "middle", room } = {}) {
  Object.assign(context, { font: fontOf(size, weight), fillStyle: colour, textAlign: align, textBaseline: baseline });
  context.fillText(words, x, y, room);
}

// A line through places [x, y].
export function strokeLine(context, places, colour, width) {
  Object.assign(context, { strokeStyle: colour, lineWidth: width });
  context.beginPath();
  for (const [x, y] of places) context.lineTo(x, y);
  context.stroke();
}

export function fillDisc(context, x, y, radius, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}

export function fillBox(context, x, y, wide, tall, colour) {
  context.fillStyle = colour;
  context.fillRect(x, y, wide, tall);
}

// A colour of red, green and blue from 0 to 1, as in "#0072b2", and one part of the way towards another.
export const hexOf = (rgb) => `#${rgb.map((value) => Math.round(255 * value).toString(16).padStart(2, "0")).join("")}`;
export const mixed = (one, other, part) => hexOf(between(rgbOf(one), rgbOf(other), part));

// Round numbers between two ends, at most `most` of them.
export function niceTicks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(most, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * 0.75);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-6); tick * step <= high + step * 1e-6; tick++) {
    ticks.push(Number((tick * step).toPrecision(10)));
  }
  return ticks;
}

export const shortNumber = (value) =>
  Math.abs(value) >= 100000 || (value && Math.abs(value) < 0.001)
    ? value.toExponential(0)
    : String(Number(value.toPrecision(Math.abs(value) < 100 ? 3 : 4))).replace("-", "\u2212");

// Text, shortened in the middle to fit a width.
export function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const kept = (count) => `${text.slice(0, (count + 1) >> 1)}…${text.slice(text.length - (count >> 1))}`;
  let [low, high] = [0, Math.min(text.length, 200)];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(kept(middle)).width <= width) low = middle;
    else high = middle - 1;
  }
  return low ? kept(low) : "";
}

export class Surface {
  constructor(canvas, onResize) {
    Object.assign(this, { canvas, context: canvas.getContext("2d"), onResize, visible: true, width: 0, height: 0, ratio: 0 });
    this.resizing = new ResizeObserver(() => this.fit());
    this.resizing.observe(canvas);
    this.intersecting = new IntersectionObserver((entries) => {
      this.visible = entries[entries.length - 1].isIntersecting;
      if (this.visible) this.onResize();
      else this.onHide?.();
    }, { rootMargin: "200px" });
    this.intersecting.observe(canvas);
  }

  fit() {
    const ratio = Math.min(window.devicePixelRatio || 1, 3);
    const { clientWidth, clientHeight } = this.canvas;
    if (clientWidth === this.width && clientHeight === this.height && ratio === this.ratio) return;
    [this.width, this.height, this.ratio] = [clientWidth, clientHeight, ratio];
    // Another size empties a canvas: the picture stays until the next one, which comes late on busy machines.
    const { canvas } = this, before = Object.assign(document.createElement("canvas"), { width: canvas.width, height: canvas.height });
    before.getContext("2d").drawImage(canvas, 0, 0);
    canvas.width = Math.max(1, Math.round(clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(clientHeight * ratio));
    this.context.drawImage(before, 0, 0, canvas.width, canvas.height);
    this.onResize();
  }

  get drawable() { return this.visible && this.width > 4 && this.height > 4; }

  // An empty canvas to draw on, in CSS pixels.
  begin() {
    if ((window.devicePixelRatio || 1) !== this.ratio) this.fit();
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  release() {
    this.resizing.disconnect();
    this.intersecting.disconnect();
  }
}

// A surface with a background, which is drawn again only where it is stale.
export class LayeredSurface extends Surface {
  constructor(canvas, onChange) {
    super(canvas, () => this.redraw());
    this.back = document.createElement("canvas");
    this.onChange = onChange;
    this.stale = true;
  }

  redraw() {
    this.stale = true;
    this.onChange();
  }

  // The canvas with its background, which `drawBack` draws where it is stale.
  beginOver(drawBack) {
    const { back, canvas, ratio } = this;
    const context = this.begin();
    if (this.stale) {
      [back.width, back.height] = [canvas.width, canvas.height];
      const behind = back.getContext("2d");
      behind.setTransform(ratio, 0, 0, ratio, 0, 0);
      drawBack(behind);
      this.stale = false;
    }
    context.drawImage(back, 0, 0, this.width, this.height);
    return context;
  }
}
