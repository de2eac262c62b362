// Shapes that a body is made of: tapered limbs and ellipsoids, each carried by one joint.

import { add, cross, dot, mix, scaled, smooth, subtract, unit, without } from "../vectors.js";

// Box around balls: [[center, radius], ...].
function boxOf(balls) {
  return {
    low: [0, 1, 2].map((a) => Math.min(...balls.map(([c, r]) => c[a] - r))),
    high: [0, 1, 2].map((a) => Math.max(...balls.map(([c, r]) => c[a] + r))),
  };
}

// A limb from `from` to `to`. Radii: rows (place in [0, 1], half width, half depth), interpolated
// between rows; the width is measured along `side`, the depth across it. A hidden limb has no
// surface: it says which joint carries the surface of a trunk.
export function limb({ joint, from, to, radii, side = [1, 0, 0], accent = 0, hidden = false }) {
  const axis = subtract(to, from);
  const size = Math.max(dot(axis, axis), 1e-12);
  const along = unit(axis);
  const u = unit(without(side, along), unit(cross(along, [0.3, 0.2, 0.9])));
  const w = cross(along, u);
  const places = radii.map((row) => row[0]);
  const widths = radii.map((row) => row[1]);
  const depths = radii.map((row) => row[2] ?? row[1]);
  const last = radii.length - 1;
  const widest = Math.max(...widths, ...depths);
  return {
    joint,
    accent,
    hidden,
    ...boxOf([[from, widest], [to, widest]]),
    // In plain numbers, since a mesh asks for it a million times.
    distance(x, y, z) {
      const [px, py, pz] = [x - from[0], y - from[1], z - from[2]];
      const t = Math.min(Math.max((px * axis[0] + py * axis[1] + pz * axis[2]) / size, 0), 1);
      let row = 1;
      while (row < last && places[row] < t) row++;
      const part = smooth(places[row - 1], places[row], t);
      const a = mix(widths[row - 1], widths[row], part);
      const b = mix(depths[row - 1], depths[row], part);
      const [qx, qy, qz] = [px - t * axis[0], py - t * axis[1], pz - t * axis[2]];
      const least = Math.min(a, b);
      const across = (qx * u[0] + qy * u[1] + qz * u[2]) / a;
      const deep = (qx * w[0] + qy * w[1] + qz * w[2]) / b;
      const beyond = (qx * along[0] + qy * along[1] + qz * along[2]) / least;
      return (Math.sqrt(across * across + deep * deep + beyond * beyond) - 1) * least;
    },
  };
}

// A trunk around the line through `centers`: at each a half width along its `side` and a half depth
// across it. It is one shape of several joints, so that nothing shows where one joint ends.
function trunk({ centers, widths, depths, sides }) {
  const last = centers.length - 1;
  const axis = unit(subtract(centers[last], centers[0]));
  const places = centers.map((c) => dot(subtract(c, centers[0]), axis));
  const [xs, ys, zs] = [0, 1, 2].map((a) => centers.map((c) => c[a]));
  return {
    joint: null,
    accent: 0,
    ...boxOf(centers.map((c, i) => [c, Math.max(widths[i], depths[i])])),
    distance(x, y, z) {
      const [px, py, pz] = [x - centers[0][0], y - centers[0][1], z - centers[0][2]];
      const along = px * axis[0] + py * axis[1] + pz * axis[2];
      let i = 0;
      while (i < last - 1 && places[i + 1] < along) i++;
      const t = Math.min(Math.max((along - places[i]) / (places[i + 1] - places[i]), 0), 1);
      const a = curve(widths, i, t);
      const b = curve(depths, i, t);
      const [qx, qy, qz] = [x - curve(xs, i, t), y - curve(ys, i, t), z - curve(zs, i, t)];
      const v = qx * axis[0] + qy * axis[1] + qz * axis[2];
      const across = qx * mix(sides[i][0], sides[i + 1][0], t) + qy * mix(sides[i][1], sides[i + 1][1], t) + qz * mix(sides[i][2], sides[i + 1][2], t);
      const deep = Math.max(qx * qx + qy * qy + qz * qz - v * v - across * across, 0);
      const least = Math.min(a, b);
      return (Math.sqrt((across * across) / (a * a) + deep / (b * b) + (v * v) / (least * least)) - 1) * least;
    },
  };
}

// A trunk with the hidden limbs that carry its surface; `carrier(row)`: the joint between a row and the next.
export function carriedTrunk(given, carrier) {
  const { centers, widths, depths, sides } = given;
  const carriers = centers.slice(1).map((to, row) => limb({
    hidden: true,
    joint: carrier(row),
    from: centers[row],
    to,
    radii: [row, row + 1].map((at, end) => [end, widths[at], depths[at]]),
    side: sides[row],
  }));
  return [trunk(given), ...carriers];
}

// The Catmull-Rom curve through values at equal distances, between values i and i + 1.
function curve(values, i, t) {
  const [a, b] = [values[i], values[i + 1]];
  const before = values[i - 1] ?? a;
  const after = values[i + 2] ?? b;
  const [m, n] = [(b - before) / 2, (after - a) / 2];
  const [t2, t3] = [t * t, t * t * t];
  return (2 * t3 - 3 * t2 + 1) * a + (t3 - 2 * t2 + t) * m + (3 * t2 - 2 * t3) * b + (t3 - t2) * n;
}

// An ellipsoid with radii along its axes (side, up, forward); cut flat below `floor`, if given.
export function ellipsoid({ joint, center, radii, up = [0, 1, 0], forward = [0, 0, 1], accent = 0, floor = null }) {
  const w = unit(forward);
  const v = unit(without(up, w), [0, 1, 0]);
  const u = cross(v, w);
  const least = Math.min(...radii);
  return {
    joint,
    accent,
    ...boxOf([[center, Math.max(...radii)]]),
    distance(x, y, z) {
      const [qx, qy, qz] = [x - center[0], y - center[1], z - center[2]];
      const a = (qx * u[0] + qy * u[1] + qz * u[2]) / radii[0];
      const b = (qx * v[0] + qy * v[1] + qz * v[2]) / radii[1];
      const c = (qx * w[0] + qy * w[1] + qz * w[2]) / radii[2];
      const d = (Math.sqrt(a * a + b * b + c * c) - 1) * least;
      return floor === null ? d : Math.max(d, floor - y);
    },
  };
}

// Points at equal distances along a line through `points`, each with the index of its segment.
export function spread(points, count) {
  const lengths = points.slice(1).map((p, i) => Math.hypot(...subtract(p, points[i])));
  const total = lengths.reduce((a, b) => a + b, 0);
  const placed = [];
  for (let n = 0; n < count; n++) {
    let rest = (total * n) / (count - 1);
    let segment = 0;
    while (segment < lengths.length - 1 && rest > lengths[segment]) rest -= lengths[segment++];
    const part = lengths[segment] > 0 ? Math.min(rest / lengths[segment], 1) : 0;
    placed.push({ segment, point: add(points[segment], scaled(subtract(points[segment + 1], points[segment]), part)) });
  }
  return placed;
}
