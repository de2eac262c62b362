/** Phases of a running character. */

import { mix } from "../vectors.js";
import { positiveRemainder, roundHalfEven, wrappedPhase } from "./springs.js";

// Shorter vectors have no direction, and for more nearly opposite directions no mean is defined.
const MIN_LENGTH = 1e-8;
const NEARLY_OPPOSITE = 1e-4;
const TURN = 2 * Math.PI;

/** The phases of a start state with that gate; null if the gate has none. */
export function createPhases(schema, gate, blend) {
  if (!schema.gate || !schema.channels) return null;
  if (schema.gate.view(gate, "phase")) return new SinglePhase(schema, gate);
  return new ManifoldHistory(schema, gate, blend);
}

/** A single phase, which advances at the predicted rate and never runs backwards. */
class SinglePhase {
  constructor(schema, gate) {
    this.schema = schema;
    this.phase = schema.gate.view(gate, "phase")[0];
    this.rate = 0;
  }

  /** Write the gate's block. */
  fill(gate) { this.schema.gate.view(gate, "phase")[0] = this.phase; }

  /** Advance by one frame with the network's raw outputs. */
  advance(outputs) {
    this.rate = Math.max(this.schema.outputs.view(outputs, "phase_rate")[0], 0);
    this.phase = wrappedPhase(this.phase + this.rate / this.schema.frameRate);
  }

  /** `phase` in cycles, `amplitude` and `frequency` in Hz of every channel. */
  parameters() {
    return { phase: Float32Array.of(this.phase), amplitude: Float32Array.of(1), frequency: Float32Array.of(this.rate) };
  }
}

/** Phase vectors (A sin, A cos): past ones as recorded, those from now on by the phase update. */
class ManifoldHistory {
  constructor(schema, gate, blend) {
    const { frameRate, later } = schema;
    this.schema = schema;
    this.blend = blend;
    this.width = 2 * schema.channels;
    const vectors = schema.gate.view(gate, "phase_manifold");
    const offsets = schema.offsets.slice(-vectors.length / this.width);
    const now = offsets.length - later;
    this.past = Array.from(offsets.subarray(0, now), (each) => roundHalfEven(each * frameRate));
    this.length = 1 - Math.min(0, ...this.past);
    this.history = Array.from({ length: this.length }, (_, frame) => {
      const time = Math.max((frame + 1 - this.length) / frameRate, offsets[0]);
      return vectorsBetween(vectors, offsets, this.width, time);
    });
    this.future = Float32Array.from(vectors.subarray(now * this.width));
    this.now = this.length - 1;
    this.history[this.now] = this.future.slice(0, this.width);
    this.frequency = new Float32Array(schema.channels);
  }

  fill(gate) {
    const block = this.schema.gate.view(gate, "phase_manifold");
    this.past.forEach((frames, sample) => {
      block.set(this.history[positiveRemainder(this.now + frames, this.length)], sample * this.width);
    });
    block.set(this.future, this.past.length * this.width);
  }

  advance(outputs) {
    const { outputs: layout, frameRate } = this.schema;
    const [predicted, frequency, amplitude] = ["manifold", "frequency", "amplitude"].map((name) => layout.view(outputs, `phase_${name}`));
    updatePhases(this.future, predicted, frequency, amplitude, 1 / frameRate, this.blend);
    this.frequency = frequency.slice(0, this.schema.channels).map((hertz) => Math.max(hertz, 0));
    this.now = (this.now + 1) % this.length;
    this.history[this.now].set(this.future.subarray(0, this.width));
  }

  parameters() {
    const vectors = this.history[this.now];
    return {
      phase: this.frequency.map((_, c) => wrappedPhase(Math.atan2(vectors[2 * c], vectors[2 * c + 1]) / TURN)),
      amplitude: this.frequency.map((_, c) => Math.hypot(vectors[2 * c], vectors[2 * c + 1])),
      frequency: this.frequency.slice(),
    };
  }
}

/** Advance phase vectors by one step (Starke et al. 2022, eq. 9), in place: each is turned by its frequency, then by the share
 * `blend` of the angle that is left to the predicted direction; its length is the predicted amplitude. */
function updatePhases(vectors, predicted, frequency, amplitude, seconds, blend) {
  for (let i = 0; i < frequency.length; i++) {
    const [oldSin, oldCos, hasOld] = direction(vectors[2 * i], vectors[2 * i + 1]);
    let [sine, cosine, hasGoal] = direction(predicted[2 * i], predicted[2 * i + 1]);
    if (hasOld) {
      const turned = turnedBy(oldSin, oldCos, TURN * Math.max(frequency[i], 0) * seconds);
      const ahead = sine * turned[1] - cosine * turned[0];
      const along = sine * turned[0] + cosine * turned[1];
      const apart = !hasGoal || along < NEARLY_OPPOSITE - 1 ? 0 : Math.atan2(ahead, along);
      [sine, cosine] = turnedBy(turned[0], turned[1], blend * apart);
    }
    const length = Math.max(amplitude[i], 0);
    vectors.set([length * sine, length * cosine], 2 * i);
  }
}

/** Unit vector, and whether there is a direction; without one the phase is 0. */
function direction(sine, cosine) {
  const square = sine * sine + cosine * cosine;
  if (!(square > MIN_LENGTH * MIN_LENGTH)) return [0, 1, false];
  const length = Math.sqrt(square);
  return [sine / length, cosine / length, true];
}

function turnedBy(sine, cosine, angle) {
  const s = Math.sin(angle), c = Math.cos(angle);
  return [sine * c + cosine * s, cosine * c - sine * s];
}

/** Phase vectors at a time between samples, interpolated in angle and length. */
function vectorsBetween(vectors, offsets, width, time) {
  let before = 0;
  while (before < offsets.length - 2 && offsets[before + 1] <= time) before++;
  const share = (time - offsets[before]) / (offsets[before + 1] - offsets[before]);
  const found = new Float32Array(width);
  for (let i = 0; i < width; i += 2) {
    const at = before * width + i, next = at + width;
    const angle = Math.atan2(vectors[at], vectors[at + 1]);
    const step = Math.atan2(vectors[next], vectors[next + 1]) - angle;
    // Phases grow, so a step lies in [-0.25, 0.75) turns.
    const grown = angle + share * (positiveRemainder(step + 0.25 * TURN, TURN) - 0.25 * TURN);
    const length = mix(Math.hypot(vectors[at], vectors[at + 1]), Math.hypot(vectors[next], vectors[next + 1]), share);
    found.set([length * Math.sin(grown), length * Math.cos(grown)], i);
  }
  return found;
}
