// Shapes of a person around joints: sizes are those of an adult of 1.75 m, scaled.

import { below, childrenOf, pathDown, standing, tipOf } from "./bodyplan.js";
import { carriedTrunk, ellipsoid, limb, spread } from "./shapes.js";
import { add, between, cross, distance, mix, smooth, subtract, unit, without } from "../vectors.js";

const SIDES = ["left", "right"];
// Leg and trunk of the adult that the sizes below belong to, in metres.
const LEG = 0.82;
const TRUNK = 0.52;

// Rows (place from the hips to the neck, half width, half depth, forward shift); widths in shares of
// those of the hips (below the waist) and of the shoulders (above it), the rest in metres.
const TORSO = [
  [0.0, 0.93, 0.098, -0.01],
  [0.125, 0.98, 0.106, -0.012],
  [0.25, 0.93, 0.1, -0.006],
  [0.375, 0.83, 0.089, 0.0],
  [0.5, 0.8, 0.088, 0.004],
  [0.625, 0.86, 0.1, 0.008],
  [0.75, 0.93, 0.11, 0.008],
  [0.875, 0.8, 0.096, 0.0],
  [1.0, 0.38, 0.064, -0.01],
];
const WAIST_ROW = 4;
const PLACES = 40;

export function personShapes(body) {
  const { skeleton, roles, pose } = body;
  const at = (joint) => pose.positions[joint];
  const top = roles.neck ?? roles.head;
  const has = (...names) => names.every((n) => roles[n] !== null && roles[n] !== undefined);
  if (!has("left_hip", "right_hip", "left_foot", "right_foot") || top === undefined || top === null) {
    return { shapes: [], unitLength: 1 };
  }
  const hips = between(at(roles.left_hip), at(roles.right_hip), 0.5);
  const leg = pathLength(body, roles.left_hip, roles.left_foot);
  const u = (leg + distance(hips, at(top))) / (LEG + TRUNK);
  neutral(body);
  const shapes = [...torso(body, u, top), ...head(body, u)];
  for (const side of SIDES) {
    shapes.push(...legShapes(body, u, side));
    if (has(`${side}_shoulder`)) shapes.push(...armShapes(body, u, side));
  }
  return { shapes, unitLength: u };
}

function pathLength({ skeleton, pose }, top, bottom) {
  const path = pathDown(skeleton, top, bottom);
  return path.slice(1).reduce((sum, j, i) => sum + distance(pose.positions[j], pose.positions[path[i]]), 0);
}

// Arms and legs a little apart, and feet flat on the ground, so that no limbs touch.
function neutral({ roles, pose, frames }) {
  for (const [side, sign] of [["left", 1], ["right", -1]]) {
    const role = (name) => roles[`${side}_${name}`];
    const outward = Math.sign(pose.positions[role("hip")][0]) || sign;
    const chain = (names, direction) => names.slice(1).forEach((name, i) => {
      const [joint, next] = [role(names[i]), role(name)];
      if (joint != null && next != null) pose.aim(joint, next, direction);
    });
    chain(["hip", "knee", "foot"], [0.1 * outward, -1, 0.0]);
    if (role("shoulder") != null) chain(["shoulder", "elbow", "hand"], [0.8 * outward, -1, 0.06]);
    const foot = role("foot");
    pose.match(foot, standing(frames, [foot, role("toe") ?? foot]));
  }
}

