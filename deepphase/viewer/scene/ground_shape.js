// The ground that is drawn: a mesh over the points of a heightmap.

// Metres to which the edges of a ground go on in the picture.
const BEYOND_M = 200;

// Lines of points along one axis: those of the grid, and one far away at either end.
function linesOf(first, count, spacing) {
  const lines = Array.from({ length: count }, (_, i) => first + i * spacing);
  return Float32Array.from([first - BEYOND_M, ...lines, lines[count - 1] + BEYOND_M]);
}

// {positions, normals, indices} of a ground that goes on beyond its edges.
export function groundMesh(map) {
  const xs = linesOf(map.origin[0], map.columns, map.spacing);
  const zs = linesOf(map.origin[1], map.rows, map.spacing);
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
