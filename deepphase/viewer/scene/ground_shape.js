// The ground that is drawn and saved: a mesh over the points of a heightmap.

import { Heightmap } from "../runtime/heightmap.js";

// Metres around what was walked.
const MARGIN_M = 3;
// Metres to which the edges of a ground go on in the picture.
const BEYOND_M = 200;

// Lines of points along one axis: those of the grid, and with a border one far away at either end.
function linesOf(first, count, spacing, border) {
  const lines = Array.from({ length: count }, (_, i) => first + i * spacing);
  return Float32Array.from(border ? [first - BEYOND_M, ...lines, lines[count - 1] + BEYOND_M] : lines);
}

// {positions, normals, indices}; `border`: with what goes on beyond its edges.
export function groundMesh(map, border = true) {
  const xs = linesOf(map.origin[0], map.columns, map.spacing, border);
  const zs = linesOf(map.origin[1], map.rows, map.spacing, border);
  const [columns, rows] = [xs.length, zs.length];
  const positions = new Float32Array(3 * rows * columns), normals = new Float32Array(3 * rows * columns);
  const indices = new Uint32Array(6 * (rows - 1) * (columns - 1));
  let at = 0, next = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at++) {
      const [x, z] = [xs[column], zs[row]];
      positions.set([x, map.at(x, z), z], 3 * at);
      const [riseX, riseZ] = map.gradient(x, z);
      const size = Math.hypot(riseX, 1, riseZ);
      normals.set([-riseX / size, 1 / size, -riseZ / size], 3 * at);
      if (row === rows - 1 || column === columns - 1) continue;
      indices.set([at, at + columns, at + 1, at + 1, at + columns, at + columns + 1], next);
      next += 6;
    }
  }
  return { positions, normals, indices };
}

// The part of a heightmap that frames came near.
export function patchAround(map, frames) {
  const ends = [0, 1].map((axis) => {
    const places = frames.map(({ root }) => root.position[axis]);
    const most = (axis ? map.rows : map.columns) - 1;
    return [Math.min(...places) - MARGIN_M, Math.max(...places) + MARGIN_M].map((place, end) => {
      const at = (place - map.origin[axis]) / map.spacing;
      return Math.min(Math.max(Math.floor(at) + end, end), most - 1 + end);
    });
  });
  const [[left, right], [top, bottom]] = ends;
  const columns = right - left + 1;
  const heights = new Float32Array(columns * (bottom - top + 1));
  for (let row = top; row <= bottom; row++) {
    heights.set(map.heights.subarray(row * map.columns + left, row * map.columns + right + 1), (row - top) * columns);
  }
  return new Heightmap(heights, columns, map.spacing, [map.origin[0] + left * map.spacing, map.origin[1] + top * map.spacing]);
}
