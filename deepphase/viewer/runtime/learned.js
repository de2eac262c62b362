/** A character of a matcher: learned motion matching, frame by frame. */

import { FootLock } from "./feet.js";
import { frameOf } from "./pose.js";
import { VelocityGoals } from "./goals.js";
import { aroundY, multiply, point, rotate, turn } from "../vectors.js";
import { createRandom } from "./random.js";
import { KeptStates, RowMotion } from "./kept_motion.js";
import { RestChain, breathing, goalIsRest } from "./rest.js";
import { RootSteps } from "./root_steps.js";
import { positiveRemainder, wrappedAngle } from "./springs.js";
import { fromFacing, limitPlaces, toFacing, trajectoryRows } from "./trajectory.js";
import { Transition, fromVector } from "./transitions.js";

// Speed at which a desired trajectory begins, m/s, from which on a character at rest starts.
const STARTING_SPEED = 0.35;

/** See `createCharacter`; further options: `row` to start with, `topSpeed` of a full stick, m/s. */
export class LearnedCharacter {
  constructor(asset, options = {}) {
    const { header } = asset;
    this.asset = opened(asset);
    Object.assign(this, { settings: header.settings, constants: header.player, kept: asset.kept, motion: asset.motion });
    this.seconds = 1 / asset.frameRate;
    this.times = [...new Set(header.trajectory.map((sample) => sample.time))].sort((a, b) => a - b);
    this.masks = new Map();
    this.reset(options);
  }

  /** Begin again, with the options of `createCharacter`. */
  reset(options = {}) {
    const { seed = 0, position = [0, 0], heading = 0, label = null, goal = null, ground = null } = options;
    const { asset, settings } = this;
    // Goals without a label leave all rows to play, or those of the character's own label.
    this.ownLabel = this.label = label;
    this.jumpOfGoal = settings.goal_jump * (options.topSpeed || asset.speeds.run);
    this.footIk = options.footIk !== false && settings.foot_lock;
    this.root = { x: position[0], z: position[1], angle: heading };
    this.ground = ground;
    this.groundFeet = ground && ground.feet();
    this.goals = new VelocityGoals(heading, settings, position);
    this.goals.set(goal || { velocity: [0, 0], facing: null }, 0, this.root);
    this.lastGoal = this.goals.goal;
    const row = options.row ?? this.startRow(seed);
    const [start, stop] = this.rangeOf(row);
    this.row = Math.max(Math.min(row, stop - 2), start);
    this.transition = new Transition(this.motion, asset, (each) => this.rangeOf(each));
    this.pose = this.poseBefore = this.motion.pose(this.row, this.transition.offset);
    this.moved = [0, 0, 0];
    this.rootSteps = new RootSteps(asset, this.motion, this.pose);
    this.slips = this.travel = null;
    this.untilSearch = this.sinceTravel = this.sinceJump = this.waited = 0;
    this.sinceChange = Infinity;
    this.speed = Math.hypot(...this.motion.read("steps", this.row).subarray(0, 2)) / this.seconds;
    this.keptLabels = {};
    this.keepLabels();
    this.cost = 0;
    const { rest } = asset.header;
    this.rest = rest && new RestChain(rest, asset.arrays.rest_poses, this.seconds);
    this.limited = false;
    this.feet = new FootLock(asset);
  }

  /** Advance by one frame; a goal as controllers take it. */
  step(goal) {
    const { seconds, root } = this;
    const given = goal || this.goals.goal;
    this.goals.set(given, seconds, root);
    this.label = given.label ?? this.ownLabel;
    const jumped = this.search(this.changed(given));
    this.sinceJump = jumped ? 0 : this.sinceJump + seconds;
    if (this.rest) this.rest.advance();
    const before = this.row;
    const steps = this.motion.read("steps", before);
    const free = Array.from(this.transition.rootVelocity);
    // A transition begins with a velocity beside the new clip's own.
    if (jumped) this.rootSteps.extra = free.slice(0, 2);
    const heldSeconds = this.rest?.heldSeconds ?? 0;
    const own = heldSeconds ? [0, 0, 0] : Array.from(steps);
    if (!heldSeconds) this.row += 1;
    this.transition.advance();
    this.poseBefore = this.pose;
    this.pose = this.motion.pose(this.row, this.transition.offset, this.transition.held);
    if (heldSeconds) this.breathe(heldSeconds);
    this.move(own, free, before, !heldSeconds);
    return this.frame(jumped);
  }