function torso({ skeleton, roles, pose }, u, top) {
  const at = (joint) => pose.positions[joint];
  const hips = between(at(roles.left_hip), at(roles.right_hip), 0.5);
  const hipSide = unit(subtract(at(roles.left_hip), at(roles.right_hip)), [1, 0, 0]);
  const hipWidth = distance(at(roles.left_hip), at(roles.right_hip)) / 2 + 0.066 * u;
  const armed = roles.left_shoulder != null && roles.right_shoulder != null;
  const shoulderWidth = armed ? distance(at(roles.left_shoulder), at(roles.right_shoulder)) / 2 : hipWidth;
  const shoulderSide = armed ? unit(subtract(at(roles.left_shoulder), at(roles.right_shoulder)), hipSide) : hipSide;
  // The hips' own joint may lie anywhere between the legs and the waist.
  const path = pathDown(skeleton, roles.hips, top).slice(1);
  const joints = [roles.hips, ...path.slice(0, -1)];
  const line = [hips, ...path.map(at)];
  const rows = TORSO.map(([place, width, depth, shift], row) => {
    const wide = row < WAIST_ROW ? hipWidth : mix(hipWidth, shoulderWidth, smooth(0.5, 0.75, place));
    return { place, width: wide * width, depth: depth * u, shift: shift * u };
  });
  const stations = spread(line, PLACES + 1);
  const station = (place) => stations[Math.round(place * PLACES)];
  const carrier = (place) => joints[Math.min(station(place).segment, joints.length - 1)];
  const sides = rows.map(({ place }) => unit(between(hipSide, shoulderSide, place)));
  const up = unit(subtract(station(1).point, station(0).point));
  const centers = rows.map(({ place, shift }, i) => add(station(place).point, unit(cross(sides[i], up)), shift));
  const shapes = carriedTrunk(
    { centers, widths: rows.map((row) => row.width), depths: rows.map((row) => row.depth), sides },
    (row) => carrier((rows[row].place + rows[row + 1].place) / 2),
  );
  // The pelvis below the hip joints, and the buttocks.
  const back = unit(cross(unit(subtract(line[1], hips)), hipSide));
  shapes.push(ellipsoid({ joint: roles.hips, center: add(hips, [0, -0.03 * u, 0]), radii: [0.78 * hipWidth, 0.085 * u, 0.088 * u] }));
  for (const side of SIDES) {
    const hip = at(roles[`${side}_hip`]);
    shapes.push(ellipsoid({
      joint: roles.hips,
      center: add(add(hip, back, 0.035 * u), [0, -0.015 * u, 0]),
      radii: [0.075 * u, 0.085 * u, 0.075 * u],
    }));
    const shoulder = roles[`${side}_shoulder`];
    if (shoulder == null) continue;
    const collar = skeleton.parents[shoulder];
    const base = add(station(1).point, [0, -0.05 * u, -0.012 * u]);
    shapes.push(limb({
      joint: collar === roles.hips ? joints[joints.length - 1] : collar,
      from: base,
      to: add(at(shoulder), [0, 0.004 * u, 0]),
      radii: [[0, 0.058 * u], [0.6, 0.052 * u], [1, 0.056 * u]],
    }));
    // Chest.
    const inward = between(station(0.76).point, at(shoulder), 0.42);
    shapes.push(ellipsoid({
      joint: carrier(0.76),
      center: [inward[0], mix(inward[1], station(0.76).point[1], 0.6), inward[2] + 0.055 * u],
      radii: [0.085 * u, 0.07 * u, 0.062 * u],
    }));
  }
  return shapes;
}

function head(body, u) {
  const { skeleton, roles, pose } = body;
  const joint = roles.head ?? roles.neck;
  const base = pose.positions[joint];
  const neck = roles.neck ?? skeleton.parents[joint];
  const below = pose.positions[neck];
  const tip = tipOf(body, joint);
  const leaning = unit(subtract(tip ?? base, tip ? base : below), [0, 1, 0]);
  const up = unit(between(leaning, [0, 1, 0], 0.65));
  const forward = unit(without([0, 0, 1], up));
  // Above the joint at the base of the skull; skeletons without a neck have it lower.
  const rise = roles.head != null && roles.neck != null ? 0.085 : 0.16;
  const center = add(add(base, up, rise * u), forward, 0.022 * u);
  const shapes = [
    limb({
      joint: neck,
      from: add(below, up, -0.03 * u),
      to: add(center, up, -0.05 * u),
      radii: [[0, 0.064 * u, 0.06 * u], [0.5, 0.052 * u], [1, 0.05 * u]],
    }),
    ellipsoid({ joint, center: add(center, up, 0.028 * u), radii: [0.078 * u, 0.092 * u, 0.098 * u], up, forward }),
    ellipsoid({ joint, center: add(add(center, up, -0.045 * u), forward, 0.024 * u), radii: [0.058 * u, 0.07 * u, 0.066 * u], up, forward }),
  ];
  // A visor, which shows where the face is.
  shapes.push(ellipsoid({
    joint,
    accent: 1,
    center: add(add(center, up, 0.016 * u), forward, 0.05 * u),
    radii: [0.064 * u, 0.032 * u, 0.056 * u],
    up,
    forward,
  }));
  return shapes;
}

function legShapes(body, u, side) {
  const { roles, pose } = body;
  const role = (name) => roles[`${side}_${name}`];
  const at = (name) => pose.positions[role(name)];
  const [hip, foot] = [at("hip"), at("foot")];
  const knee = role("knee") != null ? at("knee") : between(hip, foot, 0.5);
  const shin = role("knee") ?? role("hip");
  const back = (p, amount) => add(p, [0, 0, -1], amount * u);
  const shapes = [
    limb({
      joint: role("hip"),
      from: add(hip, [0, 0.0, 0.0]),
      to: knee,
      radii: [[0, 0.084 * u, 0.092 * u], [0.3, 0.08 * u, 0.088 * u], [0.75, 0.06 * u, 0.064 * u], [1, 0.052 * u, 0.057 * u]],
    }),
    limb({
      joint: shin,
      from: knee,
      to: foot,
      radii: [[0, 0.05 * u, 0.054 * u], [0.12, 0.048 * u, 0.05 * u], [0.34, 0.051 * u, 0.05 * u], [0.75, 0.036 * u, 0.037 * u], [1, 0.034 * u, 0.036 * u]],
    }),
    // The calf.
    limb({
      joint: shin,
      from: back(between(knee, foot, 0.14), 0.012),
      to: back(between(knee, foot, 0.5), 0.016),
      radii: [[0, 0.036 * u], [0.45, 0.046 * u], [1, 0.03 * u]],
    }),
  ];
  return [...shapes, ...footShapes(body, u, side)];
}

