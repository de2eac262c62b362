// The bodies of a take as mannequins and animals on lit ground, in pictures of WebGL 2.

import { look } from "../page_content.js";
import { buildMannequin, COARSE } from "../body/mannequin.js";
import { PosedBody } from "../body/posed.js";
import { arrayOf } from "../tracks/take_data.js";
import { groundMesh } from "./ground_shape.js";
import { LOOKS, MOST_CHARACTERS, Renderer, TINTS } from "./renderer.js";
import { mixed } from "./surface2d.js";
import { lookAt, perspective, product } from "./vectors.js";

// Frames in which meshes look for a body that stands.
const SAMPLES = 24;
// Milliseconds after which coarse meshes are replaced, and the most meshes for which they are; of bodies
// without a graphics card.
const REFINE_MS = 400, MOST_FINE = 4;
// A page that loses its context this often, as among very many players, keeps to plain drawing.
const MOST_LOSSES = 3;
const FAINT = 0.35;
const NO_MARKS = { disc: [], mark: [], ring: [] };

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
  prepare(floor) {
    if (!this.bodies?.length || this.losses >= MOST_LOSSES) return false;
    if (!this.renderer && !this.missing) {
      try {
        const canvas = document.createElement("canvas");
        const renderer = new Renderer(canvas, true);
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
    if (this.renderer && !this.groups) this.load(floor);
    return Boolean(this.renderer);
  }

  // Hand the context back, of which a browser has a few for all pages.
  release() {
    const { renderer } = this;
    this.renderer = this.groups = null;
    renderer?.release();
  }

  // Bodies of the same shape, up to as many as one picture draws at once.
  load(floor) {
    const groups = new Map();
    for (const body of this.bodies) {
      body.surfaceKey ??= body.posed.key;
      const key = body.surfaceKey;
      const same = groups.get(key) ?? [];
      if (!same.length || same[same.length - 1].bodies.length === MOST_CHARACTERS) same.push({ key, bodies: [] });
      same[same.length - 1].bodies.push(body);
      groups.set(key, same);
    }
    this.groups = [...groups.values()].flat();
    for (const group of this.groups) {
      if (!this.meshes.has(group.key)) this.meshes.set(group.key, { mesh: this.build(group.bodies[0], COARSE), fine: false });
      group.body = this.renderer.addBody(this.meshes.get(group.key).mesh);
    }
    this.renderer.setTerrain(this.terrain && groundMesh(this.terrain));
    this.floor = this.terrain ? 0 : floor;
    const many = this.renderer.bySoftware ? this.bodies.length : groups.size;
    if (many <= MOST_FINE) setTimeout(() => this.refine(), REFINE_MS);
  }

  refine() {
    const group = this.groups?.find(({ key }) => !this.meshes.get(key).fine);
    if (!group) return;
    const mesh = this.build(group.bodies[0], 1);
    this.meshes.set(group.key, { mesh, fine: true });
    for (const each of this.groups) if (each.key === group.key) each.body = this.renderer.addBody(mesh);
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
    const positions = Float32Array.from(pose);
    for (let i = 1; i < positions.length; i += 3) positions[i] -= this.floor;
    const [tint, accent] = body.alone && !body.givenColour ? TINTS[0] : [mixed(body.colour, "#ffffff", 0.45), mixed(body.colour, "#000000", 0.5)];
    return { positions, rotations: body.posed.rotationsAt(time), tint, accent };
  }

  // Draw the ground with all shadows.
  drawGround(context, stage, poses, time, passed) {
    const { renderer } = this;
    if (passed) renderer.adapt(passed);
    const { camera, surface: { width, height }, height: tall } = stage;
    const eye = [camera.eye[0], camera.eye[1] - this.floor, camera.eye[2]];
    const target = [camera.target[0], camera.target[1] - this.floor, camera.target[2]];
    const angle = 2 * Math.atan((0.5 * height) / camera.focal);
    const view = product(perspective(angle, width / height, camera.near, 40 * camera.distance + 100), lookAt(eye, target));
    const faint = (body) => body.ghost || !body.covers(time);
    const posed = new Map(poses);
    this.layers = [true, false].map((ghosts) => this.groups.map((group) => ({
      body: group.body,
      characters: group.bodies.filter((body) => posed.has(body) && faint(body) === ghosts)
        .map((body) => this.characterOf(body, posed.get(body), time)),
    })).filter(({ characters }) => characters.length));
    this.balls = poses.filter(([body]) => body.ball).map(([body]) => {
      const [x, y, z] = body.ballAt(time), r = body.ballRadius;
      return { model: [r, 0, 0, 0, 0, r, 0, 0, 0, 0, r, 0, x, y - this.floor, z, 1] };
    });
    const spread = Math.max(...poses.map(([, pose]) => Math.hypot(pose[0] - target[0], pose[2] - target[2])), 0);
    renderer.look = LOOKS[look.dark ? "dark" : "light"];
    renderer.resize(width, height);
    this.shared = renderer.begin({
      camera: { matrix: view, eye, target, distance: camera.distance }, groups: this.layers[1], balls: this.balls,
      reach: Math.min(Math.max(2.2 * tall, spread + 1.5 * tall), 9 * tall), gridStep: 0.25 * stage.grid,
    });
    renderer.drawGround(this.shared, NO_MARKS);
    context.drawImage(renderer.canvas, 0, 0, width, height);
  }

  // Draw the bodies over what is on the ground, faint ones first.
  drawBodies(context, { width, height }) {
    const { renderer, layers: [ghosts, solid], balls } = this;
    for (const [groups, alpha, its] of [[ghosts, FAINT, []], [solid, 1, balls]]) {
      if (!groups.length && !its.length) continue;
      renderer.clear();
      renderer.drawBodies(this.shared, groups, its);
      context.globalAlpha = alpha;
      context.drawImage(renderer.canvas, 0, 0, width, height);
    }
    context.globalAlpha = 1;
  }
}
