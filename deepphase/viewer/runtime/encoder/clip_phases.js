/** Phases of a clip out of places of its joints: facing, velocities in root space, and the encoder of a phase model. */

// Standard deviations at which kernels are cut off.
const REACH = 4;
// Vectors shorter than this share of the longest have no direction, and the least weight of a frame.
const LEAST_LENGTH = 0.01, LEAST_WEIGHT = 1e-6;
const TINY = 1e-16;

/** Normalised kernel of a Gaussian, cut off at four standard deviations. */
function gaussian(sigma) {
  const radius = Math.floor(REACH * sigma + 0.5);
  const kernel = Float64Array.from({ length: 2 * radius + 1 }, (_, i) => Math.exp(-0.5 * ((i - radius) / sigma) ** 2));
  const sum = kernel.reduce((a, b) => a + b);
  return kernel.map((value) => value / sum);
}

/** A series convolved with a kernel; `at(index)` gives its values, also beyond its ends. */
function convolved(count, kernel, at) {
  const radius = kernel.length >> 1;
  return Float64Array.from({ length: count }, (_, i) => kernel.reduce((sum, share, k) => sum + share * at(i + k - radius), 0));
}

/** Index within a series that is mirrored about both end points. */
function mirrored(index, count) {
  const period = Math.max(2 * (count - 1), 1);
  const at = ((index % period) + period) % period;
  return at < count ? at : period - at;
}

/**
 * Facing in radians of every frame; docs/engines.md, "Facing".
 *
 * @param places  (frames, joints, 3) m, Y up
 * @param {string[]} names  of the joints
 * @param body  role -> name of its joint, and the `kind` of the body
 */
export function facingAngles(places, names, body, fps, [vectorS, angleS]) {
  const joints = names.length, count = places.length / (3 * joints);
  const at = (frame, role, axis) => places[3 * (frame * joints + names.indexOf(body[role])) + axis];
  const between = (frame, axis, plus, minus) =>
    plus.reduce((sum, role, k) => sum + (at(frame, role, axis) - at(frame, minus[k], axis)) / 2, 0);
  const left = ["left_hip", "left_shoulder"], right = ["right_hip", "right_shoulder"];
  const front = ["left_shoulder", "right_shoulder"], back = ["left_hip", "right_hip"];
  const along = (axis) => (frame) => (body.kind === "quadruped" ? between(frame, axis, front, back) : 0);
  const [alongX, alongZ] = [along(0), along(2)];
  const xs = Float64Array.from({ length: count }, (_, i) => alongX(i) - between(i, 2, left, right));
  const zs = Float64Array.from({ length: count }, (_, i) => alongZ(i) + between(i, 0, left, right));
  const kernel = gaussian(vectorS * fps);
  const [x, z] = [xs, zs].map((values) => convolved(count, kernel, (i) => values[Math.min(Math.max(i, 0), count - 1)]));
  const lengths = x.map((value, i) => Math.hypot(value, z[i]));
  const longest = lengths.reduce((most, value) => Math.max(most, value), 0);
  const angles = unwrapped(x, z, lengths, LEAST_LENGTH * longest);
  const weights = lengths.map((value) => Math.max(value, LEAST_WEIGHT * longest));
  const wide = gaussian(angleS * fps);
  const weight = (i) => weights[mirrored(i, count)];
  const angle = (i) => {
    const own = angles[mirrored(i, count)];
    return i < 0 ? 2 * angles[0] - own : i >= count ? 2 * angles[count - 1] - own : own;
  };
  const sums = convolved(count, wide, (i) => weight(i) * angle(i));
  const totals = convolved(count, wide, weight);
  return sums.map((sum, i) => sum / totals[i]);
}

