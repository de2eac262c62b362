// Data of the page: its JSON, and typed arrays that are decoded at their first use.

import { bytesOf } from "../scene/elements.js";
import { clamp, distance, mix } from "../vectors.js";
import { styleOf, look } from "../page_content.js";

const decoded = new Map();

export function arrayBytes(id) {
  if (!decoded.has(id)) decoded.set(id, bytesOf(document.getElementById(`array-${id}`).textContent));
  return decoded.get(id);
}

const KINDS = { int16: Int16Array, float32: Float32Array, uint8: Uint8Array, uint32: Uint32Array };

export function arrayOf(described) {
  if (!described) return null;
  const bytes = arrayBytes(described.id);
  const Kind = KINDS[described.type];
  const count = described.shape.reduce((a, b) => a * b, 1);
  if (bytes.byteLength !== count * Kind.BYTES_PER_ELEMENT) throw new Error("the page's data are damaged");
  return new Kind(bytes.buffer, bytes.byteOffset, count);
}

const wrapped = (cycles) => cycles - Math.floor(cycles + 0.5);

// Least and largest value of the flagged frames, or of all.
export function rangeOf(values, counted) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    if (counted && !counted[i]) continue;
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return [low, high];
}

// Frames at a rate, on the take's time axis.
export class Timed {
  constructor(part, frames) {
    this.fps = part.fps;
    this.start = part.start;
    this.frames = frames;
    this.end = this.start + (frames - 1) / this.fps;
  }

  // Fractional frame at a time, clamped to the available frames.
  place(seconds) { return clamp((seconds - this.start) * this.fps, 0, this.frames - 1); }

  // The frames before and after a time, and the part of the way from the one to the other.
  framesAt(seconds) {
    const place = this.place(seconds);
    const before = Math.floor(place);
    return [before, Math.min(before + 1, this.frames - 1), place - before];
  }

  nearest(seconds) { return Math.round(this.place(seconds)); }

  covers(seconds) {
    const slack = 0.5 / this.fps;
    return seconds >= this.start - slack && seconds <= this.end + slack;
  }
}

// Columns of numbers over time.
export class Series extends Timed {
  // `counted` flags the frames that set the range; without any, all do.
  constructor(part, described, counted = null) {
    super(part, described.shape[0]);
    this.counted = counted?.includes(1) ? counted : null;
    this.columns = described.shape[1];
    this.described = described;
    this.decodedColumns = [];
    this.ranges = [];
  }

  column(index) {
    const { middle, step } = this.described;
    const numbers = () => arrayOf(this.described).subarray(index * this.frames, (index + 1) * this.frames);
    return (this.decodedColumns[index] ??= new Float32Array(numbers()).map((value) => middle[index] + step[index] * value));
  }

  range(index) {
    const { middle, step } = this.described;
    return (this.ranges[index] ??= step[index] ? rangeOf(this.column(index), this.counted) : [middle[index], middle[index]]);
  }

  at(index, seconds) {
    const values = this.column(index);
    const [before, after, part] = this.framesAt(seconds);
    return mix(values[before], values[after], part);
  }

  // The same for cycles, interpolated along the shorter way around.
  cyclesAt(index, seconds) {
    const values = this.column(index);
    const [before, after, part] = this.framesAt(seconds);
    return wrapped(values[before] + wrapped(values[after] - values[before]) * part);
  }
}

// Joint positions of a body: each frame's mean, and offsets of the joints from it.
export class Body extends Timed {
  constructor(actor, index, alone) {
    const [frames, joints] = actor.positions.around.shape;
    super(actor, frames);
    const { name, jointNames, links, feet, feetLabels, floor, ballRadius, ghost, skin, positions } = actor;
    Object.assign(this, { name, joints, jointNames, links, feet, feetLabels, floor, ballRadius, ghost, skin, index, alone });
    this.givenColour = actor.colour;
    this.shown = true;
    [this.centre, this.around, this.step] = [arrayOf(positions.centre), arrayOf(positions.around), positions.around.step];
    for (const part of ["contacts", "desiredTrajectory", "desiredPath", "ball"]) this[part] = arrayOf(actor[part]);
    [this.root, this.facing] = [arrayOf(actor.rootPositions), arrayOf(actor.rootDirections)];
    this.path = this.root ?? this.centre;
    this.trajectorySamples = actor.desiredTrajectory?.shape[1] ?? 0;
    this.pose = new Float32Array(3 * joints);
    const inner = new Set(this.links.filter((_, i) => i % 2 === 0));
    const outer = [...new Set(this.links.filter((_, i) => i % 2 === 1))].filter((j) => !inner.has(j));
    this.trailing = this.feet.length ? this.feet : outer.slice(0, 4);
    this.measure();
    this.radii = this.linkRadii();
  }

