// Small views of the network's state: phase wheels, manifold, gating weights, cost of the search.

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c564b", "#7f7f7f", "#b5bd00", "#6a51a3"];
const DARK = ["#56b4e9", "#f0813c", "#2cc295", "#e29bc3", "#f5b83d", "#8fd0f5", "#c49a8d", "#a8a8a8", "#d3d94a", "#a794dd"];
const TRAIL_S = 0.4;
const STRIP_S = 4;

export class Canvas {
  constructor(element) {
    this.element = element;
    this.context = element.getContext("2d");
  }

  // An empty canvas in CSS pixels; null where it is hidden.
  begin() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width < 4 || height < 4) return null;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.element.width !== w || this.element.height !== h) [this.element.width, this.element.height] = [w, h];
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    [this.width, this.height] = [width, height];
    return this.context;
  }
}

const withAlpha = (hex, alpha) => `rgba(${[1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).join(",")},${alpha})`;

export class Panels {
  constructor(asset, look) {
    this.asset = asset;
    this.look = look;
    this.largest = 1e-6;
    this.yaw = 0.6;
    this.pitch = 0.45;
    this.prepareManifold();
  }

  colour(index) {
    const all = this.look.dark ? DARK : COLOURS;
    return all[index % all.length];
  }

  // Phase wheels around (x, y): the angle of a hand is the phase, its length the amplitude.
  wheels(context, trail, frameRate, x, y, radius) {
    const { phases } = trail[trail.length - 1];
    const count = phases.phase.length;
    for (const frame of trail.slice(-1)) for (const a of frame.phases.amplitude) this.largest = Math.max(this.largest * 0.9998, a);
    const columns = count > 6 ? 2 : 1;
    const rows = Math.ceil(count / columns);
    const step = 2.36 * radius;
    const recent = trail.slice(-Math.max(2, Math.round(TRAIL_S * frameRate)));
    context.save();
    context.lineCap = "round";
    for (let c = 0; c < count; c++) {
      const cx = x + Math.floor(c / rows) * step;
      const cy = y + ((c % rows) - (rows - 1) / 2) * step;
      this.wheel(context, recent, c, cx, cy, radius);
    }
    context.restore();
  }

  wheel(context, recent, c, x, y, radius) {
    const colour = this.colour(c);
    const tip = ({ phases }) => {
      const angle = 2 * Math.PI * phases.phase[c];
      const size = radius * Math.sqrt(Math.min(phases.amplitude[c] / this.largest, 1)) * 0.92;
      return [x + size * Math.sin(angle), y - size * Math.cos(angle)];
    };
    context.beginPath();
    context.arc(x, y, radius, 0, 7);
    context.fillStyle = this.look.dark ? "rgba(21,24,28,0.55)" : "rgba(255,255,255,0.62)";
    context.fill();
    context.lineWidth = 1;
    context.strokeStyle = withAlpha(colour, 0.45);
    context.stroke();
    context.fillStyle = withAlpha(colour, 0.7);
    context.fillRect(x - 0.75, y - radius, 1.5, 4);
    for (let at = 1; at < recent.length; at++) {
      context.strokeStyle = withAlpha(colour, (0.65 * at) / recent.length);
      context.lineWidth = 1 + (2.5 * at) / recent.length;
      context.beginPath();
      context.moveTo(...tip(recent[at - 1]));
      context.lineTo(...tip(recent[at]));
      context.stroke();
    }
    const end = tip(recent[recent.length - 1]);
    context.strokeStyle = withAlpha(colour, 0.9);
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(...end);
    context.stroke();
    context.fillStyle = colour;
    context.beginPath();
    context.arc(...end, Math.max(3, radius * 0.13), 0, 7);
    context.fill();
  }

  prepareManifold() {
    const { manifold } = this.asset;
    if (!manifold) return;
    const { points } = manifold;
    const count = points.length / 3;
    const middle = [0, 1, 2].map((a) => {
      let sum = 0;
      for (let i = 0; i < count; i++) sum += points[3 * i + a];
      return sum / count;
    });
    const sizes = Array.from({ length: count }, (_, i) => Math.hypot(...[0, 1, 2].map((a) => points[3 * i + a] - middle[a]))).sort((a, b) => a - b);
    this.cloud = { middle, size: sizes[Math.floor(0.98 * (count - 1))] || 1, count };
  }

  turnManifold(dx, dy) {
    this.yaw -= 0.01 * dx;
    this.pitch = Math.min(Math.max(this.pitch + 0.01 * dy, -1.5), 1.5);
    this.turned = true;
  }

