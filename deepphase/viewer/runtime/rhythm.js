/** Rhythm of a body's strides, and the rate at which another body keeps it. */

import { clamp } from "../vectors.js";
import { wrappedPhase } from "./springs.js";

// Seconds from one touch-down of a foot to the next that are a stride.
const LEAST_STRIDE_S = 0.2, MOST_STRIDE_S = 2;
// A body whose foot is this many strides late has stopped.
const STOPPED = 1.6;
// Strides of the body that keeps the rhythm to one of the other. Another number is chosen where its rate is nearer by this share.
const RATIOS = [1, 1.5, 2, 3], CHANGE = 0.12;
// Rates of time within which bodies look natural, and the share of a cycle that is made up for in a second.
const SLOWEST = 0.7, FASTEST = 1.4, PULL = 2;
// Half-life in seconds of the rate.
const HALFLIFE_S = 0.25;

/** Strides of a body, from the touch-downs of one foot. */
export class Strides {
  constructor() {
    this.touches = true;
    this.since = Infinity;
    this.period = 0;
    this.count = 0;
  }

  /** Advance by so many seconds to a frame in which the foot touches the ground, or not. */
  advance(touches, seconds) {
    this.since += seconds;
    const down = touches && !this.touches;
    this.touches = touches;
    if (this.period && this.since > STOPPED * this.period) this.period = 0;
    if (!down || this.since < LEAST_STRIDE_S) return;
    this.period = this.since < MOST_STRIDE_S ? this.since : 0;
    this.since = 0;
    this.count += 1;
  }

  /** Strides a second; 0 of a body that stands. */
  get frequency() {
    return this.period ? 1 / this.period : 0;
  }

  /** Cycles since the beginning, whole ones at touch-downs. */
  get cycles() {
    return this.count + (this.period ? Math.min(this.since / this.period, 1) : 0);
  }
}

/** The rate of time at which a body makes a simple number of strides to each of another one. */
export class KeptRhythm {
  constructor() {
    this.rate = 1;
    this.ratio = 0;
  }

  /** Advance by so many seconds; `own` counts the strides of the body in its own time. */
  advance(leader, own, seconds) {
    let wanted = 1;
    if (leader.frequency && own.frequency) {
      const between = leader.frequency / own.frequency;
      const misfit = (ratio) => Math.abs(Math.log(ratio * between)) - (ratio === this.ratio ? CHANGE : 0);
      this.ratio = RATIOS.reduce((best, each) => (misfit(each) < misfit(best) ? each : best));
      const ahead = wrappedPhase(this.ratio * leader.cycles - own.cycles);
      wanted = clamp(this.ratio * between + (PULL * ahead) / own.frequency, SLOWEST, FASTEST);
    } else {
      this.ratio = 0;
    }
    this.rate = wanted + (this.rate - wanted) * 2 ** (-seconds / HALFLIFE_S);
    return this.rate;
  }
}
