// The last minute: frames of all characters, to go back to and to save.

import { projectManifold } from "../runtime/asset.js";

const KEPT_S = 60;

// Copies of some arrays of an object.
const copies = (given, ...names) =>
  Object.fromEntries(names.map((name) => [name, given[name] ? Float32Array.from(given[name]) : null]));

// A frame's own copy of what the page shows and saves.
export function kept(frame, manifold = null) {
  const { root, trajectory, phases, cost, jumped, row } = frame;
  return {
    root: { position: [...root.position], heading: root.heading },
    ...copies(frame, "positions", "rotations", "contacts", "gating"),
    trajectory: trajectory && copies(trajectory, "predicted", "desired"),
    phases: phases && copies(phases, "phase", "amplitude", "frequency"),
    manifold: manifold && phases ? projectManifold(manifold, phases) : null,
    cost, jumped, row: row && { ...row },
  };
}

export class History {
  constructor(frameRate) {
    this.frameRate = frameRate;
    this.limit = Math.round(KEPT_S * frameRate);
    this.clear();
  }

  clear() {
    this.ring = [];
    this.first = 0;
    // Frames since the beginning, whether kept or not.
    this.total = 0;
  }

  get count() {
    return this.ring.length;
  }

  // Add the frames of all characters at one time, the first character's first.
  add(frames, goal) {
    const entry = { frames, goal, number: this.total++ };
    if (this.ring.length < this.limit) this.ring.push(entry);
    else {
      this.ring[this.first] = entry;
      this.first = (this.first + 1) % this.limit;
    }
  }

  at(index) {
    return this.ring[(this.first + index) % this.ring.length];
  }

  get last() {
    return this.at(this.count - 1);
  }

  // Entries from one index to before another.
  range(from = 0, to = this.count) {
    return Array.from({ length: to - from }, (_, i) => this.at(from + i));
  }
}
