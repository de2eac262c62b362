/** A character moved by a controller, frame by frame. */

import { clamp, point } from "../vectors.js";
import { FootLock } from "./feet.js";
import { frameOf, PoseReader } from "./pose.js";
import { VelocityGoals, DesiredLabel } from "./goals.js";
import { RootHistory } from "./history.js";
import { networkOf } from "./network.js";
import { createPhases } from "./phases.js";
import { createRandom } from "./random.js";
import { CharacterRest, goalStands, StandingRoot } from "./rest.js";
import {
  BLENDS, fromFacing, futureInWorld, readFuture, startTrajectory, toFacing, TRAJECTORY_BLOCKS, TrajectoryBlend, trajectoryRows,
} from "./trajectory.js";

// Bound of all outputs in SI units; larger values mean that the network has diverged.
const MAX_OUTPUT = 1e3;
// Characters with a seed start from one of this share of the states, those nearest to their goals.
const NEAREST_SHARE = 0.25;
// Heights of the ground at each sample of the trajectory: left of it, below it, right of it.
const HEIGHTS = 3;
const POSE_BLOCKS = ["joint_position", "joint_velocity", "joint_rotation"];
// Blocks that are 0 for a body at rest, by the beginnings of their names.
const MOVING_BLOCKS = ["trajectory", "root_", "joint_velocity", "phase_rate", "phase_freq"];

/** See `createCharacter`. */
export class ControllerCharacter {
  constructor(asset, options = {}) {
    this.asset = asset;
    this.reset(options);
  }

  /** Begin again, with the options of `createCharacter`. */
  reset(options = {}) {
    const { asset } = this;
    const { schema, header, arrays } = asset;
    const { seed = 0, position = [0, 0], heading = 0, label = null, goal = null, blend = "balanced", footIk = true, ground = null } = options;
    Object.assign(this, { footIk, ground, biases: typeof blend === "string" ? BLENDS[blend] : blend, alive: true });
    this.start = options.start ?? this.chooseStart(label, goal, heading, seed);
    const inputs = row(arrays["starts.inputs"], this.start, schema.inputs.dims);
    const gate = row(arrays["starts.gate"], this.start, schema.gate ? schema.gate.dims : 0);
    this.input = new NetworkInput(schema, inputs, gate);
    this.network = networkOf(asset);
    this.phases = createPhases(schema, this.input.gate, header.settings.phase_blend);
    this.labels = new DesiredLabel(schema, this.input.label, header.settings.label_halflife_s);
    this.labels.set(label);
    const trajectory = startTrajectory(schema, inputs, position, heading);
    this.history = new RootHistory(schema, header.history, trajectory, this.input.label);
    this.future = this.startFuture();
    this.trajectoryBlend = new TrajectoryBlend(schema, header.limits);
    this.goals = new VelocityGoals(heading, header.settings, position);
    this.standing = new StandingRoot(1 / schema.frameRate);
    this.rest = header.rest && new CharacterRest(asset);
    this.speed = Math.hypot(this.history.velocityX[this.history.now], this.history.velocityZ[this.history.now]);
    this.pose = new PoseReader(schema, asset.skeleton);
    this.feet = new FootLock(asset);
    this.groundFeet = ground && ground.feet();
    this.outputs = this.standingOutputs();
  }

