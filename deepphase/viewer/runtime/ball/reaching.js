/** Feet that reach for a ball that goes astray, and the velocities that a touch can give. */

import { springRate, faded, wrappedAngle } from "../springs.js";

// These numbers are explained in controllers/ball/reaching.py.
export const NEXT_TOUCH_S = 0.6;
export const GIVES = 1.6;
const AHEAD_M = 0.45, CONE = Math.PI / 3;
const REACH_M = 0.4, FADE_M = 0.15, ASTRAY_M = 0.4, LEAD_S = 0.1, BEHIND_M = 0.12;
const RATE = springRate(0.08);
const TINY = 1e-9;

const within = (value, low, high) => Math.min(Math.max(value, low), high);
const smoothstep = (share) => share * share * (3 - 2 * share);

/** Where a body at [x, z] that faces an angle needs its ball, [x, z]. */
export function aimOf([x, z], angle) {
  return [x + AHEAD_M * Math.sin(angle), z + AHEAD_M * Math.cos(angle)];
}

/** [x, z] m/s at which a ball rolls from a place to its aim in time; null without an aim. */
export function velocityTo(aim, place, ball) {
  if (!aim) return null;
  const way = [aim[0] - place[0], aim[1] - place[1]];
  const distance = Math.hypot(way[0], way[1]);
  const share = ball.speedToRoll(distance, NEXT_TOUCH_S) / Math.max(distance, TINY);
  return [share * way[0], share * way[1]];
}

/** The velocity of a ball after a touch, as near to the wanted one as the foot gives; [x, z] each. */
export function givenVelocity(velocity, wanted, foot) {
  const change = [wanted[0] - velocity[0], wanted[1] - velocity[1]];
  const meeting = [foot[0] - velocity[0], foot[1] - velocity[1]];
  const size = Math.hypot(...change), fast = Math.hypot(...meeting);
  const heading = Math.atan2(meeting[1], meeting[0]);
  const apart = size && fast ? wrappedAngle(Math.atan2(change[1], change[0]) - heading) : 0;
  const angle = within(apart, -CONE, CONE);
  const given = within(size * Math.cos(apart - angle), 0, GIVES * fast * Math.cos(angle));
  return [velocity[0] + given * Math.cos(heading + angle), velocity[1] + given * Math.sin(heading + angle)];
}

/** Offsets of the feet of a character that reaches for its ball. */
export class ReachingFeet {
  constructor() {
    // [x, z] in metres of the left and the right foot from the motion.
    this.offsets = [[0, 0], [0, 0]];
    this.speeds = [[0, 0], [0, 0]];
  }

  /**
   * Advance the offsets by one frame: the nearest foot that swings reaches behind a ball that would
   * miss its aim.
   *
   * @param tips  ends of both feet, [x, z] in m, with their offsets
   * @param swinging  whether each foot swings
   * @param place, velocity  of the ball, [x, z]
   * @param wanted  velocity of `velocityTo`, or null
   * @param {number} seconds  since the previous frame
   */
  move(tips, swinging, place, velocity, wanted, seconds) {
    const change = wanted ? [wanted[0] - velocity[0], wanted[1] - velocity[1]] : [0, 0];
    const size = Math.hypot(...change);
    const ways = tips.map((tip, foot) => [0, 1].map((k) => {
      const behind = (BEHIND_M * change[k]) / Math.max(size, TINY);
      return place[k] + LEAD_S * velocity[k] - behind - (tip[k] - this.offsets[foot][k]);
    }));
    const far = ways.map((way, foot) => (swinging[foot] ? Math.hypot(...way) : Infinity));
    const chosen = far[0] <= far[1] ? 0 : 1;
    const astray = smoothstep(within((2 * size * NEXT_TOUCH_S) / ASTRAY_M - 1, 0, 1));
    for (let foot = 0; foot < 2; foot++) {
      const reaches = foot === chosen && far[foot] < REACH_M;
      const share = reaches ? astray * smoothstep(within((REACH_M - far[foot]) / FADE_M, 0, 1)) : 0;
      for (let k = 0; k < 2; k++) {
        const goal = share * ways[foot][k];
        const [offset, speed] = faded(this.offsets[foot][k] - goal, this.speeds[foot][k], RATE, seconds);
        this.offsets[foot][k] = goal + offset;
        this.speeds[foot][k] = speed;
      }
    }
  }
}
