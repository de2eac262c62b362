/** Surfaces of random bodies, and of the bodies of a request: reads it from stdin, writes what is wrong with them. */
import { readFileSync } from "node:fs";

import { buildMannequin } from "../../deepphase/viewer/body/mannequin.js";
import { isClosed } from "../../deepphase/viewer/body/surface.js";
import { createRandom } from "../../deepphase/viewer/runtime/random.js";
import { add, distance, inverse, multiply, point, rotate, scaled, subtract, turn, unit } from "../../deepphase/viewer/vectors.js";

// A limb: [name, length in metres, direction] from the joint above.
const SPINE = ["Spine", "Spine1", "Spine2"];
const ARM = [["Shoulder", 0.12, [1, 0.1, 0]], ["Arm", 0.11, [1, 0, 0]], ["ForeArm", 0.28, [1, -0.2, 0]], ["Hand", 0.25, [1, -0.2, 0]]];
const LEG = [["UpLeg", 0.1, [1, -0.2, 0]], ["Leg", 0.42, [0, -1, 0]], ["Foot", 0.41, [0, -1, 0]], ["ToeBase", 0.16, [0, -0.5, 1]]];
const CANINE_FORE = [["Shoulder", 0.1, [0.5, -0.4, 0.3]], ["Arm", 0.12, [0, -1, -0.3]], ["ForeArm", 0.16, [0, -1, 0]], ["Hand", 0.14, [0, -1, 0]]];

/** A skeleton with roles, and its offsets, of a person or a dog whose limbs vary. */
function randomSkeleton(random) {
  const vary = (width) => Math.exp(width * random.normal());
  const fourLegged = random.uniform() < 0.25;
  const size = vary(0.4);
  const names = ["Hips"], parents = [-1], offsets = [[0, 0, 0]], roles = { hips: 0 };
  const joint = (name, parent, offset) => (names.push(name), parents.push(parent), offsets.push(scaled(offset, size)), names.length - 1);
  const chain = (parts, from, side, mirror) => parts.reduce((parent, [name, length, [x, y, z]]) => {
    const way = scaled(unit([mirror * x, y, z]), length * vary(0.25));
    // Some limbs are in two parts, as with a joint that twists.
    if (random.uniform() < 0.15) parent = joint(`${side}${name}Twist`, parent, scaled(way, 0.5));
    const twisted = names.at(-1).endsWith("Twist") && parent === names.length - 1;
    const at = joint(`${side}${name}`, parent, scaled(way, twisted ? 0.5 : 1));
    const role = { UpLeg: "hip", Leg: "knee", Foot: "foot", ToeBase: "toe", Arm: "shoulder", ForeArm: "elbow", Hand: "hand" }[name];
    if (role) roles[`${side.toLowerCase()}_${role}`] = at;
    return at;
  }, from);
  const back = fourLegged ? [0, 0.1, 1] : [0, 1, 0];
  let chest = 0;
  for (const name of SPINE.slice(0, 1 + Math.floor(3 * random.uniform()))) chest = joint(name, chest, scaled(back, 0.16 * vary(0.3)));
  const neck = random.uniform() < 0.85 ? joint("Neck", chest, scaled(unit(add(back, [0, 1, 0])), 0.2 * vary(0.2))) : null;
  const head = joint("Head", neck ?? chest, fourLegged ? [0, 0.15, 0.2] : [0, 0.12, 0.02]);
  Object.assign(roles, { head, chest }, neck === null ? {} : { neck });
  for (const [side, mirror] of [["Left", 1], ["Right", -1]]) {
    chain(random.uniform() < 0.2 ? LEG.slice(0, 3) : LEG, 0, side, mirror);
    const arm = fourLegged ? CANINE_FORE : random.uniform() < 0.2 ? ARM.slice(1) : ARM;
    if (random.uniform() < 0.95 || fourLegged) chain(arm, chest, side, mirror);
  }
  const tail = fourLegged ? [joint("Tail", 0, [0, 0.05, -0.15])] : [];
  return { skeleton: { names, parents, kind: fourLegged ? "quadruped" : "biped", roles: { ...roles, tail } }, offsets };
}

/** Frames in which joints turn at random, in axes that are turned at random. */
function randomFrames({ skeleton, offsets }, random, count = 6) {
  const spin = (width) => unitTurn([width * random.normal(), width * random.normal(), width * random.normal(), 1]);
  const axes = skeleton.names.map(() => (random.uniform() < 0.5 ? [0, 0, 0, 1] : spin(2)));
  return Array.from({ length: count }, (_, frame) => {
    const rotations = [], places = [];
    skeleton.parents.forEach((parent, j) => {
      const own = spin(frame ? 0.25 : 0.05);
      rotations.push(parent < 0 ? own : multiply(rotations[parent], own));
      places.push(parent < 0 ? [0, 0, 0] : add(places[parent], rotate(rotations[parent], offsets[j])));
    });
    const low = Math.min(...places.map((place) => place[1]));
    return {
      positions: Float32Array.from(places.flatMap(([x, y, z]) => [x, y - low, z])),
      rotations: Float32Array.from(rotations.flatMap((q, j) => multiply(q, axes[j]))),
      root: { position: [0, 0], heading: 0 },
    };
  });
}

