// The bodies of a take as mannequins and animals on lit ground, in pictures of WebGL 2.

import { look } from "../page_content.js";
import { buildMannequin, COARSE } from "../body/mannequin.js";
import { PosedBody } from "../body/posed.js";
import { arrayOf } from "../tracks/take_data.js";
import { groundMesh } from "./ground_shape.js";
import { LOOKS, Renderer, TINTS } from "./renderer.js";
import { mixed } from "./surface2d.js";

// Frames in which meshes look for a body that stands.
const SAMPLES = 24;
// Milliseconds after which coarse meshes are replaced, and the most meshes for which they are; of bodies
// without a graphics card. More than the last number of them are drawn with still coarser meshes.
const REFINE_MS = 400, MOST_FINE = 4, MOST_COARSE = 8, CROWD = 4.2;
// A page that loses its context this often, as among very many players, keeps to plain drawing.
const MOST_LOSSES = 3;
const FAINT = 0.35;
const BALL = { rotations: Float32Array.of(0, 0, 0, 1), tint: "#f1ede4", accent: "#20242a" };

export class Mannequins {
  constructor(onChange) {
    this.onChange = onChange;
    // Key of a body -> its mesh, coarse or fine.
    this.meshes = new Map();
    this.losses = 0;
  }

  open(bodies, terrain) {
    this.bodies = bodies.filter((body) => body.skin);
    for (const body of this.bodies) body.posed = new PosedBody(body, body.skin, arrayOf(body.skin.rotations));
    this.terrain = terrain;
    this.groups = null;
  }

  // Get ready to draw; false where no body has a surface or the browser cannot draw it.
  prepare() {
    if (!this.bodies?.length || this.losses >= MOST_LOSSES) return false;
    if (!this.renderer && !this.missing) {
      try {
        const canvas = document.createElement("canvas");
        const renderer = new Renderer(canvas);
        canvas.addEventListener("webglcontextlost", () => {
          if (this.renderer !== renderer) return;
          this.losses += 1;
          this.renderer = this.groups = null;
          this.onChange();
        });
        this.renderer = renderer;
      } catch (problem) {
        this.missing = problem.message;
      }
    }
    if (this.renderer && !this.groups) this.load();
    return Boolean(this.renderer);
  }

  // Hand the context back, of which a browser has a few for all pages.
  release() {
    const { renderer } = this;
    this.renderer = this.groups = null;
    renderer?.release();
  }

  // Bodies of the same shape share a mesh, as fine as what draws it can afford.
  load() {
    const groups = new Map();
    for (const body of this.bodies) {
      body.surfaceKey ??= body.posed.key;
      const { surfaceKey: key } = body;
      if (!groups.has(key)) groups.set(key, { key, bodies: [] });
      groups.get(key).bodies.push(body);
    }
    this.groups = [...groups.values()];
    this.ball = null;
    const many = this.renderer.bySoftware ? this.bodies.length : groups.size;
    const coarsest = this.renderer.bySoftware && many > MOST_COARSE ? CROWD : COARSE;
    for (const group of this.groups) {
      if (!this.meshes.has(group.key)) this.meshes.set(group.key, { mesh: this.build(group.bodies[0], coarsest), fine: false });
      group.body = this.renderer.addBody(this.meshes.get(group.key).mesh);
    }
    this.renderer.setTerrain(this.terrain && groundMesh(this.terrain));
    if (many <= MOST_FINE) setTimeout(() => this.refine(), REFINE_MS);
  }

  refine() {
    const group = this.groups?.find(({ key }) => !this.meshes.get(key).fine);
    if (!group) return;
    const mesh = this.build(group.bodies[0], 1);
    this.meshes.set(group.key, { mesh, fine: true });
    group.body = this.renderer.addBody(mesh);
    this.onChange();
    setTimeout(() => this.refine(), REFINE_MS);
  }

  build(body, coarseness) {
    const count = Math.min(SAMPLES, body.frames);
    const frames = Array.from({ length: count }, (_, at) => {
      const index = Math.round((at * (body.frames - 1)) / Math.max(count - 1, 1));
      const source = body.root ?? body.centre;
      return body.posed.frame(index, this.terrain ? this.terrain.at(source[3 * index], source[3 * index + 2]) : body.floor);
    });
    return buildMannequin(body.posed.skeleton, frames, coarseness);
  }

  characterOf(body, pose, time) {
    const [tint, accent] = body.alone && !body.givenColour ? TINTS[0] : [mixed(body.colour, "#ffffff", 0.45), mixed(body.colour, "#000000", 0.5)];
    return { positions: pose, rotations: body.posed.rotationsAt(time), tint, accent, alpha: body.isFaint(time) ? FAINT : 1 };
  }

  // The balls {place, radius} of a picture, which are of one size.
  ballsAsGroup(balls) {
    if (!balls.length) return [];
    this.ball ??= this.renderer.addBody(ballMesh(balls[0].radius));
    return [{ body: this.ball, characters: balls.map(({ place }) => ({ ...BALL, positions: place })) }];
  }

  // Draw the picture of the bodies that have a surface: {body -> pose}, with balls and marks.
  draw(context, { camera, surface: { width, height }, height: tall, grid, floor, marks }, posed, balls, time, passed) {
    const { renderer } = this;
    if (passed) renderer.adapt(passed);
    const groups = this.groups.map(({ body: mesh, bodies }) => ({
      body: mesh,
      characters: bodies.filter((body) => posed.has(body)).map((body) => this.characterOf(body, posed.get(body), time)),
    }));
    const { target } = camera;
    const spread = Math.max(...[...posed.values()].map((pose) => Math.hypot(pose[0] - target[0], pose[2] - target[2])), 0);
    renderer.look = LOOKS[look.dark ? "dark" : "light"];
    renderer.resize(width, height);
    renderer.draw({
      camera, groups: [...groups, ...this.ballsAsGroup(balls)], marks, floor: this.terrain ? 0 : floor, gridStep: 0.25 * grid,
      reach: Math.min(Math.max(2.2 * tall, spread + 1.5 * tall), 9 * tall),
    });
    context.drawImage(renderer.canvas, 0, 0, width, height);
  }
}

// A ball as a body with one joint.
function ballMesh(radius) {
  const { positions: normals, indices } = unitSphere();
  const count = normals.length / 3;
  return {
    positions: normals.map((value) => radius * value), normals, indices,
    joints: new Uint16Array(4 * count), weights: Float32Array.from({ length: 4 * count }, (_, i) => (i % 4 ? 0 : 1)),
    accent: new Float32Array(count), openness: new Float32Array(count).fill(1),
    pose: { positions: [[0, 0, 0]], rotations: [[0, 0, 0, 1]] },
  };
}

// A unit sphere: {positions, indices}, counter-clockwise from outside; its normals are its positions.
function unitSphere(rings = 24, segments = 48) {
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
