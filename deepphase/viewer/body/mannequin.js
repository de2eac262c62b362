// A mannequin around a skeleton: one smooth mesh whose vertices follow up to four joints.

import { below, childrenOf, rolesOf } from "./bodyplan.js";
import { personShapes } from "./person.js";
import { quadrupedShapes } from "./animal.js";
import { capsulesOf } from "./capsules.js";
import { add, aroundY, axesOf, inverse, multiply, point, rotate, shortestArc, subtract, turn, unit } from "../vectors.js";
import { isClosed, meshAround, normalsOf, opennessOf } from "./surface.js";

// Influences of a vertex, and the number of joints above and below one that may share its surface.
const INFLUENCES = 4, KIN = 2, LEAST_SHARE = 0.03;
// Distance of a vertex from its joints, in that of the bind pose, from which on a surface is torn.
const TORN = 1.25;

// A pose that meshes are built in: positions and rotations of all joints in the world, facing +Z.
class BindPose {
  constructor(skeleton, frame) {
    const { heading, position } = frame.root;
    const level = aroundY(-heading);
    this.skeleton = skeleton;
    this.rotations = skeleton.names.map((_, j) => multiply(level, turn(frame.rotations, j)));
    this.positions = skeleton.names.map((_, j) =>
      rotate(level, subtract(point(frame.positions, j), [position[0], 0, position[1]])));
  }

  // Turn a joint and all below it around its position.
  swing(joint, rotation) {
    const center = this.positions[joint];
    for (const each of below(this.skeleton, joint)) {
      this.positions[each] = add(center, rotate(rotation, subtract(this.positions[each], center)));
      this.rotations[each] = multiply(rotation, this.rotations[each]);
    }
  }

  // Turn a joint so that the line to another one points in a direction.
  aim(joint, at, direction) {
    const now = unit(subtract(this.positions[at], this.positions[joint]), null);
    if (now) this.swing(joint, shortestArc(now, unit(direction)));
  }

  // Give a joint the world rotation that it has in a frame.
  match(joint, frame) {
    const desired = multiply(aroundY(-frame.root.heading), turn(frame.rotations, joint));
    this.swing(joint, multiply(desired, inverse(this.rotations[joint])));
  }
}

// The mesh: positions, normals, joints (4 a vertex), weights, accent, openness, indices; and the
// pose that it is built in. Frames: some in which the character stands or walks. `coarseness`: size of
// the grid's cells in the usual ones. A body whose joints do not bear its form, or whose surface would have a hole or be
// torn in a frame, has capsules as limbs.
export function buildMannequin(skeleton, frames, coarseness = 1) {
  const roles = rolesOf(skeleton);
  const bind = () => new BindPose(skeleton, upright(frames, roles));
  const pose = bind();
  const at = (role) => pose.positions[roles[role]];
  const body = { skeleton, roles, pose, at, frames, ends: endsOf(skeleton) };
  const built = { biped: personShapes, quadruped: quadrupedShapes }[roles.kind]?.(body);
  if (built) {
    const { shapes, unitLength } = built;
    const cell = 0.0145 * coarseness * unitLength;
    const mesh = meshAround(shapes.filter((shape) => !shape.hidden), cell, 0.011 * unitLength);
    const skin = isClosed(mesh) && skinned(mesh.positions, shapes, skeleton, 0.022 * unitLength);
    if (skin && holds({ ...mesh, ...skin, pose }, frames, cell)) {
      const normals = normalsOf(mesh, 0.8 * cell);
      return { ...mesh, ...skin, normals, openness: opennessOf(mesh, normals, 0.1 * unitLength), pose };
    }
  }
  return capsulesOf(skeleton, bind(), frames, coarseness);
}

