// A cloud of points in the plane or in space, under the time cursor of the page's player.

import { axesOf, CloudFrames, decoded, FramePhases, PLANE, SPACE, STRONGEST } from "./clouds/cloud_frames.js";
import { listenTo } from "./clouds/cloud_pointer.js";
import { ColouredPoints } from "./clouds/coloured_points.js";
import { keptFrames } from "./clouds/kept_frames.js";
import { Plot } from "./clouds/plot.js";
import { componentOf } from "./input/component.js";
import { created, download, pressed } from "./scene/elements.js";
import { faded, fillBox, LayeredSurface, mixed, strokeLine } from "./scene/surface2d.js";
import { between, clamp, mix, point } from "./vectors.js";

// Pixels around the mouse in which a point is hit, and seconds of the trail behind the moment.
const REACH = 14;
const TRAIL_S = 1;
const CURSOR = "#d55e00";
// Frames of a ring in one colour, and the part of the first one's that is ink: no group of points has that colour.
const RING_STEP = 6, RING_FIRST = 0.3;
const MARGINS = [52, 12, 12, 40];
// Pixels of the pose beside the mouse, of small figures, and across a picture for print.
const POSE = 96, SMALL = 150, PRINTED = 2400;
// Height of a figure: its share of windows in which the player is below it, and beside it the pixels
// of the page around it; the least and the most.
const BELOW = 0.26, AROUND = 560, LEAST = 240, LEAST_BELOW = 230, MOST = 640;
// What the plane and space show, as in Starke et al. 2022.
const VIEWS = {
  [PLANE]: "2D: the angle is the timing of a cycle, the radius its amplitude.",
  [SPACE]: "3D: the third axis has the most of the rest, by which cycles of other kinds lie apart.",
};
// Opacity of the points behind a ring.
const BEHIND = 0.35;
// Width of windows in which the player is below the figure.
const NARROW = 1100;

class Cloud {
  constructor(root) {
    this.root = root;
    this.of = (selector) => root.querySelector(selector);
    this.front = this.of(".front");
    this.surface = new LayeredSurface(this.front, () => { this.fresh = true; });
    this.plot = new Plot({ margins: MARGINS });
    this.coloured = new ColouredPoints(root, () => { this.surface.stale = true; });
    this.tool = "lasso";
    this.hovered = -1;
    this.at = -1;
    this.time = null;
    // What is seen, and those parts of it that were chosen here.
    [this.seen, this.chosen] = [{}, {}];
    this.listening = new AbortController();
    const always = { signal: this.listening.signal };
    addEventListener("resize", () => this.setHeight(), always);
    addEventListener("deepphase-frames", () => { if (this.waiting) this.show(this.waiting); }, always);
    // A small figure has the colours of the page's large one.
    addEventListener("deepphase-colour", ({ detail }) => { if (this.data?.small) this.setColour(detail); }, always);
    const acts = {
      in: () => this.zoom(1.4), out: () => this.zoom(1 / 1.4), fit: () => this.fitView(), png: () => this.save("png"), csv: () => this.save("csv"),
    };
    const clicks = {
      tool: (tool) => { this.tool = tool; this.press(); }, act: (name) => acts[name](), view: (view) => this.choose({ view }),
    };
    for (const [kind, click] of Object.entries(clicks)) {
      for (const button of root.querySelectorAll(`[data-${kind}]`)) button.addEventListener("click", () => click(button.dataset[kind]));
    }
    for (const name of ["colour", "axes"]) {
      this.of(`[name=${name}]`).addEventListener("change", (event) => this.choose({ [name]: event.target.value }));
    }
    listenTo(this);
    // For a surrounding page and for tests.
    root.deepphaseCloud = this;
  }