  /** Advance by one frame. */
  step(goal = null) {
    const { schema } = this.asset;
    const root = this.history.root;
    const seconds = 1 / schema.frameRate;
    let future = this.future, desired = new Float32Array(4 * (schema.later - 1));
    let limited = false, stands = false, facing = root.angle;
    if (goal) {
      // The target is near where the root was one frame ago, as in Python.
      this.goals.set(goal, seconds, this.before || root);
      this.before = { x: root.x, z: root.z };
      ({ future, desired, limited, facing } = this.trajectoryBlend.blended(future, this.goals, root, this.biases));
      stands = goalStands(desired, schema.stepSeconds);
      this.labels.set(goal.label);
    }
    const ahead = trajectoryRows(futureInWorld(future, root));
    this.labels.advance();
    this.input.fill(this.history, future, this.labels.current, this.phases);
    if (this.ground) this.input.put("trajectory_height", this.ground.heights(this.input.trajectory, root));
    const outputs = this.bounded(this.network.step(this.input.inputs, this.input.gate));
    const gating = this.network.blendWeights && this.network.blendWeights.slice();
    if (this.rest && this.alive) {
      this.rest.replace(outputs, stands, this.speed, root.angle, facing, this.labels.goalValue);
      // Captured rest sways about its place.
      stands = stands && !this.rest.resting;
    }
    this.move(outputs, root, seconds, stands);
    this.readPose(outputs);
    this.contacts = schema.outputs.view(outputs, "contact").map((value) => clamp(value, 0, 1));
    if (this.phases) this.phases.advance(outputs);
    return this.frame(ahead, desired, limited, gating, seconds);
  }

  frame(ahead, desired, limited, gating, seconds) {
    const { skeleton } = this.asset;
    const root = this.history.root;
    const { rotations, positions } = this.pose.inWorld(root);
    if (this.ground) positions[1] += this.ground.level(root);
    if (!this.footIk) this.feet.constrain(rotations);
    else positions[1] -= this.feet.hold(rotations, positions, this.contacts, seconds, { ground: this.groundFeet, resting: this.resting });
    return frameOf(skeleton, root, rotations, positions, {
      trajectory: { predicted: ahead, desired },
      contacts: this.footIk ? Float32Array.from(this.feet.touching(this.contacts)) : this.contacts.slice(),
      phases: this.phases && this.phases.parameters(),
      gating, limited, alive: this.alive, cost: null, jumped: false, row: null,
    });
  }

  /** Index of the start state whose trajectory is nearest to the goal; any near one with a seed. */
  chooseStart(label, goal, heading, seed) {
    const { schema, arrays, header } = this.asset;
    const goals = new VelocityGoals(heading, header.settings);
    goals.set(goal || { velocity: [0, 0], facing: null }, 0);
    const moments = Array.from(schema.offsets.subarray(schema.now + 1));
    const { places } = goals.trajectory({ x: 0, z: 0 }, moments);
    const goalPlaces = moments.flatMap((_, i) => toFacing(places[2 * i], places[2 * i + 1], heading));
    const misfits = [];
    arrays["starts.frames"].forEach((_, start) => {
      const inputs = row(arrays["starts.inputs"], start, schema.inputs.dims);
      if (!this.hasLabel(inputs, label)) return;
      const future = readFuture(schema.inputs, inputs, schema).places;
      misfits.push([future.reduce((sum, value, i) => sum + (value - goalPlaces[i]) ** 2, 0), start]);
    });
    if (!misfits.length) return this.chooseStart(null, goal, heading, seed);
    misfits.sort((a, b) => a[0] - b[0]);
    const near = Math.max(1, Math.round(NEAREST_SHARE * misfits.length));
    return misfits[seed ? Math.floor(createRandom(seed).uniform() * near) : 0][1];
  }

  hasLabel(inputs, value) {
    const { schema } = this.asset;
    const { values, name } = schema.label;
    const block = value === null ? null : schema.inputs.view(inputs, name);
    if (!block) return true;
    const now = block.subarray(schema.now * values.length, (schema.now + 1) * values.length);
    return now.indexOf(Math.max(...now)) === values.indexOf(value);
  }

  /** The start state's future; its velocities come from the gate if only the gate has them. */
  startFuture() {
    const { schema } = this.asset;
    const { inputs, gate } = this.input;
    const future = readFuture(schema.inputs, inputs, schema);
    const moving = schema.inputs.view(inputs, "trajectory_velocity") ? null : schema.gate?.view(gate, "trajectory_velocity");
    return moving ? { ...future, velocities: Float64Array.from(moving) } : future;
  }

  /** Whether captured rest is played. */
  get resting() { return Boolean(this.rest?.resting); }

