// The simple form of a body: a tapered capsule for each limb, closed, and each end on its joint, so that no pose tears it.

import { boxOf } from "./shapes.js";
import { add, clamp, cross, distance, inverse, point, rotate, subtract, turn, unit, without } from "../vectors.js";

// Radius of a limb in its lengths; the least and the most in sizes of the body, and that of a root.
const THICK = 0.14, LEAST = 0.012, MOST = 0.045, ROOT = 0.02;
// Share of its length by which the turn of its joint may leave a limb's end beside the next joint, and height in sizes below
// which a root lies on the ground.
const STRAY = 0.1, ON_GROUND = 0.03;

// The mesh of a body in a bind pose, in the form of `buildMannequin`. `coarseness`: size of its faces.
export function capsulesOf(skeleton, pose, frames, coarseness) {
  const { low, high } = boxOf(pose.positions.map((place) => [place, 0]));
  const size = Math.max(distance(low, high), 0.1);
  const mesh = { positions: [], normals: [], joints: [], indices: [] };
  const around = coarseness > 2 ? 8 : 16;
  skeleton.parents.forEach((parent, joint) => {
    const to = pose.positions[joint];
    if (parent < 0) return addCapsule(mesh, joint, to, to, ROOT * size, ROOT * size, around);
    const from = pose.positions[parent];
    const long = distance(from, to);
    const radius = clamp(THICK * long, LEAST * size, MOST * size);
    const limb = rotate(inverse(pose.rotations[parent]), subtract(to, from));
    const strays = ({ positions, rotations }) =>
      distance(add(point(positions, parent), rotate(turn(rotations, parent), limb)), point(positions, joint)) > STRAY * long;
    const fromGround = skeleton.parents[parent] < 0 && from[1] < ON_GROUND * size;
    if (fromGround) addCapsule(mesh, joint, to, to, radius, radius, around);
    // A limb that changes its length, or that points alone move, goes on to its joint.
    else addCapsule(mesh, parent, from, to, 1.1 * radius, 0.8 * radius, around, frames.some(strays) ? joint : parent);
  });
  const count = mesh.joints.length;
  return {
    positions: Float32Array.from(mesh.positions), normals: Float32Array.from(mesh.normals), indices: Uint32Array.from(mesh.indices),
    joints: Uint16Array.from(mesh.joints.flatMap((joint) => [joint, joint, joint, joint])),
    weights: Float32Array.from({ length: 4 * count }, (_, at) => (at % 4 ? 0 : 1)),
    accent: new Float32Array(count), openness: new Float32Array(count).fill(1), pose,
  };
}

// Two half spheres and the cone between them: poles, and rings of `around` vertices; `ending` carries the second half.
function addCapsule({ positions, normals, joints, indices }, joint, from, to, first, last, around, ending = joint) {
  const axis = unit(subtract(to, from));
  const u = unit(without([0.3, 0.2, 0.9], axis), unit(cross(axis, [1, 0, 0])));
  const w = cross(axis, u);
  const start = joints.length;
  const vertex = (isEnd, normal) => {
    positions.push(...(isEnd ? add(to, normal, last) : add(from, normal, first)));
    normals.push(...normal);
    joints.push(isEnd ? ending : joint);
  };
  const half = around / 4;
  vertex(false, axis.map((value) => -value));
  for (let ring = 0; ring < 2 * half; ring++) {
    const angle = (Math.PI / 2) * (ring < half ? (ring + 1) / half : ring / half);
    for (let k = 0; k < around; k++) {
      const turned = (2 * Math.PI * k) / around;
      const out = add(u.map((value) => value * Math.cos(turned)), w, Math.sin(turned));
      const normal = add(out.map((value) => value * Math.sin(angle)), axis, -Math.cos(angle));
      vertex(ring >= half, normal);
    }
  }
  vertex(true, axis);
  const end = joints.length - 1;
  const at = (ring, k) => start + 1 + ring * around + (k % around);
  for (let k = 0; k < around; k++) {
    indices.push(start, at(0, k + 1), at(0, k), end, at(2 * half - 1, k), at(2 * half - 1, k + 1));
    for (let ring = 0; ring < 2 * half - 1; ring++) {
      const [a, b, c, d] = [at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
      indices.push(a, b, c, a, c, d);
    }
  }
}
