/** Products of a vector and many matrices of weights, in plain loops. */

const TILE = 8;

/** Numbers that vectors of that length take: whole tiles. */
export function paddedLength(length) {
  return TILE * Math.ceil(length / TILE);
}

/**
 * A matrix (ins, outs) in tiles of eight columns, [tile][row][column], read once from its beginning
 * to its end by a product.
 */
export class Matrix {
  /**
   * @param ins, outs  number of rows and columns
   * @param valueAt  (row, column) -> number
   */
  constructor(ins, outs, valueAt) {
    this.ins = ins;
    this.outs = outs;
    this.tiles = Math.ceil(outs / TILE);
    this.values = new Float32Array(this.tiles * ins * TILE);
    for (let column = 0; column < outs; column++) {
      const start = Math.floor(column / TILE) * ins * TILE + (column % TILE);
      for (let row = 0; row < ins; row++) this.values[start + row * TILE] = valueAt(row, column);
    }
  }

  /** y += share * (x @ matrix); y has `paddedLength(outs)` numbers. */
  addProduct(y, x, share) {
    const { ins, tiles, values } = this;
    let at = 0;
    for (let tile = 0; tile < tiles; tile++) {
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let row = 0; row < ins; row++, at += TILE) {
        const s = x[row];
        a += s * values[at];
        b += s * values[at + 1];
        c += s * values[at + 2];
        d += s * values[at + 3];
        e += s * values[at + 4];
        f += s * values[at + 5];
        g += s * values[at + 6];
        h += s * values[at + 7];
      }
      const o = tile * TILE;
      y[o] += share * a;
      y[o + 1] += share * b;
      y[o + 2] += share * c;
      y[o + 3] += share * d;
      y[o + 4] += share * e;
      y[o + 5] += share * f;
      y[o + 6] += share * g;
      y[o + 7] += share * h;
    }
  }
}