/** Angles of vectors, continuous, and interpolated where these are no longer than a limit. */
function unwrapped(x, z, lengths, limit) {
  const angles = new Float64Array(x.length);
  let before = -1;
  for (let i = 0; i < x.length; i++) {
    if (!(lengths[i] > limit)) continue;
    const angle = Math.atan2(x[i], z[i]);
    const turns = before < 0 ? 0 : Math.round((angles[before] - angle) / (2 * Math.PI));
    angles[i] = angle + 2 * Math.PI * turns;
    for (let k = before + 1; k < i; k++) {
      angles[k] = before < 0 ? angles[i] : angles[before] + ((k - before) / (i - before)) * (angles[i] - angles[before]);
    }
    before = i;
  }
  if (before >= 0) angles.fill(angles[before], before + 1);
  return angles;
}

/** Velocities (frames, 3 * joints) in m/s of some joints, each frame in its own root space. */
export function jointVelocities(places, names, read, angles, fps) {
  const joints = names.length, count = angles.length;
  const signals = new Float32Array(3 * read.length * count);
  const stencil = (i) => (i === 0 ? [[0, -1.5], [1, 2], [2, -0.5]] : i === count - 1 ? [[i, 1.5], [i - 1, -2], [i - 2, 0.5]] : [[i + 1, 0.5], [i - 1, -0.5]]);
  read.forEach((name, signal) => {
    const joint = names.indexOf(name);
    if (joint < 0) throw new Error(`the clip has no joint ${name}`);
    for (let i = 0; i < count; i++) {
      const [x, y, z] = [0, 1, 2].map((axis) => stencil(i).reduce((sum, [frame, share]) => sum + fps * share * places[3 * (frame * joints + joint) + axis], 0));
      const [s, c] = [Math.sin(angles[i]), Math.cos(angles[i])];
      signals.set([c * x - s * z, y, s * x + c * z], 3 * (i * read.length + signal));
    }
  });
  return signals;
}

/** (rows, columns) of a matrix times (columns, width). */
function times(matrix, rows, values, columns, out) {
  const width = values.length / columns;
  out.fill(0);
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < columns; k++) {
      const share = matrix[row * columns + k];
      if (share) for (let w = 0; w < width; w++) out[row * width + w] += share * values[k * width + w];
    }
  }
  return out;
}

/** A convolution over time that leaves frequencies above a limit out: transform, product, transform back. */
function convolution(arrays, name, signal, frames) {
  const [to, back, kernel, bias] = ["to_bins", "to_time", "kernel", "bias"].map((part) => arrays[`${name}.${part}`]);
  const ins = signal.length / frames, outs = bias.length, bins = to.length / (2 * frames), later = back.length / (2 * bins);
  const spectrum = times(to, 2 * bins, signal, frames, new Float64Array(2 * bins * ins));
  const product = new Float64Array(2 * bins * outs);
  for (let bin = 0; bin < bins; bin++) {
    for (let i = 0; i < ins; i++) {
      const [re, im] = [spectrum[bin * ins + i], spectrum[(bins + bin) * ins + i]];
      const real = (bin * ins + i) * outs, imaginary = real + bins * ins * outs;
      for (let o = 0; o < outs; o++) {
        product[bin * outs + o] += re * kernel[real + o] + im * kernel[imaginary + o];
        product[(bins + bin) * outs + o] += im * kernel[real + o] - re * kernel[imaginary + o];
      }
    }
  }
  const out = times(back, later, product, 2 * bins, new Float64Array(later * outs));
  return out.map((value, at) => value + bias[at % outs]);
}

/** The constants of a least-squares fit to `count` frames (odd) at `fps`, as those of an asset for whole windows. */
function fitTo(count, fps, constants) {
  const half = count >> 1;
  const seconds = Float64Array.from({ length: count }, (_, i) => (i - half) / fps);
  const [weights, middle] = [constants.taper, constants.phase_taper].map((power) => {
    const bell = seconds.map((_, i) => Math.cos((Math.PI / 2) * ((i - half) / (half + 1))) ** power);
    const sum = bell.reduce((a, b) => a + b);
    return bell.map((value) => value / sum);
  });
  const line = fps / count, step = constants.step_per_line * line, lowest = constants.least_cycles * line;
  const highest = Math.max(Math.min(constants.highest, 0.45 * fps), 2 * lowest);
  const tried = Float64Array.from({ length: Math.ceil((highest - lowest) / step) }, (_, k) => lowest + k * step);
  const mean = (values) => values.reduce((sum, value, i) => sum + weights[i] * value, 0);
  const rows = (wave) => Array.from(tried, (hertz) => {
    const values = seconds.map((t) => wave(2 * Math.PI * hertz * t));
    const level = wave === Math.cos ? mean(values) : 0;
    const around = values.map((value) => value - level);
    const size = Math.sqrt(mean(around.map((value) => value * value)));
    return Array.from(around, (value, i) => (value * weights[i]) / size);
  }).flat();
  const basis = Float64Array.from([...rows(Math.sin), ...rows(Math.cos)]);
  return { seconds, weights, middle, tried, basis, constants: { ...constants, farthest: constants.farthest_steps * step, lowest: 0.5 * lowest } };
}

