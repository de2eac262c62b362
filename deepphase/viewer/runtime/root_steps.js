/** Steps of a root over the ground: supporting feet stay, and goals are approached. */

import { clamp, forwardKinematics, rotate, turn as turnOf } from "../vectors.js";
import { wrappedAngle } from "./springs.js";
import { fromFacing } from "./trajectory.js";

/** Steps of one character that plays the rows of an asset; see `RootSteps` in Python. */
export class RootSteps {
  constructor(asset, motion, pose) {
    const { legs, settings, player, facing_coverage: coverage } = asset.header;
    Object.assign(this, { motion, settings, arrays: asset.arrays, constants: player, parents: asset.skeleton.parents });
    this.seconds = 1 / asset.frameRate;
    this.legs = legs.joints.map((joints, leg) => ({ tip: joints[3], end: legs.ends?.[leg] ?? [0, 0, 0] }));
    this.standingSpeed = coverage.standing_speed;
    this.settled = 1 - 0.5 ** (this.seconds / player.settling_s);
    this.rotations = new Float64Array(4 * this.parents.length);
    this.positions = new Float64Array(3 * this.parents.length);
    this.tips = this.tipsOf(pose);
    // m/s in root space beside the clip's own velocity; m in the world and radians, a frame.
    Object.assign(this, { extra: [0, 0], shifted: [0, 0], turned: 0 });
  }

  /** Radians by which the root turns. */
  turn(turned, velocity, gap, angle, facing) {
    const { settings, constants, seconds } = this;
    const speed = Math.hypot(velocity[0], velocity[1]);
    const travels = speed > this.standingSpeed;
    const aside = travels ? gap[0] * velocity[1] - gap[1] * velocity[0] : 0;
    const most = constants.most_steer;
    const steer = clamp(aside / Math.max(speed, 1e-9) ** 2 / constants.steer_s, -most, most);
    const share = 1 - 0.5 ** (seconds / constants.facing_halflife_s);
    const limit = settings.adjust_share * Math.abs(turned) + settings.adjust_turn * speed * seconds;
    const turn = clamp(share * wrappedAngle(facing + steer - angle - turned), -limit, limit);
    // A correction that begins or ends at once would jerk the body.
    this.turned += this.settled * (turn - this.turned);
    return turned + this.turned;
  }

  /** [x, z] in m, root space, by which the root moves. */
  step(own, free, before, row, pose, turn, slips, resting) {
    const { legs, constants, seconds } = this;
    const tips = this.tipsOf(pose);
    const { support } = this.arrays;
    const goal = [constants.free * free[0], constants.free * free[1]];
    let weight = constants.free;
    for (let leg = 0; leg < legs.length && !resting; leg++) {
      const carries = Math.min(support[legs.length * before + leg], support[legs.length * row + leg]);
      const turned = fromFacing(tips[leg][0], tips[leg][1], turn);
      for (let axis = 0; axis < 2; axis++) {
        goal[axis] += (carries * (slips[leg][axis] + this.tips[leg][axis] - turned[axis] - own[axis])) / seconds;
      }
      weight += carries;
    }
    this.tips = tips;
    this.extra = this.extra.map((value, axis) => value + this.settled * (goal[axis] / weight - value));
    return this.extra.map((value, axis) => own[axis] + seconds * value);
  }

  /** [x, z] in m in the world of the correction towards a target that is a gap from the root after its step. */
  shift(step, gap) {
    const { settings, constants, seconds } = this;
    const share = 1 - 0.5 ** (seconds / constants.adjust_halflife_s);
    const size = share * Math.hypot(gap[0], gap[1]);
    const kept = share * Math.min(1, (settings.adjust_share * Math.hypot(step[0], step[1])) / Math.max(size, 1e-12));
    this.shifted = this.shifted.map((value, axis) => value + this.settled * (kept * gap[axis] - value));
    return this.shifted;
  }

  /** [x, z] in m, root space, by which the feet of a row move to the next one. */
  slips(row) {
    const slips = this.motion.read("slips", row);
    return this.legs.map((_, leg) => Array.from(slips.subarray(2 * leg, 2 * leg + 2)));
  }

  tipsOf({ rotations, positions }) {
    forwardKinematics(this.parents, rotations, positions, this.rotations, this.positions);
    return this.legs.map(({ tip, end }) => {
      const beyond = rotate(turnOf(this.rotations, tip), end);
      return [this.positions[3 * tip] + beyond[0], this.positions[3 * tip + 2] + beyond[2]];
    });
  }
}
