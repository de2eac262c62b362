/** Networks of controllers, for raw inputs and outputs, evaluated from their weights. */

import { Arena, Matrix } from "./matrix.js";
import { positiveRemainder } from "./springs.js";

// Smaller shares of a matrix change outputs by less than the rounding of float32 weights does.
const NEGLIGIBLE_SHARE = 1e-7;
const LAYERS = ["layer_in", "layer_mid", "layer_out"], GATE_LAYERS = ["gate_in", "gate_mid", "gate_out"];

/** The network of a controller's asset, which its characters share. */
export function networkOf(asset) {
  return (asset.network ??= new Network(asset));
}

/** A network with its normalisation, which characters share. */
class Network {
  constructor(asset) {
    const make = NETWORKS[asset.header.network.kind];
    if (!make) throw new Error(`no network ${asset.header.network.kind}`);
    const { arrays, schema } = asset;
    this.arrays = arrays;
    this.arena = new Arena();
    this.inputs = this.arena.vector(schema.inputs.dims);
    this.gate = this.arena.vector(schema.gate ? schema.gate.dims : 0);
    this.outputs = new Float32Array(schema.outputs.dims);
    this.network = make(asset, this.arena);
  }

  /** Raw outputs of raw inputs and gate; the array is used again by the next step. */
  step(inputs, gate) {
    const { arrays, outputs } = this;
    normalise(this.inputs, inputs, arrays.inputs_mean, arrays.inputs_scale);
    normalise(this.gate, gate, arrays.gate_mean, arrays.gate_scale);
    const { values } = this.network.step(this.inputs, this.gate);
    const { outputs_mean: mean, outputs_unit: unit } = arrays;
    for (let i = 0; i < outputs.length; i++) outputs[i] = values[i] * unit[i] + mean[i];
    const { carried_columns: columns, carried_shares: shares } = arrays;
    if (columns) {
      for (let i = 0; i < outputs.length; i++) outputs[i] += shares[i] * inputs[columns[i]];
    }
    return outputs;
  }

  /** Shares of the experts or control points in the last step's weights, or null. */
  get blendWeights() { return this.network.blend || null; }
}

function normalise(out, values, mean, scale) {
  const normalised = out.values;
  for (let i = 0; i < values.length; i++) normalised[i] = (values[i] - mean[i]) * scale[i];
}

/** Layer whose weights are the blend of those of experts or control points, of which a plain layer has one. */
class Layer {
  /** Weights (points, ins, outs) with steps between their rows and columns, and biases (points, outs) or null. */
  constructor(arena, weights, bias, [points, ins, outs], rowStep = outs, columnStep = 1) {
    Object.assign(this, { bias, outs, product: arena.vector(outs) });
    const matrixOf = (_, point) => new Matrix(arena, ins, outs, weights, point * ins * outs, rowStep, columnStep);
    this.matrices = Array.from({ length: points }, matrixOf);
  }

  /** The layer's values; the vector is used again by the next product. */
  apply(x, blend = [1]) {
    const { product, bias, outs, matrices } = this;
    product.values.fill(0);
    for (let point = 0; point < matrices.length; point++) {
      const share = blend[point];
      if (Math.abs(share) < NEGLIGIBLE_SHARE) continue;
      const { values } = product;
      if (bias) for (let o = 0; o < outs; o++) values[o] += share * bias[point * outs + o];
      matrices[point].addProduct(product, x, share);
    }
    return product;
  }
}

/** In place: x where it is positive, exp(x) - 1 elsewhere. */
function elu(x) {
  const { values } = x;
  for (let i = 0; i < values.length; i++) if (values[i] < 0) values[i] = Math.expm1(values[i]);
  return x;
}

function softmax(values, count) {
  let largest = -Infinity, sum = 0;
  for (let i = 0; i < count; i++) largest = Math.max(largest, values[i]);
  for (let i = 0; i < count; i++) sum += values[i] = Math.exp(values[i] - largest);
  for (let i = 0; i < count; i++) values[i] /= sum;
}

