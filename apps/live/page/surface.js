// A closed mesh around shapes that blend into one another: a field on a grid, and surface nets.
//
// Every shape is a function from a point to the approximate distance from its surface. The field
// is their smooth minimum, -k log sum exp(-d / k), which does not depend on their order. Surface
// nets: Gibson, "Constrained Elastic Surface Nets", 1998; here without the relaxation.

import { clamp } from "./vectors.js";

// Beyond this many blending lengths, a shape no longer contributes.
const REACH = 7;

// Shapes: {low, high, distance(x, y, z)}, with the corners of a box that holds the surface.
export function meshAround(shapes, cell, blend) {
  const margin = REACH * blend + 2 * cell;
  const low = [0, 1, 2].map((a) => Math.min(...shapes.map((s) => s.low[a])) - margin);
  const high = [0, 1, 2].map((a) => Math.max(...shapes.map((s) => s.high[a])) + margin);
  const size = low.map((v, a) => Math.ceil((high[a] - v) / cell) + 1);
  const sums = new Float64Array(size[0] * size[1] * size[2]);
  const strides = [1, size[0], size[0] * size[1]];
  const reach = REACH * blend;
  for (const shape of shapes) {
    const from = low.map((v, a) => Math.max(0, Math.floor((shape.low[a] - reach - v) / cell)));
    const to = low.map((v, a) => Math.min(size[a] - 1, Math.ceil((shape.high[a] + reach - v) / cell)));
    for (let k = from[2]; k <= to[2]; k++) {
      const z = low[2] + k * cell;
      for (let j = from[1]; j <= to[1]; j++) {
        const y = low[1] + j * cell;
        const row = strides[1] * j + strides[2] * k;
        for (let i = from[0]; i <= to[0]; i++) {
          const d = shape.distance(low[0] + i * cell, y, z);
          if (d < reach) sums[row + i] += Math.exp(Math.min(-d / blend, 60));
        }
      }
    }
  }
  // Positive outside.
  const field = new Float32Array(sums.length);
  for (let at = 0; at < sums.length; at++) field[at] = sums[at] > 0 ? -blend * Math.log(sums[at]) : REACH * blend;
  return { ...netsOf(field, size, strides, low, cell), sample: sampler(field, size, strides, low, cell) };
}

function netsOf(field, size, strides, low, cell) {
  const corners = [];
  for (let c = 0; c < 8; c++) corners.push([c & 1, (c >> 1) & 1, c >> 2]);
  const offsets = corners.map(([i, j, k]) => i + j * strides[1] + k * strides[2]);
  const edges = [];
  for (let a = 0; a < 8; a++) {
    for (const bit of [1, 2, 4]) if (!(a & bit)) edges.push([a, a | bit]);
  }
  const vertexOf = new Int32Array(field.length).fill(-1);
  const positions = [];
  const indices = [];
  for (let k = 0; k < size[2] - 1; k++) {
    for (let j = 0; j < size[1] - 1; j++) {
      for (let i = 0; i < size[0] - 1; i++) {
        const at = i + strides[1] * j + strides[2] * k;
        // Too far from the surface for this cell to meet it.
        if (field[at] > 3 * cell || field[at] < -3 * cell) continue;
        let mask = 0;
        for (let c = 0; c < 8; c++) if (field[at + offsets[c]] < 0) mask |= 1 << c;
        if (mask === 0 || mask === 255) continue;
        let [x, y, z, count] = [0, 0, 0, 0];
        for (const [a, b] of edges) {
          if (((mask >> a) & 1) === ((mask >> b) & 1)) continue;
          const [fa, fb] = [field[at + offsets[a]], field[at + offsets[b]]];
          const t = fa / (fa - fb);
          x += corners[a][0] + t * (corners[b][0] - corners[a][0]);
          y += corners[a][1] + t * (corners[b][1] - corners[a][1]);
          z += corners[a][2] + t * (corners[b][2] - corners[a][2]);
          count++;
        }
        vertexOf[at] = positions.length / 3;
        positions.push(low[0] + cell * (i + x / count), low[1] + cell * (j + y / count), low[2] + cell * (k + z / count));
        // A quad for each edge of the grid that starts here and crosses the surface.
        for (let axis = 0; axis < 3; axis++) {
          const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
          if ([i, j, k][u] === 0 || [i, j, k][v] === 0) continue;
          const inside = mask & 1;
          if (inside === ((mask >> (1 << axis)) & 1)) continue;
          const quad = [at, at - strides[u], at - strides[u] - strides[v], at - strides[v]].map((c) => vertexOf[c]);
          const [a, b, c, d] = inside ? quad : [quad[0], quad[3], quad[2], quad[1]];
          indices.push(a, b, c, a, c, d);
        }
      }
    }
  }
  return { positions: Float32Array.from(positions), indices: Uint32Array.from(indices) };
}

// The field at any point, by trilinear interpolation.
function sampler(field, size, strides, low, cell) {
  const place = (v, a) => Math.min(Math.max((v - low[a]) / cell, 0), size[a] - 1.001);
  return (x, y, z) => {
    const [px, py, pz] = [place(x, 0), place(y, 1), place(z, 2)];
    const [i, j, k] = [Math.floor(px), Math.floor(py), Math.floor(pz)];
    const [u, v, w] = [px - i, py - j, pz - k];
    const at = i + strides[1] * j + strides[2] * k;
    const row = (from) => field[from] * (1 - u) + field[from + 1] * u;
    const sheet = (from) => row(from) * (1 - v) + row(from + strides[1]) * v;
    return sheet(at) * (1 - w) + sheet(at + strides[2]) * w;
  };
}

// Unit normals of the field at the mesh's vertices.
export function normalsOf(mesh, step) {
  const { positions, sample } = mesh;
  const normals = new Float32Array(positions.length);
  for (let at = 0; at < positions.length; at += 3) {
    const x = positions[at];
    const y = positions[at + 1];
    const z = positions[at + 2];
    const dx = sample(x + step, y, z) - sample(x - step, y, z);
    const dy = sample(x, y + step, z) - sample(x, y - step, z);
    const dz = sample(x, y, z + step) - sample(x, y, z - step);
    const size = Math.hypot(dx, dy, dz) || 1;
    normals[at] = dx / size;
    normals[at + 1] = dy / size;
    normals[at + 2] = dz / size;
  }
  return normals;
}

// Share of light that reaches each vertex past the mesh itself, by the field along its normal.
export function opennessOf(mesh, normals, reach) {
  const { positions, sample } = mesh;
  const openness = new Float32Array(positions.length / 3);
  for (let v = 0; v < openness.length; v++) {
    let hidden = 0;
    let weight = 1;
    for (let step = 1; step <= 4; step++) {
      const h = (reach * step) / 4;
      const at = 3 * v;
      const open = sample(positions[at] + h * normals[at], positions[at + 1] + h * normals[at + 1], positions[at + 2] + h * normals[at + 2]);
      hidden += weight * Math.max(0, h - open);
      weight *= 0.7;
    }
    openness[v] = clamp(1 - (1.1 * hidden) / reach, 0, 1);
  }
  return openness;
}
