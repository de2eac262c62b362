// Bodies with surfaces on lit ground, in pictures of WebGL 2 that are copied to a page's canvas.

import { look } from "../page_content.js";
import { clamp, unit } from "../vectors.js";
import { LOOKS, Renderer } from "./renderer.js";

// Cells of meshes in those of the finest: of the first ones, which are there at once, and of many bodies.
const COARSE = 2.5, CROWD = 4.2;
// Steps of detail, from the most to the least: cells of meshes, and share of pixels along each side.
const STEPS = [[1, 1], [1, 0.85], [1.6, 0.72], [COARSE, 0.6], [COARSE, 0.45]];
// The same without a graphics card, and the step that characters in constant motion begin with.
const SOFTWARE_STEPS = [[1, 0.7], [1.6, 0.7], [COARSE, 0.7], [COARSE, 0.6], [3.2, 0.5]], MOVING_STEP = 2;
// On a graphics card and by software: seconds of a picture that is late, and how much of them a second of others makes
// up for. By software, where a late one takes as long as three in two, one in seven is too much.
const LATE = [{ from: 0.028, madeUp: 4 }, { from: 0.038, madeUp: 0.25 }];
// Seconds of a picture that leaves time for more detail.
const EARLY_S = 0.02;
// Seconds of late pictures before there is less detail, and of early ones before there is more: at first, and at most
// after more detail was too much.
const LATE_FOR_S = 0.7, EARLY_FOR_S = [4, 120];
// Milliseconds between meshes of other detail, and the most bodies that get finer than the first ones; of bodies without
// a graphics card. More than the last number of them are those of a crowd.
const REFINE_MS = 400, MOST_FINE = 4, MOST_COARSE = 8;
// A page that loses its context this often, as among very many players, keeps to plain drawing.
const MOST_LOSSES = 3;
// Metres at which a ground goes on beyond its edges, and lines of the plane to each side of its middle.
const BEYOND_M = [200, 60, 20, 6], PLANE_LINES = 13;
// Metres by which a heightmap's ground bends from one drawn line to the next, and between them, at most; and its most
// vertices, on a graphics card and by software, where more lines are left out.
const FLAT_M = 0.001, GAP_M = 3, MOST_VERTICES = [Infinity, 5000];
const BALL_RINGS = 24, BALL = { rotations: Float32Array.of(0, 0, 0, 1), tint: "#f1ede4", accent: "#20242a" };

export class LitBodies {
  // `moving`: whether what it draws is in constant motion; `waits`: whether it keeps to coarse bodies until told otherwise.
  constructor(onChange, { moving = false, waits = false } = {}) {
    Object.assign(this, { onChange, moving, waits, losses: 0, patience: EARLY_FOR_S[0] });
    // Key of a shape -> cells -> its mesh.
    this.meshes = new Map();
  }

  // Key of a shape -> a function of the size of cells that builds its mesh; so many bodies have one of them.
  open(shapes, terrain, count = shapes.size) {
    Object.assign(this, { shapes, terrain, count, bodies: null });
  }

  // Get ready to draw; false where no body has a surface or the browser cannot draw it.
  prepare() {
    if (!this.shapes?.size || this.losses >= MOST_LOSSES) return false;
    if (!this.renderer && !this.missing) {
      try {
        const canvas = document.createElement("canvas");
        const renderer = new Renderer(canvas, planeMesh());
        canvas.addEventListener("webglcontextlost", () => {
          if (this.renderer !== renderer) return;
          this.losses += 1;
          this.renderer = this.bodies = null;
          this.onChange();
        });
        this.renderer = renderer;
        this.steps = renderer.bySoftware ? SOFTWARE_STEPS : STEPS;
        this.step ??= renderer.bySoftware && this.moving ? MOVING_STEP : 0;
      } catch (problem) {
        this.missing = problem.message;
      }
    }
    if (this.renderer && !this.bodies) this.load();
    return Boolean(this.renderer);
  }

