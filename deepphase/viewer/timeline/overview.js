// The whole clip as one bar with its labelled spans, beats and the part in view of the curves.

import { styleOf, look } from "../page_content.js";
import { onDrag } from "../input/pointer.js";
import { clamp } from "../vectors.js";
import { fontOf, faded, niceTicks, shortNumber, fitted, Surface } from "../scene/surface2d.js";

export class Overview {
  constructor({ row, canvas, lanes, onSeek, onChange }) {
    this.surface = new Surface(canvas, () => { this.stale = true; onChange(); });
    this.row = row;
    this.lanes = lanes;
    this.back = document.createElement("canvas");
    this.stale = true;
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
  get left() {
    return this.lanes.lanes.length ? this.lanes.left : 10;
  }

  get right() {
    return this.lanes.lanes.length ? this.lanes.right : this.surface.width - 10;
  }

  x(time) {
    return this.left + (this.duration ? time / this.duration : 0) * (this.right - this.left);
  }

  open(take, duration) {
    this.take = take;
    this.duration = duration;
    this.row.setAttribute("aria-valuemax", duration.toFixed(2));
    this.stale = true;
  }

  drawBack() {
    const { surface, back, take, duration } = this;
    back.width = surface.canvas.width;
    back.height = surface.canvas.height;
    const context = back.getContext("2d");
    context.setTransform(surface.ratio, 0, 0, surface.ratio, 0, 0);
    const [top, bottom] = [4, surface.height - 16];
    context.fillStyle = faded(look.soft, 0.14);
    context.beginPath();
    context.roundRect(this.left, top, this.right - this.left, bottom - top, 4);
    context.fill();
    context.font = fontOf(10.5);
    context.textBaseline = "middle";
    context.textAlign = "left";
    const labels = [...new Set(take.markers.map(([label]) => label))];
    for (const [label, start, stop] of take.markers) {
      const [x, end] = [this.x(start), this.x(Math.min(stop, duration))];
      const { colour } = styleOf(labels.indexOf(label));
      context.fillStyle = faded(colour, 0.32);
      context.fillRect(x, top, Math.max(0, end - x - 1), bottom - top);
      context.fillStyle = colour;
      context.fillRect(x, top, 2, bottom - top);
      context.fillStyle = look.ink;
      const room = (stop > start ? end : this.nextStart(start)) - x - 10;
      if (room > 14) context.fillText(fitted(context, label, room), x + 6, (top + bottom) / 2 + 0.5);
    }
    if (take.song && take.song.downbeats.length < (this.right - this.left) / 3) {
      context.fillStyle = faded(look.ink, 0.45);
      for (const beat of take.song.downbeats) context.fillRect(this.x(take.song.start + beat), bottom - 5, 1, 5);
    }
    const { from, to } = this.lanes;
    const part = this.lanes.lanes.length && to - from < duration - 1e-6;
    context.textAlign = "center";
    context.fillStyle = look.soft;
    for (const tick of niceTicks(0, duration, Math.floor((this.right - this.left) / 90))) {
      if (part && tick === 0) continue;
      const text = `${shortNumber(tick)} s`;
      const half = context.measureText(text).width / 2;
      context.fillText(text, clamp(this.x(tick), this.left + half, this.right - half), part ? (top + bottom) / 2 + 0.5 : surface.height - 6);
    }
    if (part) {
      // The part in view of the curves, widened to their width.
      const [x, end] = [this.x(from), this.x(to)];
      context.fillStyle = faded(look.soft, 0.12);
      context.beginPath();
      for (const point of [[x, bottom], [end, bottom], [this.right, surface.height], [this.left, surface.height]]) {
        context.lineTo(...point);
      }
      context.fill();
      context.strokeStyle = look.soft;
      context.lineWidth = 1.5;
      context.strokeRect(x, top - 1.5, end - x, bottom - top + 3);
    }
    this.stale = false;
  }

  nextStart(start) {
    const later = this.take.markers.map((marker) => marker[1]).filter((each) => each > start);
    return this.x(Math.min(this.duration, ...later));
  }

  draw(time) {
    this.now = time;
    if (!this.surface.drawable || !this.take) return;
    if (this.stale) this.drawBack();
    const context = this.surface.begin();
    context.drawImage(this.back, 0, 0, this.surface.width, this.surface.height);
    const x = this.x(time);
    const { colour } = styleOf(5);
    context.fillStyle = colour;
    context.fillRect(x - 1, 2, 2, this.surface.height - 16);
    context.beginPath();
    context.arc(x, 4, 4, 0, 7);
    context.fill();
  }
}
