// Vectors (x, y, z), quaternions (w, x, y, z) and matrices (4 x 4, by columns) in plain arrays.

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
export const mix = (a, b, part) => a + (b - a) * part;
export const wrapAngle = (angle) => angle - 2 * Math.PI * Math.floor(angle / (2 * Math.PI) + 0.5);
// Smooth step from 0 at `low` to 1 at `high`.
export const smooth = (low, high, value) => {
  const t = clamp((value - low) / (high - low), 0, 1);
  return t * t * (3 - 2 * t);
};

export const add = (a, b, scale = 1) => [a[0] + b[0] * scale, a[1] + b[1] * scale, a[2] + b[2] * scale];
export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const length = (a) => Math.hypot(a[0], a[1], a[2]);
export const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
export const between = (a, b, part) => [mix(a[0], b[0], part), mix(a[1], b[1], part), mix(a[2], b[2], part)];
// A unit vector; `spare` where the length is 0.
export const unit = (a, spare = [0, 1, 0]) => {
  const size = length(a);
  return size > 1e-9 ? scaled(a, 1 / size) : spare;
};
// The part of `a` at right angles to the unit vector `b`.
export const without = (a, b) => add(a, b, -dot(a, b));

export const multiply = (a, b) => [
  a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
  a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
  a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
  a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
];
export const inverse = (q) => [q[0], -q[1], -q[2], -q[3]];
export const rotate = (q, v) => {
  const t = scaled(cross([q[1], q[2], q[3]], v), 2);
  const c = cross([q[1], q[2], q[3]], t);
  return [v[0] + q[0] * t[0] + c[0], v[1] + q[0] * t[1] + c[1], v[2] + q[0] * t[2] + c[2]];
};
export const aroundY = (angle) => [Math.cos(angle / 2), 0, Math.sin(angle / 2), 0];
// The smallest rotation that turns one unit vector to another.
export const shortestArc = (from, to) => {
  const w = 1 + dot(from, to);
  if (w < 1e-6) {
    const side = unit(Math.abs(from[0]) < 0.8 ? cross(from, [1, 0, 0]) : cross(from, [0, 1, 0]));
    return [0, ...side];
  }
  const q = [w, ...cross(from, to)];
  const size = Math.hypot(...q);
  return q.map((v) => v / size);
};

export const point = (array, index) => [array[3 * index], array[3 * index + 1], array[3 * index + 2]];
export const turn = (array, index) => [
  array[4 * index], array[4 * index + 1], array[4 * index + 2], array[4 * index + 3],
];

export function perspective(fieldOfView, aspect, near, far) {
  const f = 1 / Math.tan(fieldOfView / 2);
  return [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0];
}

export function orthographic(halfWidth, halfHeight, near, far) {
  return [1 / halfWidth, 0, 0, 0, 0, 1 / halfHeight, 0, 0, 0, 0, -2 / (far - near), 0, 0, 0, -(far + near) / (far - near), 1];
}

export function lookAt(eye, target, up = [0, 1, 0]) {
  const z = unit(subtract(eye, target));
  const x = unit(cross(up, z), [1, 0, 0]);
  const y = cross(z, x);
  return [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1];
}

export function product(a, b) {
  const out = new Array(16);
  for (let column = 0; column < 4; column++) {
    for (let row = 0; row < 4; row++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + row] * b[4 * column + k];
      out[4 * column + row] = sum;
    }
  }
  return out;
}
