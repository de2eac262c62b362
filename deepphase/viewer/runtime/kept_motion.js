/** The motion of a matcher: states that are kept every few rows, their search, and the poses of all rows. */

import { add, forwardKinematics, multiply, point, turn } from "../vectors.js";
import { Arena, Matrix } from "./matrix.js";
import { axesOf, quaternionOf } from "./pose.js";
import { fromVector } from "./transitions.js";

// Rows that stay decompressed.
const ROOM = 512;
// What a smooth ReLU adds to the square of a value.
const SMOOTH = 0.25;
// States around a row: two before it, and two after.
const AROUND = 4;

/** Linear layers with smooth ReLUs between them. */
class Layers {
  constructor(arena, arrays, name) {
    this.parts = [];
    for (let index = 0; arrays[`${name}.${index}.bias`]; index++) {
      const bias = arrays[`${name}.${index}.bias`], weights = arrays[`${name}.${index}.weight`];
      const matrix = new Matrix(arena, weights.length / bias.length, bias.length, weights, 0, bias.length, 1);
      this.parts.push({ bias, matrix, output: arena.vector(bias.length) });
    }
    this.input = arena.vector(this.parts[0].matrix.ins);
    this.outs = this.parts.at(-1).bias.length;
  }

  /** The outputs for the numbers in `input.values`; they are valid until the next call. */
  run() {
    let from = this.input;
    this.parts.forEach(({ bias, matrix, output }, index) => {
      const { values } = output;
      values.fill(0);
      values.set(bias);
      matrix.addProduct(output, from, 1);
      const smooths = index + 1 < this.parts.length;
      for (let i = 0; smooths && i < bias.length; i++) values[i] = 0.5 * (values[i] + Math.sqrt(values[i] ** 2 + SMOOTH));
      from = output;
    });
    return from.values.subarray(0, this.outs);
  }
}

/** The kept states of an asset, and the rows between them; see `KeptStates` in Python. */
export class KeptStates {
  constructor({ arrays, header }) {
    const { clips, counts, spacing } = header;
    Object.assign(this, { counts, spacing, starts: clips.starts, stops: clips.stops });
    this.values = [exact(arrays, "features"), exact(arrays, "latents")];
    this.widths = ["features", "latents"].map((name) => arrays[`${name}.step`].length);
    this.first = [];
    counts.reduce((sum, count) => (this.first.push(sum), sum + count), 0);
    this.rows = Int32Array.from(counts.flatMap((count, stretch) =>
      Array.from({ length: count }, (_, index) => this.starts[stretch] + spacing * index)));
    this.weights = arrays["kept.weights"];
    this.masks = new Map();
    this.state = new Float32Array(this.widths[0]);
  }

  /** The stretch of a row. */
  stretchOf(row) { return below(this.stops, row + 1); }

  /** Write the state of a row into an array, its features and the latents if there is room. */
  write(row, into) {
    const stretch = this.stretchOf(row);
    const last = this.counts[stretch] - 1, inside = row - this.starts[stretch];
    const second = Math.min(Math.floor(inside / this.spacing), last - 1);
    const frame = inside - this.spacing * second;
    into.fill(0);
    for (let near = 0; near < AROUND; near++) {
      const place = this.first[stretch] + Math.min(Math.max(second + near - 1, 0), last);
      const weight = this.weights[AROUND * frame + near];
      let at = 0;
      this.values.forEach((values, part) => {
        const width = this.widths[part];
        for (let k = width * place; k < width * (place + 1) && at < into.length; k++) into[at++] += weight * values[k];
      });
    }
    return into;
  }

  /** {row, distance} of the `count` `allowed` states nearest to a query of normalised features, outside `excluded` and within `bound`. */
  nearest(query, count, allowed, excluded = [0, 0], bound = Infinity) {
    const { rows, masks, values: [features], widths: [dims] } = this;
    if (!masks.has(allowed)) masks.set(allowed, Int32Array.from([...rows.keys()].filter((place) => allowed[rows[place]])));
    const best = [];
    let worst = bound * bound;
    for (const place of masks.get(allowed)) {
      const row = rows[place];
      if (row >= excluded[0] && row < excluded[1]) continue;
      let square = 0;
      for (let k = 0, at = dims * place; k < dims && square < worst; k++) square += (features[at + k] - query[k]) ** 2;
      if (!(square < worst)) continue;
      best.splice(best.findLastIndex((other) => other.square <= square) + 1, 0, { row, square });
      if (best.length > count) best.pop();
      if (best.length === count) worst = Math.min(worst, best[count - 1].square);
    }
    return best.map(({ row, square }) => ({ row, distance: Math.sqrt(square) }));
  }

