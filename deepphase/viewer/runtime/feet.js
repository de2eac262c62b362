/** Foot locking: feet in contact are held in place by turning the joints of their legs. */

import {
  add, clamp, cross, distance, dot, forwardKinematics, inverse, length, multiply, rotate, scaled, smooth, subtract, turn, without,
} from "../vectors.js";
import { faded, springRate } from "./springs.js";
import { fromVector, toVector } from "./transitions.js";

const IN_CONTACT = 0.5;
const GRAVITY = 9.81;
// Legs are stretched beyond the motion softly, up to this share of their length, and where their feet are moved from up to
// this share of it before.
const MAX_STRETCH = 0.99, GIVE = 0.02;
// A nearly straight leg bends about its hinge, by this share when it is straight.
const NEARLY_STRAIGHT = 0.5;
const STRAIGHT_SHARE = 0.4;
// Feet that do not reach uneven ground point their toes down: by at most this angle, and to at most
// this one, radians. Feet that point straight down have no side to turn about.
const MAX_TURN = 0.6, MAX_POINTED = 1.1, LEAST_FOOT = 0.3;
// A nearly straight leg bends as if it were bent by this angle in radians.
const FIRM_BEND = 0.15;
const TINY_LENGTH = 1e-12;
// Radians by which a bend may be beyond its range unnoticed.
const SLACK = 1e-6;
const NO_HINGE = { axis: [0, 0, 0], range: [-0.1, 3.0] };
// The lock turns joints at most this many times as fast as is usual.
const FASTER = 1.25;

/** Locks the feet of one character, frame by frame. */
export class FootLock {
  /** Of an asset whose header has `legs` and the settings `foot_lock`, as `FootLock` in Python has them. */
  constructor({ header: { legs, hinges, foot_lock: settings }, skeleton }) {
    this.settings = settings;
    this.hinges = hinges.joints.map((joint, index) => ({
      joint, above: hinges.above[index], below: hinges.below[index], axis: hinges.axes[index], range: hinges.ranges[index],
    }));
    this.rates = { locked: springRate(settings.catch_halflife_s), free: springRate(settings.release_halflife_s) };
    this.parents = skeleton.parents;
    this.legs = legs.joints.map(([upper, middle, last, tip], leg) => ({
      upper, middle, last, tip, hinge: this.hinges.find(({ joint }) => joint === middle) ?? NO_HINGE, contact: legs.contacts[leg],
      end: legs.ends?.[leg] ?? [0, 0, 0], lowest: legs.lowest?.[leg] ?? -Infinity,
      joints: [upper, middle, last], fastest: legs.fastest?.[leg] ?? [], turned: null, // Radians/s; rotations of the last frame.
      locked: false, point: [0, 0], offset: [0, 0], speed: [0, 0], moving: null, placed: [0, 0], stepLeft: 0, stepHeight: 0,
    }));
    this.worldRotations = new Float64Array(4 * this.parents.length);
    this.worldPositions = new Float64Array(3 * this.parents.length);
  }

