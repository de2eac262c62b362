// A timeline of a clip: keys that are dragged to other times, or stretches of frames in rows.

import { componentOf, describeDrawing, node } from "../input/component.js";
import { clamp, mix } from "../vectors.js";

const ROW = 17, TOP = 26, KEY = 7, EDGE_PX = 7;
const MAX_LABEL_PX = 120, BOTTOM = 8;
// Frames of an arrow key with and without Shift, and milliseconds after the last until it counts.
const FEW = 1, MANY = 10, PAUSE_MS = 500;

/** Keys [frame of the pose, frame at which it stands], rising, with one of them at another time, in the same order. */
export function moved(keys, index, to, last) {
  const low = index ? keys[index - 1][1] + 1 : 0;
  const high = index < keys.length - 1 ? keys[index + 1][1] - 1 : last;
  return keys.map((key, i) => (i === index ? [key[0], clamp(to, low, Math.max(low, high))] : key));
}

/** Keys with one more: the pose of a frame, between those beside it; the same where it is one. */
export function added(keys, frame) {
  const after = keys.findIndex((key) => key[0] >= frame);
  if (after >= 0 && keys[after][0] === frame) return keys;
  const right = after < 0 ? null : keys[after];
  const left = after < 0 ? keys.at(-1) : keys[after - 1];
  let at = frame;
  if (left && right) {
    if (right[1] - left[1] < 2) return keys;
    const share = (frame - left[0]) / (right[0] - left[0]);
    at = clamp(Math.round(mix(left[1], right[1], share)), left[1] + 1, right[1] - 1);
  } else if (left) at = left[1] + frame - left[0];
  else if (right) at = clamp(right[1] - (right[0] - frame), 0, right[1] - 1);
  return [...keys, [frame, at]].sort((a, b) => a[0] - b[0]);
}

