// Shapes of an animal on four legs around joints, and of any other skeleton.

import { pathDown, standing, tipOf } from "./bodyplan.js";
import { carriedTrunk, ellipsoid, limb } from "./shapes.js";
import { add, between, cross, distance, dot, mix, scaled, subtract, unit, without } from "../vectors.js";

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

export function quadrupedShapes(body) {
  const { skeleton, roles, pose } = body;
  const needed = ["left_hip", "right_hip", "left_shoulder", "right_shoulder", "left_foot", "right_foot"];
  if (needed.some((name) => roles[name] == null)) return { shapes: [], unitLength: 1 };
  const at = (joint) => pose.positions[joint];
  const rump = between(at(roles.left_hip), at(roles.right_hip), 0.5);
  const withers = between(at(roles.left_shoulder), at(roles.right_shoulder), 0.5);
  const l = distance(rump, withers);
  const shapes = [...trunkShapes(body, l, rump, withers), ...headAndNeck(body, l, withers), ...tailShapes(body, l)];
  for (const side of ["left", "right"]) {
    shapes.push(...leg(body, l, side, FRONT, roles.chest ?? skeleton.parents[roles[`${side}_shoulder`]]));
    shapes.push(...leg(body, l, side, HIND, roles.hips));
  }
  return { shapes, unitLength: 1.35 * l };
}

function trunkShapes({ skeleton, roles, pose }, l, rump, withers) {
  const at = (joint) => pose.positions[joint];
  const chest = roles.chest ?? skeleton.parents[roles.left_shoulder];
  const path = pathDown(skeleton, roles.hips, chest);
  const joints = path.length ? path : [roles.hips];
  const side = unit(subtract(at(roles.left_hip), at(roles.right_hip)), [1, 0, 0]);
  const along = unit(subtract(withers, rump));
  const under = cross(along, unit(without(side, along)));
  const down = under[1] > 0 ? scaled(under, -1) : under;
  const place = (p) => dot(subtract(p, rump), along) / l;
  // The last joint of the spine that lies behind a place.
  const carrier = (t) => joints.reduce((best, j) => (place(at(j)) <= t + 0.05 && place(at(j)) >= place(at(best)) ? j : best), joints[0]);
  const from = add(rump, along, -0.1 * l);
  const centers = TRUNK.map(([t, , , shift]) => add(add(from, along, 1.22 * t * l), down, shift * l));
  return carriedTrunk({
    centers,
    widths: TRUNK.map((row) => row[1] * l),
    depths: TRUNK.map((row) => row[2] * l),
    sides: TRUNK.map(() => side),
  }, (row) => carrier((TRUNK[row][0] + TRUNK[row + 1][0]) / 2));
}

function headAndNeck(body, l, withers) {
  const { skeleton, roles, pose } = body;
  const joint = roles.head ?? roles.neck;
  if (joint == null) return [];
  const at = (j) => pose.positions[j];
  const chest = roles.chest ?? skeleton.parents[roles.left_shoulder];
  const path = pathDown(skeleton, chest, joint);
  const base = at(joint);
  const root = add(between(withers, at(chest), 0.3), [0, -0.02 * l, 0.06 * l]);
  const points = [root, ...path.slice(1).map(at).filter((p) => distance(p, root) > 0.12 * l)];
  if (distance(points[points.length - 1], base) > 1e-6) points.push(base);
  const shapes = [];
  points.slice(1).forEach((to, i) => {
    const [near, far] = [0.19 - 0.08 * (i / (points.length - 1)), 0.19 - 0.08 * ((i + 1) / (points.length - 1))];
    shapes.push(limb({
      joint: path[Math.max(path.length - points.length + i, 0)] ?? chest,
      from: points[i],
      to,
      radii: [[0, near * 0.85 * l, near * 1.1 * l], [1, far * 0.85 * l, far * 1.05 * l]],
    }));
  });
  // The face looks forward and a little down, as the end site says where there is one.
  const tip = tipOf(body, joint);
  const forward = unit(tip ? between(unit(subtract(tip, base)), [0, -0.2, 1], 0.4) : [0, -0.25, 1]);
  const up = unit(without([0, 1, 0], forward));
  const side = cross(up, forward);
  const skull = add(add(base, forward, 0.06 * l), up, 0.03 * l);
  const nose = add(add(skull, forward, 0.27 * l), up, -0.055 * l);
  shapes.push(
    ellipsoid({ joint, center: skull, radii: [0.095 * l, 0.098 * l, 0.125 * l], up, forward }),
    limb({
      joint,
      from: add(skull, up, -0.025 * l),
      to: nose,
      radii: [[0, 0.07 * l, 0.08 * l], [0.5, 0.05 * l, 0.058 * l], [1, 0.04 * l, 0.042 * l]],
      side,
    }),
    ellipsoid({ joint, accent: 1, center: add(add(nose, forward, 0.035 * l), up, 0.014 * l), radii: [0.03 * l, 0.026 * l, 0.026 * l], up, forward }),
  );
  for (const sign of [1, -1]) {
    shapes.push(
      limb({
        joint,
        accent: 0.75,
        from: add(add(add(skull, side, 0.07 * l * sign), up, 0.065 * l), forward, -0.02 * l),
        to: add(add(add(skull, side, 0.105 * l * sign), up, 0.17 * l), forward, -0.035 * l),
        radii: [[0, 0.045 * l, 0.022 * l], [1, 0.012 * l, 0.012 * l]],
        side,
      }),
      ellipsoid({
        joint,
        accent: 1,
        center: add(add(add(skull, side, 0.062 * l * sign), up, 0.03 * l), forward, 0.088 * l),
        radii: [0.019 * l, 0.019 * l, 0.019 * l],
      }),
    );
  }
  return shapes;
}

