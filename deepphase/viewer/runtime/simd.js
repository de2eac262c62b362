/** The product of a matrix in WebAssembly, four numbers at a time, assembled here from its instructions. */

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
const load = (offset) => [0xfd, 0x00, 2, ...unsigned(offset)];
const loadSplat = [0xfd, 0x09, 2, 0];
const store = (offset) => [0xfd, 0x0b, 2, offset];
const splat = [0xfd, 0x13];
const lanesAdd = [0xfd, 0xe4, 0x01], lanesSubtract = [0xfd, 0xe5, 0x01], lanesMultiply = [0xfd, 0xe6, 0x01];
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

/** A module with one function: types of its parameters, [number, type] of its locals, and its body. */
function moduleBytes(parameters, locals, code) {
  const section = (id, content) => [id, ...unsigned(content.length), ...content];
  const text = (word) => [word.length, ...new TextEncoder().encode(word)];
  const declared = locals.flatMap(([count, type]) => [...unsigned(count), type]);
  const body = [locals.length, ...declared, ...code.flat(Infinity), END];
  return Uint8Array.from([
    0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, parameters.length, ...parameters, 0]),
    ...section(2, [1, ...text("runtime"), ...text("memory"), 2, 0, 0]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...text("run"), 0, 0]),
    ...section(10, [1, ...unsigned(body.length), ...body]),
  ]);
}

/** Unsigned LEB128. */
function unsigned(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >> 7)];
}

let compiled;

/** The function of `productCode` in a memory; null where WebAssembly or its SIMD is missing. */
export function productLoop(memory) {
  if (compiled === undefined) {
    try {
      compiled = new WebAssembly.Module(moduleBytes([I32, I32, I32, I32, I32, F32], [[2, I32], [5, V128]], productCode()));
    } catch {
      compiled = null;
    }
  }
  return compiled && new WebAssembly.Instance(compiled, { runtime: { memory } }).exports.run;
}
