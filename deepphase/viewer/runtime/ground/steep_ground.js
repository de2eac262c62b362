/** Ground that is too steep to walk on; see deepphase/steering/steep_ground.py. */

import { Heightmap } from "./heightmap.js";

const CLEARANCE_M = 0.3, AHEAD_M = [0, 0.1, 0.2], BESIDE_M = 0.12, DOWN_M = 0.03;
const STEP_M = 0.1, MAX_SAMPLE_M = 2, ONE_SIDED = 0.5, RADIUS_M = 0.8;
const AROUND = Array.from({ length: 16 }, (_, i) => [Math.cos((Math.PI * i) / 8), Math.sin((Math.PI * i) / 8)]);

export class SteepGround {
  /** @param map  the ground  @param {number} step  metres of the highest step up or down */
  constructor(map, step) {
    this.map = map;
    this.step = step;
    const half = Math.min(Math.ceil(RADIUS_M / map.spacing), Math.max(map.rows, map.columns));
    const high = filtered(map, half, Math.max), low = filtered(map, half, Math.min);
    this.relief = new Heightmap(high.map((value, i) => value - low[i]), map.columns, map.spacing, map.origin);
  }

  /** The path [x, z, x, z, ...] without steps up or down that are too high. */
  keptOff(start, path) {
    const free = Float64Array.from(path);
    const every = [...start, ...path];
    let near = false;
    for (let i = 0; i < every.length; i += 2) near = near || this.relief.at(every[i], every[i + 1]) > this.step;
    if (!near) return free;
    let place = start;
    for (let i = 0; i < path.length; i += 2) {
      let step = [every[i + 2] - every[i], every[i + 3] - every[i + 1]];
      const share = Math.min(1, MAX_SAMPLE_M / Math.max(Math.hypot(...step), 1e-12));
      step = step.map((value) => share * value);
      const count = Math.max(1, Math.ceil(Math.hypot(...step) / STEP_M));
      for (let part = 0; part < count; part++) place = this.moved(place, step.map((value) => value / count));
      free.set(place, i);
    }
    return free;
  }

  /** The end of a short step. */
  moved(place, step) {
    const { map } = this;
    const level = map.at(...place);
    const highest = Math.max(...AROUND.map(([x, z]) => map.at(place[0] + BESIDE_M * x, place[1] + BESIDE_M * z)));
    for (const [last, drops] of [[false, false], [false, true], [true, false], [true, true]]) {
      const into = this.towards([place[0] + step[0], place[1] + step[1]], level, highest, drops);
      const along = Math.max(step[0] * into[0] + step[1] * into[1], 0);
      // In a corner, what is left leads into the other wall.
      step = last && along > 1e-9 ? [0, 0] : [step[0] - along * into[0], step[1] - along * into[1]];
    }
    for (const last of [false, true]) {
      const long = Math.hypot(...step);
      if (!(long > 1e-9)) break;
      const forward = step.map((value) => value / long);
      const ahead = AHEAD_M.map((metres) => [0, 1].map((axis) => place[axis] + step[axis] + metres * forward[axis]));
      // The edge of a grid's point is a slope, which shall not be gone down bit by bit.
      const edge = ahead.find((each) => {
        const height = map.at(...each);
        return height < highest - this.step && height < level - DOWN_M;
      });
      if (!edge) break;
      const rise = map.gradient(...edge, 0.2);
      const steep = Math.hypot(...rise);
      // Along the edge, that is, across its slope; straight back from where there is none.
      const across = steep > 1e-6 ? [-rise[1] / steep, rise[0] / steep] : [0, 0];
      const along = step[0] * across[0] + step[1] * across[1];
      step = last ? [0, 0] : across.map((value) => along * value);
    }
    return [place[0] + step[0], place[1] + step[1]];
  }

  /** The unit vector towards what is too high, or too low; 0 without it. */
  towards([x, z], level, highest, drops) {
    const radius = drops ? AHEAD_M[AHEAD_M.length - 1] : CLEARANCE_M;
    let count = 0;
    const sum = [0, 0];
    for (const [alongX, alongZ] of AROUND) {
      const height = this.map.at(x + radius * alongX, z + radius * alongZ);
      if (drops ? height < highest - this.step : height > level + this.step) {
        sum[0] += alongX;
        sum[1] += alongZ;
        count++;
      }
    }
    const size = Math.hypot(...sum);
    // On a beam there are drops at both sides.
    const sided = size > (drops ? ONE_SIDED * count : 0);
    return sided ? sum.map((value) => value / Math.max(size, 1e-9)) : [0, 0];
  }
}

/** The largest (or smallest) heights within some points to each side; edges are mirrored. */
function filtered({ heights, rows, columns }, half, better) {
  const pass = (values, count, length, stride, step) => {
    const out = new Float32Array(values.length);
    for (let line = 0; line < count; line++) {
      const begin = line * step;
      for (let i = 0; i < length; i++) {
        let best = values[begin + i * stride];
        // Mirrored values beyond an edge are all within reach on this side.
        for (let j = Math.max(0, i - half); j <= Math.min(length - 1, i + half); j++) best = better(best, values[begin + j * stride]);
        out[begin + i * stride] = best;
      }
    }
    return out;
  };
  return pass(pass(heights, rows, columns, 1, columns), columns, rows, columns, 1);
}
