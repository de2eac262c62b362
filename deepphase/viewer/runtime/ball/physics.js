/** Physics of a ball on flat or sloping ground: it flies, bounces and rolls, without spin. */

import { dot, subtract } from "../../vectors.js";

const GRAVITY = 9.81;
// A bounce that would be slower than this, m/s, ends: the ball rolls.
const SETTLED = 0.1;
// On a slope the direction of friction changes: the motion is cut into steps of this length, s.
const SLOPE_STEP_S = 1 / 480;
// Height in metres at which a ball still lies on the ground.
const ON_GROUND = 1e-9;
const EPSILON = 1e-12;

const added = (a, b, scale = 1) => a.map((value, k) => value + scale * b[k]);
export const size = (vector) => Math.sqrt(dot(vector, vector));

/** A ball with its ground. Positions are centres in metres; the ground contains the origin. */
export class Ball {
  /** @param properties  `radius_m`, `mass_kg`, `restitution`, `rolling` and `slope` [along x, along z] */
  constructor({ radius_m: radius, mass_kg: mass, restitution, rolling, slope }) {
    Object.assign(this, { radius, mass, restitution });
    const upwards = [-slope[0], 1, -slope[1]];
    this.normal = upwards.map((value) => value / size(upwards));
    this.weight = GRAVITY * this.normal[1];
    this.deceleration = rolling * this.weight;
    this.pull = added(this.normal.map((value) => this.weight * value), [0, GRAVITY, 0], -1);
    this.slopes = Math.max(...this.pull.map(Math.abs)) > EPSILON;
  }

  /** Metres between the ball and the ground; 0 where it lies. */
  height(position) {
    return dot(position, this.normal) - this.radius;
  }

  /** Position of a ball that lies on the ground at a place [x, z]. */
  resting([x, z]) {
    const { normal, radius } = this;
    return [x, (radius - x * normal[0] - z * normal[2]) / normal[1], z];
  }

  /** m/s at which a ball rolls a distance in metres over flat ground: to rest, or at most in some time. */
  speedToRoll(distance, seconds = Infinity) {
    const toRest = Math.sqrt(2 * this.deceleration * distance);
    if (seconds === Infinity) return toRest;
    const inTime = distance / seconds + 0.5 * this.deceleration * seconds;
    return inTime < this.deceleration * seconds ? toRest : inTime;
  }

  /** Position and velocity some seconds later, without touches. */
  advanced({ position, velocity }, seconds) {
    const { normal, weight, pull, restitution, radius } = this;
    let height = Math.max(this.height(position), 0);
    let along = added(position, normal, -dot(position, normal));
    let rising = dot(velocity, normal);
    let speed = added(velocity, normal, -rising);
    let left = seconds, rolls = false;
    for (;;) {
      rolls = height <= ON_GROUND && Math.abs(rising) < SETTLED;
      if (rolls) height = rising = 0;
      if (rolls || !(left > 0)) break;
      const landing = (rising + Math.sqrt(rising ** 2 + 2 * weight * height)) / weight;
      const lands = landing <= left;
      const step = lands ? landing : left;
      along = added(along, added(speed, pull, 0.5 * step), step);
      speed = added(speed, pull, step);
      height = lands ? 0 : Math.max(height + (rising - 0.5 * weight * step) * step, 0);
      rising -= weight * step;
      left -= step;
      if (lands) rising *= -restitution;
      // What is slower than this after the bounce rolls on.
      if (lands && rising < SETTLED) rising = 0;
    }
    if (rolls) [along, speed] = this.rolled(along, speed, left);
    return { position: added(along, normal, height + radius), velocity: added(speed, normal, rising) };
  }

  /** Place and velocity along the ground after rolling. */
  rolled(place, velocity, seconds) {
    const { deceleration, pull, slopes } = this;
    if (!(seconds > 0)) return [place, velocity];
    const steps = slopes ? Math.max(1, Math.ceil(seconds / SLOPE_STEP_S)) : 1;
    const each = seconds / steps;
    for (let i = 0; i < steps; i++) {
      const pulled = added(velocity, pull, each);
      const speed = size(pulled);
      const slowed = Math.min(deceleration * each, speed);
      const after = pulled.map((value) => value * (1 - slowed / Math.max(speed, EPSILON)));
      // Flat ground has constant deceleration until the ball rests; then nothing moves.
      const moving = deceleration * each > speed && !slopes ? speed / deceleration : each;
      place = added(place, added(velocity, after), 0.5 * moving);
      velocity = after;
    }
    return [place, velocity];
  }

  /**
   * The ball after its collisions with moving points of feet, each the centre of a sphere.
   *
   * @param state  `position` and `velocity`
   * @param points, speeds  [x, y, z] of each
   * @param {number} radius  of the spheres
   * @param {number} restitution  of the collisions
   * @returns the state, and `impulse`, the sum of all impulses in N s
   */
  touched(state, points, speeds, radius, restitution) {
    const { normal } = this;
    let { position, velocity } = state, impulse = 0;
    points.forEach((foot, index) => {
      const away = subtract(position, foot);
      const distance = size(away);
      const across = distance > EPSILON ? away.map((value) => value / distance) : [0, 1, 0];
      const overlap = this.radius + radius - distance;
      if (overlap < 0) return;
      const approach = dot(subtract(speeds[index], velocity), across);
      const change = approach > 0 ? (1 + restitution) * approach : 0;
      velocity = added(velocity, across, change);
      position = added(position, across, overlap);
      impulse += this.mass * change;
    });
    // A foot from above does not press the ball into the ground.
    const height = this.height(position);
    position = added(position, normal, -Math.min(height, 0));
    const into = dot(velocity, normal);
    if (height <= ON_GROUND && into < 0) velocity = added(velocity, normal, -into);
    return { position, velocity, impulse };
  }
}
