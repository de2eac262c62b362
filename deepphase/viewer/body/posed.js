// The joints of a take's body at a moment, as the mannequin reads them: positions and rotations in the world.

import { blendTurns, inverse, point, rotate, subtract, turn } from "../vectors.js";

const PART_STEPS = 511, BITS = 10;

// Quaternions (x, y, z, w) out of 32 bits each: which of x, y, z, w is largest, and the other three.
function unpackTurn(bits, out, at) {
  const largest = bits >>> 30;
  let squares = 0;
  for (let part = 0, shift = 2 * BITS; part < 4; part++) {
    if (part === largest) continue;
    const value = (((bits >>> shift) & (2 ** BITS - 1)) - PART_STEPS) / (Math.SQRT2 * PART_STEPS);
    shift -= BITS;
    out[at + part] = value;
    squares += value * value;
  }
  out[at + largest] = Math.sqrt(Math.max(0, 1 - squares));
}

export class PosedBody {
  // `body`: the positions; `skin`: parents, kind, roles and tail; `turns`: packed rotations.
  constructor(body, { parents, kind, roles, tail }, turns) {
    this.body = body;
    this.turns = turns;
    this.joints = parents.length;
    this.skeleton = { names: body.jointNames.slice(0, this.joints), parents, kind, roles: { ...roles, tail } };
    this.rotations = [0, 1].map(() => new Float32Array(4 * this.joints));
    this.addTips();
  }

  // Tips in the axes of the joints that they belong to.
  addTips() {
    const { positions, rotations } = this.frame(0, 0);
    const { links } = this.body;
    const tips = [];
    for (let at = 0; at < links.length; at += 2) if (links[at + 1] >= this.joints && links[at] < this.joints) tips.push([links[at], links[at + 1]]);
    this.skeleton.endParents = tips.map(([joint]) => joint);
    this.skeleton.endOffsets = Float32Array.from(tips.flatMap(([joint, tip]) =>
      rotate(inverse(turn(rotations, joint)), subtract(point(positions, tip), point(positions, joint)))));
  }

  // Names, roles, and limbs in the axes of their joints: bodies for which these are equal share a surface.
  get key() {
    const { positions, rotations } = this.frame(0, 0);
    const { names, parents, kind, roles, endOffsets } = this.skeleton;
    const limbs = parents.map((above, j) => {
      if (above < 0) return 0;
      const limb = subtract(point(positions, j), point(positions, above));
      return [Math.hypot(...limb).toFixed(2), ...rotate(inverse(turn(rotations, above)), limb).map((v) => Math.round(10 * v))];
    });
    return JSON.stringify([names, parents, kind, roles, limbs, [...endOffsets].map((v) => v.toFixed(2))]);
  }

  turnsAt(frame, out) {
    for (let j = 0; j < this.joints; j++) unpackTurn(this.turns[frame * this.joints + j], out, 4 * j);
    return out;
  }

  // A whole frame over the height of the ground, with its root.
  frame(index, ground) {
    const { body } = this;
    const positions = body.poseAt(body.start + index / body.fps, new Float32Array(3 * body.joints));
    for (let i = 1; i < positions.length; i += 3) positions[i] -= ground;
    const facing = body.facing ? Math.atan2(body.facing[3 * index], body.facing[3 * index + 2]) : 0;
    const rotations = this.turnsAt(index, new Float32Array(4 * this.joints));
    return { positions, rotations, root: { position: [body.path[3 * index], body.path[3 * index + 2]], heading: facing } };
  }

  // Rotations at a time, between those of two frames.
  rotationsAt(seconds) {
    const { body, rotations: [one, two] } = this;
    const [before, after, part] = body.framesAt(seconds);
    this.turnsAt(before, one);
    if (part === 0) return one;
    this.turnsAt(after, two);
    return blendTurns(one, one, two, part);
  }
}
