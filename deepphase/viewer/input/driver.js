// The characters: the first is steered, the others follow it; all advance by one frame at a time.

import { createCharacter } from "../runtime/character.js";
import { WalkedGround } from "../runtime/walked_ground.js";
import { History, kept } from "../timeline/history.js";

// Frames from which the mannequin is built: some steps, then a stand.
const WALKED = 12, STOOD = 12;
// Distances of followers in a wedge, in heights of the body.
const BESIDE = 0.8, BEHIND = 0.72;

// Frames of a character that takes a few steps and then stands.
export function sampleFrames(asset, label) {
  const character = createCharacter(asset, { label });
  const speeds = [...new Array(WALKED).fill(asset.speeds?.walk ?? 1), ...new Array(STOOD).fill(0)];
  return speeds.map((speed) => kept(character.step(goalOf([0, speed], null, label))));
}

export class Driver {
  constructor(asset, size) {
    this.asset = asset;
    this.size = size;
    this.label = firstLabel(asset);
    this.ground = null;
    this.history = new History(asset.frameRate);
    this.reset(1);
  }

  // All characters at their starts; the history is empty.
  reset(count = this.characters.length) {
    this.characters = [];
    this.history.clear();
    this.setCount(count);
  }

  // Walk on the ground of a `Heightmap`, or on a flat floor, from the start.
  setGround(map) {
    this.ground = map && new WalkedGround(map, this.asset);
    this.reset();
  }

  setCount(count) {
    while (this.characters.length > count) this.characters.pop();
    while (this.characters.length < count) this.characters.push(this.added(this.characters.length));
  }

  added(index) {
    const leader = this.characters[0]?.frame.root;
    const heading = leader?.heading ?? 0;
    const position = leader ? placeBehind(index - 1, leader, this.size) : [0, 0];
    const character = createCharacter(this.asset, { seed: index, position, heading, label: this.label, ground: this.ground });
    return { character, frame: kept(character.step(goalOf([0, 0], null, this.label))) };
  }

  // Advance all characters by one frame.
  step(velocity, facing) {
    const places = this.characters.map(({ frame }) => frame.root.position);
    const leader = { ...this.characters[0].frame.root, velocity: this.measured() };
    const top = 1.25 * (this.asset.speeds?.run ?? 2);
    const frames = this.characters.map((each, index) => {
      let desired = velocity;
      if (index) {
        const others = places.filter((_, at) => at !== index);
        const target = placeBehind(index - 1, leader, this.size);
        desired = followingVelocity(target, leader, places[index], others, this.size, top);
      }
      each.frame = kept(each.character.step(goalOf(desired, index ? null : facing, this.label)), index ? null : this.asset.manifold);
      return each.frame;
    });
    this.history.add(frames, { velocity, facing, label: this.label });
  }

  // Velocity (x, z) of the first character over the last quarter of a second.
  measured() {
    const { history } = this;
    const steps = Math.min(history.count - 1, Math.round(0.25 * history.frameRate));
    if (steps < 1) return [0, 0];
    const [now, then] = [history.last, history.at(history.count - 1 - steps)].map((e) => e.frames[0].root.position);
    return [0, 1].map((a) => ((now[a] - then[a]) * history.frameRate) / steps);
  }
}

// Place of a follower in a wedge behind the leader: row by row, one more in each.
function placeBehind(index, { position: [x, z], heading }, size) {
  let row = 1;
  for (; index > row; row++) index -= row + 1;
  const [left, ahead] = [BESIDE * size * (index - row / 2), -BEHIND * size * row];
  const [s, c] = [Math.sin(heading), Math.cos(heading)];
  return [x + left * c + ahead * s, z - left * s + ahead * c];
}

export const goalOf = (velocity, facing = null, label = null) => ({ velocity, facing, label });

// Labels that a character begins with, where it has them: it stands at first.
const CALM = ["idle", "stand", "walk", "normal", "neutral"];

/** The value of the label to begin with; null without labels. */
export function firstLabel(asset) {
  const values = asset.labels?.values ?? [];
  return CALM.find((value) => values.includes(value)) ?? values[0] ?? null;
}

/** The velocity (x, z) in m/s to a target beside a leader. Places are (x, z); `others` are the places of all that are kept off. */
function followingVelocity(target, leader, place, others, size, top) {
  const [dx, dz] = [target[0] - place[0], target[1] - place[1]];
  const distance = Math.hypot(dx, dz);
  let velocity = [0, 0];
  // Small distances are not a reason to step.
  if (distance > 0.22 * size || Math.hypot(...leader.velocity) > 0.1) {
    velocity = [0.95 * leader.velocity[0] + 1.1 * dx, 0.95 * leader.velocity[1] + 1.1 * dz];
  }
  for (const other of others) {
    const [ax, az] = [place[0] - other[0], place[1] - other[1]];
    const gap = Math.hypot(ax, az);
    if (gap < 1e-6 || gap > 0.45 * size) continue;
    const push = (2.2 * (0.45 * size - gap)) / gap;
    velocity = [velocity[0] + ax * push, velocity[1] + az * push];
  }
  const speed = Math.hypot(...velocity);
  if (speed < 0.08) return [0, 0];
  return velocity.map((v) => v * Math.min(1, top / speed));
}
