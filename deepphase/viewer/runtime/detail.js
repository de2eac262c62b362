/** Captured detail of a running character. */

const FAR = 1e9;

/** Adds captured detail to the outputs of a network; the twin of `CharacterDetail` in Python. */
export class CharacterDetail {
  /** @param asset  whose header and arrays have `detail` */
  constructor({ header, arrays, frameRate }) {
    const { columns, stops, styles, step, reach, constants } = header.detail;
    const of = (name) => arrays[`detail.${name}`];
    Object.assign(this, { columns, stops, styles, step, reach, constants, seconds: 1 / frameRate });
    this.residuals = of("residuals");
    this.units = of("units");
    this.captured = of("feet");
    this.keys = of("keys");
    this.projection = of("projection");
    this.bias = of("bias");
    this.rows = stops[stops.length - 1];
    this.limbs = this.captured.length / (3 * this.rows);
    this.look = Math.round(constants.look_s * frameRate);
    this.last = Math.floor((constants.last_s * frameRate) / step);
    this.kept = 0.5 ** (1 / (constants.fade_s * frameRate));
    this.stretch = new Int32Array(this.rows);
    stops.forEach((stop, index) => this.stretch.fill(index, index ? stops[index - 1] : 0, stop));
    // Frame of all rows, of which every `step`-th is a row; -1 without detail.
    this.frame = -1;
    this.age = 0;
    // Smaller where no moment is like that of the character.
    this.share = 1;
    this.shown = new Float32Array(columns.length);
    this.offset = new Float32Array(columns.length);
  }

  get row() {
    return Math.floor(this.frame / this.step);
  }

  /** Add the detail of a frame to outputs, of inputs and a gate; none to a body at rest. */
  add(outputs, inputs, gate, resting, style) {
    const { columns, shown, offset, stops, stretch } = this;
    this.age += 1;
    if (resting) {
      this.frame = -1;
      shown.fill(0);
      return;
    }
    if (this.frame >= 0) this.frame += 1;
    const ends = this.frame >= 0 && this.row + 1 >= stops[stretch[this.row]];
    if (this.frame < 0 || ends || this.age >= this.look) this.choose(inputs, gate, style, ends);
    for (let i = 0; i < columns.length; i++) {
      offset[i] *= this.kept;
      shown[i] = this.value(i) + offset[i];
      outputs[columns[i]] += shown[i];
    }
  }

  /** Slips [x, z] of captured feet in a frame and their heights, in m; `angle` is the facing before it. */
  feet(angle) {
    const cosine = Math.cos(angle), sine = Math.sin(angle);
    const slips = [], heights = [];
    for (let limb = 0; limb < this.limbs; limb++) {
      const at = 3 * (Math.max(this.row, 0) * this.limbs + limb);
      const [x, z, height] = this.captured.subarray(at, at + 3);
      slips.push([this.seconds * (cosine * x + sine * z), this.seconds * (cosine * z - sine * x)]);
      heights.push(height);
    }
    return { slips, heights };
  }

  /** A value of the detail, between two rows. */
  value(column) {
    const { residuals, row, step } = this;
    const width = this.columns.length;
    const following = Math.min(row + 1, this.rows - 1);
    const low = residuals[row * width + column], high = residuals[following * width + column];
    return this.share * this.units[column] * (low + ((this.frame % step) / step) * (high - low));
  }

  choose(inputs, gate, style, ends) {
    const { stops, stretch, styles, constants } = this;
    const wanted = this.keyOf(inputs, gate);
    const matters = styles.includes(style);
    const own = this.frame >= 0 && !ends ? this.row : -1;
    let best = -1, least = Infinity, ownDistance = Infinity;
    for (let row = 0; row < this.rows; row++) {
      let distance = this.distance(row, wanted);
      if (stops[stretch[row]] - row <= this.last) distance += FAR;
      if (matters && styles[stretch[row]] !== style) distance += FAR;
      if (row === own) ownDistance = distance;
      if (distance < least) [best, least] = [row, distance];
    }
    this.age %= this.look;
    const stays = own >= 0 && ownDistance < constants.nearer ** 2 * least;
    if (!stays) this.frame = best * this.step;
    this.share = Math.min(this.reach ** 2 / Math.max(stays ? ownDistance : least, 1e-12), 1);
    for (let i = 0; i < this.columns.length; i++) this.offset[i] = this.shown[i] - this.value(i);
  }

  keyOf(inputs, gate) {
    const size = this.bias.length;
    const key = Float64Array.from(this.bias);
    const add = (values, first) => {
      for (let i = 0; i < values.length; i++) {
        const at = (first + i) * size;
        for (let k = 0; k < size; k++) key[k] += values[i] * this.projection[at + k];
      }
    };
    add(inputs, 0);
    add(gate, inputs.length);
    return key;
  }

  distance(row, wanted) {
    const { keys } = this;
    let sum = 0;
    for (let k = 0, at = row * wanted.length; k < wanted.length; k++) sum += (keys[at + k] - wanted[k]) ** 2;
    return sum;
  }
}