  // Once for each run of the page, with what it draws.
  show(data) {
    const { of } = this;
    const sent = keptFrames().get(data.frames);
    // The frames come in a message of their own; until then the old picture stays.
    this.waiting = sent ? null : data;
    if (!sent) return;
    if (this.frames?.sent !== sent) {
      this.frames = new CloudFrames(sent);
      const { count } = this.frames;
      Object.assign(this, { count, screen: new Float32Array(2 * count), closeness: new Float32Array(count), coordinates: null, at: -1 });
    }
    this.data = data;
    this.spaces = Object.fromEntries(Object.entries(data.spaces).map(([name, { axes, points }]) => [name, { axes, points: decoded(points, "f4") }]));
    this.played = data.played.map((part) => ({
      ...part,
      phases: part.phase ? new FramePhases(part, this.frames.channels) : null,
      paths: Object.fromEntries(Object.entries(part.paths).map(([name, path]) => [name, decoded(path, "f4")])),
    }));
    this.selected = data.selected === null ? null : new Set(decoded(data.selected, "u4"));
    this.root.classList.toggle("small", data.small);
    this.root.classList.toggle("dark", data.look.dark);
    for (const name of ["page", "ink", "soft", "line"]) this.root.style.setProperty(`--${name}`, data.look[name]);
    const colours = Object.keys(this.frames.sent.colourings);
    this.fill("colour", colours);
    const channels = Array.from({ length: this.frames.channels }, (_, channel) => `Channel ${channel}`);
    const spaces = Object.keys(this.spaces);
    this.fill("axes", [...spaces, STRONGEST, ...channels]);
    this.seen = { colour: colours[0], axes: spaces[0], view: PLANE, ...data.seen, ...this.chosen };
    if (data.small) this.seen.colour = window.deepphaseColour ?? this.seen.colour;
    if (!colours.includes(this.seen.colour)) [this.seen.colour] = colours;
    this.setHeight();
    this.draw();
    this.surface.fit();
    this.run();
  }

  fill(name, values) {
    const select = this.of(`[name=${name}]`);
    if (select.deepphaseValues === values.join("\n")) return;
    select.deepphaseValues = values.join("\n");
    select.replaceChildren(...values.map((value) => new Option(value, value)));
  }

  // Another choice of what is seen, which the address keeps.
  choose(change) {
    this.chosen = { ...this.chosen, ...change };
    this.seen = { ...this.seen, ...change };
    const address = new URL(location.href);
    for (const [name, value] of Object.entries(change)) address.searchParams.set(name, value);
    history.replaceState(history.state, "", address);
    this.draw();
  }

  setColour(name) { if (name in this.frames.sent.colourings) this.choose({ colour: name }); }

  // Bring axes, colours and heading to what was chosen.
  draw() {
    const { of, frames, data, seen } = this;
    const space = seen.view === SPACE;
    const axes = this.spaces[seen.axes] || seen.axes === STRONGEST || /^Channel/.test(seen.axes)
      ? seen.axes : Object.keys(this.spaces)[0];
    const { titles, channels } = axesOf(axes, frames, this.played, this.spaces);
    const desired = JSON.stringify([axes, channels]);
    const points = channels ? null : this.spaces[axes].points;
    if (!this.coordinates || this.along !== desired || (points && points !== this.coordinates)) {
      this.along = desired;
      this.coordinates = points ?? frames.phases.along(channels);
      this.plot.fit([this.coordinates], 3);
    }
    for (const part of this.played) part.path = channels ? part.phases?.along(channels) ?? new Float32Array(0) : part.paths[axes];
    this.titles = titles;
    this.plot.space = space;
    // A ring in its own plane is before all other frames.
    this.ringed = Boolean(data.ring) && axes === Object.keys(this.spaces)[0];
    this.coloured.show(frames.colours(seen.colour), this.count, data.small);
    const { title } = frames.colours(seen.colour);
    if (!data.small) {
      window.deepphaseColour = seen.colour;
      window.dispatchEvent(new CustomEvent("deepphase-colour", { detail: seen.colour }));
    }
    this.title = data.small ? data.title : `${data.title} by ${title.replace(/ \(.*/, "").toLowerCase()}`;
    of("h3").textContent = this.title;
    of("[name=colour]").value = seen.colour;
    of("[name=axes]").value = axes;
    of(".note").textContent = [data.note, data.small ? "" : VIEWS[seen.view], frames.sent.note].filter(Boolean).join(" ");
    this.front.classList.toggle("turns", space);
    this.front.setAttribute("aria-label",
      `${this.title}: ${this.count} points. Arrow keys go from point to point, Enter plays from there, ` +
      `${data.small ? "" : "B at two points selects the box between them, Escape clears it, "}` +
      `plus and minus zoom${space ? ", Shift and arrow keys rotate" : ""}.`);
    of(".kinds").hidden = space;
    this.press();
    this.surface.stale = true;
  }