  // Hand the context back, of which a browser has a few for all pages.
  release() {
    const { renderer } = this;
    this.renderer = this.bodies = null;
    renderer?.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  // Whether there are fewer pixels or vertices than in full.
  get isReduced() { return this.step > 0; }

  // Coarse meshes, which finer ones replace.
  load() {
    const { renderer, shapes } = this;
    Object.assign(this, { bodies: new Map(), shown: new Map(), ball: null, late: 0, early: 0 });
    const many = renderer.bySoftware ? this.count : shapes.size;
    this.leastCells = many <= MOST_FINE ? 0 : renderer.bySoftware && many > MOST_COARSE ? CROWD : COARSE;
    for (const key of shapes.keys()) this.shown.set(key, this.meshOf(key, Math.max(COARSE, this.leastCells)));
    this.setTerrain(this.terrain);
    this.refineLater();
  }

  // A mesh of a shape, which is built once.
  meshOf(key, cells) {
    if (!this.meshes.has(key)) this.meshes.set(key, new Map());
    const built = this.meshes.get(key);
    if (!built.has(cells)) built.set(cells, this.shapes.get(key)(cells));
    return built.get(cells);
  }

  // The mesh of a shape as the renderer draws it.
  bodyOf(key) {
    const mesh = this.shown.get(key);
    if (!this.bodies.has(mesh)) this.bodies.set(mesh, this.renderer.addBody(mesh));
    return this.bodies.get(mesh);
  }

  // One shape after the other gets the detail of the step, as finer meshes take time to build.
  refine() {
    this.timer = null;
    if (!this.bodies) return;
    const cells = Math.max(this.steps[this.step][0], this.leastCells);
    for (const [key, mesh] of this.shown) {
      const next = this.meshOf(key, cells);
      if (next === mesh) continue;
      this.shown.set(key, next);
      this.onChange();
      return this.refineLater();
    }
  }

  refineLater() { if (!this.waits) this.timer ??= setTimeout(() => this.refine(), REFINE_MS); }

  // Less detail where several pictures in a row are late, more where they have long been early; `time`: seconds of one.
  adapt(time) {
    const { from, madeUp } = LATE[Number(this.renderer.bySoftware)];
    const grown = (sum, grows, falls) => (grows ? sum + Math.min(time, 0.5 * LATE_FOR_S) : Math.max(sum - falls * time, 0));
    this.late = grown(this.late, time > from, madeUp);
    this.early = grown(this.early, time < EARLY_S, 4);
    const change = this.late > LATE_FOR_S ? 1 : this.early > this.patience ? -1 : 0;
    if (!change) return;
    Object.assign(this, { late: 0, early: 0 });
    // Detail that was too much is tried again after twice as long.
    if (change > 0 && this.raised) this.patience = Math.min(2 * this.patience, EARLY_FOR_S[1]);
    this.raised = change < 0;
    this.step = clamp(this.step + change, 0, this.steps.length - 1);
    this.refineLater();
  }

  // The ground of a `Heightmap`; null for the plane.
  setTerrain(terrain) {
    this.terrain = terrain;
    this.renderer?.setTerrain(terrain && groundMesh(terrain, MOST_VERTICES[Number(this.renderer.bySoftware)]));
  }

  // Draw characters {key, positions, rotations, tint, accent, alpha}, balls {place, radius} of one size, and marks; `passed`: seconds since the last picture.
  draw(context, { camera, characters, balls, marks, floor, step, reach, passed }) {
    const { renderer } = this;
    if (passed) this.adapt(passed);
    renderer.look = LOOKS[look.dark ? "dark" : "light"];
    const groups = [...this.shown.keys()].map((key) => ({ body: this.bodyOf(key), characters: characters.filter((each) => each.key === key) }));
    if (balls.length) {
      this.ball ??= renderer.addBody(ballMesh(balls[0].radius));
      groups.push({ body: this.ball, characters: balls.map(({ place }) => ({ ...BALL, positions: place })) });
    }
    const copied = () => context.drawImage(renderer.canvas, 0, 0, camera.width, camera.height);
    // Without a graphics card the next picture of a motion is drawn while the page goes on: the one before is shown.
    this.isLate = renderer.bySoftware && this.moving && renderer.isDrawn;
    if (this.isLate) copied();
    renderer.resize(camera.width, camera.height, this.steps[this.step][1]);
    renderer.draw({ camera, groups, marks, floor, gridStep: step, reach });
    if (this.isLate) renderer.gl.flush();
    else copied();
    renderer.isDrawn = true;
  }
}

// A ball as a body with one joint, counter-clockwise from outside.
function ballMesh(radius) {
  const normals = [];
  for (let i = 0; i <= BALL_RINGS; i++) {
    const [up, around] = [Math.cos((Math.PI * i) / BALL_RINGS), Math.sin((Math.PI * i) / BALL_RINGS)];
    for (let j = 0; j <= 2 * BALL_RINGS; j++) {
      const angle = (Math.PI * j) / BALL_RINGS;
      normals.push(around * Math.sin(angle), up, around * Math.cos(angle));
    }
  }
  const count = normals.length / 3;
  return {
    positions: Float32Array.from(normals, (value) => radius * value), normals: Float32Array.from(normals),
    indices: gridIndices(BALL_RINGS + 1, 2 * BALL_RINGS + 1),
    joints: new Uint16Array(4 * count), weights: Float32Array.from({ length: 4 * count }, (_, i) => (i % 4 ? 0 : 1)),
    accent: new Float32Array(count), openness: new Float32Array(count).fill(1),
    pose: { positions: [[0, 0, 0]], rotations: [[0, 0, 0, 1]] },
  };
}

// Triangles of a grid of points, row by row, counter-clockwise.
function gridIndices(rows, columns) {
  const indices = new Uint32Array(6 * (rows - 1) * (columns - 1));
  for (let row = 0, next = 0; row < rows - 1; row++) {
    for (let at = row * columns; at < (row + 1) * columns - 1; at++, next += 6) {
      indices.set([at, at + columns, at + 1, at + 1, at + columns, at + columns + 1], next);
    }
  }
  return indices;
}

// {positions, normals, indices} of a heightmap's ground of at most so many vertices, which goes on beyond its edges.
function groundMesh(map, most) {
  const [xs, zs] = map.lines(FLAT_M, GAP_M, most).map((inside) => [...BEYOND_M.map((far) => inside[0] - far), ...inside, ...BEYOND_M.map((far) => inside.at(-1) + far).reverse()]);
  return gridMesh(xs, zs, (x, z) => map.at(x, z), (x, z) => map.gradient(x, z));
}

// Flat ground with edges of 2 and shorter steps around its middle.
function planeMesh() {
  const lines = Array.from({ length: PLANE_LINES }, (_, i) => 1.5 ** -i);
  const all = [...lines.map((line) => -line), 0, ...lines.reverse()];
  return gridMesh(all, all, () => 0, () => [0, 0]);
}

function gridMesh(xs, zs, heightAt, gradientAt) {
  const positions = new Float32Array(3 * zs.length * xs.length), normals = new Float32Array(positions.length);
  for (let at = 0; 3 * at < positions.length; at++) {
    const x = xs[at % xs.length], z = zs[Math.floor(at / xs.length)];
    positions.set([x, heightAt(x, z), z], 3 * at);
    const [riseX, riseZ] = gradientAt(x, z);
    normals.set(unit([-riseX, 1, -riseZ]), 3 * at);
  }
  return { positions, normals, indices: gridIndices(zs.length, xs.length) };
}
