// Shapes of an animal on four legs around joints.

import { pathDown, standing, tipOf } from "./bodyplan.js";
import { Shapes } from "./shapes.js";
import { between, cross, distance, dot, mix, scaled, subtract, unit, without } from "../vectors.js";

// Sizes below are shares of the trunk, from hips to shoulders.
// Rows (place from rump to chest, half width, half depth, shift below the line from hips to shoulders).
const TRUNK = [
  [0.0, 0.1, 0.125, 0.01],
  [0.167, 0.125, 0.15, 0.02],
  [0.333, 0.125, 0.15, 0.035],
  [0.5, 0.13, 0.165, 0.05],
  [0.667, 0.15, 0.19, 0.065],
  [0.833, 0.155, 0.2, 0.07],
  [1.0, 0.12, 0.155, 0.05],
];
const FRONT = [["shoulder", 0.085, 0.12], ["elbow", 0.052, 0.056], ["hand", 0.036, 0.04]];
const HIND = [["hip", 0.1, 0.15], ["knee", 0.058, 0.066], ["foot", 0.036, 0.042]];
const NEEDED = ["left_hip", "right_hip", "left_shoulder", "right_shoulder", "left_foot", "right_foot"];

// `shapes` and `unitLength` of a body; null where it lacks legs.
export function quadrupedShapes(body) {
  const { skeleton, roles, at } = body;
  if (NEEDED.some((role) => roles[role] == null)) return null;
  const rump = between(at("left_hip"), at("right_hip"), 0.5);
  const withers = between(at("left_shoulder"), at("right_shoulder"), 0.5);
  const shapes = new Shapes(distance(rump, withers));
  const chest = roles.chest ?? skeleton.parents[roles.left_shoulder];
  addTrunk(shapes, body, chest, rump, withers);
  addHeadAndNeck(shapes, body, chest, withers);
  addTail(shapes, body);
  for (const side of ["left", "right"]) {
    addLeg(shapes, body, side, FRONT, roles.chest ?? skeleton.parents[roles[`${side}_shoulder`]]);
    addLeg(shapes, body, side, HIND, roles.hips);
  }
  return { shapes: shapes.all, unitLength: 1.35 * shapes.unit };
}

function addTrunk(shapes, { skeleton, roles, pose, at }, chest, rump, withers) {
  const l = shapes.unit;
  const path = pathDown(skeleton, roles.hips, chest);
  const joints = path.length ? path : [roles.hips];
  const side = unit(subtract(at("left_hip"), at("right_hip")), [1, 0, 0]);
  const along = unit(subtract(withers, rump));
  const under = cross(along, unit(without(side, along)));
  const down = under[1] > 0 ? scaled(under, -1) : under;
  const placeOf = (joint) => dot(subtract(pose.positions[joint], rump), along) / l;
  // The last joint of the spine that lies behind a place.
  const carrier = (t) => joints.reduce((best, j) => (placeOf(j) <= t + 0.05 && placeOf(j) >= placeOf(best) ? j : best), joints[0]);
  const rows = TRUNK.map(([place, width, depth, shift]) => ({
    center: shapes.from(rump, [along, 1.22 * place - 0.1], [down, shift]), width: width * l, depth: depth * l, side,
  }));
  shapes.trunk(rows, (row) => carrier((TRUNK[row][0] + TRUNK[row + 1][0]) / 2));
}