/** A layer by its name; weights of two axes are (outs, ins), as PyTorch stores them. */
function layerOf(asset, arena, name) {
  const { [`network.${name}.weight`]: weights, [`network.${name}.bias`]: bias = null } = asset.arrays;
  const { shape } = asset.header.arrays[`network.${name}.weight`];
  if (shape.length === 3) return new Layer(arena, weights, bias, shape);
  const [outs, ins] = shape;
  return new Layer(arena, weights, bias, [1, ins, outs], 1, ins);
}

/** Three layers by their names: a function of inputs and, for blended ones, of the shares of their weights. */
function threeLayers(asset, arena, names) {
  const [first, middle, last] = names.map((name) => layerOf(asset, arena, name));
  return (inputs, blend) => last.apply(elu(middle.apply(elu(first.apply(inputs, blend)), blend)), blend);
}

/** Mixture of experts (DeepPhase, local phases, MANN, without phases), blended by a gate. */
function experts(asset, arena) {
  const gating = threeLayers(asset, arena, GATE_LAYERS), layers = threeLayers(asset, arena, LAYERS);
  const blend = new Float32Array(asset.header.network.experts);
  return {
    blend,
    step(inputs, gate) {
      const shares = gating(gate).values;
      softmax(shares, blend.length);
      blend.set(shares.subarray(0, blend.length));
      return layers(inputs, blend);
    },
  };
}

/** Phase-functioned network: weights are a cubic spline of the phase. */
function pfnn(asset, arena) {
  const { points, spline } = asset.header.network;
  const blend = new Float32Array(points);
  const coefficients = weightSpline(points, spline);
  const layers = threeLayers(asset, arena, LAYERS);
  return {
    blend,
    step(inputs, gate) {
      coefficients(blend, gate.values[0]);
      return layers(inputs, blend);
    },
  };
}

/** A function that writes the share of every control point of a closed spline at a phase in cycles. */
function weightSpline(points, kind) {
  const every = Array.from({ length: points }, (_, point) => point);
  const away = (place, point) => Math.abs(positiveRemainder(place - point + points / 2, points) - points / 2);
  if (kind === "catmull_rom") {
    return (shares, phase) => {
      for (const point of every) shares[point] = catmullRom(away(points * phase, point));
    };
  }
  // Values at the points are B-splines of the weights: a circular convolution, which its Fourier series inverts.
  const wave = (order, point) => Math.cos((2 * Math.PI * order * point) / points);
  const gains = every.map((order) => every.reduce((sum, point) => sum + bSpline(away(0, point)) * wave(order, point), 0));
  const inverse = every.map((point) => every.reduce((sum, order) => sum + wave(order, point) / gains[order], 0) / points);
  return (shares, phase) => {
    shares.fill(0);
    for (const base of every) {
      const weight = bSpline(away(points * phase, base));
      for (const point of every) shares[point] += weight * inverse[Math.abs(point - base)];
    }
  };
}

/** Share of a control point at a distance in control points; 0 beyond 2. */
function catmullRom(distance) {
  if (distance >= 2) return 0;
  const square = distance * distance, cube = square * distance;
  if (distance < 1) return 1 - 2.5 * square + 1.5 * cube;
  return 2 - 4 * distance + 2.5 * square - 0.5 * cube;
}

/** Uniform cubic B-spline at a distance in control points; 0 beyond 2. */
function bSpline(distance) {
  const near = Math.max(2 - distance, 0), inner = Math.max(1 - distance, 0);
  return (near * near * near - 4 * inner * inner * inner) / 6;
}

/** Feed-forward network: a phase is a further input, as sine and cosine of each gate value in cycles. */
function plain(asset, arena) {
  const layers = threeLayers(asset, arena, LAYERS);
  const { inputs: layout, gate: gateLayout } = asset.schema;
  const gateDims = gateLayout ? gateLayout.dims : 0;
  const joined = arena.vector(layout.dims + 2 * gateDims);
  return {
    step(inputs, gate) {
      const { values } = joined;
      values.set(inputs.values.subarray(0, layout.dims));
      for (let i = 0; i < gateDims; i++) {
        values[layout.dims + i] = Math.sin(2 * Math.PI * gate.values[i]);
        values[layout.dims + gateDims + i] = Math.cos(2 * Math.PI * gate.values[i]);
      }
      return layers(joined);
    },
  };
}

const NETWORKS = { experts, pfnn, plain };
