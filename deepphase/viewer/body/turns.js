// Rotations as axes, and between two frames.

import { mix } from "../vectors.js";

// The axes x, y and z of a rotation: the columns of its matrix.
export const axesOf = ([x, y, z, w]) => [
  [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
  [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
  [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
];

/** out = quaternions part of the way from those of `a` to those of `b`, by the shorter way; `out` may be one of them. */
export function blendTurns(out, a, b, part) {
  for (let j = 0; j < a.length; j += 4) {
    const sign = a[j] * b[j] + a[j + 1] * b[j + 1] + a[j + 2] * b[j + 2] + a[j + 3] * b[j + 3] < 0 ? -1 : 1;
    let squares = 0;
    for (let i = j; i < j + 4; i++) {
      out[i] = mix(sign * a[i], b[i], part);
      squares += out[i] * out[i];
    }
    for (let i = j; i < j + 4; i++) out[i] /= Math.sqrt(squares) || 1;
  }
  return out;
}
