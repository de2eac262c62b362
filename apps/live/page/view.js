// What a picture shows of the frames at a moment: bodies, marks on the ground, wheels, panels.

import { Camera } from "./camera.js";
import { Marks } from "./marks.js";
import { buildMannequin } from "./mannequin.js";
import { Canvas, Panels } from "./panels.js";
import { Renderer, LOOKS, MOST_CHARACTERS } from "./renderer.js";
import { mix } from "./vectors.js";

// (body, accent) of each character.
const TINTS = [
  ["#e9e4da", "#1f5fa8"], ["#e7a24a", "#4a3420"], ["#6fb7d6", "#173a4d"], ["#8fc48a", "#23452a"],
  ["#e08b85", "#56221f"], ["#b7a3dc", "#35265c"], ["#f0d36b", "#574613"], ["#7fc9bd", "#1d4842"],
  ["#d89cc3", "#542145"], ["#b9bfc7", "#333a42"], ["#c9a27c", "#472f18"], ["#9db4e8", "#23355f"],
];
// A picture that takes longer than this (s) is drawn with fewer pixels.
const SLOW_S = 0.028;

export class View {
  constructor(elements) {
    this.elements = elements;
    this.renderer = new Renderer(elements.stage);
    this.overlay = new Canvas(elements.overlay);
    this.canvases = Object.fromEntries(["manifold", "gating", "cost"].map((name) => [name, new Canvas(elements[name])]));
    this.marks = new Marks();
    this.shown = { trajectory: true, contacts: true, wheels: true, panels: true };
    this.look = { name: "light", dark: false };
    this.slow = 0;
  }

  open(asset, frames) {
    this.asset = asset;
    this.size = bodySize(frames, asset.skeleton);
    this.setBody(buildMannequin(asset.skeleton, frames));
    if (this.camera) this.camera.fit(this.size.height);
    else this.camera = new Camera(this.size.height, this.size.length);
    this.panels = new Panels(asset, this.look);
    const show = (name, has) => { this.elements[`${name}-card`].hidden = !has; };
    show("manifold", asset.manifold);
    show("gating", asset.experts > 1);
    show("cost", asset.kind === "database");
  }

  setBody(mesh) {
    this.mesh = mesh;
    this.renderer.setBody(mesh);
  }

  setLook(name) {
    this.look.name = name;
    this.look.dark = name === "dark";
    this.renderer.look = LOOKS[name];
  }

  // Find the free part of the picture, between the bar and the panels.
  measure() {
    const { stage, bar, side } = this.elements;
    const box = stage.getBoundingClientRect();
    const top = bar.getBoundingClientRect().top;
    this.camera.covered = top > box.top ? Math.min((box.bottom - top) / box.height, 0.6) : 0;
    const large = document.documentElement.dataset.panels === "large";
    this.camera.beside = large && side.offsetWidth ? side.offsetWidth / box.width : 0;
    this.freeWidth = (side.offsetWidth ? side.offsetLeft : box.width) - 8;
  }

  tint(index) {
    return TINTS[index % MOST_CHARACTERS];
  }

  // Draw frames part of the way from `before` to `now`; `trail`: frames of the first character.
  draw({ before, now, part, trail, seconds, placing }) {
    const started = performance.now();
    const { camera, size } = this;
    const blend = before.length === now.length ? part : 1;
    const characters = now.map((frame, i) => this.body(blend < 1 ? before[i] : frame, frame, blend, i));
    const lead = characters[0];
    camera.follow(lead.place, now[0].root.heading, seconds);
    this.mark(now, characters, lead, placing);
    const spread = Math.max(...characters.map((c) => Math.hypot(c.place[0] - lead.place[0], c.place[1] - lead.place[1])));
    this.renderer.draw({
      camera,
      characters,
      marks: this.marks.vertices,
      reach: Math.min(Math.max(2.2 * size.height, spread + 1.5 * size.height), 9 * size.height),
      gridStep: size.gridStep,
    });
    const context = this.overlay.begin();
    if (context && this.shown.wheels && now[0].phases) this.wheels(context, lead, trail);
    if (this.shown.panels) {
      this.panels.manifold(this.canvases.manifold, trail, this.asset.frameRate, seconds);
      this.panels.gating(this.canvases.gating, trail, this.asset.frameRate);
      this.panels.cost(this.canvases.cost, trail, this.asset.frameRate);
    }
    this.adapt((performance.now() - started) / 1000, seconds);
  }

