/**
 * The ball of a running character: predicted near the feet, and free elsewhere. The ball of a controller that
 * learnt without one is `loose`: nothing predicts it, and feet aim it and reach for it alone.
 */

import { dot, forwardKinematics, multiply, rotate, subtract } from "../../vectors.js";
import { wrappedAngle } from "../springs.js";
import { fromFacing, toFacing } from "../trajectory.js";
import { Ball, size } from "./physics.js";
import { aimOf, givenVelocity, GIVES, NEXT_TOUCH_S, ReachingFeet, velocityTo } from "./reaching.js";

// These numbers are explained in controllers/ball/running_balls.py.
const LOST_M = 1, FOUND_M = 0.6, LOSING_M = 0.5;
const FOOT_RADIUS_M = 0.04, TOUCH_M = 0.06, TOUCHED = 0.25, TO_PLACE_PER_S = 2, SOFT = 0.1;
const FARTHEST_M = 1.2, FASTEST = 6;
const FREE_S = 0.8, HARDEST = 14;
// Characters that fetch a ball stop this far from its middle, and foresee its way for this long, s.
const STOP_M = 0.3, LEAD_S = 1;
// A loose ball lies so far ahead at first.
const AHEAD_M = 0.5;
const POSITION = "ball_position", VELOCITY = "ball_velocity";

export class RunningBall {
  /**
   * @param asset  whose header has `ball`: its properties, `floor`, `near_m`, `past` (frames of the past
   *   samples), `legs` (knee, ankle, toe and end site of each) and `fetching_speed`
   * @param {Float32Array} inputs  raw inputs of the start state
   * @param root  x, z and angle
   */
  constructor(asset, inputs, root) {
    const { schema, skeleton } = asset;
    const { ball } = asset.header;
    Object.assign(this, { schema, skeleton, settings: ball, ball: new Ball(ball) });
    Object.assign(this, { lost: false, fetching: 0, fetches: true, free: 0, pending: null, points: null, aim: null });
    this.reaching = new ReachingFeet();
    this.rotation = [0, 0, 0, 1];
    this.worldRotations = new Float64Array(4 * skeleton.parents.length);
    this.worldPositions = new Float64Array(3 * skeleton.parents.length);
    if (ball.loose) {
      this.place([root.x + AHEAD_M * Math.sin(root.angle), root.z + AHEAD_M * Math.cos(root.angle)]);
      return;
    }
    const { offsets, now, frameRate } = schema;
    const places = rowsOf(schema.inputs.view(inputs, POSITION)).map((row) => inWorld(row, root, true));
    const speeds = rowsOf(schema.inputs.view(inputs, VELOCITY)).map((row) => inWorld(row, root, false));
    const [x, y, z] = places[now];
    // The training data has flat ground.
    const position = [x, y + this.ball.resting([x, z])[1] - ball.radius_m, z];
    this.state = { position, velocity: speeds[now] };
    const length = 1 + Math.max(0, ...ball.past);
    const times = Array.from({ length }, (_, i) => (i + 1 - length) / frameRate);
    this.history = [places, speeds].map((rows) => times.map((time) => sampleAt(rows, offsets, now, time)));
    this.future = [POSITION, VELOCITY].map((name) => rowsOf(schema.inputs.view(inputs, name)).slice(now));
  }

  /** Kick the ball with its next touch, to [x, y, z] m/s. */
  kick(velocity) {
    this.pending = () => velocity;
  }

  /** Kick it with its next touch so that it comes to rest at a place [x, z], or on the way there. */
  passTo(place) {
    this.pending = ([x, , z]) => {
      const way = [place[0] - x, place[1] - z];
      const distance = Math.hypot(way[0], way[1]);
      const share = Math.min(this.ball.speedToRoll(distance), HARDEST) / Math.max(distance, 1e-9);
      return [share * way[0], 0, share * way[1]];
    };
  }

  /** Put the ball at rest on the ground at a place [x, z]. */
  place(place) {
    this.state = { position: this.ball.resting(place), velocity: [0, 0, 0] };
    this.free = 0;
  }

  /** The goals, blended with the way to a ball that gets away. */
  goals(goals) {
    const share = this.fetching;
    if (!share || !this.fetches) return goals;
    return {
      trajectory: (root, moments) => {
        const given = goals.trajectory(root, moments);
        const way = this.wayTo(root, moments);
        return {
          places: given.places.map((value, i) => value + share * (way.places[i] - value)),
          angles: given.angles.map((value, i) => value + share * wrappedAngle(way.angles[i] - value)),
        };
      },
    };
  }

