// Bodies in space, on a ground with a grid.

import { look, styleOf } from "../page_content.js";
import { Heightmap } from "../runtime/heightmap.js";
import { arrayOf } from "../tracks/take_data.js";
import { onTurn } from "../input/pointer.js";
import { Camera } from "./camera.js";
import { Marks } from "./marks.js";
import { PlainRenderer } from "./plain_renderer.js";
import { faded, fontOf, fitted, Surface } from "./surface2d.js";

// Time constant in seconds of the camera that follows a body.
const FOLLOW_S = 0.18;
// The camera rises with bodies whose lowest joint is higher over the floor than this, in heights.
const LIFTED = 0.15;
// Seconds of the trails behind joints, of the bold part of the root path at either side, and between its arrows.
const TRAIL_S = 1.2, PATH_S = 2, PATH_MARK_S = 0.5;
// Points of the whole path and of its bold part.
const PATH_POINTS = 200, BOLD_POINTS = 60;
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
// Share of a joint's movement from which on a channel follows it.
const LEAST_SHARE = 0.1;
// More bodies are named by the list of their colours alone.
const MOST_NAMES = 12;
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

export class Stage {
  constructor(canvas, onChange, mannequins) {
    this.surface = new Surface(canvas, onChange);
    this.shows = { follow: true, contacts: true, trails: true, path: true, names: false, skeleton: false };
    this.bodies = [];
    this.moved = [0, 0, 0];
    this.camera = new Camera();
    this.marks = new Marks();
    this.plain = new PlainRenderer(look);
    this.mannequins = mannequins;
    this.surface.onHide = () => mannequins?.release();
    this.onChange = onChange;
    onTurn(canvas, this.camera, { onChange, pan: (dx, dy) => this.pan(dx, dy) });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => this.reset());
  }

  pan(dx, dy) {
    const by = this.camera.pan(dx, dy);
    this.moved = this.moved.map((v, i) => v + by[i]);
    this.camera.target = this.camera.target.map((v, i) => v + by[i]);
  }

  open(bodies, terrain) {
    this.bodies = bodies;
    // Whether they play one after the other.
    this.inTurn = bodies.every((body, at) => !at || body.start >= bodies[at - 1].end);
    this.terrain = terrain
      ? new Heightmap(arrayOf(terrain.heights), terrain.heights.shape[1], terrain.spacing, terrain.origin) : null;
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

  // Those that are drawn: of passages in sequence, the ones that play now.
  bodiesAt(time) {
    const bodies = this.visibleBodies;
    const now = bodies.filter((body) => body.covers(time));
    return now.length && this.inTurn ? now : bodies;
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
    const [x, , z] = body.pointAt(body.root || body.centre, time);
    return [x, z];
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
    const bodies = this.bodiesAt(time);
    if (!bodies.length) return false;
    if (!this.shows.follow && this.settled) return false;
    const places = bodies.map((body) => this.placeOf(body, time));
    const floors = places.map((p, at) => this.levelOf(bodies[at])(...p));
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

  // A function of a place (x, z): height of the ground under a body.
  levelOf(body) {
    return this.terrain ? (x, z) => this.terrain.at(x, z) : () => body.floor;
  }

  draw(time, passed) {
    if (!this.surface.drawable) return false;
    const context = this.surface.begin();
    const moving = this.follow(time, passed);
    this.camera.frame(this.surface.width, this.surface.height);
    if (!this.bodies.length) return false;
    const lit = !this.shows.skeleton && this.mannequins?.prepare();
    const poses = this.bodiesAt(time).map((body) => [body, body.poseAt(time)]);
    const balls = poses.filter(([body]) => body.ball).map(([body]) => ({ place: body.ballAt(time), radius: body.ballRadius }));
    this.mark(poses, time);
    if (lit) {
      const posed = new Map(poses.filter(([body]) => body.posed));
      this.mannequins.draw(context, this, posed, balls, time, passed);
      this.gridStep = this.terrain ? 0 : this.grid;
    }
    const { plain, terrain, floor, grid: step, height: size } = this;
    if (lit) Object.assign(plain, { context, camera: this.camera });
    else this.gridStep = plain.begin(context, this.camera, { terrain, floor, step, size });
    const limbed = poses.filter(([body]) => !lit || !body.posed)
      .map(([body]) => Object.assign(body, { alpha: body.isFaint(time) ? 0.3 : 1 }));
    context.lineCap = context.lineJoin = "round";
    for (const body of limbed) plain.drawShadows([body], lit || !body.ball ? [] : [{ place: body.ballAt(time), radius: body.ballRadius }], this.levelOf(body));
    if (!lit) plain.drawMarks(this.marks);
    plain.drawBodies(limbed, lit ? [] : balls);
    if (this.emphasis) this.drawEmphasis(context, poses);
    this.drawNames(context, poses, lit ? SURFACE_ABOVE : ABOVE);
    return moving;
  }

  // Paths, desired trajectories, trails and contacts of all bodies.
  mark(poses, time) {
    const { marks, shows } = this;
    marks.clear(look.dark ? "dark" : "light");
    for (const [body, pose] of poses) {
      marks.level = this.levelOf(body);
      if (shows.path) this.markPath(body, time);
      if (shows.path) this.markDesired(body, time);
      if (shows.trails) this.markTrails(body, time);
      if (!shows.contacts || !body.contacts || !body.covers(time)) continue;
      const frame = body.nearest(time);
      body.feet.forEach((joint, foot) => {
        const touches = body.contacts[frame * body.feet.length + foot];
        marks.ring(pose[3 * joint], pose[3 * joint + 2], 0.06 * body.height, styleOf(2).colour, touches ? 0.9 : 0.25);
      });
    }
  }

  // The root path: faint as a whole, bold around the current time with arrows of the facing.
  markPath(body, time) {
    const { marks } = this;
    const source = body.root || body.centre;
    const line = (from, to, most, width, least, alpha) => {
      const stride = Math.max(1, Math.ceil((to - from) / most));
      const places = [];
      for (let f = from; f < to; f += stride) places.push(source[3 * f], source[3 * f + 2]);
      places.push(source[3 * to], source[3 * to + 2]);
      marks.groundLine(places, { width: width * body.height, colour: body.colour, alphas: [alpha, alpha], least });
    };
    const last = body.frames - 1, now = body.nearest(time);
    const reach = Math.round(PATH_S * body.fps);
    line(0, last, PATH_POINTS, 0, 1.2, 0.35);
    line(Math.max(0, now - reach), Math.min(last, now + reach), BOLD_POINTS, 0.008, 2.2, 0.8);
    const step = Math.max(1, Math.round(PATH_MARK_S * body.fps));
    for (let f = now - 4 * step; f <= now + 4 * step; f += step) {
      if (f < 0 || f > last) continue;
      const [x, z] = [source[3 * f], source[3 * f + 2]];
      const size = (f === now ? 0.06 : 0.04) * body.height;
      if (body.facing) marks.arrow(x, z, body.facing[3 * f], body.facing[3 * f + 2], size, body.colour, f === now ? 1 : 0.8);
      else marks.ring(x, z, 0.4 * size, body.colour, 1);
    }
  }

  // The desired path, and the desired trajectory at the current time.
  markDesired(body, time) {
    const { marks } = this;
    const line = (places, alpha, least, width = 0) => marks.groundLine(places, { width, colour: look.ink, alphas: [alpha, alpha], least });
    // A band, so that one sees from afar where the body is led.
    if (body.desiredPath) {
      line(body.desiredPath, 0.16, 3, 0.09 * body.height);
      line(body.desiredPath, 0.4, 1.5);
    }
    if (!body.desiredTrajectory || !body.covers(time)) return;
    const start = 2 * body.nearest(time) * body.trajectorySamples;
    const places = body.desiredTrajectory.subarray(start, start + 2 * body.trajectorySamples);
    line(places, 0.85, 1.75);
    for (let p = 0; p < places.length; p += 2) marks.ring(places[p], places[p + 1], 0.025 * body.height, look.ink, 0.85);
  }

  markTrails(body, time) {
    const last = body.nearest(time);
    const first = Math.max(0, last - Math.round(TRAIL_S * body.fps));
    const joint = [0, 0, 0];
    for (const each of body.trailing) {
      const points = [];
      for (let f = first; f <= last; f++) points.push(...body.joint(f, each, joint));
      this.marks.line(points, { width: 0, colour: body.colour, alphas: [0.12, 0.7], least: 1.8 });
    }
  }

  // A disc on each joint of the first body, as large as its share of what a channel follows.
  drawEmphasis(context, poses) {
    const [[body, pose]] = poses.length ? poses : [[null]];
    if (!body) return;
    const { shares, colour } = this.emphasis;
    context.fillStyle = faded(colour, 0.75);
    context.strokeStyle = look.page;
    context.lineWidth = 1.5;
    for (let joint = 0; joint < Math.min(shares.length, pose.length / 3); joint++) {
      if (shares[joint] < LEAST_SHARE) continue;
      const p = this.camera.project(pose[3 * joint], pose[3 * joint + 1], pose[3 * joint + 2]);
      if (p[2] < this.camera.near) continue;
      context.beginPath();
      context.arc(p[0], p[1], 0.04 * Math.sqrt(Math.min(shares[joint], 1)) * this.camera.focal * body.height / p[2], 0, 7);
      context.fill();
      context.stroke();
    }
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
    if (this.bodies.length > 1 && poses.length <= MOST_NAMES) {
      const names = [];
      context.font = fontOf(NAME_SIZE, "600");
      for (const [body, pose] of poses) {
        // Ghosts stand over each other; the list of colours names them.
        if (this.compares && body.compared) continue;
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