function addHeadAndNeck(shapes, body, chest, withers) {
  const { skeleton, roles, pose } = body;
  const l = shapes.unit;
  const joint = roles.head ?? roles.neck;
  if (joint == null) return;
  const at = (j) => pose.positions[j];
  const path = pathDown(skeleton, chest, joint);
  const base = at(joint);
  const root = shapes.from(between(withers, at(chest), 0.3), [[0, -0.02, 0.06], 1]);
  const points = [root, ...path.slice(1).map(at).filter((p) => distance(p, root) > 0.12 * l)];
  if (distance(points[points.length - 1], base) > 1e-6) points.push(base);
  const wide = (i) => 0.19 - (0.08 * i) / (points.length - 1);
  points.slice(1).forEach((to, i) => {
    const carrier = path[Math.max(path.length - points.length + i, 0)] ?? chest;
    shapes.limb(carrier, points[i], to, [[0, 0.85 * wide(i), 1.1 * wide(i)], [1, 0.85 * wide(i + 1), 1.05 * wide(i + 1)]]);
  });
  // The face looks forward and a little down, as the end site says where there is one.
  const tip = tipOf(body, joint);
  const forward = unit(tip ? between(unit(subtract(tip, base)), [0, -0.2, 1], 0.4) : [0, -0.25, 1]);
  const up = unit(without([0, 1, 0], forward));
  const side = cross(up, forward);
  const skull = shapes.from(base, [forward, 0.06], [up, 0.03]);
  const nose = shapes.from(skull, [forward, 0.27], [up, -0.055]);
  shapes.ellipsoid(joint, skull, [0.095, 0.098, 0.125], { up, forward });
  shapes.limb(joint, shapes.from(skull, [up, -0.025]), nose, [[0, 0.07, 0.08], [0.5, 0.05, 0.058], [1, 0.04, 0.042]], { side });
  shapes.ellipsoid(joint, shapes.from(nose, [forward, 0.035], [up, 0.014]), [0.03, 0.026, 0.026], { up, forward, accent: 1 });
  for (const sign of [1, -1]) {
    const beside = (out, above, ahead) => shapes.from(skull, [side, out * sign], [up, above], [forward, ahead]);
    // An ear, and an eye.
    shapes.limb(joint, beside(0.07, 0.065, -0.02), beside(0.105, 0.17, -0.035), [[0, 0.045, 0.022], [1, 0.012, 0.012]], { side, accent: 0.75 });
    shapes.ellipsoid(joint, beside(0.062, 0.03, 0.088), [0.019, 0.019, 0.019], { accent: 1 });
  }
}

function addTail(shapes, body) {
  const { roles, pose, at } = body;
  const tail = roles.tail ?? [];
  if (!tail.length) return;
  const points = tail.map((joint) => pose.positions[joint]);
  const end = points[points.length - 1];
  const direction = unit(subtract(end, points[points.length - 2] ?? at("hips")), [0, 0, -1]);
  points.push(tipOf(body, tail[tail.length - 1]) ?? shapes.from(end, [direction, 0.3]));
  const radius = (i) => mix(0.05, 0.018, i / (points.length - 1));
  shapes.limb(roles.hips, at("hips"), points[0], [[0, 0.07], [1, radius(0)]]);
  tail.forEach((joint, i) => shapes.limb(joint, points[i], points[i + 1], [[0, radius(i)], [1, radius(i + 1)]]));
}

// A leg, and the paw on the ground below or before its last joint.
function addLeg(shapes, body, side, rows, trunkJoint) {
  const { roles, pose, frames, at } = body;
  const l = shapes.unit;
  const found = rows.map(([name, wide, deep]) => ({ joint: roles[`${side}_${name}`], wide, deep })).filter(({ joint }) => joint != null);
  if (found.length < 2) return;
  const places = found.map(({ joint }) => pose.positions[joint]);
  // Muscles that tie the leg to the trunk.
  const [x, y, z] = places[0];
  shapes.ellipsoid(trunkJoint, [0.55 * x, y + 0.02 * l, z], [0.08, 0.13, 0.12]);
  found.slice(1).forEach((own, i) => {
    const above = found[i];
    const radii = [[0, above.wide, above.deep], [0.35, mix(above.wide, own.wide, 0.35), mix(above.deep, own.deep, 0.45)], [1, own.wide, own.deep]];
    shapes.limb(above.joint, places[i], places[i + 1], radii);
  });
  const { joint: last } = found[found.length - 1];
  const from = places[places.length - 1];
  const tip = (rows === HIND && at(`${side}_toe`)) || tipOf(body, last);
  const drop = Math.max(standing(frames, [last]).positions[3 * last + 1] - 0.03 * l, 0);
  // Where the ground is in the pose that the mesh is built in.
  const sole = tip ?? [from[0], from[1] - drop, from[2] + 0.25 * drop];
  if (distance(from, sole) > 0.03 * l) shapes.limb(last, from, sole, [[0, 0.036, 0.04], [1, 0.036]]);
  shapes.ellipsoid(last, shapes.from(sole, [[0, 0, 1], 0.035]), [0.05, 0.036, 0.075], { accent: 1, floor: sole[1] - 0.03 * l });
}