  /** Whether the goal has changed abruptly since it last did. */
  changed(goal) {
    const differs = (one, other, most) => [0, 1].some((axis) => Math.abs((one?.[axis] ?? 0) - (other?.[axis] ?? 0)) > most);
    const apart = differs(goal.velocity, this.lastGoal.velocity, this.jumpOfGoal)
      || differs(goal.facing, this.lastGoal.facing, this.settings.goal_jump);
    if (apart) this.lastGoal = goal;
    return apart;
  }

  /** First row and one after the last of the clip of a row. */
  rangeOf(row) {
    const clip = this.kept.stretchOf(row);
    return [this.kept.starts[clip], this.kept.stops[clip]];
  }

  /** Rows that may be played, and those that may be jumped to, with a value of the label. */
  masksOf(value) {
    const { asset, masks } = this;
    const { clips, label } = asset.header;
    if (masks.has(value)) return masks.get(value);
    const playable = Uint8Array.from(asset.arrays.played);
    clips.labels.forEach((labels, clip) => {
      if (value !== null && labels[label.name] !== value) playable.fill(0, clips.starts[clip], clips.stops[clip]);
    });
    const targets = playable.map((plays, row) => (plays && asset.arrays.offered[row] && playable[this.later(row)] ? 1 : 0));
    if (!targets.includes(1)) throw new Error(`no moment can be played with ${label.name} ${value}`);
    const { idle } = asset.arrays;
    const moving = targets.map((target, row) => target && !idle[row]);
    masks.set(value, { playable, targets, moving: moving.includes(1) ? moving : targets });
    return masks.get(value);
  }

  /** The row that is played a quarter of a second after another, up to the end of the clip. */
  later(row) {
    return Math.min(row + Math.round(this.constants.margin_s / this.seconds), this.rangeOf(row)[1] - 1);
  }

  /** The row that fits the goal best in any pose; any row with a seed. */
  startRow(seed) {
    const { targets } = this.masksOf(this.label);
    if (seed) {
      const rows = [...targets.keys()].filter((row) => targets[row]);
      return rows[Math.floor(createRandom(seed).uniform() * rows.length)];
    }
    const query = new Float32Array(this.asset.header.dims);
    this.writeGoals(query, this.goals.trajectory(this.root, this.times));
    return this.kept.nearest(query, 1, targets)[0].row;
  }

  /** The desired trajectory; where no clip travels as desired with the desired facing, it faces the direction of travel. */
  heldTrajectory() {
    const { root, times } = this;
    const { covered, standing_speed: standing } = this.asset.header.facing_coverage;
    const desired = this.goals.trajectory(root, times), { places, angles } = desired;
    const ways = times.map((time, i) => {
      const before = i ? [places[2 * i - 2], places[2 * i - 1]] : [root.x, root.z];
      const seconds = time - (i ? times[i - 1] : 0);
      return [0, 1].map((axis) => (places[2 * i + axis] - before[axis]) / seconds);
    });
    const [x, z] = ways.at(-1);
    const turned = wrappedAngle(Math.atan2(x, z) - angles.at(-1)) / (2 * Math.PI);
    const sector = positiveRemainder(Math.floor(covered.length * turned + 0.5), covered.length);
    const held = !(Math.hypot(x, z) > standing) || covered[sector];
    this.travel = held ? null : Math.atan2(ways[0][0], ways[0][1]);
    return held ? desired : { places, angles: angles.map((angle, i) => angle + wrappedAngle(Math.atan2(...ways[i]) - angle)) };
  }

  /** Take over the labels to keep from the row that plays, unless it is idle. */
  keepLabels() {
    const { settings, asset, row } = this;
    if (!settings.keep_improvement || asset.arrays.idle[row]) return;
    const labels = asset.header.clips.labels[this.kept.stretchOf(row)];
    this.keptLabels = Object.fromEntries(settings.keep.filter((name) => name in labels).map((name) => [name, labels[name]]));
  }

  /** Targets of a mask that keep the labels, idle moments among them; null where there are none. */
  keptTargets(targets) {
    const { clips, label } = this.asset.header;
    const { idle } = this.asset.arrays;
    const desired = this.label === null ? "" : label.name;
    const kept = Object.entries(this.keptLabels).filter(([name]) => name !== desired);
    if (!kept.length) return null;
    const key = JSON.stringify([this.label, kept, targets === this.masksOf(this.label).moving]);
    if (!this.masks.has(key)) {
      const both = Uint8Array.from(targets);
      clips.labels.forEach((labels, clip) => {
        const keeps = kept.every(([name, value]) => labels[name] === value);
        for (let row = clips.starts[clip]; !keeps && row < clips.stops[clip]; row++) both[row] &&= idle[row];
      });
      this.masks.set(key, both.includes(1) ? both : null);
    }
    return this.masks.get(key);
  }

