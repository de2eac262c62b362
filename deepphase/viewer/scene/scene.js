// A picture of bodies on a ground: lit surfaces where bodies have them and the browser has WebGL 2, else limbs.

import { look } from "../page_content.js";
import { clamp } from "../vectors.js";
import { Marks } from "./marks.js";
import { PlainRenderer } from "./plain_renderer.js";
import { Surface } from "./surface2d.js";

// Share of the light's width from which on shadows fade, as in the shaders.
const LIGHT_EDGE = 0.8;

// Half the width of the light with shadows around a place: that of all joints and the surface around them, without the
// edge at which shadows fade, in whole steps, since another width moves all shadows a little.
function lightReach(middle, characters, size) {
  let farthest = 0;
  for (const { positions } of characters) {
    for (let j = 0; j < positions.length; j += 3) {
      const away = Math.hypot(positions[j] - middle[0], positions[j + 1] - middle[1], positions[j + 2] - middle[2]);
      farthest = Math.max(farthest, away);
    }
  }
  const step = 0.3 * size;
  return clamp(step * Math.ceil((farthest / LIGHT_EDGE + 0.15 * size) / step), step, 9 * size);
}

export class Scene {
  // `lit`: the `LitBodies` of pages whose bodies have surfaces; `onChange`: called where another picture is due.
  constructor(canvas, camera, lit, onChange = () => {}) {
    this.surface = new Surface(canvas, onChange);
    this.surface.onHide = () => lit?.release();
    Object.assign(this, { camera, lit, onChange, terrain: null, floor: 0 });
    this.marks = new Marks();
    this.plain = new PlainRenderer(look);
  }

  // Height of the ground at a place.
  level(x, z) { return this.terrain ? this.terrain.at(x, z) : this.floor; }

  // Draw bodies {pose, links, radii, height, colour, alpha} with marks and balls; those with a `key` have a surface, for
  // which `character` makes what `LitBodies` draw. `size`: of a body, in metres; `step`: of the fine grid; `plain`:
  // without surfaces. Whether they are lit.
  drawBodies(context, bodies, { balls = [], size, step, passed, plain: bare = false }) {
    const { camera, marks, terrain, floor, lit, plain } = this;
    const isLit = !bare && Boolean(lit?.prepare());
    if (isLit) {
      const characters = bodies.filter(({ key }) => key).map((body) => body.character());
      const reach = lightReach(camera.target, characters, size);
      lit.draw(context, { camera, characters, balls, marks, floor: terrain ? 0 : floor, step, reach, passed });
      this.gridStep = terrain ? 0 : 4 * step;
    }
    plain.begin(context, camera);
    if (!isLit) this.gridStep = plain.drawGrid((x, z) => this.level(x, z), 4 * step, size);
    const limbed = bodies.filter(({ key }) => !isLit || !key);
    for (const body of limbed) plain.drawShadows([body], isLit ? [] : body.balls ?? [], body.level ?? ((x, z) => this.level(x, z)));
    if (!isLit) plain.drawMarks(marks);
    plain.drawLimbs(limbed, isLit ? [] : balls);
    return isLit;
  }
}
