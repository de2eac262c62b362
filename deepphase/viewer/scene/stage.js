// Bodies in space, on a ground with a grid.

import { drawCapsules, shadesOf } from "./capsules.js";
import { look } from "../page_content.js";
import { clamp } from "./vectors.js";
import { fontOf, mixed, fitted, Surface, onDrag } from "./surface2d.js";
import { Camera } from "./orbit.js";
import { Terrain } from "./terrain.js";
import { Ground } from "./ground.js";

// Time constant in seconds of the camera that follows a body.
const FOLLOW_S = 0.18;
// The camera rises with bodies whose lowest joint is higher over the floor than this, in heights.
const LIFTED = 0.15;
// Distance from a head's joint to its middle as a share of the body's height, for files without
// an end site of the head.
const HEAD_SHARE = 0.06;
// Bodies farther apart than this, in metres, or than three times their size are not all in view.
const WIDEST_M = 5;
// Metres from the camera to the nearest of several bodies, at least.
const LEAST_ROOM_M = 2.4;
export const SHOWS = [
  ["follow", "Follow", "F"],
  ["contacts", "Contacts", ""],
  ["trails", "Trails", ""],
  ["path", "Root path", ""],
  ["names", "Joint names", ""],
  ["skeleton", "Skeleton", ""],
];

const NAME_SIZE = 12;
// Height of names over the highest joint, in heights of the body: of lines, and of a head around it.
const ABOVE = 0.06, SURFACE_ABOVE = 0.15;

// Names of bodies, with those that would cover a nearer body's name moved up.
function apart(names) {
  const placed = [];
  for (const each of [...names].sort((one, other) => other.y - one.y)) {
    const covers = (other) => Math.abs(other.x - each.x) < other.half + each.half
      && Math.abs(other.y - each.y) < NAME_SIZE + 2;
    for (let other = placed.find(covers); other; other = placed.find(covers)) each.y = other.y - NAME_SIZE - 2.1;
    placed.push(each);
  }
  return placed;
}

