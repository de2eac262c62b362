/** Catmull-Rom splines: shares of the control points of a PFNN's weights at a phase. */

import { positiveRemainder } from "./springs.js";

/**
 * Write the share of every control point.
 *
 * @param {Float32Array} shares  one for each point
 * @param {number} phase  in cycles
 * @param {boolean} cyclic  whether the spline is closed; if not, it runs from phase 0 to 1 and its
 *   ends are repeated
 */
export function catmullRomCoefficients(shares, phase, cyclic) {
  const points = shares.length;
  if (cyclic) {
    for (let point = 0; point < points; point++) {
      const distance = positiveRemainder(points * phase - point + points / 2, points) - points / 2;
      shares[point] = cubic(Math.abs(distance));
    }
    return;
  }
  const place = (points - 1) * openPhase(phase);
  for (let point = 0; point < points; point++) shares[point] = cubic(Math.abs(place - point));
  shares[0] += cubic(Math.abs(place + 1));
  shares[points - 1] += cubic(Math.abs(place - points));
}

/** Cycles -> [0, 1]: phases in [-0.5, 0) are the second half. */
export function openPhase(phase) {
  return Math.min(Math.max(phase < 0 ? phase + 1 : phase, 0), 1);
}

/** Share of a control point at a distance in control points; 0 beyond 2. */
function cubic(distance) {
  if (distance >= 2) return 0;
  const square = distance * distance, cube = square * distance;
  if (distance < 1) return 1 - 2.5 * square + 1.5 * cube;
  return 2 - 4 * distance + 2.5 * square - 0.5 * cube;
}
