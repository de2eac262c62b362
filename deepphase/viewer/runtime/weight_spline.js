/** Splines of network weights: shares of the control points of a PFNN's weights at a phase. */

import { positiveRemainder } from "./springs.js";

/** A function that writes the share of every control point of a closed spline at a phase in cycles. */
export function weightSpline(points, kind) {
  const away = (place, point) => Math.abs(positiveRemainder(place - point + points / 2, points) - points / 2);
  if (kind === "catmull_rom") {
    return (shares, phase) => {
      for (let point = 0; point < points; point++) shares[point] = catmullRom(away(points * phase, point));
    };
  }
  const every = Array.from({ length: points }, (_, point) => point);
  const inverse = inverted(every.map((row) => every.map((column) => bSpline(away(row, column)))));
  return (shares, phase) => {
    shares.fill(0);
    for (const base of every) {
      const weight = bSpline(away(points * phase, base));
      for (const point of every) shares[point] += weight * inverse[base][point];
    }
  };
}

/** Share of a control point at a distance in control points; 0 beyond 2. */
function catmullRom(distance) {
  if (distance >= 2) return 0;
  const square = distance * distance, cube = square * distance;
  if (distance < 1) return 1 - 2.5 * square + 1.5 * cube;
  return 2 - 4 * distance + 2.5 * square - 0.5 * cube;
}

/** Uniform cubic B-spline at a distance in control points; 0 beyond 2. */
function bSpline(distance) {
  const near = Math.max(2 - distance, 0), inner = Math.max(1 - distance, 0);
  return (near * near * near - 4 * inner * inner * inner) / 6;
}

/** Inverse of a matrix, by Gauss and Jordan. */
function inverted(matrix) {
  const count = matrix.length;
  const rows = matrix.map((row, at) =>
    Float64Array.from({ length: 2 * count }, (_, i) => (i < count ? row[i] : Number(i - count === at))));
  for (let column = 0; column < count; column++) {
    let best = column;
    for (let row = column; row < count; row++) {
      if (Math.abs(rows[row][column]) > Math.abs(rows[best][column])) best = row;
    }
    [rows[column], rows[best]] = [rows[best], rows[column]];
    const pivot = rows[column][column];
    for (let i = 0; i < 2 * count; i++) rows[column][i] /= pivot;
    for (let row = 0; row < count; row++) {
      const factor = rows[row][column];
      if (row === column || factor === 0) continue;
      for (let i = 0; i < 2 * count; i++) rows[row][i] -= factor * rows[column][i];
    }
  }
  return rows.map((row) => row.subarray(count));
}
