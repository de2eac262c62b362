/** Rest of a character that stands: captured moments of rest, chained without a visible loop. */

import { wrappedAngle } from "./springs.js";

const BREATHING_HZ = [0.07, 0.13, 0.29], GOLDEN = 0.618;

/** Moments of rest that a character plays one after the other; the twin of `RestChain` in Python. */
export class RestChain {
  /**
   * @param rest  of an asset's header: `starts`, `stops` and `styles` of the stretches, `entries` with
   *   their `stretch_of`, and `constants`
   * @param poses  of the entries in root space, 3 numbers a joint
   * @param {number} seconds  duration of a frame
   */
  constructor(rest, poses, seconds) {
    Object.assign(this, { rest, poses, seconds });
    this.values = poses.length / rest.entries.length;
    this.since = new Float64Array(rest.starts.length).fill(Infinity);
    this.stretch = -1;
    this.rested = 0;
  }

  /** Seconds for which the character holds a row, where no body rests; 0 if it does not. */
  get heldSeconds() {
    return this.rest.held ? this.rested : 0;
  }

  get resting() {
    return this.stretch >= 0;
  }

  /** Advance the time by a frame. */
  advance() {
    for (let i = 0; i < this.since.length; i++) this.since[i] += this.seconds;
    this.rested = this.resting ? this.rested + this.seconds : 0;
    if (this.resting) this.since[this.stretch] = 0;
  }

  /** Whether the character rests, and plays the last row of its stretch. */
  ending(row) {
    return this.resting && !this.rest.held && row + 1 >= this.rest.stops[this.stretch];
  }

  /** The row of rest to play from now on, from a row, joints in root space (flat) and a style. */
  choose(row, pose, style) {
    const { starts, stops, styles, entries, stretch_of: stretchOf, constants } = this.rest;
    const inside = starts.filter((start) => start <= row).length - 1;
    if (!this.resting && inside >= 0 && stops[inside] - row > constants.shortest_s / this.seconds) {
      this.stretch = inside;
      return row;
    }
    const own = this.resting ? styles[this.stretch] : "";
    const added = styles.map((_, i) => {
      const stale = constants.stale * Math.max(0, 1 - (this.since[i] - constants.again_s) / constants.stale_s);
      return this.since[i] < constants.again_s ? constants.again : stale;
    });
    let best = 0, least = Infinity;
    entries.forEach((_, entry) => {
      const distance = this.distance(pose, entry), name = styles[stretchOf[entry]];
      const strange = distance > constants.other_posture ? constants.posture : constants.other_style;
      const cost = distance + added[stretchOf[entry]] + (name === style || name === own ? 0 : strange);
      if (cost < least) [best, least] = [entry, cost];
    });
    this.stretch = stretchOf[best];
    return entries[best];
  }

  /** Whether a pose is far from all entries of its style and near another; the twin of Python's. */
  inOtherPosture(pose, style) {
    const { styles, entries, stretch_of: stretchOf, constants } = this.rest;
    if (!styles.includes(style)) return false;
    let own = Infinity, any = Infinity;
    entries.forEach((_, entry) => {
      const distance = this.distance(pose, entry);
      any = Math.min(any, distance);
      if (styles[stretchOf[entry]] === style) own = Math.min(own, distance);
    });
    return own > constants.other_posture && any + constants.other_style < own;
  }

  /** Mean distance of corresponding joints of a pose and of an entry, metres. */
  distance(pose, entry) {
    let sum = 0;
    for (let at = 0; at < this.values; at += 3) {
      const [x, y, z] = [0, 1, 2].map((axis) => pose[at + axis] - this.poses[entry * this.values + at + axis]);
      sum += Math.sqrt(x * x + y * y + z * z);
    }
    return (3 * sum) / this.values;
  }

  end() {
    this.stretch = -1;
  }
}

/** Slow noise for bodies that hold a pose: value `number` from 1 on, between -1 and 1; the twin of Python's. */
export function breathing(seconds, number) {
  const waves = BREATHING_HZ.map((frequency, order) =>
    Math.sin(2 * Math.PI * (frequency * seconds + (((order + 1) * number * GOLDEN) % 1))));
  return (Math.min(seconds, 1) * waves.reduce((sum, wave) => sum + wave, 0)) / waves.length;
}

/** Whether a desired trajectory, at `times`, stands where a body is with the facing that it has. */
export function goalIsRest({ places, angles }, times, root, constants) {
  const last = times.length - 1;
  const before = last ? places.slice(2 * last - 2, 2 * last) : [root.x, root.z];
  const seconds = times[last] - (last ? times[last - 1] : 0);
  const speed = Math.hypot(places[2 * last] - before[0], places[2 * last + 1] - before[1]) / seconds;
  const away = Math.hypot(places[2 * last] - root.x, places[2 * last + 1] - root.z);
  const turned = Math.abs(wrappedAngle(angles[last] - root.angle));
  return speed < constants.goal_m_s && away < constants.near_m && turned < constants.turn;
}
