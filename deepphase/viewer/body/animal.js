// Shapes of an animal on four legs around joints.

import { pathDown, standing, tipOf } from "./bodyplan.js";
import { Shapes } from "./shapes.js";
import { between, clamp, cross, distance, dot, mix, scaled, subtract, unit, without } from "../vectors.js";

// Sizes below are shares of the trunk, from hips to shoulders.
// Rows (place from rump to chest, half width, half depth, shift below the line from hips to shoulders).
const TRUNK = [
  [0.0, 0.1, 0.125, 0.0],
  [0.167, 0.13, 0.155, 0.01],
  [0.333, 0.125, 0.14, 0.015],
  [0.5, 0.135, 0.165, 0.04],
  [0.667, 0.155, 0.2, 0.07],
  [0.833, 0.155, 0.205, 0.07],
  [1.0, 0.11, 0.15, 0.03],
];
const FRONT = [["shoulder", 0.085, 0.13], ["elbow", 0.058, 0.066], ["hand", 0.044, 0.048]];
const HIND = [["hip", 0.105, 0.17], ["knee", 0.066, 0.085], ["foot", 0.042, 0.05]];
// A head against that of the sizes below, and the least length of a tail.
const HEAD = 1.25, LEAST_TAIL = 0.6;
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
  addTail(shapes, body, rump, withers);
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
  // The back is at the spine, which in some skeletons lies well above the legs' joints.
  const spine = joints.length > 2 ? joints.slice(1, -1) : joints;
  const back = clamp(-spine.reduce((sum, j) => sum + dot(subtract(pose.positions[j], rump), down), 0) / spine.length / l - 0.16, 0, 0.4);
  const rows = TRUNK.map(([place, width, depth, shift]) => ({
    center: shapes.from(rump, [along, 1.14 * place - 0.09], [down, shift - back / 2]), width: width * l, depth: (depth + back / 2) * l, side,
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
  const wide = (i) => 0.21 - (0.1 * i) / (points.length - 1);
  points.slice(1).forEach((to, i) => {
    const carrier = path[Math.max(path.length - points.length + i, 0)] ?? chest;
    shapes.limb(carrier, points[i], to, [[0, 0.85 * wide(i), 1.1 * wide(i)], [1, 0.85 * wide(i + 1), 1.05 * wide(i + 1)]]);
  });
  // The face looks forward and a little down, as the end site says where there is one.
  const tip = tipOf(body, joint);
  const forward = unit(tip ? between(unit(subtract(tip, base)), [0, -0.2, 1], 0.4) : [0, -0.25, 1]);
  const up = unit(without([0, 1, 0], forward));
  const side = cross(up, forward);
  const sized = (values) => values.map((value) => HEAD * value);
  const rows = (...given) => given.map(([place, ...radii]) => [place, ...sized(radii)]);
  const moved = (from, ...moves) => shapes.from(from, ...moves.map(([direction, units]) => [direction, HEAD * units]));
  const skull = moved(base, [forward, 0.05], [up, 0.03]);
  const nose = moved(skull, [forward, 0.25], [up, -0.06]);
  shapes.ellipsoid(joint, skull, sized([0.09, 0.09, 0.12]), { up, forward });
  shapes.limb(joint, moved(skull, [up, -0.03]), nose, rows([0, 0.068, 0.07], [0.45, 0.05, 0.056], [1, 0.042, 0.042]), { side });
  shapes.ellipsoid(joint, moved(nose, [forward, 0.035], [up, 0.014]), sized([0.028, 0.024, 0.024]), { up, forward, accent: 1 });
  for (const sign of [1, -1]) {
    const beside = (out, above, ahead) => moved(skull, [side, out * sign], [up, above], [forward, ahead]);
    // An ear, and an eye.
    shapes.limb(joint, beside(0.06, 0.06, -0.03), beside(0.1, 0.19, -0.06), rows([0, 0.05, 0.024], [1, 0.014, 0.012]), { side, accent: 0.75 });
    shapes.ellipsoid(joint, beside(0.062, 0.03, 0.085), sized([0.018, 0.018, 0.018]), { accent: 1 });
  }
}

// A tail, which bodies have whose skeleton has none or only its first joint.
function addTail(shapes, { roles, pose, ends }, rump, withers) {
  const tail = roles.tail ?? [];
  const back = unit(subtract(rump, withers), [0, 0, -1]);
  const root = shapes.from(rump, [back, 0.04], [[0, 1, 0], 0.08]);
  const points = tail.map((joint) => pose.positions[joint]);
  if (!points.length) points.push(root);
  const tip = tail.length ? tipOf({ ends, pose }, tail[tail.length - 1]) : null;
  if (tip) points.push(tip);
  const length = points.reduce((sum, place, i) => sum + (i ? distance(place, points[i - 1]) : 0), 0);
  const last = points[points.length - 1];
  const way = unit(subtract(last, points[points.length - 2] ?? last), unit([0.9 * back[0], -0.5, 0.9 * back[2]]));
  if (length < LEAST_TAIL * shapes.unit) points.push(shapes.from(last, [way, LEAST_TAIL - length / shapes.unit]));
  const radius = (i) => mix(0.075, 0.028, i / (points.length - 1));
  shapes.limb(roles.hips, rump, points[0], [[0, 0.1], [1, radius(0)]]);
  points.slice(1).forEach((to, i) => {
    const joint = tail[Math.min(i, tail.length - 1)] ?? roles.hips;
    shapes.limb(joint, points[i], to, [[0, radius(i)], [1, radius(i + 1)]]);
  });
}

// A leg, and the paw on the ground below or before its last joint.
function addLeg(shapes, body, side, rows, trunkJoint) {
  const { roles, pose, frames, at } = body;
  const l = shapes.unit;
  const found = rows.map(([name, wide, deep]) => ({ joint: roles[`${side}_${name}`], wide, deep })).filter(({ joint }) => joint != null);
  if (found.length < 2) return;
  const places = found.map(({ joint }) => pose.positions[joint]);
  // Muscles that tie the leg to the trunk.
  const opposite = at(`${side === "left" ? "right" : "left"}_${rows[0][0]}`) ?? places[0];
  shapes.ellipsoid(trunkJoint, shapes.from(between(places[0], opposite, 0.22), [[0, 1, 0], 0.02]), [0.08, 0.13, 0.12]);
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
