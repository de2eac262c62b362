// What a picture shows of the frames at a moment: bodies, marks on the ground, wheels, panels.

import { FollowingCamera } from "./camera.js";
import { groundMesh } from "./ground_shape.js";
import { Marks } from "./marks.js";
import { buildMannequin, COARSE } from "../body/mannequin.js";
import { look, useLook } from "../page_content.js";
import { Panels } from "../tracks/panels.js";
import { PlainPicture } from "./plain_picture.js";
import { Renderer, LOOKS, MOST_CHARACTERS, NO_WEBGL, TINTS } from "./renderer.js";
import { Surface } from "./surface2d.js";
import { blendTurns, mix } from "../vectors.js";

// Seconds in which the camera fits itself to a body that has become longer, and follows its middle.
const FIT_S = 0.8, AHEAD_S = 0.5;
// Share of the picture's width from which on panels push its middle aside.
const LEAST_BESIDE = 0.2;

export class View {
  constructor(elements) {
    this.elements = elements;
    try {
      this.renderer = new Renderer(elements.stage);
    } catch (problem) {
      if (problem.message !== NO_WEBGL) throw problem;
      this.renderer = new PlainPicture(elements.stage);
      elements.plain.textContent = problem.message;
      elements.plain.hidden = false;
    }
    this.overlay = new Surface(elements.overlay, () => {});
    this.canvases = Object.fromEntries(["manifold", "gating", "cost"].map((name) => [name, new Surface(elements[name], () => {})]));
    this.marks = new Marks();
    this.shown = { trajectory: true, contacts: true, wheels: true, panels: true };
  }

  open(asset, frames) {
    this.asset = asset;
    this.size = bodySize(frames);
    this.frames = frames;
    this.setBody(buildMannequin(asset.skeleton, frames, COARSE));
    this.camera = new FollowingCamera(this.size);
    this.panels = new Panels(asset);
    const show = (name, has) => { this.elements[`${name}-card`].hidden = !has; };
    show("manifold", asset.manifold);
    show("gating", asset.experts > 1);
    show("cost", asset.kind !== "controller");
  }

  // Build the mannequin in full, where a coarse one is still shown.
  refine() {
    if (this.frames) this.setBody(buildMannequin(this.asset.skeleton, this.frames));
  }

  setBody(mesh) {
    if (this.mesh) this.frames = null;
    this.mesh = mesh;
    this.body = this.renderer.addBody(mesh, this.asset.skeleton.parents);
  }

  // Height of the ground at a place.
  level(x, z) {
    return this.map ? this.map.at(x, z) : 0;
  }

  // Draw the ground of a `Heightmap`; null for the plane.
  setGround(map) {
    this.map = map;
    this.renderer.setTerrain(map && groundMesh(map), map);
    this.marks.level = this.camera.level = (x, z) => this.level(x, z);
  }

  setLook(name) {
    useLook(name);
    this.renderer.look = LOOKS[name];
  }

  // Find the free part of the picture, between the bar and the panels.
  measure() {
    const { stage, bar, side } = this.elements;
    const box = stage.getBoundingClientRect();
    const top = bar.getBoundingClientRect().top;
    this.camera.covered = top > box.top ? Math.min((box.bottom - top) / box.height, 0.6) : 0;
    const beside = side.offsetWidth / box.width;
    this.camera.beside = beside > LEAST_BESIDE ? beside : 0;
    this.freeWidth = (side.offsetWidth ? side.offsetLeft : box.width) - 8;
  }

  tint(index) {
    return TINTS[index % MOST_CHARACTERS];
  }

  // Draw frames part of the way from `before` to `now`; `trail`: frames of the first character.
  draw({ before, now, part, trail, seconds }) {
    const started = performance.now();
    const { camera, size } = this;
    const blend = before.length === now.length ? part : 1;
    const characters = now.map((frame, i) => this.between(blend < 1 ? before[i] : frame, frame, blend, i));
    const lead = characters[0];
    const { heading } = now[0].root;
    const { length, ahead, height } = extentOf({ positions: lead.positions, root: { position: lead.place, heading } }, this.level(...lead.place));
    // A body that sat at first is longer when it runs.
    Object.assign(size, { length: Math.max(size.length, length), ahead: mix(ahead, size.ahead, Math.exp(-seconds / AHEAD_S)) });
    camera.fit(size, 1 - Math.exp(-seconds / FIT_S));
    lead.middle = [lead.place[0] + size.ahead * Math.sin(heading), lead.place[1] + size.ahead * Math.cos(heading)];
    camera.follow(lead.middle, heading, seconds, height);
    this.mark(now, characters);
    const spread = Math.max(...characters.map((c) => Math.hypot(c.place[0] - lead.place[0], c.place[1] - lead.place[1])));
    this.renderer.resize();
    camera.frame(this.elements.stage.clientWidth, this.elements.stage.clientHeight);
    this.renderer.draw({
      camera,
      groups: [{ body: this.body, characters }],
      marks: this.marks,
      size: size.height,
      reach: Math.min(Math.max(2.2 * size.height, spread + 1.5 * size.height), 9 * size.height),
      gridStep: size.gridStep,
    });
    const context = this.overlay.begin();
    if (this.shown.wheels && now[0].phases) this.wheels(context, lead, trail);
    if (this.shown.panels) {
      this.panels.manifold(this.canvases.manifold, trail, this.asset.frameRate, seconds);
      this.panels.gating(this.canvases.gating, trail, this.asset.frameRate);
      this.panels.cost(this.canvases.cost, trail, this.asset.frameRate);
    }
    this.renderer.adapt?.(Math.max((performance.now() - started) / 1000, seconds));
  }