  /** Squared distance of a query from the features of a row. */
  square(query, row) {
    this.write(row, this.state);
    return query.reduce((sum, value, k) => sum + (value - this.state[k]) ** 2, 0);
  }
}

/** The numbers of a rounded array. */
function exact(arrays, name) {
  const steps = arrays[`${name}.step`], numbers = arrays[name], width = steps.length;
  const values = new Float32Array(numbers.length);
  // A page opens after this, and `Float32Array.from` takes ten times as long.
  for (let at = 0; at < values.length; at += width) {
    for (let k = 0; k < width; k++) values[at + k] = numbers[at + k] * steps[k];
  }
  return values;
}

/** How many of the rising numbers are below a value. */
function below(numbers, value) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The motion of the rows of a matcher in root space, which is decompressed where it is read. */
export class RowMotion {
  constructor(asset, kept) {
    const { arrays, header, skeleton } = asset;
    const { parents, offsets } = skeleton;
    Object.assign(this, { parents, offsets, joints: parents.length, moved: header.translated_joints, body: header.body });
    this.widths = { rotations: 4 * this.joints, translations: 3 * this.moved.length, steps: 3, slips: 2 * header.legs.joints.length };
    Object.assign(this, { kept, slices: header.values, places: header.moved, seconds: 1 / asset.frameRate });
    this.decompressor = new Layers(new Arena(), arrays, "decompressor");
    this.known = new Map();
  }

  /** The `rotations`, `translations`, `steps` or `slips` of a row. */
  read(name, row) {
    if (!this.known.has(row)) {
      // The oldest one comes first.
      if (this.known.size >= ROOM) this.known.delete(this.known.keys().next().value);
      this.known.set(row, this.decompressed(row));
    }
    return this.known.get(row)[name];
  }

  decompressed(row) {
    const { slices, seconds, widths, body } = this;
    const state = new Float32Array(this.kept.widths[0] + this.kept.widths[1]);
    this.decompressor.input.values.set(this.kept.write(row, state));
    const values = this.decompressor.run();
    const rotations = new Float32Array(widths.rotations), translations = new Float32Array(widths.translations);
    for (let joint = 0; joint < this.joints; joint++) rotations[4 * joint + 3] = 1;
    body.forEach((joint, index) => {
      rotations.set(quaternionOf(...axesOf(values, slices.rotations + 6 * index)), 4 * joint);
    });
    this.places.forEach((place, index) => {
      const from = slices.translations + 3 * index;
      translations.set(values.subarray(from, from + 3), 3 * place);
    });
    const metres = (from, count) => values.slice(from, from + count).map((value) => value * seconds);
    return { rotations, translations, steps: metres(slices.velocity, 3), slips: metres(slices.slips, widths.slips) };
  }

  /** Local rotations and positions (4 and 3 numbers a joint) of a row, with an offset, and one that is held between them. */
  pose(row, offset = null, held = null) {
    const { joints, moved } = this;
    const rotations = Float64Array.from(this.read("rotations", row)), translations = this.read("translations", row);
    const positions = Float64Array.from(this.offsets);
    for (const each of [held, offset]) {
      for (let joint = 0; each && joint < joints; joint++) {
        rotations.set(multiply(fromVector(point(each, joint)), turn(rotations, joint)), 4 * joint);
      }
    }
    moved.forEach((joint, k) => {
      const place = [offset, held].reduce((sum, each) => (each ? add(sum, point(each, joints + k)) : sum), point(translations, k));
      positions.set(place, 3 * joint);
    });
    return { rotations, positions };
  }

  /** Positions of all joints of a pose, root space. */
  positionsOf({ rotations, positions }) {
    const worldRotations = new Float64Array(rotations.length), worldPositions = new Float64Array(positions.length);
    forwardKinematics(this.parents, rotations, positions, worldRotations, worldPositions);
    return worldPositions;
  }
}
