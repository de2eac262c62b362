/** Inertialized transitions between rows of a motion: offsets that decay by springs. */

import { add, cross, inverse, length, multiply, point, rotate, scaled, subtract, turn } from "../vectors.js";
import { faded, springRate } from "./springs.js";

// Half-life in seconds of the difference of posture between two moments of rest.
const HELD_HALFLIFE = 2;
// Below these angles in radians, series replace ill-conditioned quotients.
const SMALL_SINE = 1e-4, SMALL_ANGLE = 1e-2;

/** Offsets of joints, translations and root velocity that the last jump has left. */
export class Transition {
  /** `rangeOf(row)`: first row and one after the last of its clip. */
  constructor(motion, asset, rangeOf) {
    Object.assign(this, { motion, rangeOf, header: asset.header, seconds: 1 / asset.frameRate, held: null });
    this.springs = springRate(asset.header.settings.transition_halflife_s);
    const size = 3 * (motion.joints + motion.moved.length + 1);
    [this.offset, this.rate] = [new Float64Array(size), new Float64Array(size)];
  }

  /** What is added to the root's step: m/s, m/s and rad/s in root space. */
  get rootVelocity() { return this.offset.subarray(this.offset.length - 3); }

  /** Start the transition to a row; one that holds keeps the posture, which then changes within seconds. */
  begin(row, current, holds = false) {
    const { offset, rate } = this.offsetsTo(row, current);
    this.held = holds ? offset.slice(0, -3) : null;
    if (holds) {
      // The velocity goes on, too.
      this.held.forEach((value, i) => { rate[i] += (Math.LN2 / HELD_HALFLIFE) * value; });
      offset.fill(0, 0, this.held.length);
    }
    Object.assign(this, { offset, rate });
  }

  advance() {
    for (let i = 0; i < this.offset.length; i++) {
      [this.offset[i], this.rate[i]] = faded(this.offset[i], this.rate[i], this.springs, this.seconds);
    }
    const kept = 0.5 ** (this.seconds / HELD_HALFLIFE);
    if (this.held) this.held = this.held.map((value) => kept * value);
  }

  /** Largest acceleration of a joint after a jump to a row, as a share of the data's usual one. */
  cost(row, current) {
    const { motion, header, seconds } = this;
    const { offset, rate } = this.offsetsTo(row, current);
    const last = this.rangeOf(row)[1] - 1;
    const frames = [motion.positionsOf(current.before), motion.positionsOf(current.now)];
    const count = Math.round(header.blend_s / seconds) + 1;
    for (let step = 1; step <= count; step++) {
      const left = offset.map((value, i) => faded(value, rate[i], this.springs, step * seconds)[0]);
      frames.push(motion.positionsOf(motion.pose(Math.min(row + step, last), left)));
    }
    let largest = 0;
    for (let frame = 1; frame < frames.length - 1; frame++) {
      for (const joint of motion.body) {
        const [before, now, after] = [-1, 0, 1].map((step) => point(frames[frame + step], joint));
        largest = Math.max(largest, length(add(add(after, now, -2), before)));
      }
    }
    return largest / seconds ** 2 / Math.max(header.usual_acceleration, 1e-9);
  }

  /** Offsets, and their rates, from the pose and velocity of a row to the current ones. */
  offsetsTo(row, current) {
    const { motion, seconds } = this;
    const { joints, moved } = motion;
    const later = row > this.rangeOf(row)[0];
    const [here, before, after] = [row, later ? row - 1 : row, later ? row : row + 1].map((each) => motion.pose(each));
    const offset = new Float64Array(this.offset.length), rate = new Float64Array(offset.length);
    for (let joint = 0; joint < joints; joint++) {
      const [old, now, own, first, second] = [current.before, current.now, here, before, after].map((pose) => turn(pose.rotations, joint));
      const [angles, turning] = rotationOffset(now, angularVelocity(old, now, seconds), own, angularVelocity(first, second, seconds));
      offset.set(angles, 3 * joint);
      rate.set(turning, 3 * joint);
    }
    moved.forEach((joint, k) => {
      const [old, now, own, first, second] = [current.before, current.now, here, before, after].map((pose) => point(pose.positions, joint));
      offset.set(subtract(now, own), 3 * (joints + k));
      rate.set(scaled(subtract(subtract(now, old), subtract(second, first)), 1 / seconds), 3 * (joints + k));
    });
    offset.set(subtract(current.rootVelocity, scaled(motion.read("steps", row), 1 / seconds)), offset.length - 3);
    return { offset, rate };
  }
}

/** Axis times angle of a rotation, at most pi long. */
export function toVector(q) {
  const sign = q[3] < 0 ? -1 : 1;
  const sine = length(q);
  return scaled(q, sign * (sine < SMALL_SINE ? 2 : (2 * Math.atan2(sine, sign * q[3])) / sine));
}

/** Rotation of axis times angle. */
export function fromVector(vector) {
  const half = 0.5 * length(vector);
  return [...scaled(vector, (0.5 * Math.sin(half)) / Math.max(half, 1e-30)), Math.cos(half)];
}

function angularVelocity(before, after, seconds) {
  return scaled(toVector(multiply(after, inverse(before))), 1 / seconds);
}

/** Rotation vector, and its rate, so that a new motion continues an old one. */
function rotationOffset(old, oldVelocity, now, newVelocity) {
  const between = multiply(old, inverse(now));
  const offset = toVector(between);
  const desired = subtract(oldVelocity, rotate(between, newVelocity));
  // The rate of the vector is the angular velocity by the inverse of the left Jacobian.
  const angle = length(offset);
  const half = 0.5 * angle;
  const factor = angle < SMALL_ANGLE ? 1 / 12 : (1 - half / Math.tan(half)) / angle ** 2;
  const once = cross(offset, desired);
  return [offset, add(add(desired, once, -0.5), cross(offset, once), factor)];
}