export class Stage extends Ground {
  constructor(canvas, onChange, mannequins) {
    super();
    this.surface = new Surface(canvas, onChange);
    this.shows = { follow: true, contacts: true, trails: true, path: true, names: false, skeleton: false };
    this.bodies = [];
    this.moved = [0, 0, 0];
    this.camera = new Camera();
    this.mannequins = mannequins;
    this.surface.onHide = () => mannequins?.release();
    this.onChange = onChange;
    onDrag(canvas, {
      move: (event, dx, dy) => {
        if (event.buttons & 2 || event.shiftKey) this.pan(dx, dy);
        else this.camera.turn(dx, dy);
        onChange();
      },
    });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.camera.zoom(clamp(event.deltaY, -100, 100) * 0.0015);
      onChange();
    }, { passive: false });
    canvas.addEventListener("dblclick", () => this.reset());
    canvas.addEventListener("keydown", (event) => {
      const turns = { a: [-12, 0], d: [12, 0], w: [0, 12], s: [0, -12] }[event.key.toLowerCase()];
      const zoom = { q: -0.1, e: 0.1 }[event.key.toLowerCase()];
      if (event.ctrlKey || event.metaKey || event.altKey || (!turns && !zoom)) return;
      if (turns) this.camera.turn(...turns);
      else this.camera.zoom(zoom);
      onChange();
    });
  }

  pan(dx, dy) {
    const by = this.camera.pan(dx, dy);
    this.moved = this.moved.map((v, i) => v + by[i]);
    this.camera.target = this.camera.target.map((v, i) => v + by[i]);
  }

  open(bodies, terrain) {
    this.bodies = bodies;
    this.terrain = terrain ? new Terrain(terrain) : null;
    this.mannequins?.open(bodies, this.terrain);
    this.floor = bodies.length ? Math.min(...bodies.map((body) => body.floor)) : 0;
    this.height = Math.max(0.1, ...bodies.map((body) => body.height));
    this.grid = 10 ** Math.round(Math.log10(this.height / 1.5));
    this.reset();
  }

  reset() {
    this.camera.yaw = 0.65;
    this.camera.pitch = 0.2;
    // Bodies that are longer than high are seen whole, too.
    const reach = Math.max(0, ...this.visibleBodies.map((body) => body.reach));
    const size = Math.max(this.height, 1.25 * reach);
    const spread = Math.min(this.spread(), Math.max(3 * size, WIDEST_M));
    // Small bodies that stand apart: the nearest must not leave the picture at its side.
    const room = this.visibleBodies.length > 1 ? Math.max(1.5 * size, LEAST_ROOM_M) : 1.5 * size;
    this.camera.distance = Math.max(2.35 * size, room + 2.1 * spread);
    this.moved = [0, 0, 0];
    this.settled = false;
    this.onChange();
  }

  get visibleBodies() {
    return this.bodies.filter((body) => body.shown);
  }

  // Mean distance over time from the middle of the bodies to the farthest of them, in metres.
  spread() {
    const bodies = this.visibleBodies;
    let widest = 0;
    if (bodies.length > 1) {
      const end = Math.max(...bodies.map((body) => body.end));
      for (let at = 0; at <= 20; at++) {
        const places = bodies.map((body) => this.placeOf(body, (end * at) / 20));
        const x = places.reduce((sum, p) => sum + p[0], 0) / places.length;
        const z = places.reduce((sum, p) => sum + p[1], 0) / places.length;
        widest += Math.max(...places.map((p) => Math.hypot(p[0] - x, p[1] - z))) / 21;
      }
    }
    return widest;
  }

  placeOf(body, time) {
    const place = body.place(time);
    const before = Math.floor(place);
    const after = Math.min(before + 1, body.frames - 1);
    const source = body.root || body.centre;
    return [0, 2].map((axis) => {
      const a = source[3 * before + axis];
      return a + (source[3 * after + axis] - a) * (place - before);
    });
  }

  // Metres that a body has climbed, as a jump does not.
  liftOf(body, floor, time) {
    const pose = body.poseAt(time);
    let lowest = Infinity;
    for (let i = 1; i < pose.length; i += 3) lowest = Math.min(lowest, pose[i]);
    return Number.isFinite(lowest) ? Math.max(0, lowest - floor - LIFTED * body.height) : 0;
  }

  // Move the camera after the bodies; true until it has arrived.
  follow(time, passed) {
    const bodies = this.visibleBodies;
    if (!bodies.length) return false;
    if (!this.shows.follow && this.settled) return false;
    const places = bodies.map((body) => this.placeOf(body, time));
    const floors = places.map((p, at) => this.level(bodies[at], p[0], p[1]));
    const floor = this.terrain ? floors.reduce((sum, y) => sum + y, 0) / floors.length : this.floor;
    const lifts = bodies.map((body, at) => this.liftOf(body, floors[at], time));
    const goal = [
      places.reduce((sum, p) => sum + p[0], 0) / places.length + this.moved[0],
      floor + lifts.reduce((sum, y) => sum + y, 0) / lifts.length + 0.47 * this.height + this.moved[1],
      places.reduce((sum, p) => sum + p[1], 0) / places.length + this.moved[2],
    ];
    const { target } = this.camera;
    const gap = Math.hypot(...goal.map((v, i) => v - target[i]));
    const jump = !this.settled || gap > 1.5 * this.height;
    const part = jump ? 1 : 1 - Math.exp(-passed / FOLLOW_S);
    this.settled = true;
    this.camera.target = target.map((v, i) => v + (goal[i] - v) * part);
    return gap * (1 - part) > 0.0005 * this.height;
  }

  draw(time, passed) {
    if (!this.surface.drawable) return false;
    const context = this.surface.begin();
    const { width, height } = this.surface;
    const moving = this.follow(time, passed);
    this.camera.frame(width, height);
    if (!this.bodies.length) return false;
    context.lineCap = context.lineJoin = "round";
    const solid = !this.shows.skeleton && this.mannequins?.prepare(this.floor);
    const poses = this.visibleBodies.map((body) => [body, body.poseAt(time)]);
    const plain = solid ? poses.filter(([body]) => !body.posed) : poses;
    if (solid) {
      this.mannequins.drawGround(context, this, poses, time, passed);
      this.gridStep = this.terrain ? 0 : this.grid;
    } else {
      this.drawGround(context);
    }
    for (const [body, pose] of plain) {
      this.drawShadow(context, body, pose);
      if (body.ball && !solid) this.drawBallShadow(context, body, time);
    }
    for (const [body] of poses) if (this.shows.path) this.drawPath(context, body, time);
    for (const [body] of poses) if (this.shows.path) this.drawDesired(context, body, time);
    for (const [body] of poses) if (this.shows.trails) this.drawTrails(context, body, time);
    for (const [body, pose] of poses) if (this.shows.contacts) this.drawContacts(context, body, pose, time);
    if (solid) this.mannequins.drawBodies(context, this.surface);
    this.drawBodies(context, plain, time, !solid);
    this.drawNames(context, poses, solid ? SURFACE_ABOVE : ABOVE);
    return moving;
  }

  drawBodies(context, poses, time, balls) {
    const { camera } = this;
    const pieces = [];
    for (const [body, pose] of poses) {
      const colours = { ...shadesOf(body.colour, look.page, look.dark), opacity: body.covers(time) && !body.ghost ? 1 : 0.3 };
      for (const link of body.drawnLinks) {
        const [i, j] = [3 * body.links[link], 3 * body.links[link + 1]];
        const a = camera.project(pose[i], pose[i + 1], pose[i + 2]);
        const [ax, ay, az] = a;
        const b = camera.project(pose[j], pose[j + 1], pose[j + 2]);
        const depth = (az + b[2]) / 2;
        if (Math.min(az, b[2]) < camera.near) continue;
        const width = Math.max(1.6, (2 * body.radii[link / 2] * camera.focal) / depth);
        pieces.push({ ax, ay, bx: b[0], by: b[1], depth, width, colours });
      }
      for (const [from, to] of body.heads) this.addHead(pieces, body, pose, from, to, colours);
      if (body.ball && balls) this.addBall(pieces, body, time, colours);
      if (!body.links.length) this.drawPoints(context, body, pose, colours);
    }
    drawCapsules(context, pieces);
  }

  addHead(pieces, body, pose, from, to, colours) {
    const { camera } = this;
    const [i, j] = [3 * from, 3 * to];
    const neck = [0, 1, 2].map((axis) => pose[j + axis] - pose[i + axis]);
    const long = (HEAD_SHARE * body.height) / (Math.hypot(...neck) || 1);
    const [ax, ay, az] = camera.project(...[0, 1, 2].map((axis) => pose[j + axis] + 0.4 * long * neck[axis]));
    const b = camera.project(...[0, 1, 2].map((axis) => pose[j + axis] + long * neck[axis]));
    const depth = (az + b[2]) / 2;
    if (Math.min(az, b[2]) < camera.near) return;
    const width = (0.09 * body.height * camera.focal) / depth;
    pieces.push({ ax, ay, bx: b[0], by: b[1], depth, width, colours });
  }

  // A line with round ends and hardly any length is a disc.
  addBall(pieces, body, time, colours) {
    const { camera } = this;
    const [x, y, z] = body.ballAt(time);
    const [ax, ay, depth] = camera.project(x, y, z);
    if (depth < camera.near) return;
    const width = (2 * body.ballRadius * camera.focal) / depth;
    const shades = { ...colours, dark: look.soft, base: mixed(look.soft, "#ffffff", 0.75), bright: "#ffffff" };
    pieces.push({ ax, ay, bx: ax + 0.01, by: ay, depth, width, colours: shades });
  }

  drawPoints(context, body, pose, colours) {
    context.fillStyle = colours.base;
    context.globalAlpha = colours.opacity;
    for (let i = 0; i < pose.length; i += 3) {
      const p = this.camera.project(pose[i], pose[i + 1], pose[i + 2]);
      if (p[2] < this.camera.near) continue;
      context.beginPath();
      context.arc(p[0], p[1], Math.max(2, (0.012 * body.height * this.camera.focal) / p[2]), 0, 7);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  drawNames(context, poses, above) {
    context.textAlign = "center";
    context.textBaseline = "bottom";
    const write = (text, x, y, size, colour) => {
      context.font = fontOf(size, size > 11 ? "600" : "");
      context.lineWidth = 3;
      context.strokeStyle = look.wall;
      const short = fitted(context, text, 180);
      context.strokeText(short, x, y);
      context.fillStyle = colour;
      context.fillText(short, x, y);
    };
    if (this.bodies.length > 1) {
      const names = [];
      context.font = fontOf(NAME_SIZE, "600");
      for (const [body, pose] of poses) {
        let top = 0;
        for (let i = 3; i < pose.length; i += 3) if (pose[i + 1] > pose[top + 1]) top = i;
        const p = this.camera.project(pose[top], pose[top + 1] + above * body.height, pose[top + 2]);
        const half = Math.min(180, context.measureText(body.name).width) / 2 + 2;
        if (p[2] > this.camera.near) names.push({ name: body.name, x: p[0], y: p[1], half });
      }
      for (const each of apart(names)) write(each.name, each.x, each.y, NAME_SIZE, look.ink);
    }
    for (const [body, pose] of poses) {
      if (!this.shows.names) continue;
      body.jointNames.forEach((name, joint) => {
        if (name.endsWith(" tip")) return;
        const p = this.camera.project(pose[3 * joint], pose[3 * joint + 1], pose[3 * joint + 2]);
        if (p[2] > this.camera.near) write(name, p[0], p[1] - 4, 10, look.soft);
      });
    }
  }
}