  /** Change the local rotations of a frame so that locked feet do not move; metres by which the whole body is then lowered.
   * `ground` moves feet to uneven ground; `resting` feet step to their places; `slips`: [x, z] in m by which locked feet move. */
  hold(localRotations, localPositions, contacts, seconds, { ground = null, resting = false, slips = null } = {}) {
    const { worldRotations, worldPositions } = this;
    const captured = this.legs.map(({ joints }) => joints.map((joint) => turn(localRotations, joint)));
    forwardKinematics(this.parents, localRotations, localPositions, worldRotations, worldPositions);
    const at = (joint) => Array.from(worldPositions.subarray(3 * joint, 3 * joint + 3));
    const placesOf = (leg) => {
      const [upper, middle, last, joint] = [leg.upper, leg.middle, leg.last, leg.tip].map(at);
      const tip = add(joint, rotate(turn(worldRotations, leg.tip), leg.end));
      return { upper, middle, last, tip, length: distance(upper, middle) + distance(middle, last), place: [tip[0], tip[2]] };
    };
    const states = this.legs.map(placesOf);
    this.step(states, resting, seconds);
    states.forEach((state, index) => {
      const leg = this.legs[index];
      state.touching = contacts[leg.contact] > IN_CONTACT && !(leg.stepLeft > 0);
      const held = this.place(leg, state, seconds, slips && !resting && state.touching ? slips[index] : null);
      state.shift = [0, 1].map((axis) => held[axis] - state.place[axis]);
    });
    const { lifts, drop } = ground ? ground.moved(states, seconds) : { lifts: null, drop: 0 };
    const goals = this.legs.map((leg, index) => {
      const { upper, last, tip, length: reach, shift } = states[index];
      const lift = leg.stepHeight * Math.sin(Math.PI * (1 - leg.stepLeft / this.settings.step_s)) ** 2;
      const sunk = ground ? 0 : Math.max(leg.lowest - tip[1], 0);
      const target = add(last, [shift[0], (lifts ? lifts[index] + drop : sunk) + lift, shift[1]]);
      const goal = withinReach(upper, last, target, reach);
      return { goal, tilt: lifts ? toesDown(last, tip, goal[1] - target[1]) : null };
    });
    // From where hinges leave the legs; once more if they keep one from its goal.
    for (let left = 2, turned = this.constrain(localRotations); left && (turned || left === 2); left--) {
      if (turned) forwardKinematics(this.parents, localRotations, localPositions, worldRotations, worldPositions);
      this.legs.forEach((leg, index) => {
        const { last, tip } = states[index], { goal, tilt } = goals[index], now = turned ? placesOf(leg) : states[index];
        const moved = subtract(subtract(now.last, last), subtract(now.tip, tip));
        this.reach(leg, now, lifts ? goal : add(goal, moved), left === 2 ? tilt : null, localRotations);
      });
      turned = this.constrain(localRotations);
    }
    this.legs.forEach((leg, index) => this.slow(leg, localRotations, captured[index], seconds));
    return drop;
  }

  /** Turn a leg from its last rotations at most a quarter faster than is usual, or as captured, all joints by the same share. */
  slow(leg, localRotations, captured, seconds) {
    const before = leg.turned, locked = leg.joints.map((joint) => turn(localRotations, joint));
    leg.turned = { captured, locked };
    if (!before || !leg.fastest.length) return;
    const turns = locked.map((own, k) => toVector(multiply(own, inverse(before.locked[k]))));
    const share = Math.min(...leg.fastest.map((rate, k) => {
      const most = Math.max(FASTER * seconds * rate, angleBetween(before.captured[k], captured[k]));
      return most / Math.max(length(turns[k]), most);
    }));
    if (!(share < 1)) return;
    leg.turned.locked = turns.map((each, k) => multiply(fromVector(scaled(each, share)), before.locked[k]));
    leg.joints.forEach((joint, k) => localRotations.set(leg.turned.locked[k], 4 * joint));
  }

  /** Turn a leg, whose joints have places in the world, so that its last joint is at its goal, and its foot by `tilt`. */
  reach(leg, { upper, middle, last }, goal, tilt, localRotations) {
    const hinge = rotate(turn(this.worldRotations, this.parents[leg.middle]), leg.hinge.axis);
    const turns = twoJointTurns(upper, middle, last, goal, hinge, leg.hinge.range);
    const kept = inverse(multiply(turns[0], turns[1]));
    turns.push(tilt ? multiply(kept, tilt) : kept);
    [leg.upper, leg.middle, leg.last].forEach((joint, k) => this.turnJoint(joint, turns[k], localRotations));
  }

  /** Turn knees, elbows and hocks into the range of the data, as `Hinges` in Python; whether any was turned. */
  constrain(localRotations) {
    let turned = false;
    this.hinges.forEach(({ joint, above, below, axis, range: [least, largest] }) => {
      const own = rotate(turn(localRotations, joint), below), across = without(above, axis);
      const bend = Math.atan2(dot(axis, cross(across, own)), dot(across, own));
      if (bend >= least - SLACK && bend <= largest + SLACK) return;
      turned = true;
      // From one end of the range round to the other, without a jump.
      const round = least - bend < 0 ? least - bend + 2 * Math.PI : least - bend;
      const goal = least + smooth(0, 2 * Math.PI - (largest - least), round) * (largest - least);
      const half = 0.5 * (goal - bend);
      localRotations.set(multiply([...scaled(axis, Math.sin(half)), Math.cos(half)], turn(localRotations, joint)), 4 * joint);
    });
    return turned;
  }

