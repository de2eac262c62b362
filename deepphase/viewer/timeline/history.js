// The last minute: frames of all characters, to go back to and to save.

import { projectManifold } from "../runtime/asset.js";

const KEPT_S = 60;

// What the page shows and saves of a frame, whose arrays no later frame changes.
export function kept({ root, positions, rotations, trajectory, contacts, phases, gating, cost, jumped, row }, manifold = null) {
  const point = manifold && phases ? projectManifold(manifold, phases) : null;
  return { root, positions, rotations, trajectory, contacts, phases, gating, manifold: point, cost, jumped, row };
}

export class History {
  constructor(frameRate) {
    this.frameRate = frameRate;
    this.limit = Math.round(KEPT_S * frameRate);
    this.clear();
  }

  clear() {
    this.entries = [];
    // Frames since the beginning, whether kept or not.
    this.total = 0;
  }

  get count() { return this.entries.length; }

  // Add the frames of all characters at one time, the first character's first.
  add(frames, goal) {
    this.entries.push({ frames, goal, number: this.total++ });
    if (this.count > this.limit) this.entries.shift();
  }

  at(index) { return this.entries[index]; }
  get last() { return this.entries.at(-1); }

  // Entries from one index to before another.
  range(from, to) { return this.entries.slice(from, to); }
}