  /** Candidates for a jump with a `rank`, the distance that compares them: rows that do not keep the labels must be nearer. */
  candidates(query, targets, near, bound) {
    const { candidates: count } = this.constants;
    const search = (mask, most, rank) => this.kept.nearest(query, count, mask, near, most)
      .map(({ row, distance }) => ({ row, distance, rank: rank(distance) }));
    const same = (distance) => distance;
    const kept = this.keptTargets(targets);
    if (!kept) return search(targets, bound, same);
    const keeping = search(kept, bound, same);
    const { keep_improvement: share } = this.settings;
    const most = this.settings.keeping * this.settings.max_improvement;
    const reached = Math.min(bound, keeping[0]?.distance ?? Infinity);
    // Labels stay where all costs are high.
    const nearer = reached === Infinity ? reached : reached - Math.min(share * reached, most);
    // The inverse of `nearer`.
    const others = search(targets, nearer, (distance) => Math.min(distance / (1 - share), distance + most));
    return [...keeping, ...others].sort((a, b) => a.rank - b.rank).slice(0, count);
  }

  /** Replace the future trajectory of a query by a desired one, within the limits; what it then is. */
  writeGoals(query, desired) {
    const { asset, root, times } = this;
    this.limited = limitPlaces(desired.places, times, root, asset.header.limits.speed);
    for (const { time, column, direction } of asset.header.trajectory) {
      const i = times.indexOf(time);
      const angle = desired.angles[i];
      const vector = direction ? [Math.sin(angle), Math.cos(angle)] : [desired.places[2 * i] - root.x, desired.places[2 * i + 1] - root.z];
      this.put(query, column, toFacing(vector[0], vector[1], root.angle));
    }
    this.writeHeights(query, desired);
    return desired;
  }

  /** Write raw values into a query from a column on. */
  put(query, column, values) {
    const { mean, scale } = this.asset.arrays;
    values.forEach((value, i) => { query[column + i] = (value - mean[column + i]) * scale[column + i]; });
  }

  /** Replace the heights of the ground ahead in a query, if the features have them. */
  writeHeights(query, { places, angles }) {
    const { ground } = this;
    const first = this.asset.header.ground_heights;
    if (typeof first !== "number") return;
    const directions = Array.from(angles).flatMap((angle) => [Math.sin(angle), Math.cos(angle)]);
    this.put(query, first, ground ? ground.heightsInWorld(places, directions, ground.level(this.root)) : new Float32Array((3 * places.length) / 2));
  }

  /** Jump to a better row if one is due and found; whether it did. */
  search(changed) {
    const { seconds, row } = this;
    const stop = this.rangeOf(row)[1];
    this.untilSearch -= seconds;
    this.sinceTravel += seconds;
    this.sinceChange = changed ? 0 : this.sinceChange + seconds;
    const forced = row + 1 >= stop || Boolean(this.rest && this.rest.ending(row));
    // Half a frame: sums of frame times are not exact.
    if (!(this.untilSearch < 0.5 * seconds || changed || forced)) return false;
    const query = this.features();
    const desired = this.writeGoals(query, this.heldTrajectory());
    if (this.rest && this.stand(desired)) return this.row !== row;
    const found = this.jump(query, desired, forced);
    if (found === null) return false;
    this.transition.begin(found, this.current());
    this.row = found;
    this.keepLabels();
    return true;
  }

  /** The features of the row that plays. */
  features() { return this.kept.write(this.row, new Float32Array(this.asset.header.dims)); }

  /** What a transition begins from. */
  current() {
    const rootVelocity = this.moved.map((value) => value / this.seconds);
    return { before: this.poseBefore, now: this.pose, rootVelocity };
  }

  /** The cost, of what plays, to which a jump must reduce it. */
  improved(cost) {
    const { change_s: recent, change_improvement: afterChange, long_s: long, long_share: share } = this.constants;
    const { min_improvement: usual, max_improvement: most } = this.settings;
    return cost - Math.min((this.sinceChange < recent ? afterChange : usual) * cost, (this.sinceJump > long ? share : 1) * most);
  }