function unitTurn(q) {
  return scaledTurn(q, 1 / Math.hypot(...q));
}

function scaledTurn(q, share) {
  return q.map((value) => share * value);
}

/** A frame in which a joint has left the others. */
function torn(frame, joint, by) {
  const positions = Float32Array.from(frame.positions, (value, i) => value + (Math.floor(i / 3) === joint ? by : 0));
  return { ...frame, positions };
}

/** What is wrong with the surface of a body, "" if nothing is, and whether it is of capsules. */
function checked(skeleton, frames, coarseness) {
  const mesh = buildMannequin(skeleton, frames, coarseness);
  const capsules = mesh.openness.every((value) => value === 1);
  const ends = !capsules || frames.every((frame) => limbsMeet(mesh, skeleton, frame));
  return { fault: faultOf(mesh, skeleton, frames) || (ends ? "" : "a limb ends beside its joint"), capsules };
}

/** Whether the limbs of capsules, whose vertices hang on one joint each, reach the joints in a frame. */
function limbsMeet({ pose: { positions, rotations }, joints, ...mesh }, { parents }, frame) {
  const gaps = parents.map((parent) => (parent < 0 ? 0 : Infinity));
  for (let v = 0; v < mesh.positions.length / 3; v++) {
    const own = joints[4 * v], local = rotate(inverse(rotations[own]), subtract(point(mesh.positions, v), positions[own]));
    const place = add(rotate(turn(frame.rotations, own), local), point(frame.positions, own));
    parents.forEach((parent, j) => {
      // The beginnings of other limbs at the same joint do not count.
      const isOfLimb = own === parent ? distance(point(mesh.positions, v), positions[j]) < 0.1 : own === j;
      if (isOfLimb) gaps[j] = Math.min(gaps[j], distance(place, point(frame.positions, j)));
    });
  }
  return gaps.every((gap) => gap < 0.12);
}

function faultOf(mesh, { names }, frames) {
  const { pose: { positions, rotations }, joints, weights } = mesh;
  const count = mesh.positions.length / 3;
  if (mesh.indices.some((index) => !(index < count))) return "a triangle has no vertex";
  if (!isClosed(mesh)) return "it is not closed";
  if (joints.some((joint) => joint >= names.length)) return "a vertex hangs on no joint";
  for (let v = 0; v < count; v++) {
    const own = [0, 1, 2, 3].map((k) => [joints[4 * v + k], weights[4 * v + k]]).filter(([, weight]) => weight > 0);
    if (Math.abs(own.reduce((sum, [, weight]) => sum + weight, 0) - 1) > 1e-3) return "the weights of a vertex are not 1 in all";
    const bound = point(mesh.positions, v);
    const radius = Math.max(...own.map(([j]) => distance(bound, positions[j])));
    for (const frame of frames) {
      const place = own.reduce((sum, [j, weight]) => {
        const local = rotate(inverse(rotations[j]), subtract(bound, positions[j]));
        return add(sum, add(rotate(turn(frame.rotations, j), local), point(frame.positions, j)), weight);
      }, [0, 0, 0]);
      const near = Math.min(...own.map(([j]) => distance(place, point(frame.positions, j))));
      if (!(near < 1.3 * radius + 0.1)) return "a vertex leaves its joints";
    }
  }
  return "";
}

const { count = 0, bodies = [], coarseness = 2.5, moved = null } = JSON.parse(readFileSync(0, "utf8"));
const found = bodies.map(({ skeleton, frames }) => checked(skeleton, frames.map(({ positions, rotations, root }) => (
  { positions: Float32Array.from(positions), rotations: Float32Array.from(rotations), root })), coarseness));
for (let seed = 1; seed <= count; seed++) {
  const random = createRandom(seed);
  const body = randomSkeleton(random);
  const frames = randomFrames(body, random);
  // Tracked points have no rotations.
  if (moved === "points") frames.forEach((frame) => { frame.rotations = frames[0].rotations; });
  if (moved) frames.push(torn(frames[0], body.skeleton.roles[moved === "points" ? "head" : moved], -3));
  found.push(checked(body.skeleton, frames, coarseness));
}
process.stdout.write(JSON.stringify(found));
