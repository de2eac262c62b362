/** Generated ground of the kinds of deepphase/terrain/heightmap.py; its random shapes are others. */

import { createRandom } from "./random.js";
import { Heightmap } from "./heightmap.js";

const SIZE_M = 24, SPACING_M = 0.08;
const TREAD_M = 0.3, RISER_M = 0.17, LANDING_M = 2;

/** Smooth noise of a wavelength in metres, with a standard deviation of about 1. */
function noise(random, wavelength) {
  const cell = 0.5 * wavelength;
  const count = Math.ceil(SIZE_M / cell) + 4;
  const values = Float32Array.from({ length: count * count }, () => 3.4 * (random.uniform() - 0.5));
  // Quadratic splines between the values of a lattice.
  const line = (at, t) => 0.5 * (1 - t) ** 2 * values[at - 1] + (0.5 + t * (1 - t)) * values[at] + 0.5 * t * t * values[at + 1];
  return (x, z) => {
    const u = (x + 0.5 * SIZE_M) / cell + 1, v = (z + 0.5 * SIZE_M) / cell + 1;
    const i = Math.floor(u), j = Math.floor(v), across = u - i, down = v - j;
    const at = j * count + i;
    return 1.7 * (0.5 * (1 - down) ** 2 * line(at - count, across) + (0.5 + down * (1 - down)) * line(at, across)
      + 0.5 * down * down * line(at + count, across));
  };
}

/** The highest of shapes at random places: `shape(random)` -> its reach, and its height at (x, z) from its middle. */
function scattered(random, perSquareMetre, shape) {
  const cells = new Map();
  const cellOf = (metres) => Math.floor(metres / 2);
  const key = (i, j) => 1024 * i + j;
  for (let n = Math.ceil(perSquareMetre * SIZE_M ** 2); n > 0; n--) {
    const [x, z] = [0, 1].map(() => SIZE_M * (random.uniform() - 0.5));
    const one = { x, z, ...shape(random) };
    for (let i = cellOf(x - one.reach); i <= cellOf(x + one.reach); i++) {
      for (let j = cellOf(z - one.reach); j <= cellOf(z + one.reach); j++) {
        cells.set(key(i, j), (cells.get(key(i, j)) ?? new Set()).add(one));
      }
    }
  }
  return (x, z) => [...(cells.get(key(cellOf(x), cellOf(z))) ?? [])].map((one) => one.height(x - one.x, z - one.z));
}

const between = (random, low, high) => low + (high - low) * random.uniform();

const KINDS = {
  hills(random) {
    const [long, short] = [noise(random, 8), noise(random, 1)];
    return (x, z) => 0.25 * long(x, z) + 0.02 * short(x, z);
  },
  stairs(random) {
    const treads = 5 + Math.floor(5 * random.uniform()), flight = treads * TREAD_M, period = 2 * (flight + LANDING_M);
    return (_, z) => {
      const along = z + 0.5 * LANDING_M - period * Math.floor((z + 0.5 * LANDING_M) / period);
      const up = Math.ceil((along - LANDING_M) / TREAD_M);
      const down = treads - Math.ceil((along - 2 * LANDING_M - flight) / TREAD_M) + 1;
      return RISER_M * Math.min(Math.max(Math.min(up, down), 0), treads);
    };
  },
  rocks(random) {
    const base = noise(random, 2);
    const heights = scattered(random, 1.2, () => {
      const [angle, tall] = [between(random, 0, Math.PI), between(random, 0.05, 0.35)];
      const reach = tall * between(random, 1.2, 2.5), width = reach * between(random, 0.6, 1);
      const [c, s] = [Math.cos(angle), Math.sin(angle)];
      const height = (x, z) => tall * Math.sqrt(Math.max(1 - ((x * c + z * s) / reach) ** 2 - ((z * c - x * s) / width) ** 2, 0));
      return { reach, height };
    });
    return (x, z) => 0.04 * base(x, z) + Math.max(0, ...heights(x, z));
  },
};

/** Names of the kinds. */
export const GROUND_KINDS = Object.keys(KINDS);

/** Ground of a kind around the origin, whose height there is 0. */
export function generatedGround(kind, seed) {
  const height = KINDS[kind](createRandom(seed + 1));
  const points = Math.round(SIZE_M / SPACING_M) + 1;
  const map = Heightmap.centred(points, SPACING_M, height);
  const here = map.at(0, 0);
  return new Heightmap(map.heights.map((value) => value - here), points, SPACING_M, map.origin);
}
