// Nodes of a glTF file: which is above which, and their matrices (4 x 4, by columns).

import { axesOf } from "./turns.js";
import { cross, dot, product, scaled, unit } from "../vectors.js";

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

function ownMatrix({ matrix, translation = [0, 0, 0], rotation = [0, 0, 0, 1], scale = [1, 1, 1] }) {
  if (matrix) return matrix;
  return [...axesOf(rotation).flatMap((axis, k) => [...scaled(axis, scale[k]), 0]), ...translation, 1];
}

// Inverse of a matrix of rotation, scale, shear and shift; null without one.
export function inverseMatrix(m) {
  const [a, b, c, shift] = [0, 4, 8, 12].map((at) => m.slice(at, at + 3));
  const rows = [cross(b, c), cross(c, a), cross(a, b)];
  const size = dot(a, rows[0]);
  if (!(Math.abs(size) > 0)) return null;
  const inverse = rows.map((row) => scaled(row, 1 / size));
  return [...[0, 1, 2].flatMap((k) => [...inverse.map((row) => row[k]), 0]), ...inverse.map((row) => -dot(row, shift)), 1];
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
  const columns = [0, 4, 8].map((at) => inverse.slice(at, at + 3));
  const out = new Float32Array(normals.length);
  for (let at = 0; at < normals.length; at += 3) {
    const own = [normals[at], normals[at + 1], normals[at + 2]];
    out.set(unit(columns.map((column) => dot(column, own)), [0, 0, 0]), at);
  }
  return out;
}
