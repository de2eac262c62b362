/** Goals of a character that is steered: a desired velocity and facing, smoothed by springs, and a desired label. */

import { springRate, springToAngle, springToVelocity } from "./springs.js";

// Seconds in which a body shall come to its target; in less, it pops under quick sticks.
const CATCH_UP_SECONDS = 0.7;

/** The desired trajectory from the current place on, at the desired velocity and facing. */
export class VelocityGoals {
  /** Initial facing in radians, settings of the asset's header, and [x, z] of a character that follows the goals exactly. */
  constructor(heading, settings, position = [0, 0]) {
    this.rate = springRate(settings.goal_halflife_s);
    this.facingRate = springRate(settings.goal_facing_halflife_s);
    this.leash = settings.goal_leash_m;
    Object.assign(this, { position: [...position], velocity: [0, 0], acceleration: [0, 0], angle: heading, turning: 0, goal: null });
  }

  /** Position, velocity and acceleration along an axis some seconds from now, for a position now. */
  along(axis, position, seconds) {
    return springToVelocity(position, this.velocity[axis], this.acceleration[axis], this.goal.velocity[axis], this.rate, seconds);
  }

  /** Set the goal {velocity [x, z] m/s, facing [x, z] or null} of a frame, and advance to it from the last one. */
  set(goal, seconds, root) {
    const first = this.goal === null;
    this.goal = goal;
    if (first) return;
    for (let axis = 0; axis < 2; axis++) {
      [this.position[axis], this.velocity[axis], this.acceleration[axis]] = this.along(axis, this.position[axis], seconds);
    }
    [this.angle, this.turning] = springToAngle(this.angle, this.turning, this.goalAngle(), this.facingRate, seconds);
    const lead = [this.position[0] - root.x, this.position[1] - root.z];
    const kept = Math.min(1, this.leash / Math.max(Math.hypot(lead[0], lead[1]), 1e-9));
    this.position = [root.x + kept * lead[0], root.z + kept * lead[1]];
  }

  /** [x, z] m/s by which a body shall go faster to come to the target, along the desired velocity. */
  lead(root) {
    const [x, z] = this.goal.velocity;
    const along = (x * (this.position[0] - root.x) + z * (this.position[1] - root.z)) / Math.max(x * x + z * z, 1e-12);
    return [x, z].map((each) => each * Math.max(-1, Math.min(1, along / CATCH_UP_SECONDS)));
  }

  /** The desired facing in radians; the current one where nothing is desired. */
  goalAngle() {
    const { velocity, facing } = this.goal;
    const way = facing && (facing[0] || facing[1]) ? facing : velocity;
    return way[0] || way[1] ? Math.atan2(way[0], way[1]) : this.angle;
  }

  /** Desired `places` [x, z, ...] in metres and `angles` in the world, at seconds from now. */
  trajectory(root, moments) {
    const goalAngle = this.goalAngle();
    return {
      places: Float64Array.from(moments.flatMap((seconds) => [root.x, root.z].map((from, axis) => this.along(axis, from, seconds)[0]))),
      angles: Float64Array.from(moments, (seconds) => springToAngle(this.angle, this.turning, goalAngle, this.facingRate, seconds)[0]),
    };
  }
}

export class DesiredLabel {
  /** `initial`: values of the label in the start state; a half-life of 0 changes it at once. */
  constructor(schema, initial, halflifeSeconds) {
    this.label = schema.label;
    [this.current, this.goal] = [Float32Array.from(initial), Float32Array.from(initial)];
    this.share = halflifeSeconds > 0 ? 1 - 0.5 ** (1 / (schema.frameRate * halflifeSeconds)) : 1;
  }

  /** Set the desired value; null keeps it. */
  set(value) {
    if (value === null || value === undefined) return;
    const index = this.label.values.indexOf(value);
    if (index < 0) {
      const known = this.label.values.join(", ") || "none";
      throw new Error(`${this.label.name || "label"} ${value} is not a value of this controller: ${known}`);
    }
    this.goal.fill(0);
    this.goal[index] = 1;
  }

  /** The desired value; an empty text without a label. */
  get goalValue() { return this.label.values[this.goal.indexOf(1)] ?? ""; }

  /** Advance by one frame. */
  advance() {
    const { current, goal, share } = this;
    for (let i = 0; i < current.length; i++) current[i] += share * (goal[i] - current[i]);
  }
}
