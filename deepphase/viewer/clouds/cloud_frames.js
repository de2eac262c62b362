// The frames of a cloud: their clips, times and phases, places along chosen axes, and colours.

import { bytesOf } from "../scene/elements.js";
import { fillDisc, hexOf, mixed, shortNumber, strokeLine } from "../scene/surface2d.js";
import { clamp, point } from "../vectors.js";

const KINDS = { f4: Float32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i1: Int8Array, i2: Int16Array };
// Numbers of a cycle and of the largest amplitude in 16 bits.
const CYCLE = 65534, WHOLE = 65535;
const SHADES = 64;
export const STRONGEST = "Strongest channel";
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

  phase(frame, channel) { return this.cycles[frame * this.channels + channel] / CYCLE; }
  amplitude(frame, channel) { return this.lengths[frame * this.channels + channel] * this.step; }

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
  const channels = [[one, "sin"], [one, "cos"], [other, "sin"]];
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

  // The pose of a point, drawn on a canvas of 200 x 200.
  drawPose(context, i, ink) {
    const { values, joints, step, links, head } = this.poses;
    const from = 2 * joints * Math.min(Math.round(i / step), values.length / (2 * joints) - 1);
    context.clearRect(0, 0, 200, 200);
    const [xs, ys] = [0, 1].map((axis) => Array.from({ length: joints }, (_, j) => values[from + 2 * j + axis]));
    const [l, r, b, t] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const s = 176 / Math.max(r - l, t - b, 1);
    const place = (j) => [100 + (xs[j] - (l + r) / 2) * s, 188 - (ys[j] - b) * s];
    context.lineCap = "round";
    for (let link = 0; link < links.length; link += 2) strokeLine(context, [place(links[link]), place(links[link + 1])], ink, 5);
    if (head >= 0) fillDisc(context, ...place(head), Math.min(11, 0.06 * (t - b) * s), ink);
  }

  // The text of a table of all points, with their places along axes, and a colouring.
  table(colouring, coordinates, titles) {
    const { title, values, which, entries } = this.colours(colouring);
    const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const rows = Array.from({ length: this.count }, (_, i) => [
      quoted(this.names[this.clip[i]]), this.frame[i], this.times[i].toFixed(4), ...point(coordinates, i),
      values ? values[i] : quoted(entries[which[i]].name),
    ]);
    return [["clip", "frame", "time_s", ...[...titles, title].map(quoted)], ...rows].map((row) => `${row.join(",")}\n`).join("");
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