  /** The row to jump to for a query and the desired trajectory that is in it; null to go on. */
  jump(query, desired, forced) {
    const { settings, constants, seconds, asset, row } = this;
    const [start, stop] = this.rangeOf(row);
    const staying = Math.sqrt(this.kept.square(query, row));
    const masks = this.masksOf(this.label);
    const starts = this.starting(desired);
    const { playable } = masks, targets = starts ? masks.moving : masks.targets;
    const must = starts || row + constants.ending_s / seconds >= stop || !playable[this.later(row)];
    const radius = Math.round(constants.neighbourhood_s / seconds);
    const near = [Math.max(row - radius, start), Math.min(row + radius + 1, stop)];
    const bound = must ? Infinity : this.improved(staying);
    let found = this.candidates(query, targets, near, bound);
    // Only neighbouring rows remain; allow them rather than stop.
    if (must && !found.length) found = this.kept.nearest(query, constants.candidates, targets);
    this.cost = staying;
    this.untilSearch = settings.search_interval_s;
    if (!found.length) {
      this.waited = 0;
      return null;
    }
    const usable = must ? found : found.filter(({ rank }) => rank <= (1 + constants.tolerance) * found[0].rank);
    const current = this.current();
    const costs = usable.map((candidate) => this.transition.cost(candidate.row, current));
    const best = costs.indexOf(Math.min(...costs));
    const smooth = costs[best] < Math.min(constants.smooth + constants.smooth_per_s * this.waited, constants.least_smooth);
    this.waited = smooth ? 0 : this.waited + constants.retry_s;
    this.cost = usable[best].distance;
    // A transition that is not smooth is put off, up to the clip's last frame.
    if (!smooth) this.untilSearch = constants.retry_s;
    return smooth || forced ? usable[best].row : null;
  }

  /** Whether the character is at rest and its goal travels: it needs a moment of another kind. */
  starting({ places }) {
    const { arrays } = this.asset;
    const away = Math.hypot(places[0] - this.root.x, places[1] - this.root.z);
    return Boolean(arrays.idle[this.row]) && away > STARTING_SPEED * this.times[0];
  }

  /** Rest if the goal stands; whether the character does. */
  stand(desired) {
    const { rest, row, root, motion, asset } = this;
    const { constants } = asset.header.rest;
    const goalStands = goalIsRest(desired, this.times, root, constants);
    if (!goalStands) this.sinceTravel = 0;
    const slow = this.speed < asset.header.facing_coverage.standing_speed || this.sinceTravel > constants.braking_s;
    if (!(goalStands && (rest.resting || slow))) {
      rest.end();
      return false;
    }
    this.untilSearch = this.settings.search_interval_s;
    if (rest.resting && !rest.ending(row)) return true;
    const held = rest.resting;
    const places = motion.positionsOf(this.pose);
    const pose = motion.body.flatMap((joint) => point(places, joint));
    const chosen = rest.choose(row, pose, this.style());
    if (chosen !== row) {
      this.transition.begin(chosen, this.current(), held);
      this.row = chosen;
    }
    return true;
  }

  /** Move a pose that is held for some seconds a little. */
  breathe(seconds) {
    const { rotations, positions } = this.pose;
    const { carrier, trunk, sway } = this.asset.header.breathing;
    const { breath } = this.asset.header.rest.constants;
    [1, 0.3, 1].forEach((share, axis) => { positions[3 * carrier + axis] += sway * share * breathing(seconds, axis + 1); });
    trunk.forEach((joint, index) => {
      const vector = [0, 1, 2].map((axis) => breath * breathing(seconds, 3 * (index + 1) + axis + 1));
      rotations.set(multiply(fromVector(vector), turn(rotations, joint)), 4 * joint);
    });
  }

  /** The labels that are kept, or desired, as the styles of moments of rest are written. */
  style() {
    const { label } = this.asset.header;
    const own = this.label === null ? this.keptLabels : { ...this.keptLabels, [label.name]: this.label };
    return this.settings.keep.map((name) => own[name] ?? "").join(" ");
  }

  /** Move the root by the clip's own step, corrected towards the target. */
  move(own, free, before, plays) {
    const { root, seconds, goals, rootSteps } = this;
    const turned = own[2] + seconds * free[2];
    const velocity = fromFacing(own[0] / seconds + free[0], own[1] / seconds + free[1], root.angle);
    const gap = [goals.position[0] - root.x, goals.position[1] - root.z];
    const facing = this.travel === null ? goals.angle : this.travel;
    const angle = rootSteps.turn(turned, velocity, gap, root.angle, facing);
    const slips = plays ? rootSteps.slips(before) : rootSteps.tips.map(() => [0, 0]);
    const local = rootSteps.step(own, free, before, this.row, this.pose, angle, slips, this.resting);
    this.moved = [...local, turned];
    const step = fromFacing(local[0], local[1], root.angle);
    const shift = rootSteps.shift(step, [gap[0] - step[0], gap[1] - step[1]]);
    const [x, z] = [root.x + step[0] + shift[0], root.z + step[1] + shift[1]];
    this.speed = Math.hypot(x - root.x, z - root.z) / seconds;
    this.slips = slips.map(([x, z]) => fromFacing(x, z, root.angle));
    this.root = { x, z, angle: root.angle + angle };
  }

