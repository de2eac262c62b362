/** Ground under a character: its level, heights along the trajectory, and feet. */

import { FootGround } from "./foot_ground.js";

// Metres from a path to the heights at its left and right; see deepphase/terrain/underfoot.py.
const SIDE_M = 0.25;
// The level is the mean of the ground along the facing, weighted by a Gaussian of this width in metres.
const LEVEL_M = 0.3;
const STEPS = Array.from({ length: 49 }, (_, i) => -2 + i / 12);
const WEIGHTS = STEPS.map((step) => Math.exp(-0.5 * step ** 2));
const WEIGHT = WEIGHTS.reduce((a, b) => a + b);

/** Ground that characters walk on. */
export class WalkedGround {
  /** @param map  a `Heightmap`  @param asset  of the characters, with `ground` in its header */
  constructor(map, asset) {
    this.map = map;
    this.soles = asset.header.ground.soles;
  }

  /** Feet of one character. */
  feet() {
    return new FootGround(this.map, this.soles);
  }

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
    const level = this.level(root);
    const cosine = Math.cos(root.angle), sine = Math.sin(root.angle);
    const turned = (left, ahead) => [left * cosine + ahead * sine, ahead * cosine - left * sine];
    const world = [], ways = [];
    for (let i = 0; i < places.length; i += 2) {
      const [x, z] = turned(places[i], places[i + 1]);
      world.push(root.x + x, root.z + z);
      ways.push(...turned(directions[i], directions[i + 1]));
    }
    return this.heightsInWorld(world, ways, level);
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
