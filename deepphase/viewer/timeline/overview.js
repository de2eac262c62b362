// The whole clip as one bar with its labelled spans, beats and the part in view of the curves.

import { styleOf, look } from "../page_content.js";
import { element } from "../scene/elements.js";
import { onDrag } from "../input/pointer.js";
import { clamp } from "../vectors.js";
import { faded, fillBox, fillDisc, fitted, fontOf, LayeredSurface, niceTicks, shortNumber, write } from "../scene/surface2d.js";

export class Overview {
  constructor({ lanes, onSeek, onChange }) {
    const [row, canvas] = ["overview-row", "overview"].map(element);
    Object.assign(this, { row, lanes, surface: new LayeredSurface(canvas, onChange) });
    const seek = (event) => {
      const x = event.clientX - canvas.getBoundingClientRect().left;
      onSeek(clamp((x - this.left) / (this.right - this.left), 0, 1) * this.duration);
    };
    onDrag(row, { start: seek, move: seek });
    row.addEventListener("wheel", (event) => {
      event.preventDefault();
      lanes.zoom(event.deltaY, this.now);
    }, { passive: false });
  }

  // The ends of the curves, so that the cursors align when the whole clip is in view.
  get left() { return this.lanes.lanes.length ? this.lanes.left : 10; }
  get right() { return this.lanes.lanes.length ? this.lanes.right : this.surface.width - 10; }

  x(time) {
    return this.left + (this.duration ? time / this.duration : 0) * (this.right - this.left);
  }

  open(take, duration) {
    this.take = take;
    this.duration = duration;
    this.row.setAttribute("aria-valuemax", duration.toFixed(2));
    this.surface.stale = true;
  }

  drawBack(context) {
    const { surface, take, duration, left, right } = this;
    const [top, bottom] = [4, surface.height - 16];
    const middle = (top + bottom) / 2 + 0.5;
    context.fillStyle = faded(look.soft, 0.14);
    context.beginPath();
    context.roundRect(left, top, right - left, bottom - top, 4);
    context.fill();
    context.font = fontOf(10.5);
    const labels = [...new Set(take.markers.map(([label]) => label))];
    for (const [label, start, stop] of take.markers) {
      const [x, end] = [this.x(start), this.x(Math.min(stop, duration))];
      const { colour } = styleOf(labels.indexOf(label));
      fillBox(context, x, top, Math.max(0, end - x - 1), bottom - top, faded(colour, 0.32));
      fillBox(context, x, top, 2, bottom - top, colour);
      const next = Math.min(duration, ...take.markers.map((marker) => marker[1]).filter((time) => time > start));
      const room = (stop > start ? end : this.x(next)) - x - 10;
      if (room > 14) write(context, fitted(context, label, room), x + 6, middle, { colour: look.ink });
    }
    if (take.song && take.song.downbeats.length < (right - left) / 3) {
      for (const beat of take.song.downbeats) fillBox(context, this.x(take.song.start + beat), bottom - 5, 1, 5, faded(look.ink, 0.45));
    }
    const { from, to } = this.lanes;
    const part = this.lanes.lanes.length && to - from < duration - 1e-6;
    // Beside a part in view, times stand in the bar, where the names of spans are.
    for (const tick of part && take.markers.length ? [] : niceTicks(0, duration, Math.floor((right - left) / 90))) {
      if (part && tick === 0) continue;
      const text = `${shortNumber(tick)} s`;
      const half = context.measureText(text).width / 2;
      write(context, text, clamp(this.x(tick), left + half, right - half), part ? middle : surface.height - 6, { colour: look.soft, align: "center" });
    }
    if (!part) return;
    // The part in view of the curves, widened to their width.
    const [x, end] = [this.x(from), this.x(to)];
    context.fillStyle = faded(look.soft, 0.12);
    context.beginPath();
    for (const point of [[x, bottom], [end, bottom], [right, surface.height], [left, surface.height]]) context.lineTo(...point);
    context.fill();
    context.strokeStyle = look.soft;
    context.lineWidth = 1.5;
    context.strokeRect(x, top - 1.5, end - x, bottom - top + 3);
  }

  draw(time) {
    this.now = time;
    if (!this.surface.drawable || !this.take) return;
    const context = this.surface.beginOver((behind) => this.drawBack(behind));
    const { colour } = styleOf(5);
    fillBox(context, this.x(time) - 1, 2, 2, this.surface.height - 16, colour);
    fillDisc(context, this.x(time), 4, 4, colour);
  }
}
