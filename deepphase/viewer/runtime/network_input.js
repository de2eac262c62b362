/** Rows of inputs and gate of a network, filled block by block. */

import { TRAJECTORY_BLOCKS } from "./trajectory.js";

// Heights of the ground at each sample of the trajectory: left of it, below it, right of it.
const HEIGHTS = 3;
const POSE_BLOCKS = ["joint_position", "joint_velocity", "joint_rotation"];

export class NetworkInput {
  /** `inputs` and `gate`: raw values of the start state. */
  constructor(schema, inputs, gate) {
    this.schema = schema;
    this.inputs = Float32Array.from(inputs);
    this.gate = Float32Array.from(gate);
    const samples = schema.offsets.length;
    this.trajectory = {
      places: new Float64Array(2 * samples),
      directions: new Float64Array(2 * samples),
      velocities: new Float64Array(2 * samples),
    };
    this.labels = new Float32Array(samples * schema.label.values.length);
    this.pose = {};
    for (const name of POSE_BLOCKS) {
      const block = schema.inputs.view(this.inputs, name);
      if (block) this.pose[name] = Float32Array.from(block);
    }
    this.feet = Array.from(schema.feet, (foot) => schema.joints.indexOf(foot));
    this.footVelocity = new Float32Array(3 * this.feet.length);
    // The floor is flat, whatever the start state stood on.
    this.put("trajectory_height", new Float32Array(HEIGHTS * samples));
  }

  /** Values of the label in the start state; none for schemas without a label. */
  get label() {
    const { label, inputs, now } = this.schema;
    const count = label.values.length;
    if (!count) return new Float32Array(0);
    return inputs.view(this.inputs, label.name).slice(now * count, (now + 1) * count);
  }

  /** Set the pose of the next frame. */
  setPose(positions, velocities, numbers) {
    const values = [positions, velocities, numbers];
    POSE_BLOCKS.forEach((name, k) => {
      this.pose[name] = Float32Array.from(values[k]);
    });
  }

  /** Write the rows of a frame. */
  fill(history, future, label, phases) {
    const { schema, trajectory, labels } = this;
    const { now, offsets } = schema;
    history.fill(trajectory, labels);
    trajectory.places.set([0, 0], 2 * now);
    trajectory.directions.set([0, 1], 2 * now);
    trajectory.places.set(future.places, 2 * now + 2);
    future.angles.forEach((angle, i) => {
      trajectory.directions.set([Math.sin(angle), Math.cos(angle)], 2 * (now + 1 + i));
    });
    trajectory.velocities.set(future.velocities, 2 * now);
    for (let sample = now; sample < offsets.length; sample++) labels.set(label, sample * label.length);
    for (const [part, name] of Object.entries(TRAJECTORY_BLOCKS)) this.put(name, trajectory[part]);
    if (label.length) this.put(schema.label.name, labels);
    for (const [name, values] of Object.entries(this.pose)) this.put(name, values);
    const velocity = this.pose.joint_velocity;
    this.feet.forEach((joint, k) => {
      this.footVelocity.set(velocity.subarray(3 * joint, 3 * joint + 3), 3 * k);
    });
    this.put("foot_velocity", this.footVelocity);
    if (phases) phases.fill(this.gate);
  }

  /** Write a block to the rows that have it; gates have the samples from now on, the last ones. */
  put(name, values) {
    const { inputs, gate } = this.schema;
    for (const [layout, row] of [[inputs, this.inputs], [gate, this.gate]]) {
      const block = layout && layout.view(row, name);
      if (block) block.set(values.subarray(values.length - block.length));
    }
  }
}
