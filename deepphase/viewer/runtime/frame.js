/** Frames as characters return them. */

import { forwardKinematics } from "../vectors.js";

/**
 * A frame of a pose in the world.
 *
 * @param skeleton  of the asset
 * @param root  x, z and angle
 * @param localRotations, localPositions  4 and 3 numbers a joint, the root's in the world
 * @param facts  further entries of the frame
 */
export function frameOf(skeleton, root, localRotations, localPositions, facts) {
  const rotations = new Float32Array(localRotations.length);
  const positions = new Float32Array(localPositions.length);
  forwardKinematics(skeleton.parents, localRotations, localPositions, rotations, positions);
  return {
    root: { position: [root.x, root.z], heading: root.angle },
    positions,
    rotations,
    localRotations: Float32Array.from(localRotations),
    rootPosition: Array.from(localPositions.subarray(0, 3)),
    localPositions: Float32Array.from(localPositions),
    ...facts,
  };
}
