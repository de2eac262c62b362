/** A character of learned motion matching: networks in place of the rows of a database. */

import { Arena, Matrix } from "./matrix.js";
import { DatabaseCharacter } from "./player.js";
import { axesOf, quaternionOf } from "./pose.js";
import { createRandom } from "./random.js";
import { fromFacing, trajectoryRows } from "./trajectory.js";

// Decompressed rows that are kept, and so many of them are left before the rows are moved.
const ROOM = 64, LEAST = 8;
// Contacts and rest are numbers from 0 to 1; from here on they hold.
const HOLDS = 0.5;

/** Linear layers with ReLU between them. */
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
        for (let i = 0; i < bias.length; i++) if (values[i] < 0) values[i] = 0;
      }
      from = output;
    });
    return from.values.subarray(0, this.outs);
  }
}

/** The networks of an asset, which its characters share. */
class Networks {
  constructor({ arrays, header, frameRate }) {
    const arena = new Arena();
    for (const name of ["decompressor", "stepper", "projector"]) this[name] = new Layers(arena, arrays, name);
    this.limits = arrays.limits;
    this.size = this.limits.length / 2;
    this.features = header.dims;
    this.seconds = 1 / frameRate;
    this.styles = header.label.values.length;
  }

  within(state) {
    return state.map((value, i) => Math.min(Math.max(value, this.limits[i]), this.limits[this.size + i]));
  }

  /** The state one frame later. */
  stepped(state) {
    this.stepper.input.values.set(state);
    const rates = this.stepper.run();
    return this.within(Float32Array.from(state, (value, i) => value + this.seconds * rates[i]));
  }

  /** The state nearest to a query, with the current latents, an index of a style, and whether it starts from rest. */
  projected(query, latents, style, starts) {
    const asked = new Float32Array(this.size);
    asked.set(query);
    asked.set(latents, this.features);
    const { values } = this.projector.input;
    values.fill(0);
    values.set(asked);
    if (this.styles) values[this.size + style] = 1;
    values[this.size + this.styles] = starts ? 1 : 0;
    const change = this.projector.run();
    return this.within(asked.map((value, i) => value + change[i]));
  }
}

/** Rows of rest, followed by the last rows that a character has decompressed. */
class DecompressedFrames {
  constructor(asset) {
    const { arrays, header, skeleton } = asset;
    asset.networks = asset.networks || new Networks(asset);
    this.networks = asset.networks;
    this.header = header;
    this.joints = skeleton.parents.length;
    this.rest = header.rest_rows;
    const widths = {
      states: this.networks.size, rotations: 4 * this.joints, translations: 3 * header.translated_joints.length,
      steps: 3, contacts: header.legs.bends.length, idle: 1,
    };
    this.arrays = {};
    for (const [name, width] of Object.entries(widths)) {
      this.arrays[name] = new Float32Array((this.rest + ROOM) * width);
      if (this.rest) this.arrays[name].set(name === "idle" ? new Float32Array(this.rest).fill(1) : arrays[`rest.${name}`]);
    }
    this.first = this.last = this.rest;
    this.style = 0;
  }

  state(row) {
    const { size } = this.networks;
    return this.arrays.states.subarray(size * row, size * (row + 1));
  }

  /** Begin a stretch of rows with a state; its first row, of which the next one is known, too. */
  begin(state, style) {
    this.style = style;
    this.first = this.last + 2;
    this.write(this.first, state);
    this.ready(this.first + 1);
    return this.first;
  }

  /** Make a row known. */
  ready(row) {
    while (this.last < row) this.write(this.last + 1, this.networks.stepped(this.state(this.last)));
  }

  /** Move a row and the next ones to the beginning, where room ends; its new number. */
  moved(row) {
    if (row < this.rest || this.last + LEAST < this.rest + ROOM) return row;
    const kept = [];
    for (let each = row; each <= this.last; each++) kept.push(Float32Array.from(this.state(each)));
    this.first = this.rest;
    kept.forEach((state, index) => this.write(this.rest + index, state));
    return this.rest;
  }

