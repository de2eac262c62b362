// The characters: the first is steered, the others follow it; all advance by one frame at a time.

import { RunningBall } from "../runtime/ball/running_ball.js";
import { WalkedGround } from "../runtime/ground/walked_ground.js";
import { createCharacter } from "../runtime/character.js";
import { History, kept } from "../timeline/history.js";

// Share of the goal in the trajectory: a hand that steers expects an answer (see `createCharacter`).
const BLEND = "balanced";
// Frames from which the mannequin is built: some steps, then a stand.
const WALKED = 12;
const STOOD = 12;
// Distance of a new ball in heights of the body.
const BALL_AHEAD = 0.25;

export const goalOf = (velocity, facing = null, label = null, obstacles = []) => ({ velocity, facing, label, obstacles });

// Frames of a character that takes a few steps and then stands.
export function sampleFrames(asset, label) {
  const character = createCharacter(asset, { seed: 0, position: [0, 0], heading: 0, label });
  const speeds = [...new Array(WALKED).fill(asset.speeds?.walk ?? 1), ...new Array(STOOD).fill(0)];
  return speeds.map((speed) => kept(character.step(goalOf([0, speed], null, label))));
}

// Labels that a character begins with, where it has them: it stands at first.
const CALM = ["idle", "stand", "walk", "normal", "neutral"];

/** The value of the label to begin with; null without labels. */
export function firstLabel(asset) {
  const values = asset.labels?.values ?? [];
  return CALM.find((value) => values.includes(value)) ?? values[0] ?? null;
}

export class Driver {
  constructor(asset, obstacles, size) {
    this.asset = asset;
    this.obstacles = obstacles;
    this.size = size;
    this.label = firstLabel(asset);
    // Whether characters fetch a ball that is lost.
    this.fetches = true;
    // Balls that characters did not learn with are asked for.
    this.hasBall = Boolean(asset.ball && !asset.ball.loose);
    this.ground = null;
    this.history = new History(asset.frameRate);
    this.reset(1);
  }

  // All characters at their starts; the history is empty.
  reset(count = this.characters.length) {
    this.characters = [];
    this.history.clear();
    this.velocity = [0, 0];
    this.setCount(count);
  }

  // Walk on the ground of a `Heightmap`, or on a flat floor, with a loose ball or without, from the start.
  setGround(map, loose = false) {
    this.ground = map && new WalkedGround(map, this.asset);
    if (this.asset.ball?.loose) this.hasBall = loose;
    this.reset();
  }

  setCount(count) {
    while (this.characters.length > count) this.characters.pop();
    while (this.characters.length < count) this.characters.push(this.added(this.characters.length));
  }

  added(index) {
    const leader = this.characters[0]?.frame.root;
    const row = Math.ceil((Math.sqrt(8 * index + 9) - 3) / 2);
    const heading = leader?.heading ?? 0;
    const back = row * 0.72 * this.size;
    const side = leader ? (index - (row * (row + 1)) / 2 - (row - 1) / 2 + row - 0.5) * 0.8 * this.size : 0;
    const position = leader
      ? [leader.position[0] - back * Math.sin(heading) + side * Math.cos(heading), leader.position[1] - back * Math.cos(heading) - side * Math.sin(heading)]
      : [0, 0];
    const character = createCharacter(this.asset, { seed: index, position, heading, label: this.label, blend: BLEND, ball: RunningBall, looseBall: this.hasBall, ground: this.ground });
    return { character, frame: kept(character.step(goalOf([0, 0], null, this.label))) };
  }

  // Advance all characters by one frame.
  step(velocity, facing) {
    const all = this.obstacles.all;
    const places = this.characters.map(({ frame }) => frame.root.position);
    const leader = { ...this.characters[0].frame.root, velocity: this.measured() };
    const top = 1.25 * (this.asset.speeds?.run ?? 2);
    const frames = this.characters.map((each, index) => {
      let wanted = velocity;
      if (index) {
        const others = places.filter((_, at) => at !== index);
        wanted = followerVelocity(index - 1, this.characters.length - 1, leader, places[index], others, this.size, top);
      }
      if (each.character.ball) each.character.ball.fetches = this.fetches;
      wanted = this.obstacles.around(places[index], wanted, each.frame.root.heading);
      each.frame = kept(each.character.step(goalOf(wanted, index ? null : facing, this.label, all)), index ? null : this.asset.manifold);
      return each.frame;
    });
    this.history.add(frames, { velocity, facing, label: this.label });
  }

  // The ball of the first character; null without one.
  get ball() {
    return this.characters[0].character.ball ?? null;
  }

  // Kick its ball with the next touch, the way it is steered or else faces, at (ahead, up) m/s.
  kick(velocity, ahead, up) {
    const { heading } = this.characters[0].frame.root;
    const way = velocity[0] || velocity[1] ? velocity : [Math.sin(heading), Math.cos(heading)];
    const share = ahead / Math.hypot(...way);
    this.ball.kick([share * way[0], up, share * way[1]]);
  }

  // Put its ball in front of its feet.
  newBall() {
    const { position, heading } = this.characters[0].frame.root;
    const ahead = BALL_AHEAD * this.size;
    this.ball.place([position[0] + ahead * Math.sin(heading), position[1] + ahead * Math.cos(heading)]);
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

// Places behind the leader: row by row, one more in each.
function slots(count) {
  const places = [];
  for (let row = 1; places.length < count; row++) {
    for (let at = 0; at <= row && places.length < count; at++) places.push([at - row / 2, -row]);
  }
  return places;
}

// The velocity (x, z) of a follower in a wedge behind the first one, in m/s. Places are (x, z); `others` are the places of all.
function followerVelocity(index, count, leader, place, others, size, top) {
  const [side, back] = slots(count)[index];
  const spacing = 0.72 * size;
  const [s, c] = [Math.sin(leader.heading), Math.cos(leader.heading)];
  const target = [
    leader.position[0] + spacing * (1.15 * side * c + back * s),
    leader.position[1] + spacing * (-1.15 * side * s + back * c),
  ];
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
  return speed > top ? velocity.map((v) => (v * top) / speed) : speed < 0.08 ? [0, 0] : velocity;
}
