/** Networks of controllers, for raw inputs and outputs, evaluated from their weights. */

import { Arena, Matrix } from "./matrix.js";
import { weightSpline } from "./weight_spline.js";

// Smaller shares of a matrix change outputs by less than the rounding of float32 weights does.
const NEGLIGIBLE_SHARE = 1e-7;
const BLENDED_LAYERS = ["layer_in", "layer_mid", "layer_out"];

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
  get blendWeights() {
    return this.network.blend || null;
  }
}

function normalise(out, values, mean, scale) {
  const normalised = out.values;
  for (let i = 0; i < values.length; i++) normalised[i] = (values[i] - mean[i]) * scale[i];
}

/** Layer whose weights are the blend of those of experts or control points. */
class BlendedLayer {
  /** @param weight, bias  (points, ins, outs) and (points, outs) */
  constructor(arena, weight, bias, points, ins, outs) {
    this.outs = outs;
    this.bias = bias;
    this.matrices = [];
    for (let point = 0; point < points; point++) {
      this.matrices.push(new Matrix(arena, ins, outs, weight, point * ins * outs, outs, 1));
    }
    this.product = arena.vector(outs);
  }

  /** The layer's values; the vector is used again by the next product. */
  apply(x, blend) {
    const { product, bias, outs, matrices } = this;
    const { values } = product;
    values.fill(0);
    for (let point = 0; point < matrices.length; point++) {
      const share = blend[point];
      if (Math.abs(share) < NEGLIGIBLE_SHARE) continue;
      for (let o = 0; o < outs; o++) values[o] += share * bias[point * outs + o];
      matrices[point].addProduct(product, x, share);
    }
    return product;
  }
}

/** Linear layer with weights (outs, ins), as PyTorch stores them. */
class LinearLayer {
  constructor(arena, weight, bias, outs) {
    const ins = weight.length / outs;
    this.bias = bias;
    this.matrix = new Matrix(arena, ins, outs, weight, 0, 1, ins);
    this.product = arena.vector(outs);
  }

  apply(x) {
    const { product, bias } = this;
    product.values.fill(0);
    if (bias) product.values.set(bias);
    this.matrix.addProduct(product, x, 1);
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

function linear(asset, arena, name) {
  const bias = asset.arrays[`network.${name}.bias`] || null;
  const { shape } = asset.header.arrays[`network.${name}.weight`];
  return new LinearLayer(arena, asset.arrays[`network.${name}.weight`], bias, shape[0]);
}

function threeBlended(asset, arena) {
  const { arrays, header } = asset;
  return BLENDED_LAYERS.map((name) => {
    const { shape } = header.arrays[`network.${name}.weight`];
    const bias = arrays[`network.${name}.bias`];
    return new BlendedLayer(arena, arrays[`network.${name}.weight`], bias, ...shape);
  });
}

/** Three layers with the same blend of weights. */
function throughLayers(layers, inputs, blend) {
  let x = elu(layers[0].apply(inputs, blend));
  x = elu(layers[1].apply(x, blend));
  return layers[2].apply(x, blend);
}

/** Mixture of experts (DeepPhase, local phases, MANN, without phases), blended by a gate. */
function experts(asset, arena) {
  const gating = ["gate_in", "gate_mid", "gate_out"].map((name) => linear(asset, arena, name));
  const layers = threeBlended(asset, arena);
  const blend = new Float32Array(asset.header.network.experts);
  return {
    blend,
    step(inputs, gate) {
      let g = elu(gating[0].apply(gate));
      g = elu(gating[1].apply(g));
      const shares = gating[2].apply(g).values;
      softmax(shares, blend.length);
      blend.set(shares.subarray(0, blend.length));
      return throughLayers(layers, inputs, blend);
    },
  };
}

/** Phase-functioned network: weights are a cubic spline of the phase. */
function pfnn(asset, arena) {
  const { points, spline } = asset.header.network;
  const blend = new Float32Array(points);
  const coefficients = weightSpline(points, spline);
  const layers = threeBlended(asset, arena);
  return {
    blend,
    step(inputs, gate) {
      coefficients(blend, gate.values[0]);
      return throughLayers(layers, inputs, blend);
    },
  };
}

/** Writer of the inputs, followed by sine and cosine of each gate value in cycles. */
function phaseCircle(asset, arena) {
  const { inputs: layout, gate: gateLayout } = asset.schema;
  const gateDims = gateLayout ? gateLayout.dims : 0;
  const joined = arena.vector(layout.dims + 2 * gateDims);
  return (inputs, gate) => {
    const { values } = joined;
    values.set(inputs.values.subarray(0, layout.dims));
    for (let i = 0; i < gateDims; i++) {
      values[layout.dims + i] = Math.sin(2 * Math.PI * gate.values[i]);
      values[layout.dims + gateDims + i] = Math.cos(2 * Math.PI * gate.values[i]);
    }
    return joined;
  };
}

/** Feed-forward network, with or without a phase as a further input. */
function plain(asset, arena) {
  const layers = BLENDED_LAYERS.map((name) => linear(asset, arena, name));
  const joined = phaseCircle(asset, arena);
  return { step: (inputs, gate) => throughLayers(layers, joined(inputs, gate)) };
}

const NETWORKS = { experts, pfnn, plain };
