/** Bodies that stand: captured moments of rest, chained without a visible loop, and a root that does not drift. */

import { faded, springRate, wrappedAngle } from "./springs.js";

const BREATHING_HZ = [0.07, 0.13, 0.29], GOLDEN = 0.618;

/** Moments of rest that a character plays one after the other; the twin of `RestChain` in Python. */
export class RestChain {
  /** `rest` of an asset's header; `poses` of its entries in root space, 3 numbers a joint; seconds of a frame. */
  constructor(rest, poses, seconds) {
    Object.assign(this, { rest, poses, seconds });
    this.values = poses.length / rest.entries.length;
    this.since = new Float64Array(rest.starts.length).fill(Infinity);
    this.stretch = -1;
    this.rested = 0;
  }

  /** Seconds for which the character holds a row, where no body rests; 0 if it does not. */
  get heldSeconds() { return this.rest.held ? this.rested : 0; }
  get resting() { return this.stretch >= 0; }

  /** Advance the time by a frame. */
  advance() {
    this.since = this.since.map((seconds) => seconds + this.seconds);
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
    const costs = entries.map((_, entry) => {
      const distance = this.distance(pose, entry), name = styles[stretchOf[entry]];
      const strange = distance > constants.other_posture ? constants.posture : constants.other_style;
      return distance + added[stretchOf[entry]] + (name === style || name === own ? 0 : strange);
    });
    const best = costs.indexOf(Math.min(...costs));
    this.stretch = stretchOf[best];
    return entries[best];
  }

  /** Whether a pose is far from all entries of its style and near another; the twin of Python's. */
  inOtherPosture(pose, style) {
    const { styles, entries, stretch_of: stretchOf, constants } = this.rest;
    if (!styles.includes(style)) return false;
    const distances = entries.map((_, entry) => this.distance(pose, entry));
    const any = Math.min(...distances);
    const own = Math.min(...distances.filter((_, entry) => styles[stretchOf[entry]] === style));
    return own > constants.other_posture && any + constants.other_style < own;
  }

  /** Mean distance of corresponding joints of a pose and of an entry, metres. */
  distance(pose, entry) {
    let sum = 0;
    for (let at = 0, to = entry * this.values; at < this.values; at += 3, to += 3) {
      const x = pose[at] - this.poses[to], y = pose[at + 1] - this.poses[to + 1], z = pose[at + 2] - this.poses[to + 2];
      sum += Math.sqrt(x * x + y * y + z * z);
    }
    return (3 * sum) / this.values;
  }

  end() { this.stretch = -1; }
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

// As in `controllers/runtime/captured_motion.py`.
const REST_SPEED = 0.4, STOOD_SECONDS = 0.8, TURN = (40 * Math.PI) / 180, TURNED_SECONDS = 3;
const ENTRY_SECONDS = 0.15, CHANGED_SECONDS = 0.25, HELD_SECONDS = 0.5;
const ROOT = ["root_velocity", "root_turn"], POSE = ["joint_position", "joint_rotation"];

/** Plays moments of rest where the goal stands; the twin of `CharacterRest` in Python. */
export class CharacterRest {
  /** @param asset  whose header has the moments of rest, and `rest.outputs` their frames */
  constructor({ header, arrays, frameRate }) {
    const { rest } = header;
    this.seconds = 1 / frameRate;
    this.chain = new RestChain(rest, arrays["rest.poses"], this.seconds);
    Object.assign(this, { columns: rest.columns, blocks: rest.blocks, values: arrays["rest.outputs"] });
    this.width = this.columns.length;
    [this.root, this.pose] = [ROOT, POSE].map((names) => {
      const flags = new Uint8Array(this.width);
      for (const name of names) flags.fill(1, ...rest.blocks[name]);
      return flags;
    });
    Object.assign(this, { row: -1, stood: 0, facing: 0, changing: 0, rate: 0, style: null, last: null, before: null });
    [this.offset, this.slope] = [new Float32Array(this.width), new Float32Array(this.width)];
  }

  get resting() { return this.chain.resting; }

