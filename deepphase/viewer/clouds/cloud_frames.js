// The frames of a cloud: their clips, times and phases, places along chosen axes, and colours.

import { bytesOf } from "../scene/elements.js";
import { hexOf, mixed, shortNumber } from "../scene/surface2d.js";
import { clamp } from "../vectors.js";

const KINDS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array };
// Numbers of a cycle and of the largest amplitude in 16 bits.
const CYCLE = 65534, WHOLE = 65535;
const SHADES = 64;
export const STRONGEST = "Strongest channel";
export const TWO = "Two channels";
export const PLANE = "Plane";
export const SPACE = "Space";

// Numbers of an array in base64: "f4", "u1" and so on.
export const decoded = (text, kind) => new KINDS[kind](bytesOf(text).buffer);

// The phases of frames: `phase` in cycles and `amplitude`, by frame and channel.
export class FramePhases {
  constructor({ phase, amplitude, largest }, channels) {
    [this.cycles, this.lengths] = [decoded(phase, "i2"), decoded(amplitude, "u2")];
    [this.channels, this.step] = [channels, largest / WHOLE];
    this.count = this.cycles.length / Math.max(channels, 1);
  }

  phase(frame, channel) {
    return this.cycles[frame * this.channels + channel] / CYCLE;
  }

  amplitude(frame, channel) {
    return this.lengths[frame * this.channels + channel] * this.step;
  }

  // Mean squared amplitude of each channel.
  energies() {
    const found = new Float64Array(this.channels);
    for (let i = 0; i < this.lengths.length; i++) found[i % this.channels] += (this.lengths[i] * this.step) ** 2;
    return found.map((each) => each / Math.max(this.count, 1));
  }

  // (x, y, z) of every frame: for each axis the sine or cosine of a channel, as in [0, "sin"].
  along(axes) {
    const places = new Float32Array(3 * this.count);
    axes.forEach(([channel, part], axis) => {
      const turn = part === "sin" ? Math.sin : Math.cos;
      for (let i = 0; i < this.count; i++) {
        places[3 * i + axis] = this.amplitude(i, channel) * turn(2 * Math.PI * this.phase(i, channel));
      }
    });
    return places;
  }
}

// Channels with the largest amplitudes in the stretches that play, else in all frames.
function strongestChannels(frames, played) {
  const energies = new Float64Array(frames.channels);
  const parts = played.filter((part) => part.phases).map((part) => part.phases);
  for (const each of parts.length ? parts : [frames.phases]) each.energies().forEach((energy, c) => { energies[c] += energy; });
  return [...energies.keys()].sort((one, other) => energies[other] - energies[one]);
}

// Axes by name: { titles, channels }, with `channels` null where places of the frames come from a space of the server.
export function axesOf(name, frames, played, spaces) {
  if (spaces[name]) return { titles: spaces[name].axes, channels: null };
  const order = strongestChannels(frames, played);
  const given = /^Channel (\d+)$/.exec(name);
  const [one] = given ? [clamp(Number(given[1]), 0, frames.channels - 1)] : order;
  const other = order.find((channel) => channel !== one) ?? one;
  const channels = name === TWO ? [[one, "sin"], [other, "sin"], [one, "cos"]] : [[one, "sin"], [one, "cos"], [other, "sin"]];
  const titles = channels.map(([channel, part]) => {
    const sign = part === "sin" ? "A sin" : "A cos";
    return `${sign} of channel ${channel} (latent unit; ${shortNumber(frames.frequencies[channel])} Hz)`;
  });
  return { titles, channels };
}

export class CloudFrames {
  constructor(sent) {
    this.sent = sent;
    this.clip = decoded(sent.clip, "u2");
    this.times = decoded(sent.time, "f4");
    this.frame = decoded(sent.frame, "u4");
    this.count = this.clip.length;
    Object.assign(this, { names: sent.names, channels: sent.channels, frequencies: sent.frequencies });
    this.phases = new FramePhases(sent, sent.channels);
    this.poses = { ...sent.poses, values: decoded(sent.poses.values, "i1") };
    this.coloured = new Map();
  }

  // Colours by name, for `ColouredPoints`: `which` of the `entries` or `shades` each frame has, and the values of shades.
  colours(name) {
    const stated = this.sent.colourings[name] ?? Object.values(this.sent.colourings)[0];
    if (!this.coloured.has(stated)) this.coloured.set(stated, this.colouring(stated));
    return this.coloured.get(stated);
  }

  colouring(stated) {
    if (stated.entries) return { ...stated, which: decoded(stated.which, "u2") };
    const cyclic = stated.cyclic || stated.channel !== undefined;
    const scale = this.sent.scales[cyclic ? "cyclic" : "sequential"];
    let [low, high, values] = [stated.low, stated.high, null];
    if (stated.channel === undefined) values = decoded(stated.values, "f4");
    else {
      [low, high] = [-0.5, 0.5];
      values = Float32Array.from({ length: this.count }, (_, i) => this.phases.phase(i, stated.channel));
    }
    const which = Uint16Array.from(values, (value) => Math.round(clamp((value - low) / (high - low || 1), 0, 1) * (SHADES - 1)));
    return { title: stated.title, scale, low, high, values, which, shades: shadesOf(scale) };
  }
}

// Colours of a scale, evenly over it.
function shadesOf(scale) {
  const colours = scale.map((colour) => (colour.startsWith("#") ? colour : hexOf(colour.match(/[\d.]+/g).slice(0, 3).map((part) => part / 255))));
  return Array.from({ length: SHADES }, (_, shade) => {
    const place = (shade / (SHADES - 1)) * (colours.length - 1);
    const at = Math.min(Math.floor(place), colours.length - 2);
    return mixed(colours[at], colours[at + 1], place - at);
  });
}
