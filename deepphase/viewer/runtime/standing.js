/** The root of a body that stands: what a network moves it by on average is not travel. */

// m/s: a goal stands whose trajectory ends slower, and a body whose root is slower.
const GOAL_SPEED = 0.1, BODY_SPEED = 0.15;
// Time constants in seconds: of the mean velocity of a standing body, and of its end.
const DRIFT_SECONDS = 0.3, FORGET_SECONDS = 0.1;

/** Keeps the root of a standing body in its place; the twin of `StandingRoots` in Python. */
export class StandingRoot {
  /** @param {number} seconds  duration of a frame */
  constructor(seconds) {
    this.drift = [0, 0];
    this.learnt = 1 - Math.exp(-seconds / DRIFT_SECONDS);
    this.kept = Math.exp(-seconds / FORGET_SECONDS);
  }

  /** A velocity [x, z] in m/s without the drift of a body that stands where its goal does. */
  steadied(velocity, goalStands) {
    const stands = goalStands && Math.hypot(velocity[0], velocity[1]) < BODY_SPEED;
    this.drift = this.drift.map((mean, i) => (stands ? mean + this.learnt * (velocity[i] - mean) : this.kept * mean));
    return [velocity[0] - this.drift[0], velocity[1] - this.drift[1]];
  }
}

/** Whether desired places, in rows of four values that begin with x and z, end at rest; of one row they never do. */
export function goalStands(desired, stepSeconds) {
  const last = desired.length - 4;
  const way = Math.hypot(desired[last] - desired[last - 4], desired[last + 1] - desired[last - 3]);
  return way < GOAL_SPEED * stepSeconds;
}
