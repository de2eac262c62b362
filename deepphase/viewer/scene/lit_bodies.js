// Bodies with surfaces on lit ground, in pictures of WebGL 2 that are copied to a page's canvas.

import { look } from "../page_content.js";
import { COARSE } from "../body/mannequin.js";
import { LOOKS, Renderer } from "./renderer.js";

// Milliseconds after which coarse meshes are replaced, and the most meshes for which they are; of bodies
// without a graphics card. More than the last number of them are drawn with still coarser meshes.
const REFINE_MS = 400, MOST_FINE = 4, MOST_COARSE = 8, CROWD = 4.2;
// A page that loses its context this often, as among very many players, keeps to plain drawing.
const MOST_LOSSES = 3;
// Metres to which the edges of a ground go on in the picture.
const BEYOND_M = 200;
const BALL = { rotations: Float32Array.of(0, 0, 0, 1), tint: "#f1ede4", accent: "#20242a" };

export class LitBodies {
  constructor(onChange) {
    this.onChange = onChange;
    // Key of a shape -> its mesh, coarse or fine.
    this.meshes = new Map();
    this.losses = 0;
  }

  // Key of a shape -> a function of a coarseness that builds its mesh; so many bodies have one of them.
  open(shapes, terrain, count = shapes.size) {
    Object.assign(this, { shapes, terrain, count, bodies: null });
  }

  // Get ready to draw; false where no body has a surface or the browser cannot draw it.
  prepare() {
    if (!this.shapes?.size || this.losses >= MOST_LOSSES) return false;
    if (!this.renderer && !this.missing) {
      try {
        const canvas = document.createElement("canvas");
        const renderer = new Renderer(canvas);
        canvas.addEventListener("webglcontextlost", () => {
          if (this.renderer !== renderer) return;
          this.losses += 1;
          this.renderer = this.bodies = null;
          this.onChange();
        });
        this.renderer = renderer;
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
    renderer?.release();
  }

  // Meshes as fine as what draws them can afford.
  load() {
    const { renderer, shapes, meshes } = this;
    this.bodies = new Map();
    this.ball = null;
    const many = renderer.bySoftware ? this.count : shapes.size;
    const coarsest = renderer.bySoftware && many > MOST_COARSE ? CROWD : COARSE;
    for (const [key, build] of shapes) this.use(key, meshes.get(key) ?? { mesh: build(coarsest), fine: false });
    this.setTerrain(this.terrain);
    if (many <= MOST_FINE) setTimeout(() => this.refine(), REFINE_MS);
  }

  use(key, entry) {
    this.meshes.set(key, entry);
    this.bodies?.set(key, this.renderer.addBody(entry.mesh));
  }

  // The fine mesh of a shape.
  fine(key) {
    if (!this.meshes.get(key)?.fine) this.use(key, { mesh: this.shapes.get(key)(1), fine: true });
    return this.meshes.get(key).mesh;
  }

  refine() {
    const key = this.bodies && [...this.shapes.keys()].find((each) => !this.meshes.get(each).fine);
    if (!key) return;
    this.fine(key);
    this.onChange();
    setTimeout(() => this.refine(), REFINE_MS);
  }

  // The ground of a `Heightmap`; null for the plane.
  setTerrain(terrain) {
    this.terrain = terrain;
    this.renderer?.setTerrain(terrain && groundMesh(terrain));
  }

  // The balls {place, radius} of a picture, which are of one size.
  ballsAsGroup(balls) {
    if (!balls.length) return [];
    this.ball ??= this.renderer.addBody(ballMesh(balls[0].radius));
    return [{ body: this.ball, characters: balls.map(({ place }) => ({ ...BALL, positions: place })) }];
  }

  // Draw characters {key, positions, rotations, tint, accent, alpha}, balls and marks; `passed`: seconds since the last picture.
  draw(context, { camera, characters, balls, marks, floor, step, reach, passed }) {
    const { renderer } = this;
    if (passed) renderer.adapt(passed);
    renderer.look = LOOKS[look.dark ? "dark" : "light"];
    renderer.resize(camera.width, camera.height);
    const groups = [...this.bodies].map(([key, body]) => ({ body, characters: characters.filter((each) => each.key === key) }));
    renderer.draw({ camera, groups: [...groups, ...this.ballsAsGroup(balls)], marks, floor, gridStep: step, reach });
    context.drawImage(renderer.canvas, 0, 0, camera.width, camera.height);
  }
}

// A ball as a body with one joint.
function ballMesh(radius) {
  const { positions: normals, indices } = unitSphere();
  const count = normals.length / 3;
  return {
    positions: normals.map((value) => radius * value), normals, indices,
    joints: new Uint16Array(4 * count), weights: new Float32Array(4 * count).map((_, i) => (i % 4 ? 0 : 1)),
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

// Lines of points along one axis: those of the grid, and one far away at either end.
function linesOf(first, count, spacing) {
  const lines = Array.from({ length: count }, (_, i) => first + i * spacing);
  return Float32Array.from([first - BEYOND_M, ...lines, lines[count - 1] + BEYOND_M]);
}

// {positions, normals, indices} of a ground that goes on beyond its edges.
function groundMesh(map) {
  const xs = linesOf(map.origin[0], map.columns, map.spacing);
  const zs = linesOf(map.origin[1], map.rows, map.spacing);
  const [columns, rows] = [xs.length, zs.length];
  const positions = new Float32Array(3 * rows * columns), normals = new Float32Array(3 * rows * columns);
  const indices = new Uint32Array(6 * (rows - 1) * (columns - 1));
  let at = 0, next = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++, at++) {
      const [x, z] = [xs[column], zs[row]];
      positions.set([x, map.at(x, z), z], 3 * at);
      const [riseX, riseZ] = map.gradient(x, z);
      const size = Math.hypot(riseX, 1, riseZ);
      normals.set([-riseX / size, 1 / size, -riseZ / size], 3 * at);
      if (row === rows - 1 || column === columns - 1) continue;
      indices.set([at, at + columns, at + 1, at + 1, at + columns, at + columns + 1], next);
      next += 6;
    }
  }
  return { positions, normals, indices };
}
