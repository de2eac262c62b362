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
    this.ring = [];
    this.first = 0;
    // Frames since the beginning, whether kept or not.
    this.total = 0;
  }

  get count() { return this.ring.length; }

  // Add the frames of all characters at one time, the first character's first.
  add(frames, goal) {
    const entry = { frames, goal, number: this.total++ };
    if (this.ring.length < this.limit) this.ring.push(entry);
    else {
      this.ring[this.first] = entry;
      this.first = (this.first + 1) % this.limit;
    }
  }

  at(index) { return this.ring[(this.first + index) % this.ring.length]; }
  get last() { return this.at(this.count - 1); }

  // Entries from one index to before another.
  range(from = 0, to = this.count) {
    return Array.from({ length: to - from }, (_, i) => this.at(from + i));
  }
}
