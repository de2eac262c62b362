// Shapes that a body is made of: tapered limbs and ellipsoids, each carried by one joint.

import { add, between, clamp, cross, distance, dot, mix, smooth, subtract, unit, without } from "../vectors.js";

// The shapes of a body; radii and moves are in units of `unit` metres.
export class Shapes {
  constructor(unit) {
    this.unit = unit;
    this.all = [];
  }

  // A place moved along directions: [direction, units], ...
  from(place, ...moves) {
    return moves.reduce((moved, [direction, units]) => add(moved, direction, units * this.unit), place);
  }

  // Radii: rows (place from 0 to 1, half width, half depth), interpolated between rows. Options: see `limb`.
  limb(joint, from, to, radii, options = {}) {
    const u = this.unit;
    const rows = radii.map(([place, width, depth = width]) => [place, u * width, u * depth]);
    this.all.push({ joint, accent: options.accent ?? 0, ...limb(from, to, rows, options.side) });
  }

  // Radii along the axes (side, up, forward). Options: the axes `up` and `forward`, and `floor`, below which it is cut flat.
  ellipsoid(joint, center, radii, { accent = 0, ...options } = {}) {
    this.all.push({ joint, accent, ...ellipsoid(center, radii.map((radius) => this.unit * radius), options) });
  }

  // A trunk through rows {center, width, depth, side}, in metres. It is one shape of several joints, so that nothing
  // shows where one joint ends; hidden limbs carry its surface: `carrier(row)` is the joint between a row and the next.
  trunk(rows, carrier) {
    this.all.push({ joint: null, accent: 0, ...trunk(rows) });
    rows.slice(1).forEach(({ center, width, depth }, row) => {
      const from = rows[row];
      const radii = [[0, from.width, from.depth], [1, width, depth]];
      this.all.push({ joint: carrier(row), accent: 0, hidden: true, ...limb(from.center, center, radii, from.side) });
    });
  }
}

// Box around balls: [[center, radius], ...].
export function boxOf(balls) {
  return {
    low: [0, 1, 2].map((a) => Math.min(...balls.map(([c, r]) => c[a] - r))),
    high: [0, 1, 2].map((a) => Math.max(...balls.map(([c, r]) => c[a] + r))),
  };
}

// A limb; its width is measured along `side`, its depth across it.
function limb(from, to, radii, side = [1, 0, 0]) {
  const axis = subtract(to, from);
  const size = Math.max(dot(axis, axis), 1e-12);
  const along = unit(axis);
  const u = unit(without(side, along), unit(cross(along, [0.3, 0.2, 0.9])));
  const w = cross(along, u);
  const [places, widths, depths] = [0, 1, 2].map((column) => radii.map((row) => row[column]));
  const last = radii.length - 1;
  const widest = Math.max(...widths, ...depths);
  return {
    ...boxOf([[from, widest], [to, widest]]),
    // In plain numbers, since a mesh asks for it a million times.
    distance(x, y, z) {
      const px = x - from[0], py = y - from[1], pz = z - from[2];
      const t = clamp((px * axis[0] + py * axis[1] + pz * axis[2]) / size, 0, 1);
      let row = 1;
      while (row < last && places[row] < t) row++;
      const part = smooth(places[row - 1], places[row], t);
      const a = mix(widths[row - 1], widths[row], part), b = mix(depths[row - 1], depths[row], part);
      const qx = px - t * axis[0], qy = py - t * axis[1], qz = pz - t * axis[2];
      const least = Math.min(a, b);
      const across = (qx * u[0] + qy * u[1] + qz * u[2]) / a;
      const deep = (qx * w[0] + qy * w[1] + qz * w[2]) / b;
      const beyond = (qx * along[0] + qy * along[1] + qz * along[2]) / least;
      return (Math.sqrt(across * across + deep * deep + beyond * beyond) - 1) * least;
    },
  };
}

function trunk(rows) {
  const last = rows.length - 1;
  const [centers, widths, depths, sides] = ["center", "width", "depth", "side"].map((name) => rows.map((row) => row[name]));
  const axis = unit(subtract(centers[last], centers[0]));
  const places = centers.map((c) => dot(subtract(c, centers[0]), axis));
  const [xs, ys, zs] = [0, 1, 2].map((a) => centers.map((c) => c[a]));
  return {
    ...boxOf(centers.map((c, i) => [c, Math.max(widths[i], depths[i])])),
    distance(x, y, z) {
      const along = (x - xs[0]) * axis[0] + (y - ys[0]) * axis[1] + (z - zs[0]) * axis[2];
      let i = 0;
      while (i < last - 1 && places[i + 1] < along) i++;
      const t = clamp((along - places[i]) / (places[i + 1] - places[i]), 0, 1);
      const a = curve(widths, i, t), b = curve(depths, i, t);
      const qx = x - curve(xs, i, t), qy = y - curve(ys, i, t), qz = z - curve(zs, i, t);
      const v = qx * axis[0] + qy * axis[1] + qz * axis[2];
      const across = dot([qx, qy, qz], between(sides[i], sides[i + 1], t));
      const deep = Math.max(qx * qx + qy * qy + qz * qz - v * v - across * across, 0);
      const least = Math.min(a, b);
      return (Math.sqrt((across * across) / (a * a) + deep / (b * b) + (v * v) / (least * least)) - 1) * least;
    },
  };
}

// The Catmull-Rom curve through values at equal distances, between values i and i + 1.
function curve(values, i, t) {
  const a = values[i], b = values[i + 1];
  const m = (b - (values[i - 1] ?? a)) / 2, n = ((values[i + 2] ?? b) - a) / 2;
  const t2 = t * t, t3 = t2 * t;
  return (2 * t3 - 3 * t2 + 1) * a + (t3 - 2 * t2 + t) * m + (3 * t2 - 2 * t3) * b + (t3 - t2) * n;
}

function ellipsoid(center, radii, { up = [0, 1, 0], forward = [0, 0, 1], floor = null }) {
  const w = unit(forward);
  const v = unit(without(up, w), [0, 1, 0]);
  const u = cross(v, w);
  const least = Math.min(...radii);
  return {
    ...boxOf([[center, Math.max(...radii)]]),
    distance(x, y, z) {
      const qx = x - center[0], qy = y - center[1], qz = z - center[2];
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
  const lengths = points.slice(1).map((p, i) => distance(p, points[i]));
  const total = lengths.reduce((a, b) => a + b, 0);
  return Array.from({ length: count }, (_, n) => {
    let rest = (total * n) / (count - 1);
    let segment = 0;
    while (segment < lengths.length - 1 && rest > lengths[segment]) rest -= lengths[segment++];
    const part = lengths[segment] > 0 ? Math.min(rest / lengths[segment], 1) : 0;
    return { segment, point: between(points[segment], points[segment + 1], part) };
  });
}