  /** Write a state and its pose. */
  write(row, state) {
    const { arrays, networks, header, joints } = this;
    const { values: slices } = header;
    this.state(row).set(state);
    networks.decompressor.input.values.set(state);
    const values = networks.decompressor.run();
    const rotations = arrays.rotations.subarray(4 * joints * row, 4 * joints * (row + 1));
    for (let joint = 0; joint < joints; joint++) rotations.set([0, 0, 0, 1], 4 * joint);
    header.body.forEach((joint, index) => {
      rotations.set(quaternionOf(...axesOf(values, slices.rotations + 6 * index)), 4 * joint);
    });
    const moved = header.translated_joints.length;
    arrays.translations.fill(0, 3 * moved * row, 3 * moved * (row + 1));
    header.moved.forEach((place, index) => {
      const from = slices.translations + 3 * index;
      arrays.translations.set(values.subarray(from, from + 3), 3 * (moved * row + place));
    });
    for (let k = 0; k < 3; k++) arrays.steps[3 * row + k] = values[slices.velocity + k] * networks.seconds;
    const limbs = header.legs.bends.length;
    for (let k = 0; k < limbs; k++) arrays.contacts[limbs * row + k] = values[slices.contacts + k] > HOLDS ? 1 : 0;
    arrays.idle[row] = values[slices.idle] > HOLDS ? 1 : 0;
    this.last = row;
  }
}

/** See `createCharacter`. */
export class LearnedCharacter extends DatabaseCharacter {
  constructor(asset, options = {}) {
    const frames = new DecompressedFrames(asset);
    // Nothing is searched for.
    super({ ...asset, frames, search: {}, arrays: { ...asset.arrays, ...frames.arrays } }, options);
  }

  get frames() {
    return this.asset.frames;
  }

  step(goal) {
    this.row = this.frames.moved(this.row);
    if (this.row >= this.frames.rest) this.frames.ready(this.row + 1);
    return super.step(goal);
  }

  rangeOf(row) {
    const { frames } = this;
    if (row >= frames.rest) return [frames.first, Infinity];
    const { starts, stops } = this.asset.header.rest_stretches;
    const stretch = stops.findIndex((stop) => row < stop);
    return [starts[stretch], stops[stretch]];
  }

  startRow(seed) {
    const { arrays, header } = this.asset;
    const { networks } = this.frames;
    const wanted = header.label.values.indexOf(this.label);
    const own = Array.from(arrays["starts.styles"].keys()).filter((i) => wanted < 0 || arrays["starts.styles"][i] === wanted);
    const starts = own.length ? own : Array.from(arrays["starts.styles"].keys());
    const state = (start) => arrays["starts.states"].subarray(networks.size * start, networks.size * (start + 1));
    const query = new Float32Array(header.dims);
    this.writeGoals(query, this.goals.trajectory(this.root, this.times));
    const costs = starts.map((start) => this.square(query, state(start)));
    const chosen = seed ? Math.floor(createRandom(seed).uniform() * starts.length) : costs.indexOf(Math.min(...costs));
    return this.frames.begin(state(starts[chosen]), arrays["starts.styles"][starts[chosen]]);
  }

  features() {
    return this.frames.state(this.row).subarray(0, this.asset.header.dims);
  }

  square(query, state) {
    let sum = 0;
    for (let k = 0; k < query.length; k++) sum += (query[k] - state[k]) ** 2;
    return sum;
  }

  keepLabels() {
    const { label } = this.asset.header;
    if (!label.name || !this.settings.keep.includes(label.name) || this.asset.arrays.idle[this.row]) return;
    this.kept = { [label.name]: label.values[this.frames.style] };
  }

  /** The index of the label's value that is desired or kept. */
  desiredStyle() {
    const { name, values } = this.asset.header.label;
    const wanted = values.indexOf(this.label ?? this.kept[name]);
    return wanted < 0 ? this.frames.style : wanted;
  }

  jump(query, desired) {
    const { networks } = this.frames;
    const style = this.desiredStyle(), latents = this.frames.state(this.row).subarray(networks.features);
    const found = networks.projected(query, latents, style, this.starting(desired));
    this.untilSearch = this.settings.search_interval_s;
    this.cost = Math.sqrt(this.square(query, found));
    return this.frames.begin(found, style);
  }

  moment() {
    const { values } = this.asset.header.label;
    return { index: this.row, clip: values[this.frames.style] ?? "", time: (this.row - this.rangeOf(this.row)[0]) * this.seconds };
  }

  /** The trajectory that the features predict, as [x, z, direction x, direction z] at `times`. */
  ahead() {
    const { root, times, asset } = this;
    const state = this.frames.state(this.row);
    const places = times.flatMap(() => [root.x, root.z]), angles = times.map(() => root.angle);
    const raw = (at) => (asset.arrays.scale[at] ? state[at] / asset.arrays.scale[at] : 0) + asset.arrays.mean[at];
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

  phases() {
    return null;
  }
}
