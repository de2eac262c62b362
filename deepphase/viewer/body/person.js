// Shapes of a person around joints: sizes are those of an adult of 1.75 m, scaled.

import { below, childrenOf, pathDown, standing, tipOf } from "./bodyplan.js";
import { Shapes, spread } from "./shapes.js";
import { add, between, clamp, cross, distance, mix, smooth, subtract, unit, without } from "../vectors.js";

const SIDES = ["left", "right"];
// Leg and trunk of the adult that the sizes below belong to, in metres.
const LEG = 0.82, TRUNK = 0.52;

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
const UP = [0, 1, 0], AHEAD = [0, 0, 1];

// `shapes` and `unitLength` of a body; null where it lacks legs or a head.
export function personShapes(body) {
  const { skeleton, roles, pose, at } = body;
  const top = roles.neck ?? roles.head;
  if (top == null || ["left_hip", "right_hip", "left_foot", "right_foot"].some((role) => roles[role] == null)) return null;
  const leg = pathDown(skeleton, roles.left_hip, roles.left_foot).map((joint) => pose.positions[joint]);
  const legLength = leg.slice(1).reduce((sum, place, i) => sum + distance(place, leg[i]), 0);
  const trunk = distance(between(at("left_hip"), at("right_hip"), 0.5), pose.positions[top]);
  const shapes = new Shapes((legLength + trunk) / (LEG + TRUNK));
  standNeutrally(body);
  addTorso(shapes, body, top);
  addHead(shapes, body);
  for (const side of SIDES) {
    addLeg(shapes, body, side);
    if (roles[`${side}_shoulder`] != null) addArm(shapes, body, side);
  }
  return { shapes: shapes.all, unitLength: shapes.unit };
}

