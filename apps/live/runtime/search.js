/** Exact search of the rows of a database that are nearest to a query. */

import { Arena } from "./matrix.js";

// Distances in single precision decide which rows are compared in double precision.
const SLACK = 1e-4;

export class RowSearch {
  /** @param features  (rows, dims) normalised */
  constructor(features, dims) {
    this.features = features;
    this.dims = dims;
    this.rows = features.length / dims;
    this.width = 4 * Math.ceil(dims / 4);
    const arena = new Arena();
    this.loops = arena.loops;
    this.table = this.loops && arena.vector(this.rows * this.width);
    this.query = arena.vector(this.width);
    this.squares = arena.vector(this.rows);
    if (!this.loops) return;
    const { values } = this.table;
    for (let row = 0; row < this.rows; row++) {
      values.set(features.subarray(row * dims, (row + 1) * dims), row * this.width);
    }
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
    this.measure(query);
    const squares = this.squares.values;
    const limit = bound * bound;
    const best = [], close = [];
    let worst = limit * (1 + SLACK);
    for (let row = 0; row < this.rows; row++) {
      if (!(squares[row] < worst)) continue;
      if (!allowed[row] || (row >= excluded[0] && row < excluded[1])) continue;
      close.push(row);
      let place = best.length;
      while (place > 0 && best[place - 1] > squares[row]) place--;
      best.splice(place, 0, squares[row]);
      if (best.length > count) best.pop();
      if (best.length === count) worst = Math.min(worst, best[count - 1] * (1 + SLACK));
    }
    const found = [];
    for (const row of close) {
      if (squares[row] > worst) continue;
      const square = this.square(query, row);
      if (square < limit) found.push({ row, distance: square });
    }
    found.sort((a, b) => a.distance - b.distance || a.row - b.row);
    return found.slice(0, count).map(({ row, distance }) => ({ row, distance: Math.sqrt(distance) }));
  }

  /** Squared distances of all rows in single precision. */
  measure(query) {
    if (!this.loops) {
      for (let row = 0; row < this.rows; row++) this.squares.values[row] = this.square(query, row);
      return;
    }
    this.query.values.set(query);
    const { squares, table, rows, width } = this;
    this.loops.distances(squares.place, this.query.place, table.place, rows, width);
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
