// Small views of the state of a character that is steered: phase wheels, manifold, gating weights, cost of the search.

import { Plot } from "../clouds/plot.js";
import { look, styleOf } from "../page_content.js";
import { faded, fillBox, mixed, shortNumber, strokeLine, write } from "../scene/surface2d.js";
import { drawStack } from "./curves.js";
import { drawWheel } from "./wheels.js";

const TRAIL_S = 0.4;
const STRIP_S = 4;
// Seconds of the path on the manifold: some cycles.
const RING_S = 2;
// Points of the manifold that are drawn, and zoom at which they fill its place.
const POINTS = 2500, ZOOM = 1.6;
// Width of the bars of the present weights, and of the gap before them.
const BARS = 52, GAP = 10;

// The next of 1, 2, 5, 10, 20, ...
function roundUp(value) {
  const size = 10 ** Math.floor(Math.log10(value));
  return size * [1, 2, 5, 10].find((step) => step * size >= value * 0.999);
}

// Colours of channels and experts, brighter on the dark ground.
const colourOf = (index) => mixed(styleOf(index).colour, "#ffffff", look.dark ? 0.35 : 0);

export class Panels {
  constructor(asset) {
    this.asset = asset;
    this.largest = 1e-6;
    // Seen from in front, where the first two axes show cycles as rings.
    this.plot = new Plot({ margins: [0, 0, 0, 0], yaw: 0, pitch: 0 });
    this.plot.space = true;
    this.plot.view.zoom = ZOOM;
    if (asset.manifold) this.plot.fit([asset.manifold.points], 3);
  }

  // Phase wheels around (x, y): the angle of a hand is the phase, its length the amplitude.
  wheels(context, trail, frameRate, x, y, radius) {
    const { phases } = trail[trail.length - 1];
    const count = phases.phase.length;
    for (const amplitude of phases.amplitude) this.largest = Math.max(this.largest * 0.9998, amplitude);
    const rows = Math.ceil(count / (count > 6 ? 2 : 1));
    const step = 2.36 * radius;
    const recent = trail.slice(-Math.max(2, Math.round(TRAIL_S * frameRate)));
    for (let c = 0; c < count; c++) {
      const tips = recent.map((frame) => [frame.phases.phase[c], 0.92 * Math.sqrt(Math.min(frame.phases.amplitude[c] / this.largest, 1))]);
      const place = { x: x + Math.floor(c / rows) * step, y: y + ((c % rows) - (rows - 1) / 2) * step };
      drawWheel(context, { ...place, radius, colour: colourOf(c), tips });
    }
  }

  // The phase manifold in its plane of rings, until it is turned, with the path of the last seconds.
  manifold(surface, trail, frameRate) {
    const { plot, asset: { manifold } } = this;
    if (!manifold || !surface.drawable) return;
    plot.frame(surface.width, surface.height);
    const seen = [plot.camera.yaw, plot.camera.pitch, look.dark].join();
    if (seen !== this.seen) [this.seen, surface.stale] = [seen, true];
    const context = surface.beginOver((behind) => {
      const { points, phase } = manifold;
      const count = points.length / 3;
      const step = Math.max(1, Math.ceil(count / POINTS));
      for (let i = 0; i < count; i += step) {
        const [x, y] = plot.place(points[3 * i], points[3 * i + 1], points[3 * i + 2]);
        const hue = 360 * (phase ? phase[i] - Math.floor(phase[i]) : i / count);
        fillBox(behind, x - 1, y - 1, 2, 2, `hsla(${hue.toFixed(0)},62%,${look.dark ? 62 : 48}%,0.35)`);
      }
    });
    const path = trail.slice(-Math.round(RING_S * frameRate)).filter((frame) => frame.manifold);
    plot.drawTrail(context, path.map((frame) => plot.place(...frame.manifold)), { colour: look.ink, disc: styleOf(5).colour, rim: look.ink, radius: 4.5 });
  }

  // Shares of the experts over the last seconds, stacked, and the present ones as bars.
  gating(surface, trail, frameRate) {
    if (!surface.drawable) return;
    const context = surface.begin();
    const full = Math.round(STRIP_S * frameRate);
    const shown = trail.slice(-full).filter((frame) => frame.gating);
    if (!shown.length) return;
    const { gating } = shown[shown.length - 1];
    const { width, height } = surface;
    const strip = width - BARS - GAP;
    drawStack(context, {
      columns: gating.length, count: shown.length, value: (expert, i) => shown[i].gating[expert], colour: colourOf,
      x: (i) => (strip * (full - shown.length + i)) / (full - 1), y: (sum) => height * (1 - sum),
    });
    const each = height / gating.length;
    gating.forEach((share, expert) => {
      const y = (gating.length - 1 - expert) * each;
      fillBox(context, strip + GAP, y + 1, BARS, each - 2, faded(colourOf(expert), 0.18));
      fillBox(context, strip + GAP, y + 1, BARS * share, each - 2, colourOf(expert));
    });
  }

  // Cost of the best row over the last seconds on a scale, with a line at every jump.
  cost(surface, trail, frameRate) {
    if (!surface.drawable) return;
    const context = surface.begin();
    const full = Math.round(STRIP_S * frameRate);
    const shown = trail.slice(-full);
    const known = ({ cost }) => cost !== null && Number.isFinite(cost);
    // Up to a round number, which stays for costs of one size; small ones of a body that stands are a line at 0.
    const [top, scale] = [roundUp(Math.max(...shown.filter(known).map((frame) => frame.cost), 0.1)), 22];
    const x = (i) => scale + ((surface.width - scale) * (full - shown.length + i)) / (full - 1);
    for (const [part, y] of [[0, surface.height - 6], [0.5, surface.height / 2], [1, 6]]) {
      write(context, shortNumber(part * top), scale - 5, y, { size: 10, colour: look.soft, align: "right" });
      fillBox(context, scale, Math.min(surface.height * (1 - part), surface.height - 1), surface.width - scale, 1, look.line);
    }
    shown.forEach((frame, i) => frame.jumped && fillBox(context, x(i) - 0.75, 0, 1.5, surface.height, faded(styleOf(5).colour, 0.55)));
    const places = shown.flatMap((frame, i) => (known(frame) ? [[x(i), surface.height * (1 - frame.cost / top)]] : []));
    strokeLine(context, places, colourOf(0), 1.6);
  }
}