  /** The outputs; where they have diverged, the last valid ones at rest. */
  bounded(predicted) {
    // The comparison is false for NaN.
    this.alive = this.alive && predicted.every((value) => Math.abs(value) < MAX_OUTPUT);
    if (this.alive) this.outputs.set(predicted);
    for (const [name, [start, stop]] of this.alive ? [] : this.asset.schema.outputs.blocks) {
      if (MOVING_BLOCKS.some((beginning) => name.startsWith(beginning))) this.outputs.fill(0, start, stop);
    }
    return this.outputs;
  }

  /** Move the root by the predicted step, and read the future trajectory from there. */
  move(outputs, root, seconds, stands) {
    const { schema } = this.asset;
    const layout = schema.outputs;
    const velocity = this.standing.steadied(layout.view(outputs, "root_velocity"), stands);
    const [stepX, stepZ] = fromFacing(seconds * velocity[0], seconds * velocity[1], root.angle);
    this.speed = Math.hypot(stepX, stepZ) / seconds;
    const angle = root.angle + seconds * layout.view(outputs, "root_turn")[0];
    this.future = readFuture(layout, outputs, schema);
    const now = fromFacing(this.future.velocities[0], this.future.velocities[1], angle);
    this.history.record(root.x + stepX, root.z + stepZ, angle, now[0], now[1], this.labels.current);
  }

  /** The pose of the outputs, which is the next input. */
  readPose(outputs) {
    const [places, velocities, turns] = POSE_BLOCKS.map((name) => this.asset.schema.outputs.view(outputs, name));
    this.pose.read(turns, places.subarray(0, 3));
    const values = [this.pose.positions, velocities, this.pose.numbers];
    POSE_BLOCKS.forEach((name, k) => { this.input.pose[name] = Float32Array.from(values[k]); });
  }

  /** Outputs of the start pose at rest, as far as the inputs have it. */
  standingOutputs() {
    const layout = this.asset.schema.outputs;
    const outputs = new Float32Array(layout.dims);
    // No rotation, in six numbers a joint: x axis and y axis.
    layout.view(outputs, "joint_rotation").forEach((_, at, numbers) => { numbers[at] = at % 6 === 0 || at % 6 === 4 ? 1 : 0; });
    for (const [name, values] of Object.entries(this.input.pose)) layout.view(outputs, name).set(values);
    return outputs;
  }
}

/** Row of a matrix as a view. */
function row(values, index, width) {
  return values.subarray(index * width, (index + 1) * width);
}

/** Rows of inputs and gate of a network, filled block by block. */
class NetworkInput {
  /** `inputs` and `gate`: raw values of the start state. */
  constructor(schema, inputs, gate) {
    this.schema = schema;
    this.inputs = Float32Array.from(inputs);
    this.gate = Float32Array.from(gate);
    const samples = schema.offsets.length;
    this.trajectory = Object.fromEntries(Object.keys(TRAJECTORY_BLOCKS).map((part) => [part, new Float64Array(2 * samples)]));
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
    return count ? inputs.view(this.inputs, label.name).slice(now * count, (now + 1) * count) : new Float32Array(0);
  }

  /** Write the rows of a frame. */
  fill(history, future, label, phases) {
    const { schema, trajectory, labels } = this;
    const { now, offsets } = schema;
    history.fill(trajectory, labels);
    trajectory.places.set([0, 0], 2 * now);
    trajectory.directions.set([0, 1], 2 * now);
    trajectory.places.set(future.places, 2 * now + 2);
    future.angles.forEach((angle, i) => trajectory.directions.set([Math.sin(angle), Math.cos(angle)], 2 * (now + 1 + i)));
    trajectory.velocities.set(future.velocities, 2 * now);
    for (let sample = now; sample < offsets.length; sample++) labels.set(label, sample * label.length);
    for (const [part, name] of Object.entries(TRAJECTORY_BLOCKS)) this.put(name, trajectory[part]);
    if (label.length) this.put(schema.label.name, labels);
    for (const [name, values] of Object.entries(this.pose)) this.put(name, values);
    this.feet.forEach((joint, k) => this.footVelocity.set(point(this.pose.joint_velocity, joint), 3 * k));
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