  between(before, now, part, index) {
    const [tint, accent] = this.tint(index);
    const positions = new Float32Array(now.positions.length);
    for (let i = 0; i < positions.length; i++) positions[i] = mix(before.positions[i], now.positions[i], part);
    const rotations = blendTurns(new Float32Array(now.rotations.length), before.rotations, now.rotations, part);
    const place = [0, 1].map((a) => mix(before.root.position[a], now.root.position[a], part));
    return { positions, rotations, tint, accent, place };
  }

  markFeet(positions, contacts) {
    const { marks, size } = this;
    const { feet, roles } = this.asset.skeleton;
    for (const joint of feet) {
      const height = Math.max(positions[3 * joint + 1] - this.level(positions[3 * joint], positions[3 * joint + 2]), 0);
      const near = Math.exp(-height / (0.09 * size.unit));
      marks.shade(positions[3 * joint], positions[3 * joint + 2], (0.14 + 0.1 * (1 - near)) * size.unit, 0.42 * near);
    }
    const [x, z] = [0, 2].map((a) => positions[3 * (roles?.hips ?? 0) + a]);
    marks.shade(x, z, 0.42 * size.unit, 0.16);
    if (this.shown.contacts && contacts) {
      feet.forEach((joint, at) => marks.contact(positions[3 * joint], positions[3 * joint + 2], contacts[at], 0.1 * size.unit));
    }
  }

  mark(now, characters) {
    const { marks, size } = this;
    marks.clear(look.dark ? "dark" : "light");
    characters.forEach(({ positions }, i) => this.markFeet(positions, now[i].contacts));
    const { trajectory } = now[0];
    if (this.shown.trajectory && trajectory) {
      if (trajectory.desired) marks.trajectory(trajectory.desired, "desired", size.unit, 0.75);
      if (trajectory.predicted) marks.trajectory(trajectory.predicted, "predicted", size.unit);
    }
  }

  wheels(context, lead, trail) {
    const { camera, overlay, size } = this;
    const [x, z] = lead.middle;
    const [head, feet] = [camera.floor + size.height, camera.floor].map((y) => [...camera.project(x, y, z)]);
    if (Math.min(head[2], feet[2]) < camera.near) return;
    const tall = Math.hypot(head[0] - feet[0], head[1] - feet[1]);
    const count = trail[trail.length - 1].phases.phase.length;
    const rows = count > 6 ? Math.ceil(count / 2) : count;
    const radius = Math.min(Math.max((0.42 * Math.max(tall, 0.3 * overlay.height)) / rows, 15), 46);
    const gap = Math.max(tall * (size.length / size.height) * 0.45, 0.3 * tall);
    const columns = count > 6 ? 2.4 : 0;
    const right = Math.max(head[0], feet[0]) + gap + radius;
    const left = Math.min(head[0], feet[0]) - gap - (1 + columns) * radius;
    // To the left of the body where panels are in the way, and over it where there is no room.
    const fits = right + (1 + columns) * radius < this.freeWidth || left < radius;
    const middle = Math.min(fits ? right : left, this.freeWidth - (1 + columns) * radius);
    this.panels.wheels(context, trail, this.asset.frameRate, middle, (head[1] + feet[1]) / 2, radius);
  }
}

// Height and length of the body in metres, how far its middle is ahead of its root, a unit for marks,
// and the step of the ground's grid. Frames: some in which it stands or walks; it may sit in others.
export function bodySize(frames) {
  const extents = frames.map((frame) => extentOf(frame));
  const { length, ahead, reach } = extents.reduce((most, each) => (each.length > most.length ? each : most));
  const height = Math.max(...extents.map((each) => each.height));
  const unit = Math.min(Math.max(height, 1.6 * reach) / 1.75, 3);
  return { height, length, ahead, unit, gridStep: unit < 0.6 ? 0.125 : 0.25 };
}

// Height and length of a body in a frame, how far its middle is ahead of its root, where hips are at the rear
// end of an animal, and its farthest joint from it; `floor`: height of the ground under it.
function extentOf({ positions, root }, floor = 0) {
  const count = positions.length / 3;
  const way = [Math.sin(root.heading), Math.cos(root.heading)];
  const joints = Array.from({ length: count }, (_, j) => [0, 2].map((axis, at) => positions[3 * j + axis] - root.position[at]));
  const along = joints.map(([x, z]) => x * way[0] + z * way[1]);
  const ahead = (Math.max(...along) + Math.min(...along)) / 2;
  const farthest = (from) => Math.max(0.1, ...joints.map(([x, z]) => Math.hypot(x - from * way[0], z - from * way[1])));
  const heights = Array.from({ length: count }, (_, j) => positions[3 * j + 1] - floor);
  return { height: 1.08 * Math.max(0.1, ...heights), length: 2 * farthest(ahead), ahead, reach: farthest(0) };
}
