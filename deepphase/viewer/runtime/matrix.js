/** Vectors and matrices of weights in one memory, and their products, in WebAssembly four numbers at a time. */

// Columns of a tile, and bytes of a page of memory.
const TILE = 16, PAGE_BYTES = 65536;

/** Memory of the vectors and matrices of one network. */
export class Arena {
  constructor() {
    this.memory = typeof WebAssembly === "object" ? new WebAssembly.Memory({ initial: 1 }) : null;
    this.product = this.memory && productLoop(this.memory);
    this.top = 0;
  }

  /** A vector of zeros; its length is rounded up to whole tiles. */
  vector(length) {
    const whole = TILE * Math.ceil(length / TILE), place = this.top, { memory } = this;
    if (!this.product) return { values: new Float32Array(whole) };
    this.top += 4 * whole;
    const missing = this.top - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
    let current = new Float32Array(memory.buffer, place, whole);
    return {
      place,
      /** A view of the numbers, which is valid until the memory grows. */
      get values() {
        if (current.buffer !== memory.buffer) current = new Float32Array(memory.buffer, place, whole);
        return current;
      },
    };
  }
}

/** A matrix (ins, outs) in tiles of columns, [tile][row][column], read in order by a product. */
export class Matrix {
  /** `weights` of `ins` rows and `outs` columns in the memory of an arena, from the value `start` on, by steps between rows and columns. */
  constructor(arena, ins, outs, weights, start, rowStep, columnStep) {
    this.product = arena.product;
    this.ins = ins;
    this.tiles = Math.ceil(outs / TILE);
    this.weights = arena.vector(this.tiles * TILE * ins);
    const { values } = this.weights;
    for (let column = 0; column < outs; column++) {
      const tile = Math.floor(column / TILE) * ins * TILE + (column % TILE);
      const from = start + column * columnStep;
      for (let row = 0; row < ins; row++) values[tile + row * TILE] = weights[from + row * rowStep];
    }
  }

  /** y += share * (x @ matrix). */
  addProduct(y, x, share) {
    const { ins, tiles, weights, product } = this;
    if (product) return product(y.place, x.place, weights.place, ins, tiles, share);
    const { values } = weights;
    for (let column = 0; column < tiles * TILE; column++) {
      let sum = 0, at = Math.floor(column / TILE) * ins * TILE + (column % TILE);
      for (let row = 0; row < ins; row++, at += TILE) sum += x.values[row] * values[at];
      y.values[column] += share * sum;
    }
  }
}

// Types and instructions of the WebAssembly specification, version 2.
const I32 = 0x7f, F32 = 0x7d, V128 = 0x7b;
const END = 0x0b;
const [get, set, tee] = [0x20, 0x21, 0x22].map((code) => (local) => [code, local]);
const constant = (value) => [0x41, value];
const add = 0x6a, subtractOne = [0x41, 1, 0x6b], shiftLeft = 0x74, lessUnsigned = 0x49;
const zeros = [0xfd, 0x0c, ...new Array(16).fill(0)];
const load = (offset) => [0xfd, 0x00, 2, ...unsigned(offset)];
const loadSplat = [0xfd, 0x09, 2, 0];
const store = (offset) => [0xfd, 0x0b, 2, offset];
const splat = [0xfd, 0x13];
const lanesAdd = [0xfd, 0xe4, 0x01], lanesMultiply = [0xfd, 0xe6, 0x01];
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
        lanes.map((k) => [get(sums + k), get(number), get(weights), load(16 * k), lanesMultiply, lanesAdd, set(sums + k)]),
        advance(weights, 4 * TILE), advance(at, 4), get(at), get(end), lessUnsigned,
      ),
      lanes.map((k) => [get(y), get(y), load(16 * k), get(share), splat, get(sums + k), lanesMultiply, lanesAdd, store(16 * k)]),
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
function productLoop(memory) {
  if (compiled === undefined) {
    try {
      compiled = new WebAssembly.Module(moduleBytes([I32, I32, I32, I32, I32, F32], [[2, I32], [5, V128]], productCode()));
    } catch {
      compiled = null;
    }
  }
  return compiled && new WebAssembly.Instance(compiled, { runtime: { memory } }).exports.run;
}