  /** Begin a step of the foot that is farthest from its place, and go on with steps that have begun. */
  step(states, resting, seconds) {
    const { legs, settings } = this;
    for (const leg of legs) leg.stepLeft = Math.max(leg.stepLeft - seconds, 0);
    const stepping = legs.filter((leg) => leg.stepLeft > 0).length;
    if (!resting || stepping >= Math.max(1, Math.floor(legs.length / 2))) return;
    const gaps = legs.map(({ locked, stepLeft, point }, index) => {
      const { place } = states[index];
      return locked && !(stepLeft > 0) ? Math.hypot(point[0] - place[0], point[1] - place[1]) : 0;
    });
    const farthest = gaps.indexOf(Math.max(...gaps));
    if (!(gaps[farthest] > settings.step_share * states[farthest].length)) return;
    legs[farthest].stepLeft = settings.step_s;
    legs[farthest].stepHeight = settings.step_lift * gaps[farthest];
  }

  /** Contacts without the feet that step. */
  touching(contacts) {
    const found = Array.from(contacts);
    for (const leg of this.legs) if (leg.stepLeft > 0) found[leg.contact] = 0;
    return found;
  }

  /** Turn a joint by a rotation in the world, given in the frame of its parent before the turn. */
  turnJoint(joint, rotation, localRotations) {
    const axis = rotate(inverse(turn(this.worldRotations, this.parents[joint])), rotation);
    localRotations.set(multiply([...axis, rotation[3]], turn(localRotations, joint)), 4 * joint);
  }

  /** Place [x, z] of a foot's tip: locked, or on its way back to the motion. */
  place(leg, { place: ground, touching, length: reach }, seconds, slip) {
    const { settings } = this;
    if (leg.moving === null) leg.moving = leg.placed = ground;
    const slid = slip ?? followed(leg, settings, ground, reach, seconds);
    if (leg.locked) leg.point = [0, 1].map((axis) => leg.point[axis] + slid[axis]);
    // Offset: of free feet from the motion, of locked feet from their place.
    const gap = leg.locked ? [leg.point[0] - ground[0], leg.point[1] - ground[1]] : leg.offset;
    const gap2 = gap[0] ** 2 + gap[1] ** 2;
    const release2 = (settings.release_share * reach) ** 2;
    const ends = leg.locked && (!touching || gap2 > release2);
    let begins = touching && !leg.locked && gap2 < 0.25 * release2;
    if (begins || ends) {
      const moving = [0, 1].map((axis) => (ground[axis] - leg.moving[axis]) / seconds);
      const velocity = [0, 1].map((axis) => (leg.locked ? slid[axis] / seconds : moving[axis]) + leg.speed[axis]);
      begins = begins && velocity[0] ** 2 + velocity[1] ** 2 < settings.catch_speed ** 2 * GRAVITY * reach;
      // The spring starts from the last place and velocity of the foot.
      if (begins) {
        leg.point = leg.placed;
        leg.offset = [0, 0];
        leg.speed = [0, 1].map((axis) => velocity[axis] - slid[axis] / seconds);
        leg.locked = true;
      } else if (ends) {
        leg.offset = [0, 1].map((axis) => leg.placed[axis] - leg.moving[axis]);
        leg.speed = [0, 1].map((axis) => velocity[axis] - moving[axis]);
        leg.locked = false;
      }
    }
    const rate = leg.locked ? this.rates.locked : this.rates.free;
    const faders = [0, 1].map((axis) => faded(leg.offset[axis], leg.speed[axis], rate, seconds));
    [leg.offset, leg.speed] = [0, 1].map((part) => faders.map((fader) => fader[part]));
    leg.moving = ground;
    const held = leg.locked ? leg.point : ground;
    leg.placed = [held[0] + leg.offset[0], held[1] + leg.offset[1]];
    return leg.placed;
  }
}

/** How far [x, z] a locked foot follows the motion in a frame. */
function followed(leg, settings, ground, reach, seconds) {
  const slid = [0, 1].map((axis) => settings.follow_share * (ground[axis] - leg.moving[axis]));
  const most = settings.follow_speed * Math.sqrt(GRAVITY * reach) * seconds;
  const share = Math.min(most / Math.max(Math.hypot(...slid), TINY_LENGTH), 1);
  return slid.map((metres) => share * metres);
}

/** The target, moved towards the leg's upper joint where it would overstretch the leg. */
function withinReach(upper, last, target, whole) {
  const drawn = subtract(target, upper);
  const reach = length(drawn), own = distance(upper, last) - Math.min(distance(target, last), GIVE * whole);
  if (!(reach > own)) return target;
  const room = Math.max(MAX_STRETCH * whole - own, 1e-6);
  return add(upper, drawn, (own + room * Math.tanh((reach - own) / room)) / Math.max(reach, 1e-9));
}