  // Fewer pixels where pictures come too slowly for several in a row.
  adapt(took, seconds) {
    this.slow = mix(this.slow, Math.max(took, seconds) > SLOW_S ? 1 : 0, 0.03);
    if (this.slow > 0.8 && this.renderer.quality > 0.55) {
      this.renderer.quality *= 0.85;
      this.slow = 0.3;
    }
  }

  body(before, now, part, index) {
    const [tint, accent] = this.tint(index);
    const positions = new Float32Array(now.positions.length);
    for (let i = 0; i < positions.length; i++) positions[i] = mix(before.positions[i], now.positions[i], part);
    const rotations = new Float32Array(now.rotations.length);
    for (let j = 0; j < rotations.length; j += 4) {
      const [a, b] = [before.rotations.subarray(j, j + 4), now.rotations.subarray(j, j + 4)];
      const sign = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0 ? -1 : 1;
      const q = [0, 1, 2, 3].map((i) => mix(sign * a[i], b[i], part));
      const norm = Math.hypot(...q) || 1;
      for (let i = 0; i < 4; i++) rotations[j + i] = q[i] / norm;
    }
    const place = [0, 1].map((a) => mix(before.root.position[a], now.root.position[a], part));
    return { positions, rotations, tint, accent, place };
  }

  mark(now, characters, lead, placing) {
    const { marks, size } = this;
    const { skeleton } = this.asset;
    marks.clear(this.look.name);
    characters.forEach(({ positions }, i) => {
      const feet = skeleton.feet;
      for (const joint of feet) {
        const height = Math.max(positions[3 * joint + 1], 0);
        const near = Math.exp(-height / (0.09 * size.unit));
        marks.shade(positions[3 * joint], positions[3 * joint + 2], (0.14 + 0.1 * (1 - near)) * size.unit, 0.42 * near);
      }
      const [x, z] = [0, 2].map((a) => positions[3 * (skeleton.roles?.hips ?? 0) + a]);
      marks.shade(x, z, 0.42 * size.unit, 0.16);
      const { contacts } = now[i];
      if (this.shown.contacts && contacts) {
        feet.forEach((joint, at) => marks.contact(positions[3 * joint], positions[3 * joint + 2], contacts[at], size.unit));
      }
    });
    const { trajectory } = now[0];
    if (this.shown.trajectory && trajectory) {
      if (trajectory.desired) marks.trajectory(trajectory.desired, "desired", size.unit, 0.75);
      if (trajectory.predicted) marks.trajectory(trajectory.predicted, "predicted", size.unit);
    }
    if (placing) marks.line(...placing, "desired", size.unit);
  }

  wheels(context, lead, trail) {
    const { camera, overlay, size } = this;
    const place = (p) => {
      const at = camera.project(p);
      return at && [at[0] * overlay.width, at[1] * overlay.height];
    };
    const [x, z] = lead.place;
    const [head, feet] = [place([x, size.height, z]), place([x, 0, z])];
    if (!head || !feet) return;
    const tall = Math.hypot(head[0] - feet[0], head[1] - feet[1]);
    const count = trail[trail.length - 1].phases.phase.length;
    const rows = count > 6 ? Math.ceil(count / 2) : count;
    const radius = Math.min(Math.max((0.42 * Math.max(tall, 0.3 * overlay.height)) / rows, 15), 46);
    const gap = Math.max(tall * (size.length / size.height) * 0.55, 0.3 * tall);
    const columns = count > 6 ? 2.4 : 0;
    const right = Math.max(head[0], feet[0]) + gap + radius;
    const left = Math.min(head[0], feet[0]) - gap - (1 + columns) * radius;
    // To the left of the body where panels are in the way, and over it where there is no room.
    const fits = right + (1 + columns) * radius < this.freeWidth || left < radius;
    const middle = Math.min(fits ? right : left, this.freeWidth - (1 + columns) * radius);
    this.panels.wheels(context, trail, this.asset.frameRate, middle, (head[1] + feet[1]) / 2, radius);
  }
}

// Height and length of the body in metres, a unit for marks, and the step of the ground's grid.
function bodySize(frames, skeleton) {
  const { positions, root } = frames[frames.length - 1];
  let [height, length] = [0.1, 0.1];
  for (let j = 0; j < skeleton.names.length; j++) {
    height = Math.max(height, positions[3 * j + 1]);
    length = Math.max(length, Math.hypot(positions[3 * j] - root.position[0], positions[3 * j + 2] - root.position[1]));
  }
  height *= 1.08;
  const unit = Math.min(Math.max(height, 1.6 * length) / 1.75, 3);
  return { height, length, unit, gridStep: unit < 0.6 ? 0.125 : 0.25 };
}
