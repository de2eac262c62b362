/** Trajectories of a character: of its start state, predicted, desired, and blended of both. */

import { clamp, mix } from "../vectors.js";
import { positiveRemainder, wrappedAngle } from "./springs.js";

/** Weights of the goal against the prediction: [position bias, direction bias]. */
export const BLENDS = { natural: [0.5, 2], balanced: [2, 5], responsive: [5, 10] };

/** Position, direction and velocity blocks of a row. */
export const TRAJECTORY_BLOCKS = {
  places: "trajectory_position",
  directions: "trajectory_direction",
  velocities: "trajectory_velocity",
};

/** A world vector as components to the left and ahead of a facing. */
export function toFacing(x, z, angle) {
  const cosine = Math.cos(angle), sine = Math.sin(angle);
  return [x * cosine - z * sine, x * sine + z * cosine];
}

/** The inverse of `toFacing`. */
export function fromFacing(x, z, angle) {
  return toFacing(x, z, -angle);
}

/** `places` [x, z, ...], continuous `angles` and `velocities` (or null) of a start state, in the world. */
export function startTrajectory(schema, inputs, position, heading) {
  const [relative, facing, moving] = Object.values(TRAJECTORY_BLOCKS).map((name) => schema.inputs.view(inputs, name));
  const count = schema.offsets.length;
  const angles = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const angle = Math.atan2(facing[2 * i], facing[2 * i + 1]);
    angles[i] = i ? angles[i - 1] + wrappedAngle(angle - angles[i - 1]) : angle;
  }
  const now = angles[schema.now];
  const root = { x: position[0], z: position[1], angle: heading };
  return {
    places: inWorld(relative, root),
    angles: angles.map((angle) => heading + angle - now),
    velocities: moving && inWorld(moving, { x: 0, z: 0, angle: heading }),
  };
}

/** Vectors [x, z, ...] in the axes of a root, in the world. */
function inWorld(vectors, root) {
  const out = new Float64Array(vectors.length);
  for (let i = 0; i < out.length; i += 2) {
    const [x, z] = fromFacing(vectors[i], vectors[i + 1], root.angle);
    out.set([root.x + x, root.z + z], i);
  }
  return out;
}

/** `places` (m) and `angles` after now in a row of inputs or outputs, and `velocities` (m/s) from now on, by the root. */
export function readFuture(layout, row, schema) {
  const samples = schema.later - 1;
  const latest = (name, count) => {
    const block = layout.view(row, name);
    return block && Float64Array.from(block.subarray(block.length - 2 * count));
  };
  const places = latest(TRAJECTORY_BLOCKS.places, samples);
  const facing = latest(TRAJECTORY_BLOCKS.directions, samples);
  const angles = new Float64Array(samples);
  for (let i = 0; i < samples; i++) angles[i] = Math.atan2(facing[2 * i], facing[2 * i + 1]);
  const velocities = latest(TRAJECTORY_BLOCKS.velocities, samples + 1);
  return { places, angles, velocities: velocities || slopes(places, schema.stepSeconds) };
}

/** Velocities [x, z, ...] of places from the origin on: differences, central between the ends. */
function slopes(places, stepSeconds) {
  const from = Float64Array.from([0, 0, ...places]);
  return from.map((_, at) => {
    const before = Math.max(at - 2, at % 2), after = Math.min(at + 2, from.length - 2 + (at % 2));
    return (from[after] - from[before]) / (0.5 * stepSeconds * (after - before));
  });
}

/** The trajectory of `readFuture` in the world: `places` [x, z, ...] and `angles`. */
export function futureInWorld(future, root) {
  return { places: inWorld(future.places, root), angles: future.angles.map((angle) => root.angle + angle) };
}

/** [x, z, direction x, direction z] of every sample of places and angles, as frames have them. */
export function trajectoryRows({ places, angles }, samples = angles.length) {
  const rows = new Float32Array(4 * samples);
  for (let i = 0; i < samples; i++) {
    rows.set([places[2 * i], places[2 * i + 1], Math.sin(angles[i]), Math.cos(angles[i])], 4 * i);
  }
  return rows;
}

// As in `goal_limits.py`: m/s between which facings are turned, and radians that count as turned.
const SLOW = [0.15, 0.4], TURNED = 1e-3;

/** Blends predictions with goals (Holden, Komura and Saito 2017, section 6). */
export class TrajectoryBlend {
  constructor(schema, limits) {
    const later = Array.from(schema.offsets).filter((offset) => offset > 0);
    // A frame before and after each sample gives its velocity.
    const moments = [0, -1, 1].flatMap((frames) => later.map((seconds) => seconds + frames / schema.frameRate));
    Object.assign(this, { later, moments, frameRate: schema.frameRate, limits });
  }

