// Runs the JavaScript runtime for tests: reads a request from stdin and writes its answer to stdout.
import { readFileSync } from "node:fs";

import { projectManifold, readAsset } from "../../apps/live/runtime/asset.js";
import { createCharacter } from "../../apps/live/runtime/character.js";
import { networkOf } from "../../apps/live/runtime/network.js";
import { createRandom } from "../../apps/live/runtime/random.js";
import { RowSearch } from "../../apps/live/runtime/search.js";

const request = JSON.parse(readFileSync(0, "utf8"));
if (request.withoutWebAssembly) globalThis.WebAssembly = undefined;
const asset = readAsset(readFileSync(request.asset));

/** Typed arrays as lists. */
function plain(key, value) {
  return ArrayBuffer.isView(value) ? Array.from(value) : value;
}

const tasks = {
  /** Frames of a character on goals. */
  run() {
    const character = createCharacter(asset, request.options);
    return request.goals.map((goal) => character.step(goal));
  },
  /** Raw outputs of rows of raw inputs and gates, the state carried on from row to row. */
  network() {
    const network = networkOf(asset, request.form);
    const state = network.initialState(createRandom(0));
    if (request.noise) state.set(request.noise);
    return request.rows.map(({ inputs, gate }) => ({
      outputs: Array.from(network.step(inputs, gate, state)),
      blend: network.blendWeights && network.blendWeights.slice(),
    }));
  },
  /** The nearest rows of queries, of those that may be played. */
  search() {
    const { arrays, header } = asset;
    const search = new RowSearch(arrays.features, header.dims);
    return request.queries.map((query) =>
      search.nearest(Float32Array.from(query), 16, arrays.played, request.excluded, request.bound));
  },
  /** What a page reads of an asset, and a point of its manifold. */
  asset() {
    const { arrays, header, schema, ...values } = asset;
    const point = request.phases && projectManifold(asset.manifold, request.phases);
    return { ...values, point };
  },
};

process.stdout.write(JSON.stringify(tasks[request.task](), plain));
