/** Ground under a character: its level, heights along the trajectory, and feet. */

import { between, clamp, distance } from "../vectors.js";
import { faded, springRate } from "./springs.js";
import { fromFacing } from "./trajectory.js";

// Metres from a path to the heights at its left and right; see deepphase/terrain/heightmap.py.
const SIDE_M = 0.25;
// The level is the mean of the ground along the facing, weighted by a Gaussian of this width in metres.
const LEVEL_M = 0.3;
const STEPS = Array.from({ length: 49 }, (_, i) => -2 + i / 12);
const WEIGHTS = STEPS.map((step) => Math.exp(-0.5 * step ** 2));
const WEIGHT = WEIGHTS.reduce((a, b) => a + b);

/** Ground that characters walk on. */
export class WalkedGround {
  /** A `Heightmap` under characters of an asset, which has `ground` in its header. */
  constructor(map, asset) {
    this.map = map;
    this.soles = asset.header.ground.soles;
  }

  /** Feet of one character. */
  feet() { return new FootGround(this.map, this.soles); }

  /** Height that a body is measured from: even on stairs. */
  level({ x, z, angle }) {
    const sine = Math.sin(angle), cosine = Math.cos(angle);
    const sum = STEPS.reduce(
      (total, step, i) => total + WEIGHTS[i] * this.map.at(x + LEVEL_M * step * sine, z + LEVEL_M * step * cosine), 0,
    );
    return sum / WEIGHT;
  }

  /** Heights over the level left of, below and right of every sample of a trajectory in root space. */
  heights({ places, directions }, root) {
    const world = [], ways = [];
    for (let i = 0; i < places.length; i += 2) {
      const [x, z] = fromFacing(places[i], places[i + 1], root.angle);
      world.push(root.x + x, root.z + z);
      ways.push(...fromFacing(directions[i], directions[i + 1], root.angle));
    }
    return this.heightsInWorld(world, ways, this.level(root));
  }

  /** Heights over a level left of, below and right of every sample of a trajectory. */
  heightsInWorld(places, directions, level) {
    const found = new Float32Array((3 * places.length) / 2);
    for (let i = 0; i < places.length; i += 2) {
      [1, 0, -1].forEach((side, k) => {
        const across = side * SIDE_M;
        const height = this.map.at(places[i] + across * directions[i + 1], places[i + 1] - across * directions[i]);
        found[(3 * i) / 2 + k] = height - level;
      });
    }
    return found;
  }
}

// Points of a foot from the last joint to the tip, and the times in which a swinging foot clears the ground, s.
const ALONG = [0, 1 / 3, 2 / 3, 1], AHEAD_S = [0.04, 0.08, 0.12];
const CLEARANCE_M = 0.01;
const RATES = { standing: springRate(0.02), swinging: springRate(0.04), hips: springRate(0.05) };
const MAX_LIFT = 0.6, MAX_DROP = 0.35, MAX_STRETCH = 0.985;

class FootGround {
  /** `soles`: heights of the legs' last joints and of their tips over the ground while they stand. */
  constructor(map, soles) {
    this.map = map;
    this.feet = soles[0].map((last, leg) => ({
      soles: ALONG.map((share) => last + share * (soles[1][leg] - last)), lift: 0, speed: 0, before: null,
    }));
    this.drop = 0;
    this.dropSpeed = 0;
  }

  /** Metres by which the feet move up and the hips move down. */
  moved(legs, seconds) {
    let lowest = 0;
    const lifts = legs.map(({ upper, last, tip, length, shift, touching }, leg) => {
      const foot = this.feet[leg];
      const { standing, swinging } = this.under(foot, last, tip, shift, seconds);
      const limit = MAX_LIFT * length;
      const goal = clamp(touching ? standing : swinging, -limit, limit);
      const rate = touching ? RATES.standing : RATES.swinging;
      const [offset, speed] = faded(foot.lift - goal, foot.speed, rate, seconds);
      Object.assign(foot, { lift: goal + offset, speed });
      // The highest place of the hips from which a standing foot is reached.
      const across2 = (last[0] - upper[0] + shift[0]) ** 2 + (last[2] - upper[2] + shift[1]) ** 2;
      const reach = Math.max(MAX_STRETCH * length, distance(upper, last));
      const top = last[1] + foot.lift + Math.sqrt(Math.max(reach ** 2 - across2, 0));
      if (touching) lowest = Math.max(lowest, Math.min(upper[1] - top, MAX_DROP * length));
      return foot.lift;
    });
    const [offset, dropSpeed] = faded(this.drop - lowest, this.dropSpeed, RATES.hips, seconds);
    Object.assign(this, { drop: lowest + offset, dropSpeed });
    return { lifts, drop: this.drop };
  }

  under(foot, last, tip, shift, seconds) {
    const { map } = this;
    let standing = -Infinity, highest = -Infinity;
    const places = ALONG.map((share, at) => {
      const [x, y, z] = between(last, tip, share);
      const place = [x + shift[0], z + shift[1]];
      const before = foot.before ? foot.before[at] : place;
      const speed = [0, 1].map((axis) => (place[axis] - before[axis]) / seconds);
      const bottom = y - foot.soles[at];
      const here = map.at(...place);
      const ahead = Math.max(here, ...AHEAD_S.map((time) => map.at(place[0] + time * speed[0], place[1] + time * speed[1])));
      standing = Math.max(standing, here - bottom);
      highest = Math.max(highest, ahead - bottom);
      return place;
    });
    foot.before = places;
    return { standing, swinging: Math.max(highest + CLEARANCE_M, 0) };
  }
}