/** Phase in cycles, frequency in Hz, amplitude and offset of one column of the latent. */
function fitted(fit, signal, correction) {
  const { seconds, weights, middle, tried, basis, constants: c } = fit;
  const mean = (values, shares = weights) => values.reduce((sum, value, i) => sum + shares[i] * value, 0);
  const product = (a, b) => a.map((value, i) => value * b[i]);
  const level = signal.reduce((a, b) => a + b) / signal.length;
  const values = signal.map((value) => value - level);
  const variance = mean(values.map((value) => (value - mean(values)) ** 2));
  const silent = 1e-6 * c.silence ** 2;
  const shares = Array.from(tried, (_, k) => [k, k + tried.length].reduce((sum, row) => sum + mean(values, basis.subarray(row * values.length)) ** 2, 0) / (variance + silent));
  const best = Math.max(...shares);
  const preferred = shares.map((share) => Math.exp(c.sharpness * (share - best)));
  const first = preferred.reduce((sum, share, k) => sum + share * tried[k], 0) / preferred.reduce((a, b) => a + b);
  const waves = (hertz) => [Math.sin, Math.cos].map((wave) => Float64Array.from(seconds, (t) => wave(2 * Math.PI * hertz * t)));
  const [sine, cosine] = waves(first);
  const even = cosine.map((value) => value - mean(cosine));
  const sineNorm = mean(product(sine, sine)) + 1e-6, evenNorm = mean(product(even, even)) + 1e-6;
  const without = (slope, wave, norm) => slope.map((value, i) => value - (wave[i] * mean(product(slope, wave))) / norm);
  const oddSlope = without(product(seconds, cosine), sine, sineNorm);
  const timed = product(seconds, sine);
  const evenSlope = without(timed.map((value) => value - mean(timed)), even, evenNorm);
  const a = mean(product(sine, values)) / sineNorm, b = mean(product(even, values)) / evenNorm;
  const slope = a * mean(product(oddSlope, values)) - b * mean(product(evenSlope, values));
  const curve = a * a * mean(product(oddSlope, oddSlope)) + b * b * mean(product(evenSlope, evenSlope));
  const step = slope / (2 * Math.PI * curve + 1e-4 * variance + silent);
  const trust = 1 / (1 + Math.exp((c.trusted - (a * a * sineNorm + b * b * evenNorm) / (variance + silent)) / c.trust_width));
  const hertz = Math.max(first + trust * c.farthest * Math.tanh(step / c.farthest), c.lowest);
  const parts = (wave) => {
    const [own, other] = waves(hertz);
    const middleOf = mean(other, wave);
    const around = other.map((value) => value - middleOf);
    const size = (each) => mean(product(each, values), wave) / (mean(product(each, each), wave) + 1e-6);
    return [size(own), size(around), mean(values, wave) - size(around) * middleOf];
  };
  const [sines, cosines, offset] = parts(weights);
  const [ahead, up] = parts(middle);
  const length = Math.sqrt(ahead ** 2 + up ** 2 + TINY);
  const deviation = Math.sqrt(variance + c.silence ** 2);
  const turned = [0, 1].map((k) => (correction ? c.most_turn * Math.tanh(signal.reduce((sum, value, i) => sum + (value / deviation) * correction[2 * i + k], 0)) : 0));
  return {
    phase: Math.atan2(up / length + turned[1], ahead / length + turned[0]) / (2 * Math.PI),
    frequency: (hertz * variance) / (variance + c.silence ** 2),
    amplitude: Math.sqrt(sines ** 2 + cosines ** 2 + TINY),
    offset: offset + level,
  };
}