  // As high as the window has room for, with the player beside or below.
  setHeight() {
    const { data } = this;
    if (!data) return;
    const [fits, least] = innerWidth < NARROW ? [BELOW * innerHeight, LEAST_BELOW] : [innerHeight - AROUND, LEAST];
    this.of(".plot").style.height = `${data.small ? SMALL : Math.round(clamp(fits, least, MOST))}px`;
  }

  press() {
    for (const [kind, value] of [["tool", this.tool], ["view", this.seen.view]]) {
      for (const button of this.root.querySelectorAll(`[data-${kind}]`)) pressed(button, button.dataset[kind] === value);
    }
  }

  zoom(...given) {
    this.plot.zoom(...given);
    this.surface.stale = true;
  }

  fitView() {
    this.plot.reset();
    this.surface.stale = true;
  }

  // Axes, points and the paths of what plays, in a picture of `ratio` dots a pixel.
  drawCloud(context, ratio) {
    const { plot, screen, selected, surface: { width, height } } = this;
    context.font = `${this.data.small ? 10 : 11}px system-ui, sans-serif`;
    plot.frame(width, height);
    plot.drawAxes(context, this.data.look, this.titles);
    plot.placeAll(this.coordinates, screen, this.closeness);
    const [left, top] = plot.margins;
    context.save();
    context.beginPath();
    context.rect(left, top, plot.wide, plot.tall);
    context.clip();
    this.coloured.draw(context, { screen, closeness: plot.space ? this.closeness : null, width, height, ratio, selected, behind: this.ringed ? BEHIND : 1 });
    for (const part of this.played) {
      // Long paths are fainter: they would hide the cloud.
      const frames = part.path.length / 3;
      this.drawPath(context, part, 0, frames - 1, 1.4, faded(this.data.look.ink, this.ringed ? 0.15 : clamp(700 / frames, 0.15, 0.75)));
    }
    this.drawRing(context);
    context.restore();
  }

  // The steadiest cycle of what plays, from light to dark in time.
  drawRing(context) {
    const { ring, look } = this.data;
    if (!ring) return;
    const part = this.played[ring.part];
    const count = ring.to - ring.from;
    for (let at = 0; at < count; at += RING_STEP) {
      const colour = mixed(look.page, look.ink, mix(RING_FIRST, 1, at / count));
      this.drawPath(context, part, ring.from + at, Math.min(ring.from + at + RING_STEP, ring.to), 2.5, colour);
    }
  }

  // The path of a part from one frame to another.
  drawPath(context, part, from, to, width, colour) {
    const places = Array.from({ length: Math.max(to - from + 1, 0) }, (_, i) => this.plot.place(...point(part.path, from + i)));
    context.lineJoin = "round";
    strokeLine(context, places, colour, width);
  }

  // The page's player, which plays in a frame of its own.
  player() { return window.deepphasePlayers?.player ?? null; }

  run() {
    cancelAnimationFrame(this.request);
    const step = () => {
      this.request = requestAnimationFrame(step);
      if (!this.root.isConnected || !this.surface.drawable || !this.coordinates) return;
      const time = this.played.length ? this.player()?.time() ?? null : null;
      if (time === this.time && !this.fresh && !this.surface.stale) return;
      this.time = time;
      this.fresh = false;
      this.drawPicture();
    };
    step();
  }

  close() {
    cancelAnimationFrame(this.request);
    this.surface.release();
    this.listening.abort();
  }

  drawPicture() {
    const { surface } = this;
    const context = surface.beginOver((behind) => this.drawCloud(behind, surface.ratio));
    this.drawNow(context);
    for (const [i, colour] of [[this.at, CURSOR], [this.hovered, this.data.look.ink]]) {
      if (i < 0 || i >= this.count) continue;
      Object.assign(context, { strokeStyle: colour, lineWidth: 2 });
      context.beginPath();
      context.arc(...this.placeOf(i), 7, 0, 7);
      context.stroke();
    }
    if (!(this.outline?.length > 1)) return;
    context.setLineDash([4, 3]);
    strokeLine(context, [...this.outline, this.outline[0]], this.data.look.ink, 1.2);
    context.setLineDash([]);
  }

  // The moment of the player, with its trail.
  drawNow(context) {
    this.moment = null;
    const part = this.time === null ? null : this.played.findLast((each) => each.start <= this.time + 1e-6);
    // Several begin together where they play at once.
    if (part) for (const each of this.played) if (each.start === part.start) this.drawMoment(context, each);
  }