/** The rotation that lowers the tip of a foot whose last joint stays `missing` metres above its target. */
function toesDown(last, tip, missing) {
  const foot = subtract(tip, last);
  const along = Math.hypot(foot[0], foot[2]), size = Math.max(length(foot), 1e-6);
  if (!(along > LEAST_FOOT * size)) return [0, 0, 0, 1];
  const own = Math.asin(clamp(-foot[1] / size, -1, 1));
  const lower = Math.min(Math.sin(own) + Math.max(missing, 0) / size, Math.sin(MAX_POINTED));
  const angle = clamp(Math.asin(Math.max(lower, -1)) - own, 0, MAX_TURN);
  const sine = Math.sin(0.5 * angle);
  // About the foot's left side, by a positive angle.
  return [(sine * foot[2]) / along, 0, (-sine * foot[0]) / along, Math.cos(0.5 * angle)];
}

/** World rotations of the upper and the middle joint that bring the last one to its target: the middle one bends about the
 * `hinge`, to its own side and within its `range` in radians, then the leg swings there by the smallest rotation. */
function twoJointTurns(upper, middle, last, target, hinge, range) {
  const thigh = subtract(middle, upper), shin = subtract(last, middle);
  const way = subtract(target, upper);
  const first2 = dot(thigh, thigh), second2 = dot(shin, shin);
  const both = Math.max(Math.sqrt(first2 * second2), TINY_LENGTH);
  const [normal, sineAlong] = hingeOf(thigh, shin, hinge, both);
  // This part of the cosine does not change if the axis is not perpendicular to the leg.
  const along = dot(normal, shin);
  const askew = (dot(normal, thigh) * along) / both;
  const cosine = dot(thigh, shin) / both - askew;
  const bend = Math.atan2(sineAlong, cosine);
  const desired = (0.5 * (dot(way, way) - first2 - second2)) / both - askew;
  const size = Math.max(Math.hypot(sineAlong, cosine), TINY_LENGTH);
  const change = bendChange(bend, Math.acos(clamp(desired / size, -1, 1)), range);
  const turned = add(add(shin, cross(normal, shin), Math.sin(change)), subtract(scaled(normal, along), shin), 1 - Math.cos(change));
  const turnMiddle = [...scaled(normal, Math.sin(0.5 * change)), Math.cos(0.5 * change)];
  return [shortestTurn(add(thigh, turned), way, normal), turnMiddle];
}

/** Unit axis about which the leg bends, and the sine of its bend about it. */
function hingeOf(thigh, shin, hinge, both) {
  const own = scaled(cross(thigh, shin), 1 / both);
  const share = STRAIGHT_SHARE * Math.max(1 - length(own) / NEARLY_STRAIGHT, 0) ** 2;
  const whole = add(thigh, shin);
  const lean = dot(whole, hinge) / Math.max(dot(whole, whole), TINY_LENGTH);
  // The own axis, mirrored where it is on the other side: it turns there without a jump.
  const axis = add(add(own, hinge, -2 * Math.min(dot(own, hinge), 0)), add(hinge, whole, -lean), share);
  const normal = scaled(axis, 1 / Math.max(length(axis), TINY_LENGTH));
  return [normal, dot(normal, own)];
}

/** Radians from a bend to its goal within a range, damped for small bends. */
function bendChange(bend, goal, [least, largest]) {
  const start = Math.max(bend, least);
  const small = FIRM_BEND + Math.max(start, 0) ** 2 / (4 * FIRM_BEND);
  const firm = start < 2 * FIRM_BEND ? small : start;
  const damped = Math.sqrt(Math.max(firm * firm + goal * goal - start * start, 0)) - firm;
  const exact = clamp(goal / (2 * FIRM_BEND) - 1, 0, 1);
  const reached = start + damped + exact * (goal - start - damped);
  return clamp(reached, Math.min(start, 0), largest) - bend;
}

const angleBetween = (a, b) => 2 * Math.acos(Math.min(Math.abs(a.reduce((sum, each, k) => sum + each * b[k], 0)), 1));

/** The smallest rotation from one direction to another; about `aside` if they are opposite. */
function shortestTurn(start, goal, aside) {
  const lengths = length(start) * length(goal);
  const real = lengths + dot(start, goal);
  const rotation = real <= 1e-9 * lengths ? [...aside, 0] : [...cross(start, goal), real];
  const size = Math.hypot(...rotation);
  return rotation.map((value) => value / size);
}
