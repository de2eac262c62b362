// The picture of the page in which one steers where the browser has no WebGL 2.

import { PlainRenderer } from "./plain_renderer.js";
import { LOOKS, fitCanvas } from "./renderer.js";

// Width of a limb in metres.
const LIMB_M = 0.07;

export class PlainPicture {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.look = LOOKS.light;
    this.map = null;
  }

  addBody(mesh, parents) {
    return { parents: Array.from(parents) };
  }

  setTerrain(mesh, map) {
    this.map = map;
  }

  resize() {
    fitCanvas(this.canvas, this.canvas.clientWidth, this.canvas.clientHeight, 1);
  }

  draw({ camera, groups, marks, gridStep, size }) {
    const { context, canvas, look } = this;
    context.setTransform(canvas.width / camera.width, 0, 0, canvas.height / camera.height, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = look.ground;
    context.fillRect(0, 0, camera.width, camera.height);
    const plain = new PlainRenderer({ soft: look.line, page: look.ground, dark: look === LOOKS.dark });
    plain.begin(context, camera, { terrain: this.map, floor: 0, step: 4 * gridStep, size });
    plain.drawMarks(marks);
    const bodies = groups.flatMap(({ body, characters }) => characters.map((each) => limbsOf(body.parents, each)));
    plain.drawBodies(bodies);
  }
}

// A body of limbs between joints; not the line from a root on the ground to the hips.
function limbsOf(parents, { positions, tint }) {
  const drawn = parents.map((_, joint) => joint)
    .filter((joint) => parents[joint] >= 0 && !(parents[parents[joint]] < 0 && positions[3 * parents[joint] + 1] < 0.05));
  return { pose: positions, links: drawn.flatMap((joint) => [parents[joint], joint]), radii: drawn.map(() => LIMB_M / 2), colour: tint };
}
