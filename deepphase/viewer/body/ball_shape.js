// Balls that are drawn and saved: a sphere, and its place between frames.

import { axesOf, blendTurns } from "./turns.js";
import { mix, scaled } from "../vectors.js";

const RINGS = 16, SEGMENTS = 32;

// A unit sphere: {positions, indices}, counter-clockwise from outside; its normals are its positions.
export function unitSphere(rings = RINGS, segments = SEGMENTS) {
  const positions = [], indices = [];
  for (let i = 0; i <= rings; i++) {
    const [up, around] = [Math.cos((Math.PI * i) / rings), Math.sin((Math.PI * i) / rings)];
    for (let j = 0; j <= segments; j++) {
      const angle = (2 * Math.PI * j) / segments;
      positions.push(around * Math.sin(angle), up, around * Math.cos(angle));
      if (i === rings || j === segments) continue;
      const at = i * (segments + 1) + j, below = at + segments + 1;
      if (i) indices.push(at, below, at + 1);
      if (i < rings - 1) indices.push(at + 1, below, below + 1);
    }
  }
  return { positions: Float32Array.from(positions), indices: Uint32Array.from(indices) };
}

// Middles of the dark pentagons of a football: one of each opposite pair.
const [NEAR, FAR] = [0.5257311, 0.8506508];
const PENTAGONS = [[0, NEAR, FAR], [0, NEAR, -FAR], [NEAR, FAR, 0], [NEAR, -FAR, 0], [FAR, 0, NEAR], [-FAR, 0, NEAR]];
const PENTAGON = Math.cos(0.37), DARK = 0.025, BRIGHT = 0.86;

// Colours (red, green, blue, 1) of places on the unit sphere.
export function ballColours(positions) {
  const colours = [];
  for (let v = 0; v < positions.length; v += 3) {
    const dark = PENTAGONS.some((p) => Math.abs(p.reduce((sum, value, k) => sum + value * positions[v + k], 0)) > PENTAGON);
    colours.push(...new Array(3).fill(dark ? DARK : BRIGHT), 1);
  }
  return Float32Array.from(colours);
}

// The ball part of the way between two frames: its place, and the matrix of its shape (by columns).
export function ballBetween(before, now, part, radius) {
  const [x, y, z] = now.position.map((value, k) => mix(before.position[k], value, part));
  const axes = axesOf(blendTurns([], before.rotation, now.rotation, part));
  const matrix = axes.flatMap((axis) => [...scaled(axis, radius), 0]);
  return { place: [x, y, z], lost: now.lost, model: [...matrix, x, y, z, 1] };
}
