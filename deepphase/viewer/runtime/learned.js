/** A character of a matcher: a database whose states are kept every few rows, and poses decompressed. */

import { Arena, Matrix } from "./matrix.js";
import { clipAt, DatabaseCharacter } from "./player.js";
import { axesOf, quaternionOf } from "./pose.js";
import { RowSearch } from "./search.js";
import { fromFacing, trajectoryRows } from "./trajectory.js";
import { RowMotion } from "./transitions.js";

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
      if (index + 1 < this.parts.length) {
        for (let i = 0; i < bias.length; i++) values[i] = 0.5 * (values[i] + Math.sqrt(values[i] ** 2 + SMOOTH));
      }
      from = output;
    });
    return from.values.subarray(0, this.outs);
  }
}

/** Kept states, and the rows between them; see `KeptStates` in Python. */
class KeptStates {
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
  }

  /** Write the state of a row of a stretch into an array, its features and the latents if there is room. */
  write(row, stretch, into) {
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

/** The motion of the rows of a matcher, which is decompressed where it is read. */
class DecompressedMotion extends RowMotion {
  constructor(asset, kept, stretchOf) {
    super(asset);
    Object.assign(this, { kept, stretchOf, slices: asset.header.values, places: asset.header.moved });
    this.seconds = 1 / asset.frameRate;
    this.decompressor = new Layers(new Arena(), asset.arrays, "decompressor");
    this.known = new Map();
  }

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
    this.decompressor.input.values.set(this.kept.write(row, this.stretchOf(row), state));
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
}

/** The search of kept states, with the numbers of their rows. */
class KeptSearch {
  constructor(kept, stretchOf) {
    const [dims] = kept.widths;
    Object.assign(this, { kept, stretchOf, masks: new Map(), state: new Float32Array(dims) });
    this.rows = new RowSearch(kept.values[0], dims);
  }

  /** As of `RowSearch`. */
  nearest(query, count, allowed, excluded = [0, 0], bound = Infinity) {
    const { kept, masks } = this;
    if (!masks.has(allowed)) masks.set(allowed, Uint8Array.from(kept.rows, (row) => allowed[row]));
    const [first, stop] = excluded.map((row) => this.place(row));
    const found = this.rows.nearest(query, count, masks.get(allowed), [first, stop], bound);
    return found.map(({ row, distance }) => ({ row: kept.rows[row], distance }));
  }

  /** The first kept state at a row or after it. */
  place(row) {
    let low = 0, high = this.kept.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.kept.rows[middle] < row) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  square(query, row) {
    const features = this.kept.write(row, this.stretchOf(row), this.state);
    return query.reduce((sum, value, k) => sum + (value - features[k]) ** 2, 0);
  }
}

/** Flags out of packed bits. */
function flags(packed, count) {
  const found = new Uint8Array(count);
  for (let at = 0; at < count; at++) found[at] = (packed[at >> 3] >> (7 - (at & 7))) & 1;
  return found;
}

/** How much each limb carries, from 0 to 1: frames to the nearer end of its contact; see `supports` in Python. */
function supports(contacts, limbs, { starts, stops }, frames) {
  const support = new Float32Array(contacts.length);
  starts.forEach((start, clip) => {
    for (let limb = 0; limb < limbs; limb++) {
      for (const forth of [true, false]) {
        for (let step = 0, run = 0; step < stops[clip] - start; step++) {
          const at = limbs * (forth ? start + step : stops[clip] - 1 - step) + limb;
          run = contacts[at] ? Math.min(run + 1, frames) : 0;
          support[at] = forth ? run / frames : Math.min(support[at], run / frames);
        }
      }
    }
  });
  return support;
}

/** The asset with what a `DatabaseCharacter` reads, made once. */
function asDatabase(asset) {
  if (asset.motion) return asset;
  const { arrays, header } = asset;
  const { starts, stops } = header.clips;
  const rows = stops.at(-1), limbs = header.legs.bends.length;
  const kept = new KeptStates(asset);
  const stretchOf = (row) => clipAt(stops, row);
  for (const name of ["played", "idle"]) arrays[name] = flags(arrays[`${name}.bits`], rows);
  arrays.contacts = Float32Array.from(flags(arrays["contacts.bits"], rows * limbs));
  const frames = Math.max(1, Math.round(header.player.support_s * asset.frameRate));
  arrays.support = supports(arrays.contacts, limbs, { starts, stops }, frames);
  arrays.offered = new Uint8Array(rows);
  flags(arrays["offered.bits"], kept.rows.length).forEach((flag, place) => { arrays.offered[kept.rows[place]] = flag; });
  asset.motion = new DecompressedMotion(asset, kept, stretchOf);
  asset.search = new KeptSearch(kept, stretchOf);
  return asset;
}

/** See `createCharacter`. */
export class LearnedCharacter extends DatabaseCharacter {
  constructor(asset, options = {}) {
    super(asDatabase(asset), options);
  }

  features() {
    const { motion, header } = this.asset;
    return motion.kept.write(this.row, this.clipOf(this.row), new Float32Array(header.dims));
  }

  /** The trajectory that the features have, as [x, z, direction x, direction z] at `times`. */
  ahead() {
    const { root, times, asset } = this;
    const features = this.features();
    const places = times.flatMap(() => [root.x, root.z]), angles = times.map(() => root.angle);
    const raw = (at) => (asset.arrays.scale[at] ? features[at] / asset.arrays.scale[at] : 0) + asset.arrays.mean[at];
    for (const { time, column, direction } of asset.header.trajectory) {
      const i = times.indexOf(time);
      if (direction) {
        angles[i] = root.angle + Math.atan2(raw(column), raw(column + 1));
      } else {
        const [x, z] = fromFacing(raw(column), raw(column + 1), root.angle);
        places.splice(2 * i, 2, root.x + x, root.z + z);
      }
    }
    return trajectoryRows({ places, angles });
  }
}
