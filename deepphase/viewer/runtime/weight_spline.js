/** Splines of network weights: shares of the control points of a PFNN's weights at a phase. */

import { positiveRemainder } from "./springs.js";

/**
 * A function that writes the share of every control point at a phase in cycles.
 *
 * @param {number} points  number of control points
 * @param {boolean} cyclic  whether the spline is closed; if not, it runs from phase 0 to 1
 * @param {string} kind  "catmull_rom" or "natural", as in the config of the network
 * @returns {function(Float32Array, number): void} of the shares and the phase
 */
export function weightSpline(points, cyclic, kind) {
  if (kind === "catmull_rom") {
    return cyclic ? closedCatmullRom : openCatmullRom;
  }
  if (kind !== "natural") throw new Error(`no spline ${kind}: catmull_rom or natural`);
  const edge = cyclic ? 0 : 1, count = points + 2 * edge;
  const shares = inverse(cyclic ? closedValues(points) : openValues(points));
  return (written, phase) => {
    written.fill(0);
    const place = cyclic ? points * phase : (points - 1) * openPhase(phase) + 1;
    for (let base = 0; base < count; base++) {
      const weight = bSpline(cyclic ? closedDistance(place, base, points) : Math.abs(place - base));
      for (let point = 0; point < points; point++) {
        written[point] += weight * shares[base][point + edge];
      }
    }
  };
}

/** Cycles -> [0, 1]: phases in [-0.5, 0) are the second half. */
function openPhase(phase) {
  return Math.min(Math.max(phase < 0 ? phase + 1 : phase, 0), 1);
}

function closedCatmullRom(shares, phase) {
  const points = shares.length;
  for (let point = 0; point < points; point++) {
    shares[point] = catmullRom(closedDistance(points * phase, point, points));
  }
}

/** Beyond the ends the outermost points are repeated. */
function openCatmullRom(shares, phase) {
  const points = shares.length, place = (points - 1) * openPhase(phase);
  for (let point = 0; point < points; point++) shares[point] = catmullRom(Math.abs(place - point));
  shares[0] += catmullRom(Math.abs(place + 1));
  shares[points - 1] += catmullRom(Math.abs(place - points));
}

function closedDistance(place, point, points) {
  return Math.abs(positiveRemainder(place - point + points / 2, points) - points / 2);
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

/** Values of the B-splines of a closed curve at its control points. */
function closedValues(points) {
  return square(points, (row, column) => bSpline(closedDistance(row, column, points)));
}

/** The same of an open curve; the first and last row are second derivatives at its ends. */
function openValues(points) {
  const count = points + 2, ends = [1, -2, 1];
  return square(count, (row, column) => {
    if (row === 0) return ends[column] ?? 0;
    if (row === count - 1) return ends[column - count + 3] ?? 0;
    return bSpline(Math.abs(row - column));
  });
}

function square(count, value) {
  return Array.from({ length: count }, (_, row) =>
    Float64Array.from({ length: count }, (_, column) => value(row, column)));
}

/** Inverse of a matrix, by Gauss and Jordan. */
function inverse(matrix) {
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
