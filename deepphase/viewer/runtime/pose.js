/** Poses of a skeleton from predicted values, with constant limb lengths, and frames as characters return them. */

import { add, aroundY, cross, forwardKinematics, inverse, multiply, multiplyInto, point, rotate, turn, unit, without } from "../vectors.js";
import { fromFacing } from "./trajectory.js";

/** Reads poses of the schema's joints, and places the whole skeleton in the world. */
export class PoseReader {
  constructor(schema, skeleton) {
    const { joints } = schema;
    const { parents, offsets } = skeleton;
    const place = new Map(Array.from(joints, (joint, index) => [joint, index]));
    this.skeleton = skeleton;
    this.joints = joints;
    this.parents = Array.from(joints, (joint) => place.get(parents[joint]) ?? 0);
    this.offsets = Array.from(joints, (joint) => point(offsets, joint));
    // Joints above the hips; the topmost one moves with the root.
    this.above = [];
    for (let up = parents[joints[0]]; up >= 0; up = parents[up]) this.above.push(up);
    this.rotations = new Float64Array(4 * joints.length);
    this.numbers = new Float32Array(6 * joints.length);
    this.positions = new Float64Array(3 * joints.length);
  }

  /** Read `rotations`, `numbers` (the same rotations, orthonormal) and `positions` in root space. */
  read(numbers, hips) {
    const { rotations, positions, parents } = this;
    for (let joint = 0; joint < parents.length; joint++) {
      const [x, y, z] = axesOf(numbers, 6 * joint);
      this.numbers.set(x, 6 * joint);
      this.numbers.set(y, 6 * joint + 3);
      rotations.set(quaternionOf(x, y, z), 4 * joint);
      const parent = parents[joint];
      positions.set(joint ? add(point(positions, parent), rotate(turn(rotations, parent), this.offsets[joint])) : hips, 3 * joint);
    }
  }

  /** Local `rotations` and `positions` of all joints of the skeleton, its root in the world. */
  inWorld(root) {
    const { rotations, joints, above, positions, skeleton } = this;
    const localPositions = Float64Array.from(skeleton.offsets), localRotations = new Float64Array(4 * skeleton.parents.length);
    for (let at = 3; at < localRotations.length; at += 4) localRotations[at] = 1;
    for (let index = 1; index < joints.length; index++) {
      multiplyInto(localRotations, 4 * joints[index], inverse(turn(rotations, this.parents[index])), 0, rotations, 4 * index);
    }
    const hips = joints[0];
    const facing = aroundY(root.angle), own = turn(rotations, 0);
    if (above.length) {
      for (const joint of above) localPositions.fill(0, 3 * joint, 3 * joint + 3);
      localRotations.set(facing, 0);
      localPositions.set([root.x, 0, root.z], 0);
      localRotations.set(own, 4 * hips);
      localPositions.set(positions.subarray(0, 3), 3 * hips);
    } else {
      const [x, z] = fromFacing(positions[0], positions[2], root.angle);
      localRotations.set(multiply(facing, own), 4 * hips);
      localPositions.set([root.x + x, positions[1], root.z + z], 3 * hips);
    }
    return { rotations: localRotations, positions: localPositions };
  }
}

/** Unit x, y and z axes of six predicted numbers, which are not exactly orthonormal. */
export function axesOf(numbers, at) {
  const [first, second] = [at, at + 3].map((start) => [numbers[start], numbers[start + 1], numbers[start + 2]]);
  const x = unit(first, [1, 0, 0]);
  // x is parallel to at most one of the two axes.
  const aside = Math.abs(x[1]) < 0.9 ? [0, 1, 0] : [1, 0, 0];
  const y = unit(without(second, x), unit(without(aside, x)));
  return [x, y, cross(x, y)];
}

/** Unit quaternion of right-handed axes, by its largest component (Shepperd 1978). */
export function quaternionOf([xx, xy, xz], [yx, yy, yz], [zx, zy, zz]) {
  const squares = [1 + xx - yy - zz, 1 - xx + yy - zz, 1 - xx - yy + zz, 1 + xx + yy + zz];
  const [ii, jj, kk, ww] = squares;
  const rows = [[ii, xy + yx, xz + zx, yz - zy], [xy + yx, jj, yz + zy, zx - xz], [xz + zx, yz + zy, kk, xy - yx], [yz - zy, zx - xz, xy - yx, ww]];
  const found = rows[squares.indexOf(Math.max(...squares))];
  const length = Math.hypot(...found);
  return found.map((value) => value / length);
}

/** A frame of a pose in the world. */
export function frameOf(skeleton, root, localRotations, localPositions, facts) {
  const rotations = new Float32Array(localRotations.length), positions = new Float32Array(localPositions.length);
  forwardKinematics(skeleton.parents, localRotations, localPositions, rotations, positions);
  return {
    root: { position: [root.x, root.z], heading: root.angle }, positions, rotations,
    localRotations: Float32Array.from(localRotations), rootPosition: Array.from(localPositions.subarray(0, 3)), ...facts,
  };
}