// Arms and legs a little apart, and feet flat on the ground, so that no limbs touch.
function standNeutrally({ roles, pose, frames }) {
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

function addTorso(shapes, { skeleton, roles, pose, at }, top) {
  const u = shapes.unit;
  const across = (one, other, spare) => unit(subtract(at(one), at(other)), spare);
  const half = (one, other) => distance(at(one), at(other)) / 2;
  const hips = between(at("left_hip"), at("right_hip"), 0.5);
  const hipSide = across("left_hip", "right_hip", [1, 0, 0]);
  const hipWidth = half("left_hip", "right_hip") + 0.066 * u;
  const armed = roles.left_shoulder != null && roles.right_shoulder != null;
  const shoulderWidth = armed ? half("left_shoulder", "right_shoulder") : hipWidth;
  const shoulderSide = armed ? across("left_shoulder", "right_shoulder", hipSide) : hipSide;
  // The hips' own joint may lie anywhere between the legs and the waist.
  const path = pathDown(skeleton, roles.hips, top).slice(1);
  const joints = [roles.hips, ...path.slice(0, -1)];
  const line = [hips, ...path.map((joint) => pose.positions[joint])];
  const stations = spread(line, PLACES + 1);
  const station = (place) => stations[Math.round(place * PLACES)];
  const carrier = (place) => joints[Math.min(station(place).segment, joints.length - 1)];
  const up = unit(subtract(station(1).point, station(0).point));
  const rows = TORSO.map(([place, width, depth, shift], row) => {
    const wide = row < WAIST_ROW ? hipWidth : mix(hipWidth, shoulderWidth, smooth(0.5, 0.75, place));
    const side = unit(between(hipSide, shoulderSide, place));
    const center = shapes.from(station(place).point, [unit(cross(side, up)), shift]);
    return { center, width: wide * width, depth: depth * u, side };
  });
  shapes.trunk(rows, (row) => carrier((TORSO[row][0] + TORSO[row + 1][0]) / 2));
  // The pelvis below the hip joints, and the buttocks.
  const back = unit(cross(unit(subtract(line[1], hips)), hipSide));
  shapes.ellipsoid(roles.hips, shapes.from(hips, [UP, -0.03]), [(0.78 * hipWidth) / u, 0.085, 0.088]);
  for (const side of SIDES) {
    shapes.ellipsoid(roles.hips, shapes.from(at(`${side}_hip`), [back, 0.035], [UP, -0.015]), [0.075, 0.085, 0.075]);
    const shoulder = roles[`${side}_shoulder`];
    if (shoulder == null) continue;
    const collar = skeleton.parents[shoulder];
    const carries = collar === roles.hips ? joints[joints.length - 1] : collar;
    const place = pose.positions[shoulder];
    shapes.limb(carries, shapes.from(station(1).point, [[0, -0.05, -0.012], 1]), shapes.from(place, [UP, 0.004]), [[0, 0.058], [0.6, 0.052], [1, 0.056]]);
    // Chest.
    const { point } = station(0.76);
    const [x, y, z] = between(point, place, 0.42);
    shapes.ellipsoid(carrier(0.76), [x, mix(y, point[1], 0.6), z + 0.055 * u], [0.085, 0.07, 0.062]);
  }
}

function addHead(shapes, body) {
  const { skeleton, roles, pose } = body;
  const joint = roles.head ?? roles.neck;
  const neck = roles.neck ?? skeleton.parents[joint];
  const [base, under] = [pose.positions[joint], pose.positions[neck]];
  const tip = tipOf(body, joint);
  const leaning = tip ? subtract(tip, base) : subtract(base, under);
  const up = unit(between(unit(leaning), UP, 0.65));
  const forward = unit(without(AHEAD, up));
  // Above the joint at the base of the skull; skeletons without a neck have it lower.
  const rise = roles.head != null && roles.neck != null ? 0.085 : 0.16;
  const center = shapes.from(base, [up, rise], [forward, 0.022]);
  shapes.limb(neck, shapes.from(under, [up, -0.03]), shapes.from(center, [up, -0.05]), [[0, 0.064, 0.06], [0.5, 0.052], [1, 0.05]]);
  shapes.ellipsoid(joint, shapes.from(center, [up, 0.028]), [0.078, 0.092, 0.098], { up, forward });
  shapes.ellipsoid(joint, shapes.from(center, [up, -0.045], [forward, 0.024]), [0.058, 0.07, 0.066], { up, forward });
  // A visor, which shows where the face is.
  shapes.ellipsoid(joint, shapes.from(center, [up, 0.016], [forward, 0.05]), [0.064, 0.032, 0.056], { up, forward, accent: 1 });
}

function addLeg(shapes, body, side) {
  const { roles, at } = body;
  const role = (name) => roles[`${side}_${name}`];
  const [hip, foot] = [at(`${side}_hip`), at(`${side}_foot`)];
  const knee = at(`${side}_knee`) ?? between(hip, foot, 0.5);
  const shin = role("knee") ?? role("hip");
  const calf = (part, back) => shapes.from(between(knee, foot, part), [AHEAD, -back]);
  shapes.limb(role("hip"), hip, knee, [[0, 0.084, 0.092], [0.3, 0.08, 0.088], [0.75, 0.06, 0.064], [1, 0.052, 0.057]]);
  shapes.limb(shin, knee, foot, [[0, 0.05, 0.054], [0.12, 0.048, 0.05], [0.34, 0.051, 0.05], [0.75, 0.036, 0.037], [1, 0.034, 0.036]]);
  shapes.limb(shin, calf(0.14, 0.012), calf(0.5, 0.016), [[0, 0.036], [0.45, 0.046], [1, 0.03]]);
  addShoe(shapes, body, role("foot"), role("toe"));
}

// Heel, instep, ball and toes, flat below.
function addShoe(shapes, body, joint, toe) {
  const { pose, frames } = body;
  const u = shapes.unit;
  const ankle = pose.positions[joint];
  const height = standing(frames, [joint, toe ?? joint]).positions[3 * joint + 1];
  const floor = ankle[1] - clamp(height, 0.045 * u, 0.12 * u);
  const end = toe != null ? pose.positions[toe] : tipOf(body, joint);
  const ahead = end ? subtract(end, ankle) : AHEAD;
  const forward = unit([ahead[0], 0, ahead[2]], AHEAD);
  const ball = toe != null ? end : shapes.from(ankle, [forward, 0.125]);
  const reach = Math.max((ball[0] - ankle[0]) * forward[0] + (ball[2] - ankle[2]) * forward[2], 0.09 * u) / u;
  const place = (along, above) => {
    const [x, , z] = shapes.from(ankle, [forward, along]);
    return [x, floor + above * u, z];
  };
  const shoe = { accent: 1, forward, floor };
  shapes.ellipsoid(joint, place(-0.012, 0.034), [0.037, 0.044, 0.055], shoe);
  shapes.limb(joint, shapes.from(ankle, [UP, -0.012]), place(0.85 * reach, 0.034), [[0, 0.036, 0.038], [1, 0.041, 0.03]], { accent: 1 });
  shapes.ellipsoid(joint, place(0.55 * reach, 0.022), [0.041, 0.032, 0.085], shoe);
  shapes.ellipsoid(toe ?? joint, place(reach + 0.028, 0.02), [0.044, 0.031, 0.058], shoe);
}

function addArm(shapes, body, side) {
  const { skeleton, roles, pose, at } = body;
  const role = (name) => roles[`${side}_${name}`];
  const [shoulder, wrist, hand] = [at(`${side}_shoulder`), at(`${side}_hand`), role("hand")];
  if (!wrist) return;
  const elbow = at(`${side}_elbow`) ?? between(shoulder, wrist, 0.5);
  const along = unit(subtract(wrist, elbow));
  const front = unit(without(AHEAD, along));
  const flat = { side: cross(along, front) };
  shapes.limb(role("shoulder"), shoulder, elbow, [[0, 0.052, 0.056], [0.35, 0.046, 0.05], [0.8, 0.037, 0.039], [1, 0.036, 0.037]]);
  shapes.limb(role("elbow") ?? role("shoulder"), elbow, wrist, [[0, 0.036, 0.038], [0.25, 0.04, 0.042], [0.7, 0.03, 0.032], [1, 0.025, 0.029]], flat);
  shapes.ellipsoid(hand, shapes.from(wrist, [along, 0.05]), [0.024, 0.04, 0.058], { accent: 1, up: front, forward: along });
  const fingers = [...below(skeleton, hand)].filter((joint) => joint !== hand);
  const finger = (joint, from, to) => shapes.limb(joint, from, to, [[0, 0.0125], [1, 0.011]], { accent: 1 });
  for (const joint of fingers) {
    const parent = skeleton.parents[joint];
    const [from, to] = [pose.positions[parent], pose.positions[joint]];
    finger(parent, from, to);
    if (childrenOf(skeleton, joint).length) continue;
    finger(joint, to, tipOf(body, joint) ?? shapes.from(to, [unit(subtract(to, from), along), 0.022]));
  }
  if (fingers.length) return;
  // Without joints of fingers: all of them, and the thumb.
  const knuckles = shapes.from(wrist, [along, 0.09]);
  shapes.limb(hand, knuckles, shapes.from(knuckles, [along, 0.07]), [[0, 0.019, 0.036], [1, 0.014, 0.026]], { ...flat, accent: 1 });
  const thumb = (reach, out) => shapes.from(wrist, [along, reach], [front, out]);
  shapes.limb(hand, thumb(0.035, 0.028), thumb(0.088, 0.056), [[0, 0.018], [1, 0.013]], { accent: 1 });
}