/** Stretches [row, first, last] with one more; those of its row that it touches become one with it. */
export function joined(spans, span) {
  let [row, first, last] = span;
  const others = [];
  for (const each of spans) {
    if (each[0] === row && each[1] <= last + 1 && each[2] >= first - 1) {
      first = Math.min(first, each[1]);
      last = Math.max(last, each[2]);
    } else others.push(each);
  }
  return [...others, [row, first, last]].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

class Timeline {
  constructor(root) {
    this.root = root;
    this.svg = root.querySelector("svg");
    this.status = root.querySelector(".status");
    this.cursor = null;
    for (const [name, react] of [
      ["pointerdown", "press"], ["pointermove", "drag"], ["pointerup", "lift"], ["pointercancel", "lift"],
      ["dblclick", "insert"], ["keydown", "key"],
    ]) this.svg.addEventListener(name, (event) => this[react](event));
    this.svg.addEventListener("blur", () => { this.cursor = this.anchor = null; this.draw(); });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(root);
  }

  show(data) {
    // A page that ran meanwhile does not take the hand away.
    if (this.held || this.waiting) return;
    this.data = data;
    this.marks = structuredClone(data.marks);
    this.draw();
  }

  get last() { return Math.max(this.data.length, 2) - 1; }
  get label() { return this.hasKeys ? 14 : MAX_LABEL_PX; }
  get wide() { return this.width - this.label - 16; }
  get hasKeys() { return this.data.kind === "keys"; }
  x(frame) { return this.label + (frame / this.last) * this.wide; }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    const share = (event.clientX - box.left - this.label) / this.wide;
    const row = Math.floor((event.clientY - box.top - TOP) / ROW);
    return { frame: clamp(Math.round(share * this.last), 0, this.last), row };
  }

  draw() {
    if (!this.data) return;
    const { svg, data } = this;
    this.width = Math.max(this.root.clientWidth, 200);
    const rows = this.hasKeys ? 2 : data.rows.length;
    const height = TOP + rows * ROW + BOTTOM;
    const focused = this.root.getRootNode().activeElement?.dataset?.index;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${this.width} ${height}`);
    svg.setAttribute("height", height);
    this.ruler(height);
    if (this.hasKeys) this.keys();
    else this.spans();
    if (focused !== undefined) svg.querySelector(`[data-index="${focused}"]`)?.focus();
  }

  ruler(height) {
    const seconds = this.last / this.data.fps;
    const desired = seconds / Math.max((this.width - this.label) / 80, 1);
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20].find((each) => each >= desired) ?? 60;
    for (let time = 0; time <= seconds + 1e-6; time += step) {
      const x = this.x(time * this.data.fps);
      node("line", { class: "grid", x1: x, x2: x, y1: TOP - 5, y2: height - BOTTOM }, this.svg);
      node("text", { x, y: 14, "text-anchor": "middle" }, this.svg).textContent = `${Number(time.toFixed(1))} s`;
    }
  }

  keys() {
    const [from, to] = [TOP + 0.35 * ROW, TOP + 1.5 * ROW];
    for (const [y, end] of [[to, this.last], [from, this.data.clip - 1]]) {
      node("line", { class: "lane", x1: this.x(0), x2: this.x(end), y1: y, y2: y }, this.svg);
    }
    // Many keys are small, with room between them; lines join those that were moved, of many.
    const room = (this.x(this.data.clip) - this.x(0)) / this.marks.length;
    const size = clamp(0.3 * room, 0.2, KEY);
    this.marks.forEach(([frame, at], index) => {
      const [source, x] = [this.x(frame), this.x(at)];
      if (room > KEY || frame !== at) node("line", { class: "moved", x1: source, y1: from, x2: x, y2: to }, this.svg);
      node("circle", { class: "pose", cx: source, cy: from, r: Math.min(2.5, size) }, this.svg);
      const key = node("path", {
        class: "key", d: `M${x - size} ${to}l${size} ${-KEY}l${size} ${KEY}l${-size} ${KEY}z`, tabindex: 0,
        role: "slider", "data-index": index, "aria-valuemin": 0, "aria-valuemax": this.last,
        "aria-valuenow": at, "aria-valuetext": `${(at / this.data.fps).toFixed(2)} s`,
        "aria-label": `Key ${index + 1}, pose of frame ${frame}: drag, or arrow keys`,
      }, this.svg);
      node("title", {}, key).textContent = `pose of frame ${frame} at frame ${at}, ${(at / this.data.fps).toFixed(2)} s`;
    });
  }

  spans() {
    const { svg, data } = this;
    data.rows.forEach((name, row) => {
      const y = TOP + row * ROW;
      node("rect", { class: row % 2 ? "row" : "row even", x: this.label, y, width: this.wide, height: ROW }, svg);
      node("text", { x: this.label - 6, y: y + 12, "text-anchor": "end" }, svg).textContent = name;
    });
    for (const [row, first, last] of this.marks) {
      // A stretch ends with the time of its last frame.
      const [x, y] = [this.x(first), TOP + row * ROW + 2];
      const width = Math.max(this.x(Math.min(last + 1, this.last)) - x, 3);
      const span = node("rect", { class: "span", x, y, width, height: ROW - 4, rx: 3 }, svg);
      node("title", {}, span).textContent = `${data.rows[row]}: frames ${first} to ${last}`;
    }
    if (this.cursor) {
      const { row, frame } = this.cursor;
      const x = this.x(frame);
      node("line", { class: "cursor", x1: x, x2: x, y1: TOP + row * ROW, y2: TOP + (row + 1) * ROW }, svg);
    }
    describeDrawing(svg, data.editable,
      "Timeline. Arrow keys move, Enter begins and ends a stretch of frames, Delete takes one away.",
      `Timeline: ${this.marks.length} stretches`);
  }

  // The stretch at a place, and whether one of its ends is there: 1 or 2 for first and last.
  under({ row, frame }, event) {
    const index = this.marks.findIndex((each) => each[0] === row && each[1] <= frame && frame <= each[2] + 1);
    if (index < 0 || !event) return { index, end: 0 };
    const left = this.svg.getBoundingClientRect().left;
    const [, first, last] = this.marks[index];
    const near = (at) => Math.abs(event.clientX - left - this.x(at)) < EDGE_PX;
    return { index, end: near(Math.min(last + 1, this.last)) ? 2 : near(first) ? 1 : 0 };
  }

  press(event) {
    if (!this.data.editable || event.button) return;
    const place = this.at(event);
    if (this.hasKeys) {
      const index = event.target.dataset?.index;
      if (index === undefined) return;
      event.target.focus();
      this.held = { index: Number(index) };
    } else {
      if (place.row < 0 || place.row >= this.data.rows.length) return;
      this.svg.focus();
      const { index, end } = this.under(place, event);
      const others = this.marks.filter((_, i) => i !== index);
      this.held = { ...place, others: index < 0 ? this.marks : others, span: this.marks[index], end };
      if (this.data.single && index < 0) this.held.others = [];
    }
    event.preventDefault();
    this.svg.setPointerCapture(event.pointerId);
    this.began = JSON.stringify(this.marks);
  }

  drag(event) {
    if (!this.held) return;
    const { frame } = this.at(event);
    if (this.hasKeys) {
      this.marks = moved(this.marks, this.held.index, frame, this.last);
      return this.draw();
    }
    const { row, others, span, end, frame: start } = this.held;
    const [, first, last] = span ?? [];
    const by = clamp(frame - start, -first, this.last - last);
    // A new stretch, one with another beginning or end, or one that is moved.
    const ends = !span ? [Math.min(start, frame), Math.max(start, frame)]
      : [[first + by, last + by], [Math.min(frame, last), last], [first, Math.max(frame - 1, first)]][end];
    this.marks = joined(others, [row, ...ends]);
    this.draw();
  }

  lift() {
    if (!this.held) return;
    this.held = null;
    if (JSON.stringify(this.marks) !== this.began) this.changed();
  }

  insert(event) {
    if (!this.data.editable) return;
    if (this.hasKeys) {
      this.marks = added(this.marks, Math.min(this.at(event).frame, this.data.clip - 1));
    } else {
      const { index } = this.under(this.at(event));
      if (index < 0) return;
      this.marks.splice(index, 1);
    }
    this.changed();
  }

  key(event) {
    if (!this.data.editable) return;
    const used = this.hasKeys ? this.keyOfKeys(event) : this.keyOfSpans(event);
    if (!used) return;
    event.preventDefault();
    event.stopPropagation();
    this.draw();
  }

  keyOfKeys(event) {
    const index = Number(event.target.dataset?.index ?? NaN);
    if (Number.isNaN(index)) return false;
    const size = event.shiftKey ? MANY : FEW;
    const step = { ArrowLeft: -size, ArrowRight: size }[event.key];
    if (step) this.marks = moved(this.marks, index, this.marks[index][1] + step, this.last);
    else if (event.key === "Delete" || event.key === "Backspace") {
      if (this.marks.length > 2) this.marks.splice(index, 1);
    } else if (event.key === "Enter" && index < this.marks.length - 1) {
      this.marks = added(this.marks, Math.round((this.marks[index][0] + this.marks[index + 1][0]) / 2));
    } else return false;
    this.later();
    return true;
  }

  keyOfSpans(event) {
    const size = event.shiftKey ? MANY : FEW;
    const step = { ArrowLeft: [-size, 0], ArrowRight: [size, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    this.cursor ??= { row: this.marks[0]?.[0] ?? 0, frame: this.marks[0]?.[1] ?? 0 };
    const { cursor } = this;
    if (step) {
      cursor.frame = clamp(cursor.frame + step[0], 0, this.last);
      if (!this.anchor) cursor.row = clamp(cursor.row + step[1], 0, this.data.rows.length - 1);
      else {
        const ends = [this.anchor.frame, cursor.frame].sort((a, b) => a - b);
        this.marks = joined(this.anchor.others, [cursor.row, ...ends]);
      }
    } else if (event.key === "Enter" || event.key === " ") {
      if (this.anchor) this.later();
      this.anchor = this.anchor ? null : { frame: cursor.frame, others: this.data.single ? [] : this.marks };
      if (this.anchor) this.marks = joined(this.anchor.others, [cursor.row, cursor.frame, cursor.frame]);
    } else if (event.key === "Escape" && this.anchor) {
      this.marks = this.anchor.others;
      this.anchor = null;
    } else if (event.key === "Delete" || event.key === "Backspace") {
      const { index } = this.under(cursor);
      if (index >= 0 && !this.data.single) {
        this.marks.splice(index, 1);
        this.later();
      }
    } else return false;
    this.status.textContent = `${this.data.rows[cursor.row]}, frame ${cursor.frame}`;
    return true;
  }

  later() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.changed(), PAUSE_MS);
  }

  changed() {
    clearTimeout(this.waiting);
    this.waiting = null;
    this.status.textContent = `${this.marks.length} marks`;
    this.draw();
    this.send(structuredClone(this.marks));
  }

  close() {
    clearTimeout(this.waiting);
    this.watch.disconnect();
  }
}

export const component = componentOf(".timeline", Timeline, "marked");
