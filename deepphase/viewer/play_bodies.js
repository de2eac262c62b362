// The player of a page with people and animals.

import { play } from "./play.js";
import { buildMannequin } from "./body/mannequin.js";
import { PosedBody } from "./body/posed.js";
import { LitBodies } from "./scene/lit_bodies.js";
import { TINTS } from "./scene/renderer.js";
import { mixed } from "./scene/surface2d.js";
import { arrayOf } from "./tracks/take_data.js";

// Frames in which meshes look for a body that stands, and opacity of bodies that others are compared with.
const SAMPLES = 24, FAINT = 0.35;

class TakeBodies extends LitBodies {
  // Bodies of the same shape share a mesh.
  openTake(bodies, terrain) {
    const shapes = new Map();
    const skinned = bodies.filter((body) => body.skin);
    for (const body of skinned) {
      body.posed = new PosedBody(body, body.skin, arrayOf(body.skin.rotations));
      body.key = body.posed.key;
      if (!shapes.has(body.key)) shapes.set(body.key, (coarseness) => buildMannequin(body.posed.skeleton, framesOf(body, terrain), coarseness));
    }
    this.open(shapes, terrain, skinned.length);
  }

  characterOf(body, pose, time) {
    const [tint, accent] = body.alone && !body.givenColour ? TINTS[0] : [mixed(body.colour, "#ffffff", 0.45), mixed(body.colour, "#000000", 0.5)];
    return { key: body.key, positions: pose, rotations: body.posed.rotationsAt(time), tint, accent, alpha: body.isFaint(time) ? FAINT : 1 };
  }
}

// Some frames of a body over its ground, evenly over its time.
function framesOf(body, terrain) {
  const count = Math.min(SAMPLES, body.frames);
  return Array.from({ length: count }, (_, at) => {
    const index = Math.round((at * (body.frames - 1)) / Math.max(count - 1, 1));
    return body.posed.frame(index, terrain ? terrain.at(body.path[3 * index], body.path[3 * index + 2]) : body.floor);
  });
}

play(TakeBodies);