  // The phase manifold by its first three principal components, with the path of the last second.
  manifold(canvas, trail, frameRate, seconds) {
    const context = canvas.begin();
    if (!context || !this.cloud) return;
    if (!this.turned) this.yaw += 0.12 * seconds;
    const { points, phase } = this.asset.manifold;
    const { middle, size, count } = this.cloud;
    const scale = (0.43 * Math.min(canvas.width, canvas.height)) / size;
    const [sy, cy, sp, cp] = [Math.sin(this.yaw), Math.cos(this.yaw), Math.sin(this.pitch), Math.cos(this.pitch)];
    const placed = (p, at) => {
      const [a, b, c] = [p[at] - middle[0], p[at + 1] - middle[1], p[at + 2] - middle[2]];
      const [x, z] = [cy * a + sy * c, -sy * a + cy * c];
      return [canvas.width / 2 + x * scale, canvas.height / 2 - (cp * b - sp * z) * scale, (sp * b + cp * z) / size];
    };
    const step = Math.max(1, Math.ceil(count / 2500));
    for (let i = 0; i < count; i += step) {
      const [x, y, depth] = placed(points, 3 * i);
      const hue = 360 * (phase ? phase[i] - Math.floor(phase[i]) : i / count);
      context.fillStyle = `hsla(${hue.toFixed(0)},62%,${this.look.dark ? 62 : 48}%,${(0.22 + 0.2 * Math.max(-1, Math.min(1, depth))).toFixed(2)})`;
      context.fillRect(x - 1, y - 1, 2, 2);
    }
    const path = trail.slice(-Math.round(frameRate)).filter((frame) => frame.manifold).map((frame) => placed(frame.manifold, 0));
    if (!path.length) return;
    context.lineCap = "round";
    const ink = this.look.dark ? "#ffffff" : "#10151a";
    for (let at = 1; at < path.length; at++) {
      context.strokeStyle = withAlpha(ink, (0.85 * at) / path.length);
      context.lineWidth = 0.5 + (2 * at) / path.length;
      context.beginPath();
      context.moveTo(path[at - 1][0], path[at - 1][1]);
      context.lineTo(path[at][0], path[at][1]);
      context.stroke();
    }
    const [x, y] = path[path.length - 1];
    context.fillStyle = ink;
    context.beginPath();
    context.arc(x, y, 5.5, 0, 7);
    context.fill();
    context.fillStyle = this.colour(1);
    context.beginPath();
    context.arc(x, y, 3.8, 0, 7);
    context.fill();
  }

  // Shares of the experts over the last seconds, stacked.
  gating(canvas, trail, frameRate) {
    const context = canvas.begin();
    if (!context) return;
    const shown = trail.slice(-Math.round(STRIP_S * frameRate)).filter((frame) => frame.gating);
    if (!shown.length) return;
    const count = shown[0].gating.length;
    const full = Math.round(STRIP_S * frameRate);
    const [strip, left] = [canvas.width - 62, 0];
    const low = new Float32Array(shown.length);
    for (let e = 0; e < count; e++) {
      context.beginPath();
      shown.forEach((frame, i) => {
        const x = left + (strip * (full - shown.length + i)) / (full - 1);
        const y = canvas.height * (1 - low[i]);
        i ? context.lineTo(x, y) : context.moveTo(x, y);
      });
      for (let i = shown.length - 1; i >= 0; i--) {
        low[i] += shown[i].gating[e];
        context.lineTo(left + (strip * (full - shown.length + i)) / (full - 1), canvas.height * (1 - low[i]));
      }
      context.closePath();
      context.fillStyle = withAlpha(this.colour(e), 0.78);
      context.fill();
    }
    // The present shares as bars.
    const { gating } = shown[shown.length - 1];
    const each = canvas.height / count;
    gating.forEach((share, e) => {
      const y = (count - 1 - e) * each;
      context.fillStyle = withAlpha(this.colour(e), 0.18);
      context.fillRect(strip + 10, y + 1, 52, each - 2);
      context.fillStyle = this.colour(e);
      context.fillRect(strip + 10, y + 1, 52 * share, each - 2);
    });
  }

  // Cost of the best row over the last seconds, with a line at every jump.
  cost(canvas, trail, frameRate) {
    const context = canvas.begin();
    if (!context) return;
    const full = Math.round(STRIP_S * frameRate);
    const shown = trail.slice(-full);
    const costs = shown.map((frame) => frame.cost).filter((v) => v !== null && Number.isFinite(v));
    const top = Math.max(...costs, 1e-9) * 1.15;
    const x = (i) => (canvas.width * (full - shown.length + i)) / (full - 1);
    context.fillStyle = withAlpha(this.colour(1), 0.55);
    shown.forEach((frame, i) => frame.jumped && context.fillRect(x(i) - 0.75, 0, 1.5, canvas.height));
    context.strokeStyle = this.colour(0);
    context.lineWidth = 1.6;
    context.beginPath();
    let drawn = false;
    shown.forEach((frame, i) => {
      if (frame.cost === null || !Number.isFinite(frame.cost)) return;
      const y = canvas.height * (1 - frame.cost / top);
      drawn ? context.lineTo(x(i), y) : context.moveTo(x(i), y);
      drawn = true;
    });
    context.stroke();
  }
}
