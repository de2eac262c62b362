// A cloud of points in the plane or in space, under the time cursor of the page's player.

import { bytesOf } from "./page_bytes.js";
import { download } from "./scene/download.js";
import { niceTicks, shortNumber } from "./scene/surface2d.js";
import { clamp } from "./scene/vectors.js";

const clouds = new WeakMap();
// Pixels around the mouse in which a point is hit, and seconds of the trail behind the moment.
const REACH = 14;
const TRAIL_S = 1.5;
// Milliseconds after which clouds out of view are drawn, once those in view are.
const LATER_MS = 800;
const CURSOR = "#d55e00";
const KINDS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array };
const SYMBOLS = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`,
  x: (r) => {
    const t = 0.4 * r;
    return `M${-r} ${-r + t}L${-t} 0L${-r} ${r - t}L${-r + t} ${r}L0 ${t}L${r - t} ${r}L${r} ${r - t}L${t} 0` +
      `L${r} ${-r + t}L${r - t} ${-r}L0 ${-t}L${-r + t} ${-r}z`;
  },
};

const decoded = (text, kind) => new KINDS[kind](bytesOf(text).buffer);

function escaped(text) {
  const box = document.createElement("i");
  box.textContent = text;
  return box.innerHTML;
}

class Cloud {
  constructor(root) {
    this.root = root;
    this.of = (selector) => root.querySelector(selector);
    [this.back, this.front] = [this.of(".back"), this.of(".front")];
    this.view = { x: 0, y: 0, zoom: 1, yaw: 0.8, pitch: 0.45 };
    this.tool = "lasso";
    this.pinned = null;
    this.hovered = -1;
    this.at = -1;
    this.time = null;
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.of(".plot"));
    for (const button of root.querySelectorAll("[data-tool]")) {
      button.addEventListener("click", () => { this.tool = button.dataset.tool; this.press(); });
    }
    const acts = {
      in: () => this.zoom(1.4), out: () => this.zoom(1 / 1.4), fit: () => this.fit(),
      png: () => this.save("png"), svg: () => this.save("svg"),
    };
    for (const button of root.querySelectorAll("[data-act]")) {
      button.addEventListener("click", acts[button.dataset.act]);
    }
    this.of("input").addEventListener("input", () => this.listEntries());
    this.listen();
  }

  // Once for each run of the page, with what it draws.
  show(data, send) {
    this.send = send;
    const { of } = this;
    const same = this.data?.points === data.points;
    if (!same) {
      this.points = decoded(data.points, "f4");
      this.count = this.points.length / 3;
      this.clip = decoded(data.clip, "u2");
      this.times = decoded(data.time, "f4");
      this.measure();
    }
    if (!same || this.data?.title !== data.title) this.at = -1;
    this.played = data.played.map((part) => ({ ...part, path: decoded(part.path, "f4") }));
    this.poses = data.poses && { ...data.poses, values: decoded(data.poses.values, "i1") };
    this.selected = data.selected === null ? null : new Set(decoded(data.selected, "u4"));
    this.data = data;
    this.root.classList.toggle("small", data.small);
    this.root.classList.toggle("dark", data.look.dark);
    for (const name of ["page", "ink", "soft", "line"]) this.root.style.setProperty(`--${name}`, data.look[name]);
    of("h3").textContent = data.title;
    of(".note").textContent = data.note;
    of(".plot").style.height = `${data.height}px`;
    this.front.classList.toggle("turns", data.space);
    this.front.setAttribute("aria-label",
      `${data.title}: ${this.count} points. Arrow keys go from point to point, Enter plays from there, ` +
      `${data.small ? "" : "B at two points selects the box between them, Escape clears it, "}` +
      `plus and minus zoom${data.space ? ", Shift and arrow keys rotate" : ""}.`);
    of(".kinds").hidden = data.space;
    this.colour();
    this.press();
    this.resize();
    this.run();
  }

  press() {
    for (const button of this.root.querySelectorAll("[data-tool]")) {
      button.setAttribute("aria-pressed", button.dataset.tool === this.tool);
    }
  }

  measure() {
    this.low = [Infinity, Infinity, Infinity];
    this.high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < this.points.length; i++) {
      const axis = i % 3;
      this.low[axis] = Math.min(this.low[axis], this.points[i]);
      this.high[axis] = Math.max(this.high[axis], this.points[i]);
    }
    this.half = Math.max(1e-9, ...this.low.map((low, axis) => (this.high[axis] - low) / 2));
    this.middle = this.low.map((low, axis) => (low + this.high[axis]) / 2);
    this.screen = new Float32Array(2 * this.count);
    // Shuffled, the same in every run.
    this.order = Uint32Array.from({ length: this.count }, (_, i) => i);
    for (let i = this.count - 1, seed = 7; i > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = seed % (i + 1);
      [this.order[i], this.order[j]] = [this.order[j], this.order[i]];
    }
  }

  // The points of each colour, and the legend.
  colour() {
    const { colours } = this.data;
    const groups = new Map();
    this.keys = new Uint32Array(this.count);
    const add = (key, style, i) => {
      this.keys[i] = key;
      if (!groups.has(key)) groups.set(key, { ...style, key, points: [] });
      groups.get(key).points.push(i);
    };
    if (colours.entries) {
      const which = decoded(colours.which, "u2");
      for (let i = 0; i < this.count; i++) add(which[i], colours.entries[which[i]], i);
      this.which = which;
      this.words = (i) => colours.entries[which[i]].name;
    } else {
      const shades = decoded(colours.colours, "u1");
      const values = decoded(colours.values, "f4");
      for (let i = 0; i < this.count; i++) {
        const key = (shades[3 * i] << 16) | (shades[3 * i + 1] << 8) | shades[3 * i + 2];
        add(key, { colour: `#${key.toString(16).padStart(6, "0")}`, symbol: "circle" }, i);
      }
      this.which = null;
      this.words = (i) => `${colours.title} ${shortNumber(values[i])}`;
      this.drawScale(colours);
    }
    // Grey points are behind all others.
    this.groups = [...groups.values()].sort((one, other) => Number(Boolean(other.grey)) - Number(Boolean(one.grey)));
    this.of(".scale").hidden = Boolean(colours.entries);
    this.of(".legend").hidden = !colours.entries;
    this.of(".legend label").hidden = !(colours.entries?.length > 12);
    this.pinned = null;
    this.listEntries();
  }

  drawScale({ scale, low, high, title }) {
    const context = this.of(".scale canvas").getContext("2d");
    const gradient = context.createLinearGradient(0, 0, 256, 0);
    scale.forEach((colour, i) => gradient.addColorStop(i / (scale.length - 1), colour));
    context.fillStyle = gradient;
    context.fillRect(0, 0, 256, 1);
    this.of(".low").textContent = shortNumber(low);
    this.of(".high").textContent = shortNumber(high);
    this.of(".scale b").textContent = title;
  }

  listEntries() {
    const box = this.of(".entries");
    box.replaceChildren();
    const { entries } = this.data.colours;
    if (!entries) return;
    const words = this.of("input").value.toLowerCase();
    const shown = entries.map((entry, key) => ({ ...entry, key })).filter((each) => each.name.toLowerCase().includes(words));
    const order = [...new Set(shown.map((each) => each.group))];
    for (const group of order) {
      if (group) {
        const heading = document.createElement("h4");
        heading.textContent = group;
        box.append(heading);
      }
      for (const each of shown.filter((one) => one.group === group)) {
        const button = document.createElement("button");
        button.type = "button";
        button.title = `${each.name}: ${each.count} points`;
        button.innerHTML = `<svg aria-hidden="true" viewBox="-5 -5 10 10"><path fill="${each.colour}" d="${SYMBOLS[each.symbol](3.6)}"/></svg><span></span>`;
        button.querySelector("span").textContent = each.name;
        button.setAttribute("aria-pressed", this.pinned === each.key);
        const look = (key) => { this.lit = key; this.stale = true; };
        button.addEventListener("pointerenter", () => look(each.key));
        button.addEventListener("pointerleave", () => look(null));
        button.addEventListener("click", () => {
          this.pinned = this.pinned === each.key ? null : each.key;
          this.stale = true;
          for (const other of box.querySelectorAll("button")) other.setAttribute("aria-pressed", other === button && this.pinned !== null);
        });
        box.append(button);
      }
    }
    if (!shown.length) box.textContent = "No name contains these letters.";
  }

  resize() {
    const { clientWidth, clientHeight } = this.of(".plot");
    this.ratio = Math.min(window.devicePixelRatio || 1, 3);
    [this.width, this.height] = [clientWidth, clientHeight];
    const size = [clientWidth, clientHeight].map((length) => Math.max(1, Math.round(length * this.ratio)));
    for (const canvas of [this.back, this.front]) {
      // Even the same size would make it anew.
      if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    }
    this.stale = true;
  }

  get margins() { return this.data.space ? [8, 8, 8, 8] : [52, 12, 12, 40]; }

  // Pixels of a place.
  place(x, y, z) {
    const { view, middle, half } = this;
    const [left, top, right, bottom] = this.margins;
    const [w, h] = [this.width - left - right, this.height - top - bottom];
    const [cx, cy] = [left + w / 2 + view.x, top + h / 2 + view.y];
    if (!this.data.space) {
      const s = view.zoom * this.planeScale(w, h);
      return [cx + (x - middle[0]) * s, cy - (y - middle[1]) * s];
    }
    const [a, b, c] = [(x - middle[0]) / half, (y - middle[1]) / half, (z - middle[2]) / half];
    const [sy, cosy, sp, cp] = [Math.sin(view.yaw), Math.cos(view.yaw), Math.sin(view.pitch), Math.cos(view.pitch)];
    const across = cosy * a - sy * c;
    const deep = sy * a + cosy * c;
    const up = cp * b - sp * deep;
    const s = (view.zoom * 0.42 * Math.min(w, h)) / (1 + 0.22 * (-(sp * b + cp * deep)));
    return [cx + across * s, cy - up * s];
  }

  planeScale(w, h) {
    const [dx, dy] = [0, 1].map((axis) => this.high[axis] - this.low[axis] || 1);
    return 0.96 * Math.min(w / dx, h / dy);
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = clamp(this.view.zoom * factor, 0.5, 60);
    const part = zoom / this.view.zoom;
    const [left, top, right, bottom] = this.margins;
    const [mx, my] = [(this.width + left - right) / 2, (this.height + top - bottom) / 2];
    this.view.x = (this.view.x - (x - mx)) * part + (x - mx);
    this.view.y = (this.view.y - (y - my)) * part + (y - my);
    this.view.zoom = zoom;
    this.stale = true;
  }

  fit() {
    Object.assign(this.view, { x: 0, y: 0, zoom: 1 });
    this.stale = true;
  }

  get size() { return (this.count > 8000 ? 1.4 : this.count > 3000 ? 1.8 : 2.6) * (this.data.small ? 0.75 : 1); }

  // Opacity of the points of a group.
  shown(group) {
    const key = this.lit ?? this.pinned;
    if (key !== null && key !== undefined) return group.key === key ? 1 : 0.08;
    return group.grey ? 0.35 : 0.85;
  }

  drawBack() {
    const context = this.back.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.drawAxes(context);
    for (let i = 0; i < this.count; i++) {
      const p = this.place(this.points[3 * i], this.points[3 * i + 1], this.points[3 * i + 2]);
      [this.screen[2 * i], this.screen[2 * i + 1]] = p;
    }
    const [left, top, right, bottom] = this.margins;
    context.save();
    context.beginPath();
    context.rect(left, top, this.width - left - right, this.height - top - bottom);
    context.clip();
    this.drawPoints(context);
    context.restore();
    this.stale = false;
    this.fresh = true;
  }

  // The points, each as a copy of its colour's small picture. Faint points come first; the others
  // take turns, so that no group hides the ones before it.
  drawPoints(context) {
    const reach = Math.ceil(this.size * 1.5) + 1;
    const side = 2 * reach;
    const cell = Math.ceil(side * this.ratio);
    const kindOf = (group) => `${group.colour} ${group.symbol || "circle"}`;
    const kinds = [...new Set(this.groups.map(kindOf))];
    const pictures = this.pictures(kinds, reach, cell);
    const column = new Map(kinds.map((kind, at) => [kind, at * cell]));
    const look = new Map(this.groups.map((group) => [group.key, { opacity: this.shown(group), from: column.get(kindOf(group)) }]));
    const draw = (faint) => {
      for (const i of this.order) {
        const { opacity, from } = look.get(this.keys[i]);
        const alpha = this.selected && !this.selected.has(i) ? 0.1 * opacity : opacity;
        if (alpha < 0.5 !== faint) continue;
        const [x, y] = [this.screen[2 * i], this.screen[2 * i + 1]];
        if (x < -reach || y < -reach || x > this.width + reach || y > this.height + reach) continue;
        if (alpha !== context.globalAlpha) context.globalAlpha = alpha;
        context.drawImage(pictures, from, 0, cell, cell, x - reach, y - reach, side, side);
      }
    };
    draw(true);
    draw(false);
    context.globalAlpha = 1;
  }

  // The pictures of all colours and symbols beside each other on one canvas, which is much faster to
  // copy from than one canvas for each.
  pictures(kinds, reach, cell) {
    const known = `${this.size} ${this.ratio} ${kinds.join()}`;
    if (this.pictured !== known) {
      this.pictured = known;
      this.drawn = document.createElement("canvas");
      [this.drawn.width, this.drawn.height] = [Math.max(1, cell * kinds.length), cell];
      const pen = this.drawn.getContext("2d");
      kinds.forEach((kind, at) => {
        const space = kind.lastIndexOf(" ");
        const [colour, symbol] = [kind.slice(0, space), kind.slice(space + 1)];
        pen.setTransform(this.ratio, 0, 0, this.ratio, at * cell + reach * this.ratio, reach * this.ratio);
        pen.fillStyle = colour;
        pen.fill(new Path2D(SYMBOLS[symbol](this.size)));
      });
    }
    return this.drawn;
  }

  drawAxes(context) {
    const { look, axes, space, small } = this.data;
    context.font = `${small ? 10 : 11}px system-ui, sans-serif`;
    context.lineWidth = 1;
    if (space) return this.drawCube(context);
    const [left, top, right, bottom] = this.margins;
    const [w, h] = [this.width - left - right, this.height - top - bottom];
    const s = this.view.zoom * this.planeScale(w, h);
    const x0 = this.middle[0] - (w / 2 + this.view.x) / s;
    const y0 = this.middle[1] - (h / 2 - this.view.y) / s;
    context.fillStyle = look.soft;
    context.strokeStyle = look.line;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const value of niceTicks(x0, x0 + w / s, w / 70)) {
      const [x] = this.place(value, 0, 0);
      context.strokeRect(Math.round(x) - 0.5, top, 0, h);
      context.fillText(shortNumber(value), x, top + h + 5);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const value of niceTicks(y0, y0 + h / s, h / 50)) {
      const [, y] = this.place(0, value, 0);
      context.strokeRect(left, Math.round(y) - 0.5, w, 0);
      context.fillText(shortNumber(value), left - 5, y);
    }
    context.fillStyle = look.ink;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.fillText(axes[0], left + w / 2, this.height - 2, w);
    context.save();
    context.translate(2, top + h / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "top";
    context.fillText(axes[1], 0, 0, h);
    context.restore();
  }

  drawCube(context) {
    const { look, axes } = this.data;
    const [l, h] = [this.low, this.high];
    const corner = (i) => [i & 1 ? h[0] : l[0], i & 2 ? h[1] : l[1], i & 4 ? h[2] : l[2]];
    context.strokeStyle = look.line;
    for (let i = 0; i < 8; i++) {
      for (const bit of [1, 2, 4]) {
        if (i & bit) continue;
        const [a, b] = [this.place(...corner(i)), this.place(...corner(i | bit))];
        context.beginPath();
        context.moveTo(...a);
        context.lineTo(...b);
        context.stroke();
      }
    }
    context.fillStyle = look.ink;
    context.textAlign = "center";
    context.textBaseline = "middle";
    [[1, axes[0]], [2, axes[1]], [4, axes[2]]].forEach(([bit, words]) => {
      const [a, b] = [this.place(...corner(0)), this.place(...corner(bit))];
      const half = context.measureText(words).width / 2 + 6;
      // Within the figure, so that no title is cut.
      const x = clamp((a[0] + b[0]) / 2, half, this.width - half);
      const y = clamp((a[1] + b[1]) / 2 + (bit === 2 ? 0 : 14), 10, this.height - 10);
      context.fillText(words, x, y);
    });
  }

  // The page's player, which plays in a frame of its own.
  player() {
    const holds = (frame) => {
      try {
        return frame.isConnected && frame.contentWindow?.deepphasePlayer;
      } catch {
        return null;
      }
    };
    if (this.frame && holds(this.frame)) return this.frame.contentWindow.deepphasePlayer;
    this.frame = [...document.querySelectorAll("iframe")].reverse().find(holds);
    return this.frame ? this.frame.contentWindow.deepphasePlayer : null;
  }

  run() {
    cancelAnimationFrame(this.request);
    const began = performance.now();
    const step = () => {
      this.request = requestAnimationFrame(step);
      if (!this.root.isConnected || !this.width || !this.data) return;
      if (this.stale && (this.inView() || performance.now() > began + LATER_MS)) this.drawBack();
      const time = this.played.length ? this.player()?.time() ?? null : null;
      if (time === this.time && !this.fresh) return;
      this.time = time;
      this.fresh = !this.inView();
      if (!this.fresh) this.drawFront();
    };
    step();
  }

  // Whether it can be seen: what cannot is drawn a little later.
  inView() {
    const { top, bottom } = this.root.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  }

  stop() {
    cancelAnimationFrame(this.request);
  }

  drawFront() {
    const context = this.front.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    this.moment = null;
    const part = this.time === null ? null : this.played.findLast((each) => each.start <= this.time + 1e-6);
    // Several begin together where they play at once.
    if (part) for (const each of this.played) if (each.start === part.start) this.drawMoment(context, each);
    for (const [i, colour] of [[this.at, CURSOR], [this.hovered, this.data.look.ink]]) {
      if (i < 0 || i >= this.count) continue;
      context.strokeStyle = colour;
      context.lineWidth = 2;
      context.beginPath();
      context.arc(this.screen[2 * i], this.screen[2 * i + 1], 7, 0, 7);
      context.stroke();
    }
    if (this.outline?.length > 1) {
      context.strokeStyle = this.data.look.ink;
      context.setLineDash([4, 3]);
      context.lineWidth = 1.2;
      context.beginPath();
      this.outline.forEach(([x, y]) => context.lineTo(x, y));
      context.closePath();
      context.stroke();
      context.setLineDash([]);
    }
  }

  drawMoment(context, part) {
    const frames = part.path.length / 3;
    const at = clamp((this.time - part.start) * part.fps, 0, frames - 1);
    const first = Math.max(0, Math.floor(at - TRAIL_S * part.fps));
    const place = (frame) => {
      const [before, share] = [Math.floor(frame), frame % 1];
      const after = Math.min(before + 1, frames - 1);
      return this.place(...[0, 1, 2].map((axis) =>
        part.path[3 * before + axis] * (1 - share) + part.path[3 * after + axis] * share));
    };
    context.lineWidth = 3;
    context.lineCap = "round";
    for (let frame = first; frame < at; frame += 1) {
      context.strokeStyle = CURSOR;
      context.globalAlpha = (0.15 + 0.85 * (frame - first)) / Math.max(1, at - first);
      context.globalAlpha = clamp(context.globalAlpha, 0.1, 1);
      context.beginPath();
      context.moveTo(...place(frame));
      context.lineTo(...place(Math.min(frame + 1, at)));
      context.stroke();
    }
    context.globalAlpha = 1;
    const [x, y] = place(at);
    this.moment = [x, y];
    context.fillStyle = CURSOR;
    context.strokeStyle = this.data.look.page;
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, this.data.small ? 5 : 7, 0, 7);
    context.fill();
    context.stroke();
  }

  nearest(x, y) {
    let [best, found] = [REACH * REACH, -1];
    for (let i = 0; i < this.count; i++) {
      const d = (this.screen[2 * i] - x) ** 2 + (this.screen[2 * i + 1] - y) ** 2;
      if (d < best) [best, found] = [d, i];
    }
    return found;
  }

  pointer(event) {
    const box = this.front.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  listen() {
    const { front } = this;
    let from = null;
    front.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = last = this.pointer(event);
      moved = false;
      front.setPointerCapture(event.pointerId);
      this.outline = null;
    });
    let [last, moved] = [null, false];
    front.addEventListener("pointermove", (event) => {
      const [x, y] = this.pointer(event);
      if (!from) return this.hover(x, y);
      if (!moved && Math.hypot(x - from[0], y - from[1]) < 4) return;
      moved = true;
      this.hover(-99, -99);
      if (this.data.space && !event.shiftKey) {
        this.view.yaw -= (x - last[0]) * 0.008;
        this.view.pitch = clamp(this.view.pitch + (y - last[1]) * 0.008, -1.5, 1.5);
        this.stale = true;
      } else if (this.data.space || this.tool === "move" || this.data.small) {
        this.view.x += x - last[0];
        this.view.y += y - last[1];
        this.stale = true;
      } else {
        if (this.tool === "box") this.outline = [from, [x, from[1]], [x, y], [from[0], y]];
        else this.outline = [...(this.outline || [from]), [x, y]];
        this.fresh = true;
      }
      last = [x, y];
    });
    front.addEventListener("pointerup", (event) => {
      if (!from) return;
      from = null;
      if (!moved) this.go(this.nearest(...this.pointer(event)));
      else if (this.outline) this.select(this.inside(this.outline));
      this.outline = null;
      this.fresh = true;
    });
    front.addEventListener("pointercancel", () => { from = this.outline = null; });
    front.addEventListener("pointerleave", () => { if (!from) this.hover(-99, -99); });
    front.addEventListener("dblclick", () => { if (this.selected) this.select([]); else this.fit(); });
    front.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !this.data.space) return;
      event.preventDefault();
      this.zoom(Math.exp(-clamp(event.deltaY, -100, 100) * 0.003), ...this.pointer(event));
    }, { passive: false });
    front.addEventListener("keydown", (event) => this.key(event));
    front.addEventListener("blur", () => this.hover(-99, -99));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10 }[event.key];
    const acts = {
      "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4),
      0: () => this.fit(),
      Enter: () => this.go(this.hovered >= 0 ? this.hovered : this.at),
      " ": () => { const player = this.player(); player?.state().playing ? player.pause() : player?.play(); },
      Escape: () => { this.corner = this.outline = null; this.fresh = true; if (this.selected) this.select([]); },
      b: () => this.setCorner(),
    };
    if (step && event.shiftKey && this.data.space) {
      if (Math.abs(step) === 1) this.view.yaw += 0.15 * step;
      else this.view.pitch = clamp(this.view.pitch + 0.015 * step, -1.5, 1.5);
      this.stale = true;
    } else if (step) {
      const here = this.hovered >= 0 ? this.hovered : Math.max(this.at, 0);
      this.point((here + step + this.count) % this.count);
      this.of(".said").textContent = this.sentence(this.hovered);
      if (this.corner) this.outline = this.boxTo(this.hovered);
    } else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }

  // The marked point becomes a corner of a box; with the second one, the points within are selected.
  setCorner() {
    if (this.hovered < 0 || this.data.small) return;
    if (this.corner) {
      this.select(this.inside(this.boxTo(this.hovered)));
      this.corner = this.outline = null;
    } else {
      this.corner = [this.screen[2 * this.hovered], this.screen[2 * this.hovered + 1]];
      this.of(".said").textContent = "First corner of the box";
    }
    this.fresh = true;
  }

  // The box from the first corner to a point, with both within.
  boxTo(i) {
    const [[ax, ay], [bx, by]] = [this.corner, [this.screen[2 * i], this.screen[2 * i + 1]]];
    const [l, r, t, b] = [Math.min(ax, bx) - 1, Math.max(ax, bx) + 1, Math.min(ay, by) - 1, Math.max(ay, by) + 1];
    return [[l, t], [r, t], [r, b], [l, b]];
  }

  sentence(i) {
    const clip = this.data.names[this.clip[i]];
    const words = this.words(i);
    return `${clip}, ${this.times[i].toFixed(2)} s${words === clip ? "" : `, ${words}`}`;
  }

  hover(x, y) {
    const found = this.nearest(x, y);
    if (found === this.hovered && found < 0) return;
    this.point(found);
  }

  // Mark a point, with its pose beside it.
  point(i) {
    this.hovered = i;
    this.fresh = true;
    const box = this.of(".pose");
    box.hidden = i < 0;
    if (i < 0) return;
    const [x, y] = [this.screen[2 * i], this.screen[2 * i + 1]];
    box.style.left = `${x > this.width - 150 ? x - 142 : x + 14}px`;
    box.style.top = `${clamp(y - 60, 0, Math.max(0, this.height - 170))}px`;
    this.of("figcaption").textContent = this.sentence(i);
    this.drawPose(i);
  }

  drawPose(i) {
    const canvas = this.of(".pose canvas");
    canvas.hidden = !this.poses;
    if (!this.poses) return;
    const { values, joints, step, links } = this.poses;
    const from = 2 * joints * Math.min(Math.round(i / step), values.length / (2 * joints) - 1);
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, 200, 200);
    let [l, r, b, t] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let j = 0; j < joints; j++) {
      const [x, y] = [values[from + 2 * j], values[from + 2 * j + 1]];
      [l, r, b, t] = [Math.min(l, x), Math.max(r, x), Math.min(b, y), Math.max(t, y)];
    }
    const s = 176 / Math.max(r - l, t - b, 1);
    context.strokeStyle = this.data.look.ink;
    context.lineWidth = 5;
    context.lineCap = "round";
    const place = (j) => [100 + (values[from + 2 * j] - (l + r) / 2) * s, 188 - (values[from + 2 * j + 1] - b) * s];
    context.beginPath();
    for (let link = 0; link < links.length; link += 2) {
      context.moveTo(...place(links[link]));
      context.lineTo(...place(links[link + 1]));
    }
    context.stroke();
  }

  // Play on from a point: in the player where it has that frame, else the page opens its clip.
  go(i) {
    if (i < 0) return;
    this.at = i;
    this.fresh = true;
    const part = this.played.find((each) => each.clip === this.clip[i] && this.times[i] >= each.first - 1e-3 &&
      this.times[i] <= each.first + (each.path.length / 3 - 1) / each.fps + 1e-3);
    const player = part && this.player();
    if (player) {
      player.seek(part.start + this.times[i] - part.first);
      player.play();
    } else this.send({ clicked: i });
  }

  inside(outline) {
    const found = [];
    for (let i = 0; i < this.count; i++) {
      const [x, y] = [this.screen[2 * i], this.screen[2 * i + 1]];
      let crossed = false;
      for (let a = 0, b = outline.length - 1; a < outline.length; b = a++) {
        const [[ax, ay], [bx, by]] = [outline[a], outline[b]];
        if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) crossed = !crossed;
      }
      if (crossed) found.push(i);
    }
    return found;
  }

  select(found) {
    this.selected = found.length ? new Set(found) : null;
    this.stale = true;
    this.of(".said").textContent = found.length ? `${found.length} points selected` : "No selection";
    this.send({ selected: found });
  }

  save(kind) {
    const name = `${this.data.title.toLowerCase().replace(/[^a-z0-9]+/g, "_")}.${kind}`;
    const put = (blob) => download(blob, name);
    if (kind === "svg") return put(new Blob([this.drawing()], { type: "image/svg+xml" }));
    const whole = document.createElement("canvas");
    [whole.width, whole.height] = [this.back.width, this.back.height];
    const context = whole.getContext("2d");
    context.fillStyle = this.data.look.page;
    context.fillRect(0, 0, whole.width, whole.height);
    for (const canvas of [this.back, this.front]) context.drawImage(canvas, 0, 0);
    whole.toBlob(put, "image/png");
  }

  // The points as a drawing, with a group for each colour.
  drawing() {
    const [left, top, right, bottom] = this.margins;
    const groups = this.groups.map((group) => {
      const mark = SYMBOLS[group.symbol || "circle"](this.size);
      const places = group.points.map((i) =>
        `<path d="${mark}" transform="translate(${this.screen[2 * i].toFixed(1)} ${this.screen[2 * i + 1].toFixed(1)})"/>`);
      const title = group.name ? `<title>${escaped(group.name)}</title>` : "";
      return `<g fill="${group.colour}" opacity="${this.shown(group)}">${title}${places.join("")}</g>`;
    });
    const { axes, look, title } = this.data;
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" font-family="sans-serif" font-size="11">` +
      `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="${look.page}"/>${groups.join("")}` +
      `<g fill="${look.ink}" text-anchor="middle"><text x="${(left + this.width - right) / 2}" y="${this.height - 6}">${escaped(axes[0])}</text>` +
      `<text transform="translate(12 ${(top + this.height - bottom) / 2}) rotate(-90)">${escaped(axes[1])}</text></g></svg>`;
  }
}

export function component({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".cloud");
  let cloud = clouds.get(root);
  if (!cloud) {
    cloud = new Cloud(root);
    clouds.set(root, cloud);
    // For a surrounding page and for tests.
    root.deepphaseCloud = cloud;
  }
  cloud.show(data, (done) => setTriggerValue("done", done));
  return () => cloud.stop();
}
