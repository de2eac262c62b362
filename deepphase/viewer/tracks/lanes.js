// Curves over time. Each lane is drawn once per view, and one cursor moves over all of them.

import { look } from "../page_content.js";
import { onDrag } from "../input/pointer.js";
import { clamp } from "../vectors.js";
import { chip, created, element } from "../scene/elements.js";
import { faded, fillBox, niceTicks, shortNumber, Surface, write } from "../scene/surface2d.js";

// Length in seconds of the part of a long clip that is in view.
const VIEW_S = 20;
const SHORTEST_VIEW_S = 0.2;
const NARROW = 620;

export class Lanes {
  constructor({ onSeek, onView, onChange }) {
    const [box, list, choice, cursor, overviewRow] = ["lanes-box", "lanes", "lane-choice", "cursor", "overview-row"].map(element);
    Object.assign(this, { box, list, choice, cursor, overviewRow, onView, onChange, lanes: [], duration: 0, from: 0, to: 1 });
    this.axis = new Surface(element("axis"), () => this.redraw());
    const seek = (event) => {
      const time = this.timeAt(event.clientX);
      if (time !== null) onSeek(time);
    };
    onDrag(box, { start: seek, move: seek });
    box.addEventListener("wheel", (event) => {
      const along = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
      if (!event.ctrlKey && !event.metaKey && !along) return;
      event.preventDefault();
      if (along) this.show(this.from + ((event.deltaX || event.deltaY) * (this.to - this.from)) / 800);
      else this.zoom(event.deltaY, this.timeAt(event.clientX) ?? this.from);
    }, { passive: false });
    box.addEventListener("dblclick", () => this.showAll());
  }

  // Without lanes, the overview takes the whole width.
  get left() {
    if (!this.axis.width) return 12;
    return this.axis.width < NARROW ? 100 : 156;
  }

  get right() {
    return (this.list.clientWidth || this.axis.width || this.overviewRow.clientWidth) - 10;
  }

  timeAt(clientX) {
    const x = clientX - this.box.getBoundingClientRect().left;
    if (this.right <= this.left) return null;
    return clamp(this.time(clamp(x, this.left, this.right)), 0, this.duration);
  }

  x(time) {
    return this.left + ((time - this.from) / (this.to - this.from)) * (this.right - this.left);
  }

  time(x) {
    return this.from + ((x - this.left) / (this.right - this.left)) * (this.to - this.from);
  }

  open(lanes, duration, markers) {
    for (const lane of this.lanes) lane.surface.release();
    const chosen = new Map(this.lanes.map((lane) => [lane.name, lane.shown]));
    this.list.replaceChildren();
    this.choice.replaceChildren();
    this.duration = duration;
    this.markers = markers;
    this.lanes = lanes;
    for (const lane of lanes) {
      // The choice of lanes is kept for the next clip.
      lane.shown = chosen.get(lane.name) ?? lane.shown;
      lane.output = created("output");
      const canvas = created("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${lane.name} over time${lane.unit ? `, ${lane.unit}` : ""}`);
      const words = created("div", { className: "lane-name" }, created("b", {}, lane.name), created("small", {}, lane.unit), lane.output);
      lane.row = created("div", { className: "lane", hidden: !lane.shown }, words, canvas);
      lane.row.style.height = `${lane.height}px`;
      this.list.append(lane.row);
      lane.stale = true;
      lane.surface = new Surface(canvas, () => { lane.stale = true; this.onChange(); });
      this.choice.append(chip([lane.name], lane.shown, () => {
        lane.shown = !lane.shown;
        lane.row.hidden = !lane.shown;
        this.onChange();
        return lane.shown;
      }));
    }
    this.box.hidden = !lanes.length;
    this.to = this.from = 0;
    this.show(0, Math.min(duration, duration > 1.5 * VIEW_S ? VIEW_S : duration));
  }

  show(from, seconds = this.to - this.from) {
    const span = clamp(seconds, Math.min(SHORTEST_VIEW_S, this.duration), this.duration) || 1;
    this.from = clamp(from, 0, Math.max(0, this.duration - span));
    this.to = this.from + span;
    this.redraw();
    this.onView();
  }

  showAll() { this.show(0, this.duration); }

  zoom(amount, around) {
    const factor = Math.exp(clamp(amount, -100, 100) * 0.003);
    this.show(around - (around - this.from) * factor, (this.to - this.from) * factor);
  }

  // Lanes show other channels.
  resize() {
    for (const lane of this.lanes) lane.row.style.height = `${lane.height}px`;
    this.redraw();
  }

  redraw() {
    this.axisStale = true;
    // With the whole clip in view, the ticks of the overview serve the curves too.
    this.axis.canvas.classList.toggle("spare", this.from <= 0 && this.to >= this.duration);
    for (const lane of this.lanes) lane.stale = true;
    this.onChange();
  }

  draw(time) {
    if (!this.lanes.length || !this.axis.width) return;
    if (time < this.from || time > this.to) {
      this.show(time - (time < this.from ? 0.9 : 0.02) * (this.to - this.from));
    }
    if (this.axisStale) this.drawAxis();
    for (const lane of this.lanes) {
      if (!lane.shown || !lane.surface.drawable) continue;
      if (lane.stale) this.drawLane(lane);
      if (lane.read) {
        const words = lane.read(time);
        if (lane.words !== words) lane.output.textContent = lane.words = words;
      }
    }
    this.cursor.style.transform = `translateX(${this.x(time)}px)`;
  }

  get ticks() { return niceTicks(this.from, this.to, Math.floor((this.right - this.left) / 80)); }

  drawAxis() {
    const context = this.axis.begin();
    for (const tick of this.ticks) {
      const x = this.x(tick);
      fillBox(context, x - 0.5, this.axis.height - 4, 1, 4, look.soft);
      write(context, `${shortNumber(tick)} s`, clamp(x, this.left + 10, this.right - 10), this.axis.height / 2 - 2, { colour: look.soft, align: "center" });
    }
    this.axisStale = false;
  }

  drawLane(lane) {
    const context = lane.surface.begin(), { height } = lane.surface;
    const { left, right, from, to } = this;
    const clip = (where, draw) => {
      where.save();
      where.beginPath();
      where.rect(left, 0, right - left, height);
      where.clip();
      draw();
      where.restore();
    };
    const plot = { left, right, from, to, top: 3, bottom: height - 3, x: (time) => this.x(time), time: (x) => this.time(x), clip };
    const upright = (time, colour) => fillBox(context, Math.round(this.x(time)), 0, 1, height, colour);
    for (const tick of this.ticks) upright(tick, faded(look.soft, 0.16));
    lane.draw(context, plot);
    for (const [, start] of this.markers) if (start > from && start < to) upright(start, faded(look.ink, 0.3));
    lane.stale = false;
  }
}