// A shoe: heel, instep, ball and toes, flat below.
function footShapes(body, u, side) {
  const { roles, pose } = body;
  const joint = roles[`${side}_foot`];
  const toe = roles[`${side}_toe`];
  const ankle = pose.positions[joint];
  const tip = tipOf(body, toe ?? joint);
  const height = standing(body.frames, [joint, toe ?? joint]).positions[3 * joint + 1];
  const floor = ankle[1] - Math.min(Math.max(height, 0.045 * u), 0.12 * u);
  const ahead = toe != null ? subtract(pose.positions[toe], ankle) : tip ? subtract(tip, ankle) : [0, 0, 1];
  const forward = unit([ahead[0], 0, ahead[2]], [0, 0, 1]);
  const ball = toe != null ? pose.positions[toe] : add(ankle, forward, 0.125 * u);
  const reach = Math.max((ball[0] - ankle[0]) * forward[0] + (ball[2] - ankle[2]) * forward[2], 0.09 * u);
  const place = (along, height) => {
    const p = add(ankle, forward, along);
    return [p[0], floor + height, p[2]];
  };
  const shoe = { accent: 1, forward, floor };
  return [
    ellipsoid({ ...shoe, joint, center: place(-0.012 * u, 0.034 * u), radii: [0.037 * u, 0.044 * u, 0.055 * u] }),
    limb({
      joint,
      accent: 1,
      from: add(ankle, [0, -0.012 * u, 0]),
      to: place(0.85 * reach, 0.034 * u),
      radii: [[0, 0.036 * u, 0.038 * u], [1, 0.041 * u, 0.03 * u]],
    }),
    ellipsoid({ ...shoe, joint, center: place(0.55 * reach, 0.022 * u), radii: [0.041 * u, 0.032 * u, 0.085 * u] }),
    ellipsoid({ ...shoe, joint: toe ?? joint, center: place(reach + 0.028 * u, 0.02 * u), radii: [0.044 * u, 0.031 * u, 0.058 * u] }),
  ];
}

function armShapes(body, u, side) {
  const { skeleton, roles, pose } = body;
  const role = (name) => roles[`${side}_${name}`];
  const shoulder = pose.positions[role("shoulder")];
  const wrist = role("hand") != null ? pose.positions[role("hand")] : null;
  const elbow = role("elbow") != null ? pose.positions[role("elbow")] : wrist && between(shoulder, wrist, 0.5);
  if (!elbow || !wrist) return [];
  const fore = role("elbow") ?? role("shoulder");
  const along = unit(subtract(wrist, elbow));
  const hand = role("hand");
  const front = unit(without([0, 0, 1], along));
  const flat = cross(along, front);
  const fingers = [...below(skeleton, hand)].filter((joint) => joint !== hand);
  const shapes = [
    limb({
      joint: role("shoulder"),
      from: shoulder,
      to: elbow,
      radii: [[0, 0.052 * u, 0.056 * u], [0.35, 0.046 * u, 0.05 * u], [0.8, 0.037 * u, 0.039 * u], [1, 0.036 * u, 0.037 * u]],
    }),
    limb({
      joint: fore,
      from: elbow,
      to: wrist,
      radii: [[0, 0.036 * u, 0.038 * u], [0.25, 0.04 * u, 0.042 * u], [0.7, 0.03 * u, 0.032 * u], [1, 0.025 * u, 0.029 * u]],
      side: flat,
    }),
    ellipsoid({
      joint: hand,
      accent: 1,
      center: add(wrist, along, 0.05 * u),
      radii: [0.024 * u, 0.04 * u, 0.058 * u],
      up: front,
      forward: along,
    }),
  ];
  if (fingers.length) {
    for (const joint of fingers) {
      const parent = skeleton.parents[joint];
      const carrier = parent === hand ? hand : parent;
      shapes.push(finger(carrier, pose.positions[parent], pose.positions[joint], u));
      if (!childrenOf(skeleton, joint).length) {
        const [a, b] = [pose.positions[parent], pose.positions[joint]];
        const tip = tipOf(body, joint) ?? add(b, unit(subtract(b, a), along), 0.022 * u);
        shapes.push(finger(joint, b, tip, u));
      }
    }
    return shapes;
  }
  const knuckles = add(wrist, along, 0.09 * u);
  shapes.push(
    limb({
      joint: hand,
      accent: 1,
      from: knuckles,
      to: add(add(knuckles, along, 0.07 * u), flat, 0),
      radii: [[0, 0.019 * u, 0.036 * u], [1, 0.014 * u, 0.026 * u]],
      side: flat,
    }),
    limb({
      joint: hand,
      accent: 1,
      from: add(add(wrist, along, 0.035 * u), front, 0.028 * u),
      to: add(add(wrist, along, 0.088 * u), front, 0.056 * u),
      radii: [[0, 0.018 * u], [1, 0.013 * u]],
    }),
  );
  return shapes;
}

const finger = (joint, from, to, u) =>
  limb({ joint, accent: 1, from, to, radii: [[0, 0.0125 * u], [1, 0.011 * u]] });