function tailShapes(body, l) {
  const { roles, pose } = body;
  const tail = roles.tail ?? [];
  if (!tail.length) return [];
  const points = tail.map((joint) => pose.positions[joint]);
  const last = tail[tail.length - 1];
  const before = points.length > 1 ? points[points.length - 2] : pose.positions[roles.hips];
  const direction = unit(subtract(points[points.length - 1], before), [0, 0, -1]);
  points.push(tipOf(body, last) ?? add(points[points.length - 1], direction, 0.3 * l));
  const radius = (i) => mix(0.05, 0.018, i / (points.length - 1)) * l;
  const root = add(pose.positions[roles.hips], direction, 0);
  const shapes = [limb({ joint: roles.hips, from: root, to: points[0], radii: [[0, 0.07 * l], [1, radius(0)]] })];
  points.slice(1).forEach((to, i) => {
    shapes.push(limb({ joint: tail[i], from: points[i], to, radii: [[0, radius(i)], [1, radius(i + 1)]] }));
  });
  return shapes;
}

// A leg, and the paw on the ground below or before its last joint.
function leg(body, l, side, rows, trunkJoint) {
  const { roles, pose, frames } = body;
  const found = rows.map(([name, ...radii]) => ({ joint: roles[`${side}_${name}`], radii })).filter((row) => row.joint != null);
  if (found.length < 2) return [];
  const place = found.map((row) => pose.positions[row.joint]);
  const shapes = [];
  // Muscles that tie the leg to the trunk.
  const inward = [0.55 * place[0][0], place[0][1] + 0.02 * l, place[0][2]];
  shapes.push(ellipsoid({ joint: trunkJoint, center: inward, radii: [0.08 * l, 0.13 * l, 0.12 * l] }));
  found.slice(1).forEach((row, i) => {
    const [above, own] = [found[i].radii, row.radii];
    shapes.push(limb({
      joint: found[i].joint,
      from: place[i],
      to: place[i + 1],
      radii: [[0, above[0] * l, above[1] * l], [0.35, mix(above[0], own[0], 0.35) * l, mix(above[1], own[1], 0.45) * l], [1, own[0] * l, own[1] * l]],
    }));
  });
  const last = found[found.length - 1].joint;
  const rest = standing(frames, [last]).positions[3 * last + 1];
  const from = place[place.length - 1];
  const toe = roles[`${side}_toe`];
  const tip = rows === HIND && toe != null ? pose.positions[toe] : tipOf(body, last);
  const drop = Math.max(rest - 0.03 * l, 0);
  // Where the ground is in the pose that the mesh is built in.
  const sole = tip ?? [from[0], from[1] - drop, from[2] + 0.25 * drop];
  if (distance(from, sole) > 0.03 * l) {
    shapes.push(limb({ joint: last, from, to: sole, radii: [[0, 0.036 * l, 0.04 * l], [1, 0.036 * l]] }));
  }
  shapes.push(ellipsoid({
    joint: last,
    accent: 1,
    center: add(sole, [0, 0, 0.035 * l]),
    radii: [0.05 * l, 0.036 * l, 0.075 * l],
    floor: sole[1] - 0.03 * l,
  }));
  return shapes;
}

// Any skeleton: a tapered limb for each joint below another.
export function stickShapes({ skeleton, pose, ends }) {
  const [low, high] = [0, 1, 2].reduce(([l, h], a) => {
    const values = pose.positions.map((p) => p[a]);
    return [[...l, Math.min(...values)], [...h, Math.max(...values)]];
  }, [[], []]);
  const size = Math.max(distance(low, high), 0.1);
  const shapes = skeleton.names.flatMap((_, joint) => {
    const parent = skeleton.parents[joint];
    const to = pose.positions[joint];
    const from = parent >= 0 ? pose.positions[parent] : to;
    const long = distance(from, to);
    const radius = Math.min(Math.max(0.14 * long, 0.012 * size), 0.045 * size);
    if (parent < 0) return [ellipsoid({ joint, center: to, radii: [0.02, 0.02, 0.02].map((r) => r * size) })];
    return [limb({ joint: parent, from, to, radii: [[0, 1.1 * radius], [1, 0.8 * radius]] })];
  });
  return { shapes, unitLength: size };
}
