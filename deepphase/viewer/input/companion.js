// A body of another skeleton beside the first character, which keeps the rhythm of its strides.

import { blendTurns } from "../body/turns.js";
import { createCharacter } from "../runtime/character.js";
import { KeptRhythm, Strides } from "../runtime/rhythm.js";
import { wrappedAngle } from "../runtime/springs.js";
import { kept } from "../timeline/history.js";
import { mix } from "../vectors.js";
import { firstLabel, followingVelocity, goalOf, placeFrom } from "./follow.js";

// Its place: to the right of the leader and behind, in sizes of the leader.
const SIDE = -0.6, BACK = -0.25;
// m/s from which on a leader goes, and the least share of its speed at which a companion waits.
const GOES = 0.3, WAITING = 0.4;

export class Companion {
  constructor(asset, leader, { size, ground, blend }) {
    Object.assign(this, { asset, size });
    this.label = firstLabel(asset);
    const position = placeBeside(leader, size);
    this.character = createCharacter(asset, { seed: 1, position, heading: leader.heading, label: this.label, blend, ground });
    this.before = this.now = this.frame = this.made([0, 0]);
    this.strides = { leader: new Strides(), own: new Strides() };
    this.rhythm = new KeptRhythm();
    this.owed = 0;
  }

  made(velocity, obstacles = []) {
    return kept(this.character.step(goalOf(velocity, null, this.label, obstacles)));
  }

  // Advance by so many seconds, beside a leader with `position`, `heading`, `velocity` and `contacts`.
  step(leader, others, obstacles, seconds) {
    const { own, leader: led } = this.strides;
    led.advance(leader.contacts[0] > 0.5, seconds);
    const rate = this.rhythm.advance(led, own, seconds);
    const place = this.frame.root.position;
    const top = 1.25 * (this.asset.speeds?.run ?? 2);
    const wanted = ahead(followingVelocity(placeBeside(leader, this.size), leader, place, others, this.size, top), leader.velocity);
    const velocity = obstacles.around(place, wanted, this.frame.root.heading).map((each) => each / rate);
    const frameSeconds = 1 / this.asset.frameRate;
    this.owed += (rate * seconds) / frameSeconds;
    while (this.owed >= 1) {
      [this.before, this.now] = [this.now, this.made(velocity, obstacles.all)];
      own.advance(this.now.contacts[0] > 0.5, frameSeconds);
      this.owed -= 1;
    }
    this.frame = between(this.before, this.now, this.owed);
    return this.frame;
  }
}

// A velocity that does not lead back while the leader goes on: a companion ahead of its place waits, and does not turn round.
function ahead(velocity, led) {
  const speed = Math.hypot(...led);
  if (speed < GOES) return velocity;
  const way = led.map((each) => each / speed);
  const missing = WAITING * speed - (velocity[0] * way[0] + velocity[1] * way[1]);
  return missing > 0 ? velocity.map((each, axis) => each + missing * way[axis]) : velocity;
}

const placeBeside = (leader, size) => placeFrom(leader, SIDE * size, BACK * size);

// The frame part of the way from one to the next.
function between(before, now, part) {
  const mixed = (a, b) => Float32Array.from(b, (value, i) => mix(a[i], value, part));
  const turn = wrappedAngle(now.root.heading - before.root.heading);
  return {
    ...now,
    root: {
      position: [0, 1].map((axis) => mix(before.root.position[axis], now.root.position[axis], part)),
      heading: before.root.heading + part * turn,
    },
    positions: mixed(before.positions, now.positions),
    rotations: blendTurns(new Float32Array(now.rotations.length), before.rotations, now.rotations, part),
  };
}
