// Kinds of lanes over time; each has a name, a unit, a height and a draw function.

import { styleOf, look } from "../page_content.js";
import { created } from "../scene/elements.js";
import { arrayOf, Series } from "./take_data.js";
import { clamp } from "../vectors.js";
import { faded, fillBox, fitted, fontOf, shortNumber, write } from "../scene/surface2d.js";
import {
  Derived, visibleFrames, eachPixel, isDense, strokeColumn, drawTicks, shadeEdges, drawLegend, drawStack,
} from "./curves.js";

function lineLane({ name, unit, series, lines = [], channels = null, zero = false, shown = true }) {
  return {
    name, unit, shown, height: 86,
    draw(context, plot) {
      let [low, high] = [zero ? 0 : Infinity, zero ? 0 : -Infinity];
      const shownColumns = channels ? channels.choice.shown : [...Array(series.columns).keys()];
      for (const c of shownColumns) {
        const range = series.range(c);
        low = Math.min(low, range[0]);
        high = Math.max(high, range[1]);
      }
      if (!(high - low > 1e-9 * Math.max(1, Math.abs(high)))) [low, high] = [low - 1, high + 1];
      const y = (value) => plot.bottom - 3 - ((value - low) / (high - low)) * (plot.bottom - plot.top - 6);
      if (channels) shadeEdges(context, plot, channels);
      drawTicks(context, plot, low, high, y);
      plot.clip(context, () => {
        context.lineJoin = "round";
        for (const c of [...shownColumns].reverse()) {
          const style = channels ? channels.choice.style(c) : styleOf(c);
          context.strokeStyle = style.colour;
          context.lineWidth = 1.5;
          context.setLineDash(isDense(series, plot) ? [] : style.dash);
          strokeColumn(context, series, plot, series.column(c), y, false);
        }
        context.setLineDash([]);
        drawLegend(context, plot, lines, isDense(series, plot));
      });
    },
    read: series.columns === 1 && series.at
      ? (time) => (series.covers(time) ? shortNumber(series.at(0, time)) : "") : null,
  };
}

// A strip for each channel: its phase rises from -0.5 to 0.5; opacity is the amplitude.
function phaseLane(channels) {
  const { phase, amplitude } = channels;
  return {
    name: "Phase", unit: "cycles, −0.5 to 0.5 in each strip", shown: true,
    get height() {
      return Math.max(60, 19 * channels.choice.shown.length + 4);
    },
    draw(context, plot) {
      const { shown } = channels.choice;
      const high = Math.min(40, (plot.bottom - plot.top) / Math.max(shown.length, 1));
      const largest = Math.max(1e-9, ...[...Array(phase.columns).keys()].map((c) => amplitude.range(c)[1]));
      shadeEdges(context, plot, channels);
      for (const [row, c] of shown.entries()) {
        const { colour } = channels.choice.style(c);
        const [top, bottom] = [plot.top + row * high + 1, plot.top + (row + 1) * high - 1];
        fillBox(context, plot.left - (phase.columns > 10 ? 31 : 24), (top + bottom) / 2 - 4, 8, 8, colour);
        write(context, `${c}`, plot.left - 6, (top + bottom) / 2 + 0.5, { weight: "600", colour: look.soft, align: "right" });
        plot.clip(context, () => {
          context.fillStyle = colour;
          const strength = amplitude.column(c);
          let before = null;
          const fill = (x, most) => {
            if (before) {
              context.globalAlpha = 0.3 * Math.min(1, before[1] / largest);
              context.fillRect(before[0], top, x - before[0], bottom - top);
            }
            before = [x, most];
          };
          eachPixel(amplitude, plot, strength, (x, low, most) => fill(x, most));
          fill(Math.ceil(plot.x(phase.end)), 0);
          context.globalAlpha = 1;
          context.strokeStyle = colour;
          context.lineWidth = 1.4;
          const y = (value) => bottom - (value + 0.5) * (bottom - top);
          strokeColumn(context, phase, plot, phase.column(c), y, true);
        });
      }
    },
  };
}

function contactLane(bodies) {
  const rows = bodies.filter((body) => body.contacts).flatMap((body) =>
    body.feet.map((joint, foot) => ({
      body, foot, name: body.feetLabels[foot] || body.jointNames[joint] || `foot ${foot + 1}`,
    })));
  const several = bodies.length > 1;
  // Names of bodies would cover the lane's name.
  const above = several ? 14 : 0;
  return {
    name: "Contacts", unit: "", shown: true, height: 15 * rows.length + 6 + above,
    draw(context, plot) {
      const high = (plot.bottom - plot.top - above) / rows.length;
      rows.forEach(({ body, foot, name }, row) => {
        const top = plot.top + above + row * high;
        const count = body.feet.length;
        context.font = fontOf(10);
        const initials = name.split(" ").map((word) => word[0].toUpperCase()).join("");
        const known = body.feetLabels.length > 0;
        const side = known && (several || plot.left < 120) ? initials : name;
        const words = several ? `${body.name} ${side}` : side;
        write(context, fitted(context, words, plot.left - 24), plot.left - 6, top + high / 2, { size: 10, colour: look.soft, align: "right" });
        plot.clip(context, () => {
          const begin = plot.x(body.start);
          fillBox(context, begin, top + 2, plot.x(body.end) - begin, high - 4, faded(look.soft, 0.12));
          const [first, last] = visibleFrames(body, plot);
          for (let f = first; f <= last; f++) {
            if (!body.contacts[f * count + foot]) continue;
            const from = f;
            while (f < last && body.contacts[(f + 1) * count + foot]) f++;
            const [x, end] = [from - 0.5, f + 0.5].map((frame) => plot.x(body.start + frame / body.fps));
            fillBox(context, x, top + 2, Math.max(1, end - x), high - 4, several ? body.colour : styleOf(2).colour);
          }
        });
      });
    },
  };
}

