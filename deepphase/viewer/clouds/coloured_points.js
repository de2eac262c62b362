// The points of a cloud in their colours and symbols, and the legend that lights them up by group.

import { chip, created, pressed } from "../scene/elements.js";
import { fillBox, shortNumber } from "../scene/surface2d.js";

// Depths that are drawn one after another in space, from the farthest, and opacity of the farthest.
const SLICES = 40, FOG = 0.22;
const SYMBOLS = {
  circle: (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  square: (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  diamond: (r) => `M0 ${-1.3 * r}L${1.3 * r} 0L0 ${1.3 * r}L${-1.3 * r} 0z`,
  x: (r) => {
    const t = 0.4 * r;
    return `M${-r} ${-r + t}L${-t} 0L${-r} ${r - t}L${-r + t} ${r}L0 ${t}L${r - t} ${r}L${r} ${r - t}L${t} 0` +
      `L${r} ${-r + t}L${r - t} ${-r}L0 ${-t}L${-r + t} ${-r}z`;
  },
};

export class ColouredPoints {
  // `root`: the element with the legend; `onChange`: called where the points look different.
  constructor(root, onChange) {
    this.of = (selector) => root.querySelector(selector);
    this.onChange = onChange;
    this.pinned = this.lit = null;
    this.keys = [];
    this.of("input").addEventListener("input", () => this.listEntries());
  }

  // Colours of so many points; `small`: smaller ones.
  show(colours, count, small) {
    if (count !== this.count) this.shuffle(count);
    if (colours === this.colours && count === this.keys.length) return;
    this.colours = colours;
    this.size = (count > 8000 ? 1.4 : count > 3000 ? 1.8 : 2.6) * (small ? 0.75 : 1);
    this.group();
    this.of(".scale").hidden = Boolean(colours.entries);
    this.of(".legend").hidden = !colours.entries;
    this.of(".legend label").hidden = !(colours.entries?.length > 12);
    this.pinned = null;
    this.listEntries();
  }

  // An order in which no group hides the ones before it, the same in every run.
  shuffle(count) {
    this.count = count;
    this.order = Uint32Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1, seed = 7; i > 0; i--) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      const j = seed % (i + 1);
      [this.order[i], this.order[j]] = [this.order[j], this.order[i]];
    }
  }

  // The colours, each with the number that its points have in `which`.
  group() {
    const { entries, shades, which, values, title } = this.colours;
    this.keys = which;
    if (entries) this.words = (i) => entries[which[i]].name;
    else {
      this.words = (i) => `${title} ${shortNumber(values[i])}`;
      this.drawScale(this.colours);
    }
    const groups = (entries ?? shades.map((colour) => ({ colour, symbol: "circle" }))).map((each, key) => ({ ...each, key }));
    // Grey points are behind all others.
    this.groups = groups.sort((one, other) => Number(Boolean(other.grey)) - Number(Boolean(one.grey)));
  }

  drawScale({ scale, low, high, title }) {
    const context = this.of(".scale canvas").getContext("2d");
    const gradient = context.createLinearGradient(0, 0, 256, 0);
    scale.forEach((colour, i) => gradient.addColorStop(i / (scale.length - 1), colour));
    fillBox(context, 0, 0, 256, 1, gradient);
    this.of(".low").textContent = shortNumber(low);
    this.of(".high").textContent = shortNumber(high);
    this.of(".scale b").textContent = title;
  }

  listEntries() {
    const box = this.of(".entries");
    box.replaceChildren();
    const { entries } = this.colours;
    if (!entries) return;
    const words = this.of("input").value.toLowerCase();
    const shown = entries.map((entry, key) => ({ ...entry, key })).filter((each) => each.name.toLowerCase().includes(words));
    const order = [...new Set(shown.map((each) => each.group))];
    for (const group of order) {
      if (group) box.append(created("h4", {}, group));
      for (const { key, name, count, colour, symbol } of shown.filter((one) => one.group === group)) {
        const button = chip([created("span", {}, name)], this.pinned === key, () => {
          this.pinned = this.pinned === key ? null : key;
          this.onChange();
          for (const other of box.querySelectorAll("button")) pressed(other, false);
          return this.pinned === key;
        }, { title: `${name}: ${count} points` });
        button.insertAdjacentHTML("afterbegin", `<svg aria-hidden="true" viewBox="-5 -5 10 10"><path fill="${colour}" d="${SYMBOLS[symbol](3.6)}"/></svg>`);
        for (const [event, lit] of [["pointerenter", key], ["pointerleave", null]]) {
          button.addEventListener(event, () => { this.lit = lit; this.onChange(); });
        }
        box.append(button);
      }
    }
    if (!shown.length) box.textContent = "No name contains these letters.";
  }

  // Opacity of the points of a group.
  opacity(group) {
    const key = this.lit ?? this.pinned;
    if (key !== null && key !== undefined) return group.key === key ? 1 : 0.08;
    return group.grey ? 0.35 : 0.85;
  }

  // The points, each as a copy of its colour's small picture. Faint points come first; the others
  // take turns, so that no group hides the ones before it. In space, where `closeness` (0 to 1) is
  // known, the farthest come first, smaller and fainter. `behind`: opacity of all of them.
  draw(context, { screen, closeness, width, height, ratio, selected, behind }) {
    const reach = Math.ceil(this.size * 1.5) + 1;
    const cell = Math.ceil(2 * reach * ratio);
    const kindOf = (group) => `${group.colour} ${group.symbol || "circle"}`;
    const kinds = [...new Set(this.groups.map(kindOf))];
    const pictures = this.pictures(kinds, reach, cell, ratio);
    const column = new Map(kinds.map((kind, at) => [kind, at * cell]));
    const look = new Map(this.groups.map((group) => [group.key, { opacity: behind * this.opacity(group), from: column.get(kindOf(group)) }]));
    const order = closeness ? this.farthestFirst(closeness) : this.order;
    const draw = (faint) => {
      for (const i of order) {
        const { opacity, from } = look.get(this.keys[i]);
        let alpha = selected && !selected.has(i) ? 0.1 * opacity : opacity;
        if (alpha < 0.5 !== faint) continue;
        const [x, y] = [screen[2 * i], screen[2 * i + 1]];
        if (x < -reach || y < -reach || x > width + reach || y > height + reach) continue;
        let half = reach;
        if (closeness) {
          alpha *= FOG + (1 - FOG) * closeness[i];
          half *= 0.6 + 0.9 * closeness[i];
        }
        if (alpha !== context.globalAlpha) context.globalAlpha = alpha;
        context.drawImage(pictures, from, 0, cell, cell, x - half, y - half, 2 * half, 2 * half);
      }
    };
    draw(true);
    draw(false);
    context.globalAlpha = 1;
  }

  // All points by their closeness, in slices.
  farthestFirst(closeness) {
    const slice = (i) => Math.min(SLICES - 1, Math.floor(closeness[i] * SLICES));
    const starts = new Uint32Array(SLICES + 1);
    for (let i = 0; i < this.count; i++) starts[slice(i) + 1] += 1;
    for (let at = 0; at < SLICES; at++) starts[at + 1] += starts[at];
    if (this.sorted?.length !== this.count) this.sorted = new Uint32Array(this.count);
    for (const i of this.order) this.sorted[starts[slice(i)]++] = i;
    return this.sorted;
  }

  // The pictures of all colours and symbols beside each other on one canvas, which is much faster to
  // copy from than one canvas for each.
  pictures(kinds, reach, cell, ratio) {
    const known = `${this.size} ${ratio} ${kinds.join()}`;
    if (this.pictured !== known) {
      this.pictured = known;
      this.drawn = document.createElement("canvas");
      [this.drawn.width, this.drawn.height] = [Math.max(1, cell * kinds.length), cell];
      const pen = this.drawn.getContext("2d");
      kinds.forEach((kind, at) => {
        const space = kind.lastIndexOf(" ");
        const [colour, symbol] = [kind.slice(0, space), kind.slice(space + 1)];
        pen.setTransform(ratio, 0, 0, ratio, at * cell + reach * ratio, reach * ratio);
        pen.fillStyle = colour;
        pen.fill(new Path2D(SYMBOLS[symbol](this.size)));
      });
    }
    return this.drawn;
  }
}
