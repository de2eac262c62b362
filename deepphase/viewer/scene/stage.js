// The bodies of a take in space, on a ground with a grid.

import { look, styleOf } from "../page_content.js";
import { Heightmap } from "../runtime/heightmap.js";
import { arrayOf } from "../tracks/take_data.js";
import { onTurn } from "../input/pointer.js";
import { add, between, distance } from "../vectors.js";
import { Camera } from "./camera.js";
import { Scene } from "./scene.js";
import { faded, fontOf, fitted } from "./surface2d.js";

// Time constant in seconds of the camera that follows a body.
const FOLLOW_S = 0.18;
// Distance of the camera's target behind the body, at most, in heights: a gallop stays in the picture.
const MOST_LAG = 0.2;
// The camera rises with bodies whose lowest joint is higher over the floor than this, in heights, or highest than when they stand.
const LIFTED = 0.15;
// Seconds of the trails behind joints, of the bold part of the root path at either side, and between its arrows.
const TRAIL_S = 1.2, PATH_S = 2, PATH_MARK_S = 0.5;
// Points of the whole path and of its bold part.
const PATH_POINTS = 200, BOLD_POINTS = 60;
// Bodies farther apart than this, in metres, or than three times their size are not all in view.
const WIDEST_M = 5;
// Metres from the camera to the nearest of several bodies, at least.
const LEAST_ROOM_M = 2.4;
// Layers: name, words, key, and whether they are shown at first.
export const SHOWS = [
  ["follow", "Follow", "F", true],
  ["contacts", "Contacts", "", true],
  ["trails", "Trails", "", true],
  ["path", "Path", "", true],
  ["names", "Names", "", false],
  ["skeleton", "Skeleton", "", false],
];

const NAME_SIZE = 12;
// Share of a joint's movement from which on a channel follows it.
const LEAST_SHARE = 0.1;
// More bodies are named by the list of their colours alone.
const MOST_NAMES = 12;
// Height of names over the highest joint, in heights of the body: of lines, and of a head around it.
const ABOVE = 0.06, SURFACE_ABOVE = 0.15;
// Pixels at the top that the list of colours covers.
const BELOW_LIST = 52;

const meanOf = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

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

export class Stage extends Scene {
  constructor(canvas, onChange, lit) {
    super(canvas, new Camera(), lit, onChange);
    this.shows = Object.fromEntries(SHOWS.map(([name, , , on]) => [name, on]));
    this.bodies = [];
    this.moved = [0, 0, 0];
    onTurn(canvas, this.camera, { onChange, pan: (dx, dy) => this.pan(dx, dy) });
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", () => this.reset());
  }

  pan(dx, dy) {
    const by = this.camera.pan(dx, dy);
    this.moved = add(this.moved, by);
    this.camera.target = add(this.camera.target, by);
  }

  open(bodies, terrain) {
    this.bodies = bodies;
    // Whether they play one after the other.
    this.inTurn = bodies.every((body, at) => !at || body.start >= bodies[at - 1].end);
    this.terrain = terrain
      ? new Heightmap(arrayOf(terrain.heights), terrain.heights.shape[1], terrain.spacing, terrain.origin) : null;
    this.lit?.openTake(bodies, this.terrain);
    this.floor = bodies.length ? Math.min(...bodies.map((body) => body.floor)) : 0;
    this.height = Math.max(0.1, ...bodies.map((body) => body.height));
    this.grid = 10 ** Math.round(Math.log10(this.height / 1.5));
    for (const body of bodies) {
      // Height of the ground under it.
      body.level = (x, z) => (this.terrain ? this.terrain.at(x, z) : body.floor);
    }
    this.reset();
  }

  reset() {
    // Bodies that are longer than high are seen whole, too.
    const reach = Math.max(0, ...this.visibleBodies.map((body) => body.reach));
    const size = Math.max(this.height, 1.25 * reach);
    const spread = Math.min(this.spread(), Math.max(3 * size, WIDEST_M));
    // Small bodies that stand apart: the nearest must not leave the picture at its side.
    const room = this.visibleBodies.length > 1 ? Math.max(1.5 * size, LEAST_ROOM_M) : 1.5 * size;
    Object.assign(this.camera, { yaw: 0.65, pitch: 0.2, distance: Math.max(2.35 * size, room + 2.1 * spread) });
    this.moved = [0, 0, 0];
    this.settled = false;
    this.onChange();
  }

  get visibleBodies() { return this.bodies.filter((body) => body.shown); }

  // Those that are drawn: of passages in sequence, the ones that play now.
  bodiesAt(time) {
    const bodies = this.visibleBodies;
    const now = bodies.filter((body) => body.covers(time));
    return now.length && this.inTurn ? now : bodies;
  }

  // Mean distance over time from the middle of the bodies to the farthest of them, in metres.
  spread() {
    const bodies = this.visibleBodies;
    if (bodies.length < 2) return 0;
    const end = Math.max(...bodies.map((body) => body.end));
    return meanOf(Array.from({ length: 21 }, (_, at) => {
      const places = bodies.map((body) => this.placeOf(body, (end * at) / 20));
      const [x, z] = [0, 1].map((axis) => meanOf(places.map((place) => place[axis])));
      return Math.max(...places.map((place) => Math.hypot(place[0] - x, place[1] - z)));
    }));
  }

  placeOf(body, time) {
    const [x, , z] = body.pointAt(body.path, time);
    return [x, z];
  }