/**
 * Phases of every frame of a clip.
 *
 * @param asset  of a phase model, as from `readArrays`
 * @param places  (frames, joints, 3) m, Y up, at the model's rate; at least three frames
 * @param {string[]} names  of the joints
 * @returns `phase` in cycles, `frequency` in Hz, `amplitude` and `offset`, each (frames, channels)
 */
export function phasesOfClip(asset, places, names) {
  const { header, arrays } = asset;
  const { frame_rate: fps, window, signals, channels, constants } = header;
  const angles = facingAngles(places, names, header.body, fps, header.facing_smoothing_s);
  const velocities = jointVelocities(places, names, signals, angles, fps);
  const count = angles.length, width = 3 * signals.length, half = window >> 1;
  const whole = { constants, ...Object.fromEntries(["seconds", "weights", "middle", "tried", "basis"].map((name) => [name, arrays[`fit.${name}`]])) };
  const later = whole.seconds.length, correction = arrays["phase_layer.weight"];
  // Of a clip shorter than a window, the middle: mean, root mean square and fit are of the frames that exist.
  const short = count < window, held = short ? count - 1 + (count % 2) : window, first = held >> 1;
  const kept = short ? Array.from(whole.seconds, (t, k) => k).filter((k) => Math.abs(Math.round(whole.seconds[k] * fps)) <= first) : [];
  const partial = kept.length >= constants.least_frames;
  const fit = partial ? fitTo(kept.length, (later - 1) / (whole.seconds[later - 1] - whole.seconds[0]), constants) : whole;
  const found = Object.fromEntries(["phase", "frequency", "amplitude", "offset"].map((name) => [name, new Float32Array(count * channels)]));
  for (let i = first; i <= Math.max(first, short ? 0 : count - 1 - half); i++) {
    const windowed = new Float64Array(window * width);
    windowed.set(velocities.subarray((i - first) * width, (i - first + held) * width), (half - first) * width);
    const means = times(new Float64Array(window).fill(1 / held), 1, windowed, window, new Float64Array(width));
    for (let at = (half - first) * width; at < (half - first + held) * width; at++) windowed[at] -= means[at % width];
    const power = windowed.reduce((sum, value) => sum + value * value, 0) / (held * width);
    const hidden = convolution(arrays, "encoder_in", windowed.map((value) => value / Math.sqrt(power + constants.still ** 2)), window);
    const latent = convolution(arrays, "encoder_out", hidden.map((value) => (value > 0 ? value : Math.expm1(value))), later);
    for (let channel = 0; channel < channels; channel++) {
      const column = Float64Array.from({ length: later }, (_, t) => latent[t * channels + channel] * Math.sqrt(power + 1e-12));
      const turn = !partial && correction && correction.subarray(2 * later * channel, 2 * later * (channel + 1));
      const own = fitted(fit, partial ? Float64Array.from(kept, (t) => column[t]) : column, turn);
      for (const name of Object.keys(found)) found[name][i * channels + channel] = own[name];
    }
  }
  advanceToEnds(found, count, channels, first, short ? first : count - 1 - half, fps);
  return found;
}

/** Frames outside `first` to `last` have the sinusoids of the nearer of these, advanced to them. */
function advanceToEnds(found, count, channels, first, last, fps) {
  for (let i = 0; i < count; i++) {
    const nearest = Math.min(Math.max(i, first), last);
    if (i === nearest) continue;
    for (let channel = 0; channel < channels; channel++) {
      const at = i * channels + channel, from = nearest * channels + channel;
      for (const name of ["frequency", "amplitude", "offset"]) found[name][at] = found[name][from];
      const turns = found.phase[from] + (found.frequency[from] * (i - nearest)) / fps;
      found.phase[at] = turns - Math.floor(turns + 0.5);
    }
  }
}
