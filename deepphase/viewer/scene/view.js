// The characters of the page in which one steers: bodies, marks on the ground, wheels, panels.

import { FollowingCamera } from "./camera.js";
import { buildMannequin } from "../body/mannequin.js";
import { look } from "../page_content.js";
import { Panels } from "../tracks/panels.js";
import { LitBodies } from "./lit_bodies.js";
import { MOST_CHARACTERS, TINTS } from "./renderer.js";
import { Scene } from "./scene.js";
import { LayeredSurface } from "./surface2d.js";
import { blendTurns, clamp, mix } from "../vectors.js";

// Seconds in which the camera fits itself to a body that has become longer, and follows its middle.
const FIT_S = 0.8, AHEAD_S = 0.5;
// Share of the picture's width from which on panels push its middle aside.
const LEAST_BESIDE = 0.2;
// Key of the surface of all characters, and radius of a limb in metres where they have none.
const BODY = "body", LIMB_M = 0.035;

export class View extends Scene {
  constructor(elements, asset, frames) {
    const size = bodySize(frames);
    super(elements.stage, new FollowingCamera(size), new LitBodies(() => {}, { moving: true }));
    Object.assign(this, { elements, asset, size, panels: new Panels(asset), pictures: 0 });
    this.lit.open(new Map([[BODY, (coarseness) => buildMannequin(asset.skeleton, frames, coarseness)]]), null);
    this.marks.level = this.camera.level = (x, z) => this.level(x, z);
    this.shown = { trajectory: true, contacts: true, wheels: true, panels: true };
    const has = { manifold: asset.manifold, gating: asset.experts > 1, cost: asset.kind !== "controller" };
    this.canvases = Object.fromEntries(Object.keys(has).map((name) => [name, new LayeredSurface(elements[name], () => {})]));
    for (const [name, value] of Object.entries(has)) elements[`${name}-card`].hidden = !value;
  }

  // The mesh in full, where a coarse one may be shown.
  fineMesh() { return this.lit.meshOf(BODY, 1); }

  // Draw another mesh in place of the mannequin's.
  setBody(mesh) {
    this.lit.meshes.clear();
    this.lit.open(new Map([[BODY, () => mesh]]), this.terrain);
  }

  // Draw the ground of a `Heightmap`; null for the plane.
  setGround(map) {
    this.terrain = map;
    this.lit.setTerrain(map);
  }

  // Find the free part of the picture, beside the panels.
  measure() {
    const { stage: { clientWidth: width }, side } = this.elements;
    const beside = side.offsetWidth / width;
    this.camera.beside = beside > LEAST_BESIDE ? beside : 0;
    this.freeWidth = (side.offsetWidth ? side.offsetLeft : width) - 8;
  }

  tint(index) { return TINTS[index % MOST_CHARACTERS]; }

  // Draw frames part of the way from `before` to `now`; `trail`: frames of the first character.
  draw({ before, now, part, trail, seconds }) {
    const { camera, size, surface, asset: { frameRate } } = this;
    // Out of view, the scene has handed its context back.
    if (!surface.visible) return;
    const blend = before.length === now.length ? part : 1;
    const bodies = now.map((frame, i) => this.between(blend < 1 ? before[i] : frame, frame, blend, i));
    const lead = bodies[0];
    const { heading } = now[0].root;
    const { length, ahead, height } = extentOf({ positions: lead.pose, root: { position: lead.place, heading } }, this.level(...lead.place));
    // A body that sat at first is longer when it runs.
    Object.assign(size, { length: Math.max(size.length, length), ahead: mix(ahead, size.ahead, Math.exp(-seconds / AHEAD_S)) });
    camera.fit(size, 1 - Math.exp(-seconds / FIT_S));
    const middle = [lead.place[0] + size.ahead * Math.sin(heading), lead.place[1] + size.ahead * Math.cos(heading)];
    camera.follow(middle, heading, seconds, height);
    this.mark(now, bodies);
    const context = surface.begin();
    camera.frame(surface.width, surface.height);
    const lit = this.drawBodies(context, bodies, { size: size.height, step: size.gridStep, passed: seconds });
    if (!lit && this.lit.missing) Object.assign(this.elements.plain, { textContent: this.lit.missing, hidden: false });
    // Beside a body of the picture before stand its wheels.
    const beside = this.lit.isLate && this.before ? this.before : [middle, trail];
    if (this.shown.wheels && now[0].phases) this.wheels(context, ...beside);
    this.before = [middle, trail];
    this.pictures++;
    // Where pictures are late, each has one of the panels.
    Object.entries(this.canvases).forEach(([name, canvas], at, { length }) => {
      if (this.shown.panels && (!this.lit.isReduced || this.pictures % length === at)) this.panels[name](canvas, trail, frameRate);
    });
  }

  // A body between two frames.
  between(before, now, part, index) {
    const [tint, accent] = this.tint(index);
    const { parents } = this.asset.skeleton;
    const pose = now.positions.map((value, i) => mix(before.positions[i], value, part));
    const rotations = blendTurns(new Float32Array(now.rotations.length), before.rotations, now.rotations, part);
    // Limbs, without the line from a root on the ground to the hips.
    const ends = [...parents.keys()].filter((joint) =>
      parents[joint] >= 0 && !(parents[parents[joint]] < 0 && pose[3 * parents[joint] + 1] < 0.05));
    return {
      key: BODY, pose, place: [0, 1].map((axis) => mix(before.root.position[axis], now.root.position[axis], part)),
      character: () => ({ key: BODY, positions: pose, rotations, tint, accent }),
      links: ends.flatMap((joint) => [parents[joint], joint]), radii: ends.map(() => LIMB_M), height: this.size.height, colour: tint,
    };
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
      feet.forEach((joint, at) => contacts[at] > 0.05 &&
        marks.ring(positions[3 * joint], positions[3 * joint + 2], 0.1 * size.unit, marks.colours.contact, 0.85 * contacts[at]));
    }
  }

  mark(now, bodies) {
    const { marks, size } = this;
    marks.clear(look.dark ? "dark" : "light");
    bodies.forEach(({ pose }, i) => this.markFeet(pose, now[i].contacts));
    const { trajectory } = now[0];
    if (this.shown.trajectory && trajectory) {
      if (trajectory.desired) marks.trajectory(trajectory.desired, "desired", size.unit, 0.75);
      if (trajectory.predicted) marks.trajectory(trajectory.predicted, "predicted", size.unit);
    }
  }

  wheels(context, [x, z], trail) {
    const { camera, surface, size } = this;
    const [head, feet] = [camera.floor + size.height, camera.floor].map((y) => [...camera.project(x, y, z)]);
    if (Math.min(head[2], feet[2]) < camera.near) return;
    const tall = Math.hypot(head[0] - feet[0], head[1] - feet[1]);
    const count = trail[trail.length - 1].phases.phase.length;
    const rows = count > 6 ? Math.ceil(count / 2) : count;
    const radius = clamp((0.42 * Math.max(tall, 0.3 * surface.height)) / rows, 15, 46);
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
function bodySize(frames) {
  const extents = frames.map((frame) => extentOf(frame));
  const { length, ahead, reach } = extents.reduce((most, extent) => (extent.length > most.length ? extent : most));
  const height = Math.max(...extents.map((extent) => extent.height));
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