  get colour() {
    if (this.givenColour) return this.givenColour;
    if (this.alone) return look.dark ? "#aab4c2" : "#66758a";
    return styleOf(this.index).colour;
  }

  // Whether it is drawn faint: as what others are compared with, or at a time that it does not cover.
  isFaint(seconds) { return this.ghost || !this.covers(seconds); }

  joint(frame, joint, out) {
    const at = 3 * (frame * this.joints + joint);
    for (let axis = 0; axis < 3; axis++) {
      out[axis] = this.centre[3 * frame + axis] + this.step * this.around[at + axis];
    }
    return out;
  }

  // (3 * joints) positions at a time, interpolated between frames, in the body's own array or another.
  poseAt(seconds, pose = this.pose) {
    const [before, after, part] = this.framesAt(seconds);
    const { centre, around, step } = this;
    const one = before * this.joints * 3;
    const two = after * this.joints * 3;
    for (let axis = 0; axis < 3; axis++) {
      const c = centre[3 * before + axis];
      const middle = c + (centre[3 * after + axis] - c) * part;
      for (let i = axis; i < pose.length; i += 3) {
        const a = around[one + i];
        pose[i] = middle + step * (a + (around[two + i] - a) * part);
      }
    }
    return pose;
  }

  // Of points (x, y, z) of each frame, the one at a time.
  pointAt(points, seconds) {
    const [before, after, part] = this.framesAt(seconds);
    return [0, 1, 2].map((axis) => mix(points[3 * before + axis], points[3 * after + axis], part));
  }

  ballAt(seconds) { return this.pointAt(this.ball, seconds); }

  // Over some frames, the largest height from the lowest joint to the highest, and the largest distance of a joint from
  // the root over the ground, as of a dog's nose.
  measure() {
    const { around, step, centre } = this;
    [this.height, this.reach] = [0, 0];
    for (let frame = 0; frame < this.frames; frame += Math.max(1, Math.floor(this.frames / 50))) {
      const root = [0, 2].map((axis) => this.path[3 * frame + axis] - centre[3 * frame + axis]);
      let [low, high] = [Infinity, -Infinity];
      for (let at = 3 * frame * this.joints; at < 3 * (frame + 1) * this.joints; at += 3) {
        [low, high] = [Math.min(low, around[at + 1]), Math.max(high, around[at + 1])];
        this.reach = Math.max(this.reach, Math.hypot(step * around[at] - root[0], step * around[at + 2] - root[1]));
      }
      this.height = Math.max(this.height, (high - low) * step);
    }
    this.height ||= 1;
  }

  // Radius of each limb in metres, which grows with the length of its descendants.
  linkRadii() {
    const lengths = [];
    const below = new Float64Array(this.joints);
    let total = 0;
    for (let link = this.links.length - 2; link >= 0; link -= 2) {
      const [from, to] = [this.links[link], this.links[link + 1]];
      const length = distance(this.joint(0, from, []), this.joint(0, to, []));
      lengths[link / 2] = length;
      total += length;
      below[from] += below[to] + length;
    }
    return lengths.map((length, link) => {
      const [from, to] = [this.links[2 * link], this.links[2 * link + 1]];
      const [above, end] = [this.jointNames[from] || "", this.jointNames[to] || ""];
      if (/head/i.test(above) && /tip|end|top/i.test(end)) {
        return clamp(0.42 * length, 0.02 * this.height, 0.06 * this.height);
      }
      const share = Math.min(1, (below[to] + length) / (total || 1));
      return this.height * (0.006 + 0.027 * Math.sqrt(share));
    });
  }
}
