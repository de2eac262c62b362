// A closed mesh around shapes that blend into one another: a field on a grid, and surface nets.
//
// Every shape is a function from a point to the approximate distance from its surface. The field
// is their smooth minimum, -k log sum exp(-d / k), which does not depend on their order. Surface
// nets: Gibson, "Constrained Elastic Surface Nets", 1998; here without the relaxation.

import { add, clamp, point, unit } from "../vectors.js";

// Beyond this many blending lengths, a shape no longer contributes.
const REACH = 7;
const MOST_CELLS = 6e6;

// Shapes: {low, high, distance(x, y, z)}, with the corners of a box that holds the surface. The mesh has cells of the
// length `cell`, longer ones where there would be too many.
export function meshAround(shapes, cell, blend) {
  const margin = REACH * blend + 2 * cell;
  const low = [0, 1, 2].map((a) => Math.min(...shapes.map((s) => s.low[a])) - margin);
  const high = [0, 1, 2].map((a) => Math.max(...shapes.map((s) => s.high[a])) + margin);
  const volume = low.reduce((product, v, a) => product * (high[a] - v), 1);
  cell = Math.max(cell, Math.cbrt(volume / MOST_CELLS));
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
  // Positive outside, which the outermost points are: the margin is wider than what shapes reach.
  const field = new Float32Array(sums.length);
  for (let at = 0; at < sums.length; at++) field[at] = sums[at] > 0 ? -blend * Math.log(sums[at]) : reach;
  return { ...netsOf(field, size, strides, low, cell), sample: sampler(field, size, strides, low, cell) };
}

// Corners of a cell and their pairs, which are its edges, in plain numbers.
const CORNERS = Array.from({ length: 8 }, (_, c) => [c & 1, (c >> 1) & 1, c >> 2]);
const EDGES = Int32Array.from([0, 1, 2, 3, 4, 5, 6, 7].flatMap((a) => [1, 2, 4].flatMap((bit) => (a & bit ? [] : [a, a | bit]))));

// Every cell whose corners are on both sides has a vertex, and the outermost points are outside, so each edge of the grid
// that crosses the surface has four vertices around it: the mesh is closed.
function netsOf(field, size, strides, low, cell) {
  const offsets = Int32Array.from(CORNERS, ([i, j, k]) => i + j * strides[1] + k * strides[2]);
  const [xs, ys, zs] = [0, 1, 2].map((a) => Float64Array.from(CORNERS, (corner) => corner[a]));
  const within = new Uint8Array(field.length);
  for (let at = 0; at < field.length; at++) within[at] = field[at] < 0 ? 1 : 0;
  // Bits 0, 2, 4 and 6: the four corners of a cell on its lower side along the first axis.
  const face = (at) => within[at] | (within[at + offsets[2]] << 2) | (within[at + offsets[4]] << 4) | (within[at + offsets[6]] << 6);
  const values = new Float64Array(8);
  const vertexOf = new Int32Array(field.length).fill(-1);
  const positions = [];
  const indices = [];
  // A quad for an edge of the grid along an axis that crosses the surface, between four cells.
  const quad = (at, u, v, inside) => {
    const [a, b, c, d] = [at, at - u, at - u - v, at - v].map((each) => vertexOf[each]);
    if (inside) indices.push(a, b, c, a, c, d);
    else indices.push(a, d, c, a, c, b);
  };
  for (let k = 0; k < size[2] - 1; k++) {
    for (let j = 0; j < size[1] - 1; j++) {
      const row = strides[1] * j + strides[2] * k;
      let next = face(row);
      for (let i = 0; i < size[0] - 1; i++) {
        const at = i + row;
        const lower = next;
        next = face(at + 1);
        const mask = lower | (next << 1);
        if (mask === 0 || mask === 255) continue;
        for (let c = 0; c < 8; c++) values[c] = field[at + offsets[c]];
        let x = 0, y = 0, z = 0, count = 0;
        for (let e = 0; e < EDGES.length; e += 2) {
          const a = EDGES[e], b = EDGES[e + 1];
          if (((mask >> a) & 1) === ((mask >> b) & 1)) continue;
          const t = values[a] / (values[a] - values[b]);
          x += xs[a] + t * (xs[b] - xs[a]);
          y += ys[a] + t * (ys[b] - ys[a]);
          z += zs[a] + t * (zs[b] - zs[a]);
          count++;
        }
        vertexOf[at] = positions.length / 3;
        positions.push(low[0] + cell * (i + x / count), low[1] + cell * (j + y / count), low[2] + cell * (k + z / count));
        const inside = mask & 1;
        if (inside !== ((mask >> 1) & 1)) quad(at, strides[1], strides[2], inside);
        if (inside !== ((mask >> 2) & 1)) quad(at, strides[2], strides[0], inside);
        if (inside !== ((mask >> 4) & 1)) quad(at, strides[0], strides[1], inside);
      }
    }
  }
  return { positions: Float32Array.from(positions), indices: Uint32Array.from(indices) };
}

// Whether a mesh has a surface without a hole: finite places, and beside each side of a triangle another triangle.
export function isClosed({ positions, indices }) {
  const count = positions.length / 3;
  if (!indices.length || indices.some((index) => index >= count) || !positions.every(Number.isFinite)) return false;
  const open = new Map();
  for (let i = 0; i < indices.length; i++) {
    const [a, b] = [indices[i], indices[i % 3 === 2 ? i - 2 : i + 1]];
    const [key, turn] = a < b ? [a * count + b, 1] : [b * count + a, -1];
    const sum = (open.get(key) ?? 0) + turn;
    if (sum) open.set(key, sum);
    else open.delete(key);
  }
  return !open.size;
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
  for (let v = 0; 3 * v < positions.length; v++) {
    const [x, y, z] = point(positions, v);
    const dx = sample(x + step, y, z) - sample(x - step, y, z);
    const dy = sample(x, y + step, z) - sample(x, y - step, z);
    const dz = sample(x, y, z + step) - sample(x, y, z - step);
    normals.set(unit([dx, dy, dz], [0, 0, 0]), 3 * v);
  }
  return normals;
}

// Share of light that reaches each vertex past the mesh itself, by the field along its normal.
export function opennessOf(mesh, normals, reach) {
  const { positions, sample } = mesh;
  const openness = new Float32Array(positions.length / 3);
  for (let v = 0; v < openness.length; v++) {
    let hidden = 0;
    for (let step = 1, weight = 1; step <= 4; step++, weight *= 0.7) {
      const h = (reach * step) / 4;
      hidden += weight * Math.max(0, h - sample(...add(point(positions, v), point(normals, v), h)));
    }
    openness[v] = clamp(1 - (1.1 * hidden) / reach, 0, 1);
  }
  return openness;
}