  // Metres by which a body that has climbed or jumps is out of the picture of one that stands.
  liftOf({ pose, height }, floor) {
    let lowest = Infinity, highest = -Infinity;
    for (let i = 1; i < pose.length; i += 3) [lowest, highest] = [Math.min(lowest, pose[i]), Math.max(highest, pose[i])];
    return Number.isFinite(lowest) ? Math.max(0, lowest - floor - LIFTED * height, highest - floor - height) : 0;
  }

  // Move the camera after the bodies; true until it has arrived.
  follow(bodies, time, passed) {
    if (!bodies.length || (!this.shows.follow && this.settled)) return false;
    const places = bodies.map((body) => this.placeOf(body, time));
    const floors = places.map((place, at) => bodies[at].level(...place));
    const floor = this.terrain ? meanOf(floors) : this.floor;
    const lift = meanOf(bodies.map((body, at) => this.liftOf(body, floors[at])));
    const [x, z] = [0, 1].map((axis) => meanOf(places.map((place) => place[axis])));
    const goal = add([x, floor + lift + 0.47 * this.height, z], this.moved);
    const gap = distance(goal, this.camera.target);
    const jump = !this.settled || gap > 1.5 * this.height;
    const part = jump ? 1 : 1 - Math.min(Math.exp(-passed / FOLLOW_S), (MOST_LAG * this.height) / (gap || 1));
    this.settled = true;
    this.camera.target = between(this.camera.target, goal, part);
    return gap * (1 - part) > 0.0005 * this.height;
  }

  draw(time, passed) {
    if (!this.surface.drawable) return false;
    const context = this.surface.begin(), drawn = this.bodiesAt(time);
    this.isDrawn = true;
    for (const body of drawn) {
      body.poseAt(time);
      body.alpha = body.isFaint(time) ? 0.3 : 1;
      body.balls = body.ball ? [{ place: body.ballAt(time), radius: body.ballRadius }] : [];
      body.character = () => this.lit.characterOf(body, body.pose, time);
    }
    const moving = this.follow(drawn, time, passed);
    this.camera.frame(this.surface.width, this.surface.height);
    if (!this.bodies.length) return false;
    this.mark(drawn, time);
    const balls = drawn.flatMap((body) => body.balls);
    const lit = this.drawBodies(context, drawn, { balls, size: this.height, step: 0.25 * this.grid, passed, plain: this.shows.skeleton });
    if (this.emphasis && drawn.length) this.drawEmphasis(context, drawn[0]);
    this.drawNames(context, drawn, lit ? SURFACE_ABOVE : ABOVE);
    return moving;
  }

  // Paths, desired trajectories, trails and contacts of all bodies.
  mark(bodies, time) {
    const { marks, shows } = this;
    marks.clear(look.dark ? "dark" : "light");
    for (const body of bodies) {
      const { pose } = body;
      marks.level = body.level;
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
    const { marks } = this, { path: source } = body;
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
    for (const trailing of body.trailing) {
      const points = [];
      for (let f = first; f <= last; f++) points.push(...body.joint(f, trailing, joint));
      this.marks.line(points, { width: 0, colour: body.colour, alphas: [0.12, 0.7], least: 1.8 });
    }
  }

  // Place in the picture of a joint, `above` metres over it; null behind the eye.
  placeInPicture({ pose }, joint, above = 0) {
    const [x, y, depth] = this.camera.project(pose[3 * joint], pose[3 * joint + 1] + above, pose[3 * joint + 2]);
    return depth > this.camera.near ? { x, y, depth } : null;
  }

  // A disc on each joint of a body, as large as its share of what a channel follows.
  drawEmphasis(context, body) {
    const { shares, colour } = this.emphasis;
    context.fillStyle = faded(colour, 0.75);
    context.strokeStyle = look.page;
    context.lineWidth = 1.5;
    shares.subarray(0, body.joints).forEach((share, joint) => {
      const place = share < LEAST_SHARE ? null : this.placeInPicture(body, joint);
      if (!place) return;
      context.beginPath();
      context.arc(place.x, place.y, 0.04 * Math.sqrt(Math.min(share, 1)) * this.camera.focal * body.height / place.depth, 0, 7);
      context.fill();
      context.stroke();
    });
  }

  drawNames(context, bodies, above) {
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
    if (this.bodies.length > 1 && bodies.length <= MOST_NAMES) {
      const names = [];
      context.font = fontOf(NAME_SIZE, "600");
      for (const body of bodies) {
        // Ghosts stand over each other; the list of colours names them.
        if (body.compared || (!this.compares && this.bodies.some((each) => each.compared))) continue;
        let top = 0;
        for (let joint = 1; joint < body.joints; joint++) if (body.pose[3 * joint + 1] > body.pose[3 * top + 1]) top = joint;
        const place = this.placeInPicture(body, top, above * body.height);
        const half = Math.min(180, context.measureText(body.name).width) / 2 + 2;
        if (place) names.push({ name: body.name, half, x: place.x, y: Math.max(place.y, BELOW_LIST) });
      }
      for (const { name, x, y } of apart(names)) write(name, x, y, NAME_SIZE, look.ink);
    }
    for (const body of this.shows.names ? bodies : []) {
      body.jointNames.forEach((name, joint) => {
        const place = name.endsWith(" tip") ? null : this.placeInPicture(body, joint);
        if (place) write(name, place.x, place.y - 4, 10, look.soft);
      });
    }
  }
}