function gatingLane(weights) {
  return {
    name: "Experts", unit: "gating weight", shown: true, height: 86,
    draw(context, plot) {
      const y = (value) => plot.bottom - 3 - value * (plot.bottom - plot.top - 6);
      drawTicks(context, plot, 0, 1, y);
      plot.clip(context, () => {
        const from = Math.max(plot.left, plot.x(weights.start));
        const to = Math.min(plot.right, plot.x(weights.end));
        drawStack(context, {
          columns: weights.columns, count: Math.max(1, Math.floor(to - from)) + 1, x: (i) => from + i, y,
          value: (expert, i) => weights.at(expert, plot.time(from + i)),
          after: (expert, below, above) => numberArea(context, expert, from, y, below, above),
        });
      });
    },
  };
}

// The number of an expert where its area is highest, if it fits there.
function numberArea(context, expert, from, y, below, above) {
  let best = 0;
  for (let i = 0; i < above.length; i++) if (above[i] - below[i] > above[best] - below[best]) best = i;
  const [top, bottom] = [y(above[best]), y(below[best])];
  if (bottom - top < 14) return;
  const x = clamp(from + best, from + 8, from + above.length - 8);
  Object.assign(context, { font: fontOf(10.5, "600"), textAlign: "center", textBaseline: "middle", lineWidth: 3 });
  context.strokeText(`${expert}`, x, (top + bottom) / 2);
  write(context, `${expert}`, x, (top + bottom) / 2, { weight: "600", colour: look.ink, align: "center" });
}

function songLane(song) {
  const shade = song.spectrogram && spectrogramImage(song.spectrogram);
  return {
    name: "Song", unit: song.spectrogram && song.bandHz
      ? `${shortNumber(song.bandHz[0])} to ${shortNumber(song.bandHz[1])} Hz` : "beats",
    shown: true, height: song.spectrogram ? 76 : 34,
    draw(context, plot) {
      plot.clip(context, () => {
        if (shade) {
          const from = plot.x(song.start);
          context.drawImage(shade(), from, plot.top, plot.x(song.start + song.duration) - from, plot.bottom - plot.top);
        }
        const bars = new Set(song.downbeats);
        const spacing = song.beats.length * ((plot.right - plot.left) / Math.max(1e-6, plot.to - plot.from))
          / Math.max(song.duration, 1e-6);
        for (const [moments, strong] of [[song.beats, false], [song.downbeats, true]]) {
          if (!strong && spacing > 0 && 1 / spacing > 0.4) continue;
          for (const beat of moments) {
            if (!strong && bars.has(beat)) continue;
            const x = plot.x(song.start + beat);
            if (x < plot.left - 2 || x > plot.right + 2) continue;
            const high = strong ? plot.bottom - plot.top : (plot.bottom - plot.top) * 0.4;
            fillBox(context, x - (strong ? 0.75 : 0.5), plot.bottom - high, strong ? 1.5 : 1, high, faded(look.ink, strong ? 0.9 : 0.55));
          }
        }
      });
    },
  };
}

function spectrogramImage(described) {
  const [bands, columns] = described.shape;
  const draw = (ink) => {
    const loudness = arrayOf(described);
    // Maximum width of a canvas in all browsers.
    const stride = Math.ceil(columns / 8192);
    const canvas = created("canvas", { width: Math.ceil(columns / stride), height: bands });
    const image = new ImageData(canvas.width, bands);
    for (let band = 0; band < bands; band++) {
      for (let column = 0; column < canvas.width; column++) {
        const shade = loudness[band * columns + column * stride] ** 2 / 300;
        image.data.set([...ink, shade], 4 * ((bands - 1 - band) * canvas.width + column));
      }
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  };
  const drawn = {};
  return () => (drawn[look.dark] ??= draw(look.dark ? [0x56, 0xb4, 0xe9] : [0x00, 0x72, 0xb2]));
}

export function lanesOf({ take, bodies, channels, gating, song }) {
  const lanes = [];
  if (song) lanes.push(songLane({ ...take.song, duration: song.duration || take.song.duration }));
  const curveLane = (curve) => {
    const name = curve.name.slice(0, 1).toUpperCase() + curve.name.slice(1);
    return lineLane({ name, unit: curve.unit, series: new Series(curve, curve.values), lines: curve.lines });
  };
  // Beside a song stands what compares with it.
  const beside = song ? take.curves.filter((curve) => curve.lines.length) : [];
  lanes.push(...beside.map(curveLane));
  if (channels) {
    const { phase, frequency, amplitude, offset } = channels;
    const latent = new Derived(phase, (c) => {
      const [p, a, b] = [phase.column(c), amplitude.column(c), offset.column(c)];
      return p.map((value, f) => a[f] * Math.sin(2 * Math.PI * value) + b[f]);
    });
    lanes.push(
      phaseLane(channels),
      lineLane({ name: "Frequency", unit: "Hz", series: frequency, channels, zero: true }),
      lineLane({ name: "Amplitude", unit: "latent unit", series: amplitude, channels, zero: true }),
      lineLane({ name: "Latent", unit: "latent unit", series: latent, channels, shown: false }),
      lineLane({ name: "Offset", unit: "latent unit", series: offset, channels, shown: false }),
    );
  }
  if (gating) lanes.push(gatingLane(gating));
  if (bodies.some((body) => body.contacts && body.feet.length)) lanes.push(contactLane(bodies));
  lanes.push(...take.curves.filter((curve) => !beside.includes(curve)).map(curveLane));
  return lanes;
}
