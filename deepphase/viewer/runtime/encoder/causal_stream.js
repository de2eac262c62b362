/** Current phases, frame by frame, out of the past alone: the causal encoder of a phase model. */

const VALUES = 4;

/** Average line from right to left of hips and shoulders, turned to the front; for quadrupeds along the trunk, too. */
function facingOf(places, names, body) {
  const at = (role) => 3 * names.indexOf(body[role]);
  const parts = ["hip", "shoulder"].filter((part) => [`left_${part}`, `right_${part}`].every((role) => body[role] !== undefined && names.includes(body[role])));
  if (!parts.length) throw new Error("the body has neither two hips nor two shoulders");
  const line = (axis) => parts.reduce((sum, part) => sum + places[at(`left_${part}`) + axis] - places[at(`right_${part}`) + axis], 0) / parts.length;
  const middle = (part, axis) => (places[at(`left_${part}`) + axis] + places[at(`right_${part}`) + axis]) / 2;
  const trunk = (axis) => (body.kind === "quadruped" && parts.length === 2 ? middle("shoulder", axis) - middle("hip", axis) : 0);
  return [-line(2) + trunk(0), line(0) + trunk(2)];
}

export class CausalStream {
  /**
   * @param asset  of a phase model with a causal encoder, as from `readAsset`
   * @param {string[]} names  of the joints of the frames, in their order
   * @param {number} lagS  seconds that the phases are behind the newest frame
   */
  constructor(asset, names, lagS = 0) {
    const { header, arrays } = asset;
    if (!header.causal) throw new Error("the phase model has no causal encoder");
    const missing = header.signals.find((joint) => !names.includes(joint));
    if (missing) throw new Error(`the frames have no joint ${missing}`);
    const behind = Math.round(lagS * header.frame_rate);
    if (!(behind >= 0)) throw new Error(`a lag of ${lagS} s`);
    Object.assign(this, { arrays, names, fps: header.frame_rate, body: header.body, channels: header.channels });
    this.order = header.signals.map((joint) => names.indexOf(joint));
    Object.assign(this, { window: header.causal.window, facingFrames: header.causal.facing_frames, still: header.causal.still });
    this.place = header.causal.lags.findLastIndex((lag) => lag <= behind);
    this.back = (behind - header.causal.lags[this.place]) / this.fps;
    // The moment asked for is one of the frames that have arrived.
    this.least = Math.max(this.facingFrames, behind + 1);
    this.width = 3 * this.order.length;
    this.reset();
  }

  /** Forget all frames, as between two motions. */
  reset() {
    // No movement stands for what was before the first frame.
    this.velocities = new Float32Array(this.window * this.width);
    this.facings = [];
    this.last = null;
    this.frames = 0;
  }

  /**
   * Take the next frame.
   *
   * @param places  (joints, 3) m, Y up, at the model's rate
   * @returns `phase` in cycles, `frequency` in Hz, `amplitude` and `offset` of every channel; null until enough frames have arrived
   */
  push(places) {
    const read = Float64Array.from({ length: this.width }, (_, i) => places[3 * this.order[Math.floor(i / 3)] + (i % 3)]);
    if (places.length !== 3 * this.names.length || !Array.prototype.every.call(places, Number.isFinite)) throw new Error("a frame that is not finite, or has other joints");
    // The oldest frame is overwritten.
    const row = (this.frames % this.window) * this.width;
    for (let i = 0; i < this.width; i++) this.velocities[row + i] = this.last ? (read[i] - this.last[i]) * this.fps : 0;
    this.facings.push(facingOf(places, this.names, this.body));
    if (this.facings.length > this.facingFrames) this.facings.shift();
    this.last = read;
    this.frames += 1;
    return this.frames < this.least ? null : this.phases();
  }

  phases() {
    let values = this.features();
    for (let layer = 0; layer < 3; layer++) {
      const weight = this.arrays[`causal.weight${layer}`], bias = this.arrays[`causal.bias${layer}`];
      // Of the last layer only the values of the moment asked for.
      const count = layer < 2 ? bias.length : this.channels * VALUES, first = layer < 2 ? 0 : this.place * count;
      const before = values, ins = before.length;
      values = new Float64Array(count);
      for (let out = 0; out < count; out++) {
        let sum = bias[first + out];
        for (let i = 0, at = (first + out) * ins; i < ins; i++) sum += weight[at + i] * before[i];
        values[out] = layer < 2 && sum < 0 ? Math.expm1(sum) : sum;
      }
    }
    const unit = this.arrays["causal.unit"];
    const found = Object.fromEntries(["phase", "frequency", "amplitude", "offset"].map((name) => [name, new Float32Array(this.channels)]));
    for (let channel = 0; channel < this.channels; channel++) {
      const [sine, cosine, offset, logarithm] = values.subarray(VALUES * channel, VALUES * (channel + 1));
      const frequency = Math.exp(logarithm);
      const turns = Math.atan2(sine, cosine) / (2 * Math.PI) - frequency * this.back;
      found.phase[channel] = turns - Math.floor(turns + 0.5);
      found.frequency[channel] = frequency;
      found.amplitude[channel] = Math.hypot(sine, cosine) * unit[channel];
      found.offset[channel] = offset * unit[channel];
    }
    return found;
  }

  /** Averages of the velocities over the past, in the axes of the facing, over their size, and its logarithm. */
  features() {
    const { window, width, velocities } = this, basis = this.arrays["causal.basis"], averages = basis.length / window;
    const out = new Float64Array(averages * width + 1);
    for (let frame = 0; frame < window; frame++) {
      // Frame 0 is the oldest, the one that is overwritten next.
      const row = ((this.frames + frame) % window) * width;
      for (let k = 0; k < averages; k++) {
        const share = basis[k * window + frame];
        if (share) for (let i = 0; i < width; i++) out[k * width + i] += share * velocities[row + i];
      }
    }
    const [x, z] = this.facings.reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
    const length = Math.hypot(x, z);
    const [s, c] = length > 0 ? [x / length, z / length] : [0, 1];
    let power = 0;
    for (let at = 0; at < averages * width; at += 3) {
      const [a, b] = [out[at], out[at + 2]];
      out[at] = c * a - s * b;
      out[at + 2] = s * a + c * b;
      power += out[at] ** 2 + out[at + 1] ** 2 + out[at + 2] ** 2;
    }
    const size = Math.sqrt(power / (averages * width)) + this.still;
    for (let at = 0; at < averages * width; at++) out[at] /= size;
    out[averages * width] = Math.log(size);
    return out;
  }
}
