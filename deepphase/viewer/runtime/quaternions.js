/** Unit quaternions x, y, z, w in arrays, four numbers each, written at an index. */

/** out[o] = a[i] * b[j]: the rotation by b[j], then by a[i]. */
export function multiplyInto(out, o, a, i, b, j) {
  const ax = a[i], ay = a[i + 1], az = a[i + 2], aw = a[i + 3];
  const bx = b[j], by = b[j + 1], bz = b[j + 2], bw = b[j + 3];
  out[o] = aw * bx + ax * bw + ay * bz - az * by;
  out[o + 1] = aw * by - ax * bz + ay * bw + az * bx;
  out[o + 2] = aw * bz + ax * by - ay * bx + az * bw;
  out[o + 3] = aw * bw - ax * bx - ay * by - az * bz;
}

/** The product of two quaternions. */
export function multiply(a, b) {
  const product = [0, 0, 0, 0];
  multiplyInto(product, 0, a, 0, b, 0);
  return product;
}

/** The inverse rotation. */
export function conjugate(q) {
  return [-q[0], -q[1], -q[2], q[3]];
}

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

/** The vector rotated by a quaternion. */
export function rotate(q, v) {
  const turned = [0, 0, 0];
  rotateInto(turned, 0, q, 0, v, 0);
  return turned;
}

/** Rotation by an angle in radians about Y. */
export function aboutY(angle) {
  return [0, Math.sin(0.5 * angle), 0, Math.cos(0.5 * angle)];
}

/**
 * Local rotations and positions -> those in the world, by forward kinematics.
 *
 * Arrays have 4 or 3 numbers a joint; parents stand before their children, the root has -1.
 */
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

export function dot(a, b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

export function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

export function subtract(a, b) {
  return [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
}