  /** Replace the outputs if the character rests in this frame; speed and angle are those of the root before it. */
  replace(outputs, stands, speed, angle, facing, style) {
    const { chain, columns, width, offset, slope } = this;
    this.last = this.last || this.shown(outputs);
    this.before = this.before || this.last;
    chain.advance();
    this.stood = stands ? this.stood + this.seconds : 0;
    const turned = Math.abs(wrappedAngle(facing - (chain.resting ? this.facing : angle)));
    const slow = speed < REST_SPEED || this.stood > STOOD_SECONDS;
    const changed = this.style !== null && this.style !== style;
    this.style = style;
    const rested = chain.resting;
    let enters = !rested && stands && slow && (turned < TURN || this.stood > TURNED_SECONDS);
    const waits = (enters || (rested && changed)) && this.waits(style);
    const halflife = this.changing > 0 ? CHANGED_SECONDS : ENTRY_SECONDS;
    this.changing = enters && waits ? this.changing + this.seconds : 0;
    enters = enters && (!waits || this.changing > chain.rest.constants.changing_s);
    if (rested && (!stands || turned > TURN || waits)) {
      chain.end();
      this.row = -1;
    } else if (enters) {
      this.facing = facing;
      this.choose(springRate(halflife), style);
    } else if (chain.ending(this.row)) {
      this.choose(springRate(HELD_SECONDS), style);
    }
    if (chain.resting) {
      this.row += 1;
      const [velocities, stop] = this.blocks.joint_velocity, [places] = this.blocks.joint_position;
      for (let i = 0; i < width; i++) {
        const rate = this.pose[i] ? this.rate : springRate(ENTRY_SECONDS);
        [offset[i], slope[i]] = faded(offset[i], slope[i], rate, this.seconds);
        outputs[columns[i]] = this.values[this.row * width + i] + offset[i];
      }
      for (let i = 0; i < stop - velocities; i++) outputs[columns[velocities + i]] += slope[places + i];
    }
    this.before = this.last;
    this.last = this.shown(outputs);
  }

  /** Whether the body is in another posture than that of the desired style. */
  waits(style) {
    return style !== "" && this.chain.inOtherPosture(this.last.subarray(...this.blocks.joint_position), style);
  }

  shown(outputs) { return Float32Array.from(this.columns, (column) => outputs[column]); }

  /** Choose a moment, and the difference from what was shown last. */
  choose(rate, style) {
    const { last, before, values, width, root, pose } = this;
    this.rate = rate;
    this.row = this.chain.choose(this.row, last.subarray(...this.blocks.joint_position), style);
    const now = this.row * width;
    for (let i = 0; i < width; i++) {
      this.offset[i] = (root[i] + pose[i]) * (last[i] - values[now + i]);
      const change = last[i] - before[i] - (values[now + width + i] - values[now + i]);
      // A root has no place to hold, and its acceleration is mostly noise.
      this.slope[i] = (pose[i] * change) / this.seconds;
    }
  }
}

// m/s: a goal stands whose trajectory ends slower, and a body whose root is slower.
const GOAL_SPEED = 0.1, BODY_SPEED = 0.15;
// Time constants in seconds: of the mean velocity of a standing body, and of its end.
const DRIFT_SECONDS = 0.3, FORGET_SECONDS = 0.1;

/** Keeps the root of a standing body in its place; the twin of `StandingRoots` in Python. */
export class StandingRoot {
  /** Of frames of so many seconds. */
  constructor(seconds) {
    this.drift = [0, 0];
    this.learnt = 1 - Math.exp(-seconds / DRIFT_SECONDS);
    this.kept = Math.exp(-seconds / FORGET_SECONDS);
  }

  /** A velocity [x, z] in m/s without the drift of a body that stands where its goal does. */
  steadied(velocity, goalStands) {
    const stands = goalStands && Math.hypot(velocity[0], velocity[1]) < BODY_SPEED;
    this.drift = this.drift.map((mean, i) => (stands ? mean + this.learnt * (velocity[i] - mean) : this.kept * mean));
    return [velocity[0] - this.drift[0], velocity[1] - this.drift[1]];
  }
}

/** Whether desired places, in rows of four values that begin with x and z, end at rest; of one row they never do. */
export function goalStands(desired, stepSeconds) {
  const last = desired.length - 4;
  const way = Math.hypot(desired[last] - desired[last - 4], desired[last + 1] - desired[last - 3]);
  return way < GOAL_SPEED * stepSeconds;
}
