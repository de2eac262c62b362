/** Exact search of the rows of a database that are nearest to a query. */

import { BYTES, nearRowsLoop } from "./simd.js";

const PAGE_BYTES = 65536, MOST = 127;
// Rows of the first part of a search; each part is twice as long as the one before.
const FIRST_ROWS = 2048;
// Rounding of distances, as a share.
const SLACK = 1e-6;

/** Rows as 8-bit numbers, whose distances from a query are near the exact ones and quick. */
class RoundedRows {
  constructor(features, dims) {
    this.rows = features.length / dims;
    this.width = BYTES * Math.ceil(dims / BYTES);
    this.outAt = this.width * (this.rows + 1);
    const pages = Math.ceil((this.outAt + 8 * this.rows) / PAGE_BYTES);
    const memory = new WebAssembly.Memory({ initial: pages });
    this.loop = nearRowsLoop(memory, this.width);
    if (!this.loop) return;
    let most = 0;
    for (let at = 0; at < features.length; at++) most = Math.max(most, Math.abs(features[at]));
    this.step = most / MOST || 1;
    this.numbers = new Int8Array(memory.buffer, 0, this.outAt);
    this.out = new Int32Array(memory.buffer, this.outAt, 2 * this.rows);
    // Largest distance of a row from its rounded form.
    this.rowError = 0;
    for (let row = 0; row < this.rows; row++) {
      this.rowError = Math.max(this.rowError, this.round(features, row * dims, dims, (row + 1) * this.width));
    }
  }

  /** Write rounded numbers of some values, and return the distance from them, in steps. */
  round(values, from, count, at) {
    const { step, numbers } = this;
    let square = 0;
    for (let k = 0; k < count; k++) {
      const exact = values[from + k] / step;
      const rounded = Math.round(Math.min(Math.max(exact, -MOST), MOST));
      numbers[at + k] = rounded;
      square += (exact - rounded) ** 2;
    }
    return Math.sqrt(square);
  }

  /** Take a query, and return the unit of its distances and their largest error in units. */
  begin(query) {
    return { step: this.step, error: this.round(query, 0, query.length, 0) + this.rowError };
  }

  /** Rows of a range whose squared distance is at most a limit: number and square in turn. */
  near(row, stop, limit) {
    const { width, outAt } = this;
    const end = this.loop(outAt, 0, width * (row + 1), row, stop, Math.min(limit, 2 ** 31 - 1));
    return this.out.subarray(0, (end - outAt) / 4);
  }
}

/** The same without WebAssembly. */
class ExactRows {
  constructor(square) {
    this.square = square;
  }

  begin(query) {
    this.query = query;
    return { step: 1, error: 0 };
  }

  near(row, stop, limit) {
    const found = [];
    for (; row < stop; row++) {
      const square = this.square(this.query, row);
      if (square <= limit) found.push(row, square);
    }
    return found;
  }
}

export class RowSearch {
  /** @param features  (rows, dims) normalised */
  constructor(features, dims) {
    this.features = features;
    this.dims = dims;
    this.rows = features.length / dims;
    const rounded = typeof WebAssembly === "object" && new RoundedRows(features, dims);
    this.table = rounded && rounded.loop ? rounded : new ExactRows((query, row) => this.square(query, row));
  }

  /**
   * The nearest rows, the nearest first; of equal distances the lower row comes first.
   *
   * @param query  (dims,) normalised
   * @param {number} count  of rows
   * @param allowed  (rows,) 1 for rows that may be found
   * @param {number[]} excluded  first row and one after the last of a range that is not found
   * @param {number} bound  only rows strictly nearer are found
   * @returns rows as {row, distance}
   */
  nearest(query, count, allowed, excluded = [0, 0], bound = Infinity) {
    const { step, error } = this.table.begin(query);
    // The exact distance differs from the one of the table by up to `error`.
    const reach = (distance, errors) => ((distance + errors * error) * (1 + SLACK)) ** 2;
    const best = [], close = [];
    let worst = reach(bound / step, 1);
    for (let start = 0, size = FIRST_ROWS; start < this.rows; start += size, size *= 2) {
      const near = this.table.near(start, Math.min(start + size, this.rows), worst);
      for (let at = 0; at < near.length; at += 2) {
        const row = near[at], square = near[at + 1];
        if (square > worst || !allowed[row] || (row >= excluded[0] && row < excluded[1])) continue;
        close.push([row, square]);
        let place = best.length;
        while (place > 0 && best[place - 1] > square) place--;
        if (place === count) continue;
        best.splice(place, 0, square);
        if (best.length > count) best.pop();
        if (best.length === count) worst = Math.min(worst, reach(Math.sqrt(best[count - 1]), 2));
      }
    }
    const limit = bound * bound;
    const found = [];
    for (const [row, square] of close) {
      if (square > worst) continue;
      const distance = this.square(query, row);
      if (distance < limit) found.push({ row, distance });
    }
    found.sort((a, b) => a.distance - b.distance || a.row - b.row);
    return found.slice(0, count).map(({ row, distance }) => ({ row, distance: Math.sqrt(distance) }));
  }

  square(query, row) {
    let sum = 0;
    for (let k = 0, at = row * this.dims; k < this.dims; k++) {
      const difference = this.features[at + k] - query[k];
      sum += difference * difference;
    }
    return sum;
  }
}