// Whether all vertices of a mesh stay at their joints: how far each is from the nearest of those that carry it, in all
// frames, by its largest distance from one of them in the bind pose.
function holds({ positions, joints, weights, pose }, frames, cell) {
  const count = positions.length / 3;
  const radii = new Float32Array(count);
  for (let at = 0; at < INFLUENCES * count; at++) {
    if (!weights[at]) continue;
    const v = Math.floor(at / INFLUENCES), place = pose.positions[joints[at]];
    radii[v] = Math.max(radii[v], Math.hypot(...subtract(point(positions, v), place)));
  }
  return frames.every((frame) => {
    const moves = pose.positions.map((place, j) => {
      const axes = axesOf(multiply(turn(frame.rotations, j), inverse(pose.rotations[j])));
      return [0, 1, 2].flatMap((r) => [...axes.map((axis) => axis[r]), frame.positions[3 * j + r] - axes.reduce((sum, axis, a) => sum + axis[r] * place[a], 0)]);
    });
    for (let v = 0; v < count; v++) {
      const x = positions[3 * v], y = positions[3 * v + 1], z = positions[3 * v + 2];
      let px = 0, py = 0, pz = 0;
      for (let at = INFLUENCES * v; at < INFLUENCES * (v + 1); at++) {
        const m = moves[joints[at]], w = weights[at];
        px += w * (m[0] * x + m[1] * y + m[2] * z + m[3]);
        py += w * (m[4] * x + m[5] * y + m[6] * z + m[7]);
        pz += w * (m[8] * x + m[9] * y + m[10] * z + m[11]);
      }
      let nearest = Infinity;
      for (let at = INFLUENCES * v; at < INFLUENCES * (v + 1); at++) {
        const p = 3 * joints[at];
        if (weights[at]) nearest = Math.min(nearest, Math.hypot(px - frame.positions[p], py - frame.positions[p + 1], pz - frame.positions[p + 2]));
      }
      // False for what is not a number.
      if (!(nearest <= TORN * radii[v] + cell)) return false;
    }
    return true;
  });
}

// The frame in which hips and shoulders are highest: neither sitting nor bent.
function upright(frames, { hips, left_shoulder: shoulder }) {
  const height = ({ positions }) => Math.min(positions[3 * hips + 1], positions[3 * (shoulder ?? hips) + 1]);
  return frames.reduce((best, frame) => (height(frame) > height(best) ? frame : best));
}

function endsOf(skeleton) {
  const ends = {};
  skeleton.endParents?.forEach((joint, at) => {
    ends[joint] ??= point(skeleton.endOffsets, at);
  });
  return ends;
}

function skinned(positions, shapes, skeleton, softness) {
  const count = positions.length / 3;
  const joints = new Uint16Array(INFLUENCES * count);
  const weights = new Float32Array(INFLUENCES * count);
  const accent = new Float32Array(count);
  const kin = skeleton.names.map((_, joint) => kinOf(skeleton, joint));
  const shares = new Float64Array(skeleton.names.length);
  for (let v = 0; v < count; v++) {
    const [x, y, z] = point(positions, v);
    shares.fill(0);
    let [nearest, least, tinted, sum] = [0, Infinity, 0, 0];
    for (const shape of shapes) {
      if (outside(shape, x, y, z, 6 * softness)) continue;
      const d = shape.distance(x, y, z);
      if (!shape.hidden) {
        const share = Math.exp(-d / (0.25 * softness));
        tinted += share * shape.accent;
        sum += share;
      }
      if (shape.joint === null) continue;
      shares[shape.joint] += Math.exp(-d / softness);
      if (d < least) [nearest, least] = [shape.joint, d];
    }
    accent[v] = sum > 0 ? tinted / sum : 0;
    const chosen = kin[nearest].filter((j) => shares[j] > LEAST_SHARE * shares[nearest]).sort((a, b) => shares[b] - shares[a]).slice(0, INFLUENCES);
    const total = chosen.reduce((all, j) => all + shares[j], 0);
    joints.set(chosen.length ? chosen : [nearest], INFLUENCES * v);
    weights.set(chosen.length ? chosen.map((joint) => shares[joint] / total) : [1], INFLUENCES * v);
  }
  return { joints, weights, accent };
}

function outside({ low, high }, x, y, z, margin) {
  return x < low[0] - margin || y < low[1] - margin || z < low[2] - margin ||
    x > high[0] + margin || y > high[1] + margin || z > high[2] + margin;
}

// A joint, those up to KIN above it and up to KIN below it; not those of another limb.
function kinOf(skeleton, joint) {
  const found = new Set([joint]);
  let above = joint;
  for (let step = 0; step < KIN && skeleton.parents[above] >= 0; step++) found.add((above = skeleton.parents[above]));
  let layer = [joint];
  for (let step = 0; step < KIN; step++) {
    layer = layer.flatMap((each) => childrenOf(skeleton, each));
    layer.forEach((each) => found.add(each));
  }
  return [...found];
}
