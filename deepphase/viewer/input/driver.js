// The characters: the first is steered, the others follow it; all advance by one frame at a time. A companion has its own rate of time.

import { RunningBall } from "../runtime/ball/running_ball.js";
import { WalkedGround } from "../runtime/ground/walked_ground.js";
import { createCharacter } from "../runtime/character.js";
import { History, kept } from "../timeline/history.js";
import { Companion } from "./companion.js";
import { firstLabel, followingVelocity, goalOf, placeFrom } from "./follow.js";

// Share of the goal in the trajectory: a hand that steers expects an answer (see `createCharacter`).
const BLEND = "balanced";
// Frames from which the mannequin is built: some steps, then a stand.
const WALKED = 12;
const STOOD = 12;
// Distance of a new ball in heights of the body.
const BALL_AHEAD = 0.25;

// Frames of a character that takes a few steps and then stands.
export function sampleFrames(asset, label) {
  const character = createCharacter(asset, { seed: 0, position: [0, 0], heading: 0, label });
  const speeds = [...new Array(WALKED).fill(asset.speeds?.walk ?? 1), ...new Array(STOOD).fill(0)];
  return speeds.map((speed) => kept(character.step(goalOf([0, speed], null, label))));
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
    this.map = this.ground = null;
    // Asset of the companion; null for none.
    this.beside = null;
    this.history = new History(asset.frameRate);
    this.reset(1);
  }

  // All characters at their starts; the history is empty.
  reset(count = this.characters.length) {
    this.characters = [];
    this.history.clear();
    this.velocity = [0, 0];
    this.setCount(count);
    this.setCompanion(this.beside);
  }

  // Walk on the ground of a `Heightmap`, or on a flat floor, with a loose ball or without, from the start.
  setGround(map, loose = false) {
    this.map = map;
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
    const position = leader ? placeFrom(leader, side, -back) : [0, 0];
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
        const target = placeBehind(index - 1, this.characters.length - 1, leader, this.size);
        wanted = followingVelocity(target, leader, places[index], others, this.size, top);
      }
      if (each.character.ball) each.character.ball.fetches = this.fetches;
      wanted = this.obstacles.around(places[index], wanted, each.frame.root.heading);
      each.frame = kept(each.character.step(goalOf(wanted, index ? null : facing, this.label, all)), index ? null : this.asset.manifold);
      return each.frame;
    });
    const beside = this.companion?.step({ ...leader, contacts: frames[0].contacts }, places, this.obstacles, 1 / this.asset.frameRate);
    this.history.add(frames, { velocity, facing, label: this.label }, beside);
  }

  // Have a character of another asset beside the first one; null for none.
  setCompanion(asset) {
    this.companion = null;
    this.beside = asset;
    if (!asset) return;
    const ground = this.map && new WalkedGround(this.map, asset);
    this.companion = new Companion(asset, this.characters[0].frame.root, { size: this.size, ground, blend: BLEND });
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

// Place of a follower in a wedge behind the leader.
function placeBehind(index, count, leader, size) {
  const [side, back] = slots(count)[index];
  return placeFrom(leader, 0.72 * size * 1.15 * side, 0.72 * size * back);
}
