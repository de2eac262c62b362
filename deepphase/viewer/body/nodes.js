// Nodes of a glTF file: which is above which, and their matrices (4 x 4, by columns).

import { product } from "../vectors.js";

export const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

// Node -> the node above it, without those that have none.
export function nodesAbove(nodes) {
  const above = new Map();
  nodes.forEach((node, at) => (node.children ?? []).forEach((child) => above.set(child, at)));
  nodes.forEach((_, node) => {
    let steps = 0;
    for (let at = node; at !== undefined; at = above.get(at)) {
      if (steps++ > nodes.length) throw new Error("its nodes are above themselves");
    }
  });
  return above;
}

// The matrix of a node in the scene, in the pose in which the file is saved.
export function sceneMatrix(nodes, above, node) {
  let matrix = IDENTITY;
  for (let at = node; at !== undefined; at = above.get(at)) matrix = product(ownMatrix(nodes[at]), matrix);
  return matrix;
}

function ownMatrix({ matrix, translation = [0, 0, 0], rotation: [x, y, z, w] = [0, 0, 0, 1], scale = [1, 1, 1] }) {
  if (matrix) return matrix;
  const columns = [
    [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
    [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
    [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
  ];
  return [...columns.flatMap((column, k) => [...column.map((v) => v * scale[k]), 0]), ...translation, 1];
}

// Inverse of a matrix of rotation, scale, shear and shift; null without one.
export function inverseMatrix(m) {
  const [a, b, c] = [0, 4, 8].map((at) => [m[at], m[at + 1], m[at + 2]]);
  const across = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const rows = [across(b, c), across(c, a), across(a, b)];
  const size = a[0] * rows[0][0] + a[1] * rows[0][1] + a[2] * rows[0][2];
  if (!(Math.abs(size) > 0)) return null;
  const inverse = rows.map((row) => row.map((v) => v / size));
  const shift = inverse.map((row) => -(row[0] * m[12] + row[1] * m[13] + row[2] * m[14]));
  return [...[0, 1, 2].flatMap((k) => [inverse[0][k], inverse[1][k], inverse[2][k], 0]), ...shift, 1];
}

// Places (x, y, z) moved by a matrix.
export function movedPlaces(m, places) {
  const out = new Float32Array(places.length);
  for (let at = 0; at < places.length; at += 3) {
    const [x, y, z] = [places[at], places[at + 1], places[at + 2]];
    for (let k = 0; k < 3; k++) out[at + k] = m[k] * x + m[4 + k] * y + m[8 + k] * z + m[12 + k];
  }
  return out;
}

// Unit normals of a surface that is moved by a matrix.
export function movedNormals(m, normals) {
  const inverse = inverseMatrix(m) ?? IDENTITY;
  const out = new Float32Array(normals.length);
  for (let at = 0; at < normals.length; at += 3) {
    const own = [normals[at], normals[at + 1], normals[at + 2]];
    const turned = [0, 1, 2].map((k) => inverse[4 * k] * own[0] + inverse[4 * k + 1] * own[1] + inverse[4 * k + 2] * own[2]);
    const size = Math.hypot(...turned) || 1;
    out.set(turned.map((v) => v / size), at);
  }
  return out;
}