  /** Desired `places` [x, z, ...] and `angles` on the way to the ball. */
  wayTo(root, moments) {
    const { position, velocity } = this.state;
    const speed = this.settings.fetching_speed;
    let way = [position[0] - root.x, position[2] - root.z];
    // A ball that rolls away is met where it will be.
    const lead = Math.min(Math.hypot(way[0], way[1]) / speed, LEAD_S);
    way = [way[0] + lead * velocity[0], way[1] + lead * velocity[2]];
    const distance = Math.max(Math.hypot(way[0], way[1]), 1e-6);
    const places = moments.flatMap((time) => {
      const share = Math.min(time * speed, Math.max(distance - STOP_M, 0)) / distance;
      return [root.x + share * way[0], root.z + share * way[1]];
    });
    return { places: Float64Array.from(places), angles: new Float64Array(moments.length).fill(Math.atan2(way[0], way[1])) };
  }

  /** Aim the next touch at where the body will need its ball: `places` and `angles` ahead, in the world. */
  aimAt({ places, angles }) {
    const { offsets, now } = this.schema;
    const ahead = offsets.subarray(now + 1);
    const aims = Array.from(angles, (angle, i) => aimOf([places[2 * i], places[2 * i + 1]], angle));
    this.aim = sampleAt(aims, ahead, aims.length - 1, NEXT_TOUCH_S);
  }

  /** Write the blocks of the ball into raw inputs. */
  fill(inputs, root) {
    if (this.settings.loose) return;
    [POSITION, VELOCITY].forEach((name, k) => {
      const past = this.history[k];
      const own = this.settings.past.map((frames) => past[past.length - 1 - frames]);
      const current = k ? this.state.velocity : this.state.position;
      const rows = [...own, current].map((row) => inRoot(row, root, k === 0));
      rows.push(...this.future[k].slice(1).map((row) => [...row]));
      // The network has never seen a ball that is farther away or faster.
      const limit = k ? FASTEST : FARTHEST_M;
      for (const row of rows) {
        const share = Math.min(1, limit / Math.max(Math.hypot(row[0], row[2]), 1e-9));
        row[0] *= share;
        row[2] *= share;
      }
      this.schema.inputs.view(inputs, name).set(rows.flat());
    });
  }

  /**
   * Move the ball by one frame.
   *
   * @param outputs  raw outputs
   * @param localRotations, localPositions  pose of the frame
   * @param root  after the step
   * @param {number} seconds
   * @param swinging  whether the left and the right foot may reach for the ball, or null
   * @returns `position` in m, `velocity`, `rotation`, `touch` (0 left, 1 right, -1 none), `lost` and `gap`
   */
  step(outputs, localRotations, localPositions, root, seconds, swinging = null) {
    const { ball, schema } = this;
    const points = this.legPoints(localRotations, localPositions);
    const before = this.points || points;
    const speeds = points.map((point, i) => subtract(point, before[i]).map((value) => value / seconds));
    this.points = points;
    const { loose } = this.settings;
    const free = ball.advanced(this.state, seconds);
    if (!loose) this.future = [POSITION, VELOCITY].map((name) => rowsOf(schema.outputs.view(outputs, name)));
    const predicted = loose ? free.position : inWorld(this.future[0][0], root, true);
    const moved = loose ? free.velocity : inWorld(this.future[1][0], root, false);
    const gaps = points.map((point) => this.gap(point, free.position));
    const nearest = gaps.indexOf(Math.min(...gaps));
    const gap = gaps[nearest];
    const near = Math.min(Math.max(1 - Math.max(gap, 0) / this.settings.near_m, 0), 1);
    const guided = this.free > 0 || !moved.every(Number.isFinite) ? 0 : near * near * (3 - 2 * near);
    const wanted = moved.map((value, k) => value + TO_PLACE_PER_S * (predicted[k] - free.position[k]));
    // The prediction is of a ball on flat ground; what flies is left to physics.
    wanted[1] = free.velocity[1];
    let velocity = free.velocity.map((value, k) => value + guided * (wanted[k] - value));
    const toAim = velocityTo(this.aim, ground(free.position), ball);
    const aimed = gap < TOUCH_M && this.free <= 0 && toAim !== null;
    if (aimed) {
      const [x, z] = givenVelocity(ground(free.velocity), toAim, ground(speeds[nearest]));
      velocity = [x, velocity[1], z];
    }
    // Energy comes from feet alone.
    const fast = size(velocity);
    const direction = velocity.map((value) => value / Math.max(fast, 1e-9));
    let most = size(free.velocity);
    if (gap < TOUCH_M) most = Math.max(most, GIVES * Math.max(dot(speeds[nearest], direction), 0));
    velocity = direction.map((value) => value * Math.min(fast, most));
    // A touch ends the frame; a prediction counts from its beginning.
    const moves = aimed ? 0 : seconds;
    let position = free.position.map((value, k) => value + (velocity[k] - free.velocity[k]) * moves);
    const under = Math.max(-ball.height(position), 0);
    position = position.map((value, k) => value + ball.normal[k] * under);
    const met = ball.touched({ position, velocity }, points, speeds, FOOT_RADIUS_M, SOFT);
    const kicks = this.pending !== null && gap < TOUCH_M;
    if (kicks) {
      met.velocity = this.pending(met.position);
      this.pending = null;
      this.free = FREE_S;
    }
    const change = size(subtract(met.velocity, free.velocity));
    const touching = gap < TOUCH_M && (change > TOUCHED || met.impulse > TOUCHED * ball.mass);
    const touch = touching || kicks ? Math.floor(nearest / (points.length / 2)) : -1;
    this.turn(met.position);
    this.state = { position: met.position, velocity: met.velocity };
    if (swinging) {
      const half = points.length / 2;
      const tips = [points[half - 1], points[2 * half - 1]].map(ground);
      const place = ground(met.position);
      const wanted = this.free > 0 ? null : velocityTo(this.aim, place, ball);
      this.reaching.move(tips, swinging, place, ground(met.velocity), wanted, seconds);
    }
    this.free = Math.max(this.free - seconds, 0);
    const away = Math.min(...points.map((point) => Math.hypot(point[0] - met.position[0], point[2] - met.position[2])));
    this.lost = away > (this.lost ? FOUND_M : LOST_M);
    this.fetching = this.lost ? 1 : Math.min(Math.max((away - LOSING_M) / (LOST_M - LOSING_M), 0), 1);
    if (!loose) [met.position, met.velocity].forEach((value, k) => {
      this.history[k].shift();
      this.history[k].push(value);
    });
    return {
      position: added(met.position, this.settings.floor),
      velocity: met.velocity,
      rotation: this.rotation,
      touch,
      lost: this.lost,
      gap: Math.min(...points.map((point) => this.gap(point, met.position))),
    };
  }