  /** `future` (relative), `desired` (world), whether goals were `limited`, and the `facing` desired at the end. */
  blended(predicted, goals, root, biases) {
    const samples = this.later.length;
    const desired = goals.trajectory(root, this.moments), lead = goals.lead(root);
    this.moments.forEach((seconds, i) => [0, 1].forEach((axis) => { desired.places[2 * i + axis] += seconds * lead[axis]; }));
    let limited = limitGoals(desired, this.moments, root, this.limits);
    const relative = new Float64Array(desired.places.length);
    for (let i = 0; i < relative.length; i += 2) {
      relative.set(toFacing(desired.places[i] - root.x, desired.places[i + 1] - root.z, root.angle), i);
    }
    const places = new Float64Array(2 * samples), angles = new Float64Array(samples);
    const velocities = Float64Array.from(predicted.velocities);
    for (let i = 0; i < samples; i++) {
      const time = (i + 1) / samples;
      const weight = 1 - (1 - time) ** biases[0];
      const turning = 1 - (1 - time) ** biases[1];
      const [before, after] = [1, 2].map((part) => 2 * (part * samples + i));
      const goalVelocity = [0, 1].map((axis) => 0.5 * this.frameRate * (relative[after + axis] - relative[before + axis]));
      const speed = Math.hypot(goalVelocity[0], goalVelocity[1]);
      const kept = speed > this.limits.speed ? this.limits.speed / speed : 1;
      limited = limited || kept < 1;
      for (let axis = 0; axis < 2; axis++) {
        const at = 2 * i + axis;
        const stepOf = (values) => values[at] - (i ? values[at - 2] : 0);
        places[at] = (i ? places[at - 2] : 0) + mix(stepOf(predicted.places), stepOf(relative), weight);
        velocities[at + 2] += weight * (kept * goalVelocity[axis] - velocities[at + 2]);
      }
      angles[i] = predicted.angles[i] + turning * wrappedAngle(desired.angles[i] - root.angle - predicted.angles[i]);
    }
    const facing = desired.angles[samples - 1];
    return { future: { places, angles, velocities }, desired: trajectoryRows(desired, samples), limited, facing };
  }
}

/** Move places to within reach of the root at a speed limit, in place; whether one was not. */
export function limitPlaces(places, moments, root, speed) {
  return moments.map((seconds, i) => limitPlace(places, i, root, speed * seconds)).includes(true);
}

function limitPlace(places, i, root, reach) {
  const x = places[2 * i] - root.x, z = places[2 * i + 1] - root.z;
  const length = Math.hypot(x, z);
  if (length <= reach) return false;
  const share = reach / Math.max(length, 1e-12);
  places[2 * i] = root.x + share * x;
  places[2 * i + 1] = root.z + share * z;
  return true;
}

/** Project `places` and `angles` onto directions and speeds of the data; the twin of `GoalLimits.projected`. */
function limitGoals({ places, angles }, moments, root, { speed, reaches, spans }) {
  let limited = limitPlaces(places, moments, root, speed);
  if (!reaches.length) return limited;
  const velocities = spans.length ? velocitiesAt(places, moments, root) : null;
  moments.forEach((seconds, i) => {
    const x = places[2 * i] - root.x, z = places[2 * i + 1] - root.z;
    const way = Math.atan2(x, z);
    if (velocities) {
      const [vx, vz] = velocities[i];
      const pace = (Math.hypot(vx, vz) - SLOW[0]) / (SLOW[1] - SLOW[0]);
      const turn = excess(spans, Math.atan2(vx, vz) - angles[i]) * clamp(pace, 0, 1);
      angles[i] += turn;
      limited = limited || Math.abs(turn) > TURNED;
    }
    // In a curve a place lies ahead of the facing in the middle of the way to it.
    const middle = root.angle + 0.5 * wrappedAngle(angles[i] - root.angle);
    const reach = Math.max(speedTowards(reaches, way - angles[i]), speedTowards(reaches, way - middle));
    if (limitPlace(places, i, root, reach * seconds)) limited = true;
  });
  return limited;
}

/** [x, z] m/s at places, whose times need not rise. */
function velocitiesAt(places, moments, root) {
  if (moments.length === 1) return [[(places[0] - root.x) / moments[0], (places[1] - root.z) / moments[0]]];
  const order = Array.from(moments.keys()).sort((a, b) => moments[a] - moments[b]);
  const found = [];
  order.forEach((at, i) => {
    const before = order[Math.max(i - 1, 0)], after = order[Math.min(i + 1, order.length - 1)];
    const seconds = moments[after] - moments[before];
    found[at] = [0, 1].map((axis) => (places[2 * after + axis] - places[2 * before + axis]) / seconds);
  });
  return found;
}

/** Radians by which a direction from the facing is off the nearest one that the data goes. */
function excess(spans, angle) {
  let best = Infinity;
  for (const [first, last] of spans) {
    const half = 0.5 * (last - first);
    const off = wrappedAngle(angle - (first + half));
    const beyond = off - clamp(off, -half, half);
    if (Math.abs(beyond) < Math.abs(best)) best = beyond;
  }
  return best;
}

function speedTowards(reaches, angle) {
  const count = reaches.length;
  const place = positiveRemainder(angle * (count / (2 * Math.PI)), count);
  const before = Math.min(Math.floor(place), count - 1);
  return mix(reaches[before], reaches[(before + 1) % count], place - before);
}
