/** Vectors and matrices of weights in one memory, and their products. */

import { productLoop, TILE } from "./simd.js";

const PAGE_BYTES = 65536;

/** Memory of the vectors and matrices of one network. */
export class Arena {
  constructor() {
    const hasMemory = typeof WebAssembly === "object";
    this.memory = hasMemory ? new WebAssembly.Memory({ initial: 1 }) : null;
    this.product = this.memory && productLoop(this.memory);
    this.top = 0;
  }

  /** A vector of zeros; its length is rounded up to whole tiles. */
  vector(length) {
    const whole = TILE * Math.ceil(length / TILE);
    if (!this.product) return new Vector(null, 0, new Float32Array(whole));
    const place = this.top;
    this.top += 4 * whole;
    const missing = this.top - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE_BYTES));
    return new Vector(this.memory, place, new Float32Array(this.memory.buffer, place, whole));
  }
}

/** Numbers at a place in the memory. */
class Vector {
  constructor(memory, place, values) {
    this.memory = memory;
    this.place = place;
    this.length = values.length;
    this.current = values;
  }

  /** A view of the numbers, which is valid until the memory grows. */
  get values() {
    if (this.memory && this.current.buffer !== this.memory.buffer) {
      this.current = new Float32Array(this.memory.buffer, this.place, this.length);
    }
    return this.current;
  }
}

/** A matrix (ins, outs) in tiles of columns, [tile][row][column], read in order by a product. */
export class Matrix {
  /**
   * @param {Arena} arena  the memory of the matrix and of all vectors that it is multiplied with
   * @param ins, outs  number of rows and columns
   * @param weights  their values
   * @param {number} start  place of the first value
   * @param rowStep, columnStep  distance of a value from the next row and the next column
   */
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
    if (product) {
      product(y.place, x.place, weights.place, ins, tiles, share);
      return;
    }
    const { values } = weights;
    for (let column = 0; column < tiles * TILE; column++) {
      let sum = 0, at = Math.floor(column / TILE) * ins * TILE + (column % TILE);
      for (let row = 0; row < ins; row++, at += TILE) sum += x.values[row] * values[at];
      y.values[column] += share * sum;
    }
  }
}
