/** History of a character's root in the world over the reach of the past trajectory samples. */

import { mix } from "../vectors.js";
import { positiveRemainder, roundHalfEven } from "./springs.js";
import { toFacing } from "./trajectory.js";

/** Ring of the roots of the last frames; before the first one a cubic spline through the samples of the start state. */
export class RootHistory {
  /** `splines`: matrices (frames, samples) of the asset's header; `trajectory`: `places`, `velocities` (or null) and `angles` in the world. */
  constructor(schema, splines, trajectory, label) {
    const { offsets, now, frameRate } = schema;
    const moments = Array.from(offsets.subarray(0, now), (each) => each * frameRate);
    this.frameRate = frameRate;
    this.nearest = moments.map(roundHalfEven);
    this.before = moments.map((moment) => Math.floor(moment + 1e-3));
    this.shares = moments.map((moment, sample) => moment - this.before[sample]);
    if (this.shares.every((share) => Math.abs(share) < 1e-3)) this.shares.fill(0);
    this.length = splines.values.length;
    [this.x, this.z] = [0, 1].map((axis) => splined(splines.values, trajectory.places, axis, 2));
    this.angles = splined(splines.values, trajectory.angles, 0, 1);
    const [matrix, moving] = trajectory.velocities ? [splines.values, trajectory.velocities] : [splines.slopes, trajectory.places];
    [this.velocityX, this.velocityZ] = [0, 1].map((axis) => splined(matrix, moving, axis, 2));
    this.labels = Array.from({ length: this.length }, () => Float32Array.from(label));
    this.now = this.length - 1;
    this.recorded = 0;
  }

  /** The current root: x and z in metres, angle in radians. */
  get root() { return { x: this.x[this.now], z: this.z[this.now], angle: this.angles[this.now] }; }

  /** Add a frame; its velocity is the predicted one until the next frame is known. */
  record(x, z, angle, velocityX, velocityZ, label) {
    const last = this.now;
    const before = positiveRemainder(last - 1, this.length);
    const now = (last + 1) % this.length;
    if (this.recorded) {
      // Central differences, as in the data.
      this.velocityX[last] = 0.5 * this.frameRate * (x - this.x[before]);
      this.velocityZ[last] = 0.5 * this.frameRate * (z - this.z[before]);
    }
    [this.x[now], this.z[now], this.angles[now]] = [x, z, angle];
    [this.velocityX[now], this.velocityZ[now]] = [velocityX, velocityZ];
    this.labels[now].set(label);
    this.now = now;
    this.recorded += 1;
  }

  /** Write the past samples, relative to the current root, to the beginning of the blocks. */
  fill(blocks, labels) {
    const { x, z, angle } = this.root;
    const put = (block, sample, left, ahead) => block.set(toFacing(left, ahead, angle), 2 * sample);
    for (let sample = 0; sample < this.before.length; sample++) {
      const nearest = this.frame(this.nearest[sample]);
      put(blocks.places, sample, this.at(this.x, sample) - x, this.at(this.z, sample) - z);
      put(blocks.velocities, sample, this.velocityX[nearest], this.velocityZ[nearest]);
      const turned = this.at(this.angles, sample) - angle;
      blocks.directions.set([Math.sin(turned), Math.cos(turned)], 2 * sample);
      labels.set(this.labels[nearest], sample * this.labels[nearest].length);
    }
  }

  /** Value at the time of a sample, between two frames. */
  at(values, sample) {
    const before = values[this.frame(this.before[sample])];
    const share = this.shares[sample];
    return share === 0 ? before : mix(before, values[this.frame(this.before[sample] + 1)], share);
  }

  /** Place in the ring of a frame, counted from now. */
  frame(frames) { return positiveRemainder(this.now + frames, this.length); }
}

/** matrix (frames, samples) @ every `stride`-th value from `first` on. */
function splined(matrix, values, first, stride) {
  return Float64Array.from(matrix, (row) => row.reduce((sum, weight, sample) => sum + weight * values[first + stride * sample], 0));
}
