/** Inner loops in WebAssembly with four numbers at a time, assembled here from their instructions. */

export const TILE = 16;

// Types and instructions of the WebAssembly specification, version 2.
const I32 = 0x7f, F32 = 0x7d, V128 = 0x7b;
const END = 0x0b;
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const tee = (local) => [0x22, local];
const constant = (value) => [0x41, value];
const add = 0x6a, subtractOne = [0x41, 1, 0x6b], shiftLeft = 0x74, lessUnsigned = 0x49;
const zeros = [0xfd, 0x0c, ...new Array(16).fill(0)];
const load = (offset) => [0xfd, 0x00, 2, offset];
const loadSplat = [0xfd, 0x09, 2, 0];
const store = (offset) => [0xfd, 0x0b, 2, offset];
const splat = [0xfd, 0x13];
const lanesAdd = [0xfd, 0xe4, 0x01], lanesSubtract = [0xfd, 0xe5, 0x01], lanesMultiply = [0xfd, 0xe6, 0x01];
const lane = (number) => [0xfd, 0x1f, number];
const floatAdd = 0x92, floatStore = [0x38, 2, 0];
/** Repeats its body while the condition that the body leaves behind is true. */
const loop = (...body) => [0x03, 0x40, ...body.flat(Infinity), 0x0d, 0, END];
/** local += bytes */
const advance = (local, bytes) => [get(local), [0x41, ...signed(bytes)], add, set(local)];

/** Signed LEB128. */
function signed(value) {
  return value < 64 ? [value] : [(value & 0x7f) | 0x80, value >> 7];
}

/** y += share * (x @ tiles of weights): (y, x, weights, rows, tiles: bytes and counts, share). */
function productCode() {
  const [y, x, weights, rows, tiles, share, at, end, number, sums] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
  const lanes = [0, 1, 2, 3];
  return [
    loop(
      lanes.map((k) => [zeros, set(sums + k)]),
      get(x), tee(at), get(rows), constant(2), shiftLeft, add, set(end),
      loop(
        get(at), loadSplat, set(number),
        lanes.map((k) => [
          get(sums + k), get(number), get(weights), load(16 * k), lanesMultiply, lanesAdd, set(sums + k),
        ]),
        advance(weights, 4 * TILE), advance(at, 4), get(at), get(end), lessUnsigned,
      ),
      lanes.map((k) => [
        get(y), get(y), load(16 * k), get(share), splat, get(sums + k), lanesMultiply, lanesAdd,
        store(16 * k),
      ]),
      advance(y, 4 * TILE), get(tiles), subtractOne, tee(tiles),
    ),
  ];
}

/** Squared distances of rows from a query: (out, query, rows, count, width: a multiple of 4). */
function distancesCode() {
  const [out, query, rows, count, width, at, end, apart, sum] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
  return [
    loop(
      zeros, set(sum),
      get(query), tee(at), get(width), constant(2), shiftLeft, add, set(end),
      loop(
        get(at), load(0), get(rows), load(0), lanesSubtract, tee(apart),
        get(apart), lanesMultiply, get(sum), lanesAdd, set(sum),
        advance(rows, 16), advance(at, 16), get(at), get(end), lessUnsigned,
      ),
      get(out), [0, 1, 2, 3].map((k) => [get(sum), lane(k)]), floatAdd, floatAdd, floatAdd, floatStore,
      advance(out, 4), get(count), subtractOne, tee(count),
    ),
  ];
}

function moduleBytes() {
  const section = (id, content) => [id, ...unsigned(content.length), ...content];
  const text = (name) => [name.length, ...new TextEncoder().encode(name)];
  const type = (...parameters) => [0x60, parameters.length, ...parameters, 0];
  const body = (locals, code) => {
    const bytes = [locals.length / 2, ...locals, ...code.flat(Infinity), END];
    return [...unsigned(bytes.length), ...bytes];
  };
  return Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [2, ...type(I32, I32, I32, I32, I32, F32), ...type(I32, I32, I32, I32, I32)]),
    ...section(2, [1, ...text("runtime"), ...text("memory"), 2, 0, 0]),
    ...section(3, [2, 0, 1]),
    ...section(7, [2, ...text("addProduct"), 0, 0, ...text("distances"), 0, 1]),
    ...section(10, [2, ...body([2, I32, 5, V128], productCode()), ...body([2, I32, 2, V128], distancesCode())]),
  ]);
}

/** Unsigned LEB128. */
function unsigned(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >> 7)];
}

let compiled;

/** The loops as functions of places in a memory; null where WebAssembly or its SIMD is missing. */
export function simdLoops(memory) {
  if (compiled === undefined) {
    try {
      compiled = new WebAssembly.Module(moduleBytes());
    } catch {
      compiled = null;
    }
  }
  return compiled && new WebAssembly.Instance(compiled, { runtime: { memory } }).exports;
}
