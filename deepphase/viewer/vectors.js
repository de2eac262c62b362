// Vectors (x, y, z), unit quaternions (x, y, z, w) and matrices (4 x 4, by columns) in plain arrays.

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
export const mix = (a, b, part) => a + (b - a) * part;
// Smooth step from 0 at `low` to 1 at `high`.
export const smooth = (low, high, value) => {
  const t = clamp((value - low) / (high - low), 0, 1);
  return t * t * (3 - 2 * t);
};

// Red, green and blue of a colour such as "#0072b2", from 0 to 1, and these in linear light.
export const rgbOf = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
export const linear = (colour) => rgbOf(colour).map((part) => part ** 2.2);

export const add = (a, b, scale = 1) => [a[0] + b[0] * scale, a[1] + b[1] * scale, a[2] + b[2] * scale];
export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const length = (a) => Math.sqrt(dot(a, a));
export const distance = (a, b) => length(subtract(a, b));
export const between = (a, b, part) => [mix(a[0], b[0], part), mix(a[1], b[1], part), mix(a[2], b[2], part)];
// A unit vector; `spare` where the length is 0.
export const unit = (a, spare = [0, 1, 0]) => {
  const size = length(a);
  return size > 1e-9 ? scaled(a, 1 / size) : spare;
};
// The part of `a` at right angles to the unit vector `b`.
export const without = (a, b) => add(a, b, -dot(a, b));

/** out[o] = a[i] * b[j]: the rotation by b[j], then by a[i]. */
export function multiplyInto(out, o, a, i, b, j) {
  const ax = a[i], ay = a[i + 1], az = a[i + 2], aw = a[i + 3];
  const bx = b[j], by = b[j + 1], bz = b[j + 2], bw = b[j + 3];
  out[o] = aw * bx + ax * bw + ay * bz - az * by;
  out[o + 1] = aw * by - ax * bz + ay * bw + az * bx;
  out[o + 2] = aw * bz + ax * by - ay * bx + az * bw;
  out[o + 3] = aw * bw - ax * bx - ay * by - az * bz;
}

// The product of two quaternions.
export function multiply(a, b) {
  const result = [0, 0, 0, 0];
  multiplyInto(result, 0, a, 0, b, 0);
  return result;
}

export const inverse = (q) => [-q[0], -q[1], -q[2], q[3]];

/** out[o] = the vector v[i] rotated by q[j]. */
export function rotateInto(out, o, q, j, v, i) {
  const qx = q[j], qy = q[j + 1], qz = q[j + 2], qw = q[j + 3];
  const vx = v[i], vy = v[i + 1], vz = v[i + 2];
  const tx = 2 * (qy * vz - qz * vy);
  const ty = 2 * (qz * vx - qx * vz);
  const tz = 2 * (qx * vy - qy * vx);
  out[o] = vx + qw * tx + (qy * tz - qz * ty);
  out[o + 1] = vy + qw * ty + (qz * tx - qx * tz);
  out[o + 2] = vz + qw * tz + (qx * ty - qy * tx);
}

// The vector rotated by a quaternion.
export function rotate(q, v) {
  const turned = [0, 0, 0];
  rotateInto(turned, 0, q, 0, v, 0);
  return turned;
}

export const aroundY = (angle) => [0, Math.sin(0.5 * angle), 0, Math.cos(0.5 * angle)];
// The smallest rotation that turns one unit vector to another.
export const shortestArc = (from, to) => {
  const w = 1 + dot(from, to);
  if (w < 1e-6) return [...unit(cross(from, Math.abs(from[0]) < 0.8 ? [1, 0, 0] : [0, 1, 0])), 0];
  const q = [...cross(from, to), w];
  const size = Math.hypot(...q);
  return q.map((v) => v / size);
};

export const point = (array, index) => [array[3 * index], array[3 * index + 1], array[3 * index + 2]];
export const turn = (array, index) => [array[4 * index], array[4 * index + 1], array[4 * index + 2], array[4 * index + 3]];

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

export const orthographic = (half, near, far) =>
  [1 / half, 0, 0, 0, 0, 1 / half, 0, 0, 0, 0, -2 / (far - near), 0, 0, 0, -(far + near) / (far - near), 1];

export function lookAt(eye, target, up = [0, 1, 0]) {
  const z = unit(subtract(eye, target));
  const x = unit(cross(up, z), [1, 0, 0]);
  const y = cross(z, x);
  return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1];
}

export const product = (a, b) => Array.from({ length: 16 }, (_, at) => {
  const row = at % 4, column = at - row;
  return a[row] * b[column] + a[4 + row] * b[column + 1] + a[8 + row] * b[column + 2] + a[12 + row] * b[column + 3];
});

/** Local rotations and positions, 4 or 3 numbers a joint, -> those in the world; parents (-1: none) stand before children. */
export function forwardKinematics(parents, rotations, positions, worldRotations, worldPositions) {
  for (let joint = 0; joint < parents.length; joint++) {
    const parent = parents[joint];
    const q = 4 * joint, p = 3 * joint;
    if (parent < 0) {
      for (let k = 0; k < 4; k++) worldRotations[q + k] = rotations[q + k];
      for (let k = 0; k < 3; k++) worldPositions[p + k] = positions[p + k];
      continue;
    }
    multiplyInto(worldRotations, q, worldRotations, 4 * parent, rotations, q);
    rotateInto(worldPositions, p, worldRotations, 4 * parent, positions, p);
    for (let k = 0; k < 3; k++) worldPositions[p + k] += worldPositions[3 * parent + k];
  }
}
