// A mannequin around a skeleton: one smooth mesh whose vertices follow up to four joints.

import { below, childrenOf, rolesOf } from "./bodyplan.js";
import { personShapes } from "./person.js";
import { quadrupedShapes, stickShapes } from "./animal.js";
import { add, aroundY, inverse, multiply, point, rotate, shortestArc, subtract, turn, unit } from "../vectors.js";
import { isClosed, meshAround, normalsOf, opennessOf } from "./surface.js";

// Influences of a vertex, and the number of joints above and below one that may share its surface.
const INFLUENCES = 4, KIN = 2;
// Cells of the first mannequin, in those of the final one: a picture is shown at once.
export const COARSE = 2.5;

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
// the grid's cells in the usual ones.
export function buildMannequin(skeleton, frames, coarseness = 1) {
  const roles = rolesOf(skeleton);
  const shapesOf = { biped: personShapes, quadruped: quadrupedShapes }[roles.kind];
  for (const build of [shapesOf, stickShapes].filter(Boolean)) {
    const pose = new BindPose(skeleton, upright(frames, roles));
    const at = (role) => pose.positions[roles[role]];
    const built = build({ skeleton, roles, pose, at, frames, ends: endsOf(skeleton) });
    // A body whose joints do not bear its form is drawn as limbs.
    if (!built) continue;
    const { shapes, unitLength } = built;
    const cell = 0.0145 * coarseness * unitLength;
    const mesh = meshAround(shapes.filter((shape) => !shape.hidden), cell, 0.011 * unitLength);
    if (!isClosed(mesh)) continue;
    const normals = normalsOf(mesh, 0.8 * cell);
    const openness = opennessOf(mesh, normals, 0.1 * unitLength);
    return { ...mesh, normals, openness, ...skinned(mesh.positions, shapes, skeleton, 0.022 * unitLength), pose, unitLength };
  }
  throw new Error("the body has no surface: its joints have no places");
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
    const chosen = kin[nearest].filter((j) => shares[j] > 0).sort((a, b) => shares[b] - shares[a]).slice(0, INFLUENCES);
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
