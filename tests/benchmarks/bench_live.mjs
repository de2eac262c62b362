// The JavaScript runtime: networks of random weights.
//
// node tests/benchmarks/bench_live.mjs [rounds]
import { networkOf } from "../../deepphase/viewer/runtime/network.js";
import { createRandom } from "../../deepphase/viewer/runtime/random.js";

const ROUNDS = Number(process.argv[2] || 200);
// The released PFNN's inputs and outputs; the gate of 13 samples of 5 channels.
const INPUTS = 342, OUTPUTS = 311, MANIFOLD = 130, HIDDEN = 512;
const random = createRandom(0);

function numbers(count, scale = 1) {
  return Float32Array.from({ length: count }, () => scale * (random.uniform() - 0.5));
}

/** An asset with as much as a network needs. */
function assetOf(network, gateDims, shapes) {
  const header = { network, arrays: {} }, arrays = {};
  for (const [name, shape] of Object.entries(shapes)) {
    header.arrays[`network.${name}`] = { shape };
    arrays[`network.${name}`] = numbers(shape.reduce((a, b) => a * b), 0.1);
  }
  for (const [name, dims] of [["inputs", INPUTS], ["gate", gateDims]]) {
    arrays[`${name}_mean`] = new Float32Array(dims);
    arrays[`${name}_scale`] = new Float32Array(dims).fill(1);
  }
  arrays.outputs_mean = new Float32Array(OUTPUTS);
  arrays.outputs_unit = new Float32Array(OUTPUTS).fill(1);
  const [inputs, gate, outputs] = [INPUTS, gateDims, OUTPUTS].map((dims) => ({ dims }));
  return { header, arrays, schema: { inputs, gate, outputs } };
}

function blendedShapes(points) {
  const sizes = { layer_in: [INPUTS, HIDDEN], layer_mid: [HIDDEN, HIDDEN], layer_out: [HIDDEN, OUTPUTS] };
  return Object.fromEntries(
    Object.entries(sizes).flatMap(([name, [ins, outs]]) => [
      [`${name}.weight`, [points, ins, outs]],
      [`${name}.bias`, [points, outs]],
    ]),
  );
}

function report(name, work, rounds = ROUNDS) {
  for (let i = 0; i < Math.min(rounds, 50); i++) work();
  const before = process.cpuUsage(), times = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    work();
    times.push(performance.now() - start);
  }
  const cpu = process.cpuUsage(before).user / 1000 / rounds;
  times.sort((a, b) => a - b);
  const columns = [cpu, times[0], times[rounds >> 1]].map((each) => each.toFixed(2).padStart(10));
  console.log(name.padEnd(44), ...columns);
}

console.log("milliseconds".padEnd(44), ..."processor,smallest,median".split(",").map((each) => each.padStart(10)));
const gated = {
  "gate_in.weight": [128, MANIFOLD], "gate_in.bias": [128],
  "gate_mid.weight": [128, 128], "gate_mid.bias": [128],
  "gate_out.weight": [8, 128], "gate_out.bias": [8],
};
const experts = networkOf(assetOf({ kind: "experts", experts: 8 }, MANIFOLD, { ...gated, ...blendedShapes(8) }));
const inputs = numbers(INPUTS), manifold = numbers(MANIFOLD);
report("8 experts, 512 wide, goal 6", () => experts.step(inputs, manifold));
const pfnn = networkOf(assetOf({ kind: "pfnn", points: 4, spline: "natural" }, 1, blendedShapes(4)));
report("PFNN, 512 wide, goal 3", () => pfnn.step(inputs, [random.uniform()]));