  drawMoment(context, part) {
    const frames = part.path.length / 3;
    if (!frames) return;
    const at = clamp((this.time - part.start) * part.fps, 0, frames - 1);
    const first = Math.max(0, Math.floor(at - TRAIL_S * part.fps));
    const place = (frame) => {
      const before = Math.floor(frame), after = Math.min(before + 1, frames - 1);
      return this.plot.place(...between(point(part.path, before), point(part.path, after), frame % 1));
    };
    const places = [];
    for (let frame = first; frame < at; frame++) places.push(place(frame));
    places.push(place(at));
    this.moment = places[places.length - 1];
    this.plot.drawTrail(context, places, { colour: CURSOR, disc: CURSOR, rim: this.data.look.page, width: 3, radius: this.data.small ? 5 : 7 });
  }

  nearest(x, y) {
    let [best, found] = [REACH * REACH, -1];
    for (let i = 0; i < this.count; i++) {
      const d = (this.screen[2 * i] - x) ** 2 + (this.screen[2 * i + 1] - y) ** 2;
      if (d < best) [best, found] = [d, i];
    }
    return found;
  }

  // Place of a point in the figure, in pixels.
  placeOf(i) { return [this.screen[2 * i], this.screen[2 * i + 1]]; }

  sentence(i) {
    const { frames } = this;
    const clip = frames.names[frames.clip[i]];
    const words = this.coloured.words(i);
    return `${clip}, ${frames.times[i].toFixed(2)} s${words === clip ? "" : `, ${words}`}`;
  }

  hover(x, y) {
    const found = this.nearest(x, y);
    if (found === this.hovered && found < 0) return;
    this.mark(found);
  }

  // Mark a point, with its pose beside it.
  mark(i) {
    this.hovered = i;
    this.fresh = true;
    const box = this.of(".pose");
    box.hidden = i < 0;
    if (i < 0) return;
    const [x, y] = this.placeOf(i);
    box.style.left = `${x > this.surface.width - POSE - 24 ? x - POSE - 14 : x + 14}px`;
    box.style.top = `${clamp(y - 110, 0, Math.max(0, this.surface.height - 130))}px`;
    const [clip, ...words] = this.sentence(i).split(", ");
    this.of("figcaption b").textContent = clip;
    this.of("figcaption span").textContent = words.join(", ");
    this.frames.drawPose(this.of(".pose canvas").getContext("2d"), i, this.data.look.ink);
  }

  // Play on from a point: in the player where it has that frame, else the page opens its clip.
  go(i) {
    if (i < 0) return;
    this.at = i;
    this.fresh = true;
    const { clip, times, names } = this.frames, players = window.deepphasePlayers;
    const holds = ({ clip: own, first, path, fps }) =>
      own === clip[i] && times[i] >= first - 1e-3 && times[i] <= first + (path.length / 3 - 1) / fps + 1e-3;
    const part = this.played.find(holds);
    const player = part && players?.playing(part.player);
    if (player) {
      player.seek(part.start + times[i] - part.first);
      player.play();
    } else {
      players?.openClip(names[clip[i]], times[i]);
      this.send({ clicked: i });
    }
  }

  select(found) {
    this.selected = found.length ? new Set(found) : null;
    this.surface.stale = true;
    this.of(".said").textContent = found.length ? `${found.length} points selected` : "No selection";
    this.send({ selected: found });
  }

  // What is seen as a file: a picture for print, or a table.
  save(kind) {
    const name = `${this.title.toLowerCase().replace(/[^a-z0-9]+/g, "_")}.${kind}`;
    if (kind === "png") this.picture().toBlob((blob) => download(blob, name), "image/png");
    else download(new Blob([this.frames.table(this.seen.colour, this.coordinates, this.titles)], { type: "text/csv" }), name);
  }

  picture() {
    const { width, height, ratio: ofScreen } = this.surface;
    const ratio = Math.max(ofScreen, PRINTED / width);
    const whole = created("canvas", { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    const context = whole.getContext("2d");
    fillBox(context, 0, 0, whole.width, whole.height, this.data.look.page);
    context.scale(ratio, ratio);
    this.drawCloud(context, ratio);
    this.drawNow(context);
    return whole;
  }
}

export const component = componentOf(".cloud", Cloud, "done");
