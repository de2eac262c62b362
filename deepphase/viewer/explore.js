// A cloud of points in the plane or in space, under the time cursor of the page's player.

import { ColouredPoints, decoded, escaped } from "./clouds/coloured_points.js";
import { componentOf } from "./input/component.js";
import { download } from "./scene/download.js";
import { Plot } from "./clouds/plot.js";
import { clamp } from "./vectors.js";

// Pixels around the mouse in which a point is hit, and seconds of the trail behind the moment.
const REACH = 14;
const TRAIL_S = 1.5;
// Milliseconds after which clouds out of view are drawn, once those in view are.
const LATER_MS = 800;
const CURSOR = "#d55e00";
const MARGINS = [52, 12, 12, 40];

class Cloud {
  constructor(root) {
    this.root = root;
    this.of = (selector) => root.querySelector(selector);
    [this.back, this.front] = [this.of(".back"), this.of(".front")];
    this.plot = new Plot({ margins: MARGINS });
    this.coloured = new ColouredPoints(root, () => { this.stale = true; });
    this.tool = "lasso";
    this.hovered = -1;
    this.at = -1;
    this.time = null;
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.of(".plot"));
    for (const button of root.querySelectorAll("[data-tool]")) {
      button.addEventListener("click", () => { this.tool = button.dataset.tool; this.press(); });
    }
    const acts = {
      in: () => this.zoom(1.4), out: () => this.zoom(1 / 1.4), fit: () => this.fitView(),
      png: () => this.save("png"), svg: () => this.save("svg"),
    };
    for (const button of root.querySelectorAll("[data-act]")) {
      button.addEventListener("click", acts[button.dataset.act]);
    }
    this.listen();
    // For a surrounding page and for tests.
    root.deepphaseCloud = this;
  }

  // Once for each run of the page, with what it draws.
  show(data) {
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
    this.coloured.show(data.colours, this.count, data.small);
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
    this.plot.fit([this.points], 3);
    this.screen = new Float32Array(2 * this.count);
  }

  resize() {
    const { clientWidth, clientHeight } = this.of(".plot");
    this.ratio = Math.min(window.devicePixelRatio || 1, 3);
    [this.width, this.height] = [clientWidth, clientHeight];
    const size = [clientWidth, clientHeight].map((length) => Math.max(1, Math.round(length * this.ratio)));
    for (const canvas of [this.back, this.front]) {
      // Even the same size would clear it.
      if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    }
    this.stale = true;
  }

  zoom(...given) {
    this.plot.zoom(...given);
    this.stale = true;
  }

  fitView() {
    this.plot.reset();
    this.stale = true;
  }

  drawBack() {
    const context = this.back.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    context.font = `${this.data.small ? 10 : 11}px system-ui, sans-serif`;
    this.plot.space = this.data.space;
    this.plot.frame(this.width, this.height);
    this.plot.drawAxes(context, this.data.look, this.data.axes);
    for (let i = 0; i < this.count; i++) {
      const p = this.plot.place(this.points[3 * i], this.points[3 * i + 1], this.points[3 * i + 2]);
      [this.screen[2 * i], this.screen[2 * i + 1]] = p;
    }
    const [left, top] = this.plot.margins;
    context.save();
    context.beginPath();
    context.rect(left, top, this.plot.wide, this.plot.tall);
    context.clip();
    this.coloured.draw(context, this);
    context.restore();
    this.stale = false;
    this.fresh = true;
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

  close() {
    cancelAnimationFrame(this.request);
    this.resizing.disconnect();
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
      return this.plot.place(...[0, 1, 2].map((axis) =>
        part.path[3 * before + axis] * (1 - share) + part.path[3 * after + axis] * share));
    };
    const places = [];
    for (let frame = first; frame < at; frame++) places.push(place(frame));
    places.push(place(at));
    this.moment = places[places.length - 1];
    const small = this.data.small;
    this.plot.drawTrail(context, places, { colour: CURSOR, disc: CURSOR, rim: this.data.look.page, width: 3, radius: small ? 5 : 7 });
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
        this.plot.camera.turn(x - last[0], y - last[1]);
        this.stale = true;
      } else if (this.data.space || this.tool === "move" || this.data.small) {
        this.plot.view.x += x - last[0];
        this.plot.view.y += y - last[1];
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
    front.addEventListener("dblclick", () => { if (this.selected) this.select([]); else this.fitView(); });
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
      0: () => this.fitView(),
      Enter: () => this.go(this.hovered >= 0 ? this.hovered : this.at),
      " ": () => { const player = this.player(); player?.state().playing ? player.pause() : player?.play(); },
      Escape: () => { this.corner = this.outline = null; this.fresh = true; if (this.selected) this.select([]); },
      b: () => this.setCorner(),
    };
    if (step && event.shiftKey && this.data.space) {
      if (Math.abs(step) === 1) this.plot.camera.turn(-19 * step, 0);
      else this.plot.camera.turn(0, 2 * step);
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
    const words = this.coloured.words(i);
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
    const [left, top] = this.plot.margins;
    const { axes, look, title } = this.data;
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" font-family="sans-serif" font-size="11">` +
      `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="${look.page}"/>${this.coloured.drawing(this.screen)}` +
      `<g fill="${look.ink}" text-anchor="middle"><text x="${left + this.plot.wide / 2}" y="${this.height - 6}">${escaped(axes[0])}</text>` +
      `<text transform="translate(12 ${top + this.plot.tall / 2}) rotate(-90)">${escaped(axes[1])}</text></g></svg>`;
  }
}

export const component = componentOf(".cloud", Cloud, "done");