  gap(point, position) {
    return size(subtract(point, position)) - this.ball.radius - FOOT_RADIUS_M;
  }

  /** Turn the ball as one that rolls to a position; its physics has no spin. */
  turn(position) {
    const { normal, radius } = this.ball;
    const [x, y, z] = subtract(position, this.state.position);
    const about = [normal[1] * z - normal[2] * y, normal[2] * x - normal[0] * z, normal[0] * y - normal[1] * x];
    const way = size(about);
    if (!(way > 1e-9)) return;
    const sine = Math.sin((0.5 * way) / radius) / way;
    const turned = multiply([...about.map((value) => sine * value), Math.cos((0.5 * way) / radius)], this.rotation);
    const length = Math.hypot(...turned);
    this.rotation = turned.map((value) => value / length);
  }

  /** Points along both legs, from the knee to the foot's end, over the floor of the training data. */
  legPoints(localRotations, localPositions) {
    const { worldRotations, worldPositions, skeleton } = this;
    forwardKinematics(skeleton.parents, localRotations, localPositions, worldRotations, worldPositions);
    const at = (joint) => Array.from(worldPositions.subarray(3 * joint, 3 * joint + 3));
    return this.settings.legs.flatMap(([knee, ankle, toe, end]) => {
      const [upper, middle, front] = [knee, ankle, toe].map(at);
      const points = [
        middle.map((value, k) => 0.5 * (value + upper[k])),
        middle.map((value, k) => 0.75 * value + 0.25 * upper[k]),
        middle,
        middle.map((value, k) => 0.5 * (value + front[k])),
        front,
        end < 0 ? front : this.endPoint(end, at),
      ];
      return points.map((point) => added(point, -this.settings.floor));
    });
  }

  endPoint(end, at) {
    const { endParents, endOffsets } = this.skeleton;
    const joint = endParents[end];
    const offset = rotate(this.worldRotations.subarray(4 * joint, 4 * joint + 4), endOffsets.subarray(3 * end, 3 * end + 3));
    return at(joint).map((value, k) => value + offset[k]);
  }
}

const ground = ([x, , z]) => [x, z];
const added = ([x, y, z], height) => [x, y + height, z];

/** Rows [x, y, z] of a block. */
function rowsOf(block) {
  return Array.from({ length: block.length / 3 }, (_, i) => Array.from(block.subarray(3 * i, 3 * i + 3)));
}

function inWorld([left, up, ahead], root, placed) {
  const [x, z] = fromFacing(left, ahead, root.angle);
  return placed ? [root.x + x, up, root.z + z] : [x, up, z];
}

function inRoot([x, y, z], root, placed) {
  const [left, ahead] = placed ? toFacing(x - root.x, z - root.z, root.angle) : toFacing(x, z, root.angle);
  return [left, y, ahead];
}

/** Rows at their offsets up to now, interpolated to a time. */
function sampleAt(rows, offsets, now, time) {
  let after = 0;
  while (after < now && offsets[after] < time) after++;
  if (after === 0 || offsets[after] <= time) return [...rows[after]];
  const share = (time - offsets[after - 1]) / (offsets[after] - offsets[after - 1]);
  return rows[after].map((value, k) => rows[after - 1][k] + share * (value - rows[after - 1][k]));
}