  get resting() { return Boolean(this.rest?.resting); }

  frame(jumped) {
    const { asset: { skeleton, arrays, header }, root, row, seconds, groundFeet: ground, resting, slips } = this;
    const limbs = header.legs.joints.length;
    const rotations = Float64Array.from(this.pose.rotations), positions = Float64Array.from(this.pose.positions);
    const facing = aroundY(root.angle);
    rotations.set(multiply(facing, rotations), 0);
    const [x, y, z] = rotate(facing, positions);
    positions.set([x + root.x, y + (this.ground ? this.ground.level(root) : 0), z + root.z], 0);
    const contacts = arrays.contacts.slice(limbs * row, limbs * (row + 1));
    if (!this.footIk) this.feet.constrain(rotations);
    else positions[1] -= this.feet.hold(rotations, positions, contacts, seconds, { ground, resting, slips });
    const desired = trajectoryRows(this.goals.trajectory(root, this.times));
    return frameOf(skeleton, root, rotations, positions, {
      trajectory: { predicted: this.ahead(), desired },
      contacts: this.feet.touching(contacts), phases: null, gating: null, limited: this.limited, alive: true, cost: this.cost, jumped,
      row: this.moment(),
    });
  }

  /** The row that plays: its number, its clip and the seconds in it. */
  moment() {
    const { names, starts } = this.asset.header.clips;
    const clip = this.kept.stretchOf(this.row);
    return { index: this.row, clip: names[clip], time: (this.row - starts[clip]) * this.seconds };
  }

  /** The trajectory that the features have, as [x, z, direction x, direction z] at `times`. */
  ahead() {
    const { root, times, asset } = this;
    const features = this.features();
    const places = times.flatMap(() => [root.x, root.z]), angles = times.map(() => root.angle);
    const raw = (at) => (asset.arrays.scale[at] ? features[at] / asset.arrays.scale[at] : 0) + asset.arrays.mean[at];
    for (const { time, column, direction } of asset.header.trajectory) {
      const i = times.indexOf(time);
      if (direction) angles[i] = root.angle + Math.atan2(raw(column), raw(column + 1));
      else {
        const [x, z] = fromFacing(raw(column), raw(column + 1), root.angle);
        places.splice(2 * i, 2, root.x + x, root.z + z);
      }
    }
    return trajectoryRows({ places, angles });
  }
}

/** Flags out of packed bits. */
function flags(packed, count) {
  const found = new Uint8Array(count);
  for (let at = 0; at < count; at++) found[at] = (packed[at >> 3] >> (7 - (at & 7))) & 1;
  return found;
}

/** How much each limb carries, from 0 to 1: frames to the nearer end of its contact; see `supports` in Python. */
function supports(contacts, limbs, { starts, stops }, frames) {
  const support = new Float32Array(contacts.length);
  starts.forEach((start, clip) => {
    for (let limb = 0; limb < limbs; limb++) {
      for (const forth of [true, false]) {
        for (let step = 0, run = 0; step < stops[clip] - start; step++) {
          const at = limbs * (forth ? start + step : stops[clip] - 1 - step) + limb;
          run = contacts[at] ? Math.min(run + 1, frames) : 0;
          support[at] = forth ? run / frames : Math.min(support[at], run / frames);
        }
      }
    }
  });
  return support;
}

/** The asset with what its characters share, made once. */
function opened(asset) {
  if (asset.motion) return asset;
  const { arrays, header } = asset;
  const { starts, stops } = header.clips;
  const rows = stops.at(-1), limbs = header.legs.joints.length;
  asset.kept = new KeptStates(asset);
  asset.motion = new RowMotion(asset, asset.kept);
  for (const name of ["played", "idle"]) arrays[name] = flags(arrays[`${name}.bits`], rows);
  arrays.contacts = Float32Array.from(flags(arrays["contacts.bits"], rows * limbs));
  const frames = Math.max(1, Math.round(header.player.support_s * asset.frameRate));
  arrays.support = supports(arrays.contacts, limbs, { starts, stops }, frames);
  arrays.offered = new Uint8Array(rows);
  flags(arrays["offered.bits"], asset.kept.rows.length).forEach((flag, place) => { arrays.offered[asset.kept.rows[place]] = flag; });
  return asset;
}
