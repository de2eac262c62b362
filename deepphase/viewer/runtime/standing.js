/** Bodies that stand: captured rest, and a root that does not drift. */

import { RestChain } from "./rest.js";
import { faded, springRate, wrappedAngle } from "./springs.js";

// As in `controllers/runtime/rest.py`.
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
    this.root = new Uint8Array(this.width);
    this.pose = new Uint8Array(this.width);
    for (const name of ROOT) this.root.fill(1, ...rest.blocks[name]);
    for (const name of POSE) this.pose.fill(1, ...rest.blocks[name]);
    this.row = -1;
    this.stood = this.facing = 0;
    this.style = null;
    this.changing = 0;
    this.last = this.before = null;
    this.offset = new Float32Array(this.width);
    this.slope = new Float32Array(this.width);
    this.rate = 0;
  }

  get resting() {
    return this.chain.resting;
  }

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
      }
      for (let i = 0; i < width; i++) {
        outputs[columns[i]] = this.values[this.row * width + i] + offset[i];
      }
      for (let i = 0; i < stop - velocities; i++) {
        outputs[columns[velocities + i]] += slope[places + i];
      }
    }
    this.before = this.last;
    this.last = this.shown(outputs);
  }

  /** Whether the body is in another posture than that of the desired style. */
  waits(style) {
    return style !== "" && this.chain.inOtherPosture(this.last.subarray(...this.blocks.joint_position), style);
  }

  shown(outputs) {
    return Float32Array.from(this.columns, (column) => outputs[column]);
  }

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
  /** @param {number} seconds  duration of a frame */
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
