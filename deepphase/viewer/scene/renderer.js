// The picture: bodies and ground with soft shadows, and marks on the ground. WebGL2.

import { MarkVertices, VERTEX } from "./marks.js";
import * as glsl from "./shaders.js";
import { axesOf, inverse, linear, lookAt, multiply, orthographic, product, turn, unit } from "../vectors.js";

// (body, accent) of each character of a page in which one is steered.
export const TINTS = [
  ["#e9e4da", "#1f5fa8"], ["#e7a24a", "#4a3420"], ["#6fb7d6", "#173a4d"], ["#8fc48a", "#23452a"],
  ["#e08b85", "#56221f"], ["#b7a3dc", "#35265c"], ["#f0d36b", "#574613"], ["#7fc9bd", "#1d4842"],
  ["#d89cc3", "#542145"], ["#b9bfc7", "#333a42"], ["#c9a27c", "#472f18"], ["#9db4e8", "#23355f"],
];
export const MOST_CHARACTERS = TINTS.length;
// Texels of the shadows' picture along each side, and places in it that shade a pixel; the second ones
// are those of software.
const SHADOW_SIZES = [2048, 256], SHADE_SAMPLES = [12, 1], SHADE_TEXELS = 2.6;
// Room for a body's surface around its joints, in half widths of the light.
const AROUND_JOINTS = 0.15;
// Texels of a character before those of its joints: its colours, and three for each joint.
const TINTS_WIDE = 2, JOINT_WIDE = 3;
// Depth by which faint bodies lie behind solid ones in the same place, in the camera's least distance.
const BEHIND = 0.03;
// Characters that a body first has room for.
const FIRST_ROWS = 4;
// Uniforms that are integers.
const INTEGERS = new Set(["shadowMap", "poses", "firstRow"]);
const TO_LIGHT = unit([0.5, 1.0, 0.28]);

const NO_WEBGL = "This browser has no WebGL 2: bodies are drawn as plain skeletons.";

export const LOOKS = {
  light: { fog: "#e9edf1", ground: "#f3f5f7", line: "#a9b4c0", key: [0.74, 0.71, 0.66], sky: [0.5, 0.53, 0.58], floor: [0.26, 0.25, 0.25] },
  dark: { fog: "#15181c", ground: "#3a414a", line: "#76828f", key: [0.8, 0.76, 0.7], sky: [0.2, 0.24, 0.3], floor: [0.07, 0.075, 0.085] },
};

let software = null;

// Whether the browser draws without a graphics card, by the name of what it draws with.
function drawsBySoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const masked = gl.getParameter(gl.RENDERER);
  // Firefox has one name only, and warns of the other.
  const info = masked === "WebKit WebGL" ? gl.getExtension("WEBGL_debug_renderer_info") : null;
  const name = info ? gl.getParameter(info.UNMASKED_RENDERER_WEBGL) : masked;
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

// Places on a disc, evenly spread, as the arguments of an array of GLSL.
function shadePlaces(count) {
  return Array.from({ length: count }, (_, i) => {
    const [radius, angle] = [SHADE_TEXELS * Math.sqrt(i / count), i * 2.39996];
    return `vec2(${(radius * Math.cos(angle)).toFixed(4)}, ${(radius * Math.sin(angle)).toFixed(4)})`;
  }).join(", ");
}

// Low and high corner of the characters in the light's picture, (x, y) in [-1, 1], with the surface around their joints.
function shadowBox(light, groups) {
  const low = [1, 1], high = [-1, -1];
  for (const { positions } of groups.flatMap(({ characters }) => characters)) {
    for (let j = 0; j < positions.length; j += 3) {
      for (const axis of [0, 1]) {
        const at = light[axis] * positions[j] + light[4 + axis] * positions[j + 1] + light[8 + axis] * positions[j + 2] + light[12 + axis];
        low[axis] = Math.min(low[axis], at - AROUND_JOINTS);
        high[axis] = Math.max(high[axis], at + AROUND_JOINTS);
      }
    }
  }
  return [...low.map((value) => Math.max(value, -1)), ...high.map((value) => Math.min(value, 1))];
}

export class Renderer {
  // `plane`: mesh of a flat ground with edges of 2, as of `setTerrain`.
  constructor(canvas, plane) {
    // Without a graphics card, pictures have fewer pixels and simpler shadows.
    const bySoftware = Number(software ??= drawsBySoftware());
    const gl = canvas.getContext("webgl2", { antialias: !bySoftware, preserveDrawingBuffer: Boolean(bySoftware), alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error(NO_WEBGL);
    Object.assign(this, { canvas, gl, bySoftware: Boolean(bySoftware), shadowSize: SHADOW_SIZES[bySoftware], shadeSamples: SHADE_SAMPLES[bySoftware] });
    this.programs = {
      body: this.program(glsl.BODY_VERTEX, glsl.BODY_FRAGMENT),
      bodyShadow: this.program(glsl.BODY_SHADOW_VERTEX, glsl.EMPTY_FRAGMENT),
      ground: this.program(glsl.GROUND_VERTEX, glsl.GROUND_FRAGMENT),
      mark: this.program(glsl.MARK_VERTEX, glsl.MARK_FRAGMENT),
    };
    this.plane = this.groundOf(plane);
    this.marks = { vertices: new MarkVertices(), ...this.markBuffer() };
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    // Without an attribute, vertices have no colour of their own.
    gl.vertexAttrib4f(5, 0, 0, 0, 0);
    this.look = LOOKS.light;
    this.shadow = this.shadowTarget();
  }

  program(vertex, fragment) {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source.replace("SHADE_LIST", shadePlaces(this.shadeSamples)));
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const names = Array.from({ length: gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS) }, (_, at) => gl.getActiveUniform(program, at).name);
    return { program, places: Object.fromEntries(names.map((name) => [name, gl.getUniformLocation(program, name)])) };
  }

  shadowTarget() {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.DEPTH_COMPONENT24, this.shadowSize, this.shadowSize);
    this.filter(gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    const target = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, target);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return { texture, target };
  }

  // How the bound texture is read between its texels.
  filter(kind) {
    const { gl } = this;
    for (const size of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, size, kind);
  }

  // A vertex array of float attributes: [[place, size, values], ...].
  vertices(attributes, indices) {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    for (const [place, size, values] of attributes) {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      if (values instanceof Uint16Array) gl.vertexAttribIPointer(place, size, gl.UNSIGNED_SHORT, 0, 0);
      else gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, indices, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, count: indices.length };
  }

  // Vertices of marks, which change with every picture.
  markBuffer() {
    const { gl } = this;
    const [array, buffer] = [gl.createVertexArray(), gl.createBuffer()];
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    for (const [place, size, offset] of [[0, 3, 0], [1, 4, 3], [2, 3, 7]]) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 4 * VERTEX, 4 * offset);
    }
    gl.bindVertexArray(null);
    return { array, buffer };
  }

  // The mesh of a mannequin or a user's body on the graphics card; `pose` is its bind pose.
  addBody(mesh) {
    const { gl } = this;
    const surface = new Float32Array(2 * mesh.accent.length);
    mesh.accent.forEach((value, v) => surface.set([value, mesh.openness[v]], 2 * v));
    const attributes = [[0, 3, mesh.positions], [1, 3, mesh.normals], [2, 4, mesh.joints], [3, 4, mesh.weights], [4, 2, surface]];
    if (mesh.colours) attributes.push([5, 4, mesh.colours]);
    const jointCount = mesh.pose.positions.length;
    const body = {
      ...this.vertices(attributes, mesh.indices), poses: gl.createTexture(), jointCount, bind: mesh.pose,
      doubleSided: Boolean(mesh.doubleSided), wide: TINTS_WIDE + JOINT_WIDE * jointCount, rows: 0,
    };
    this.makeRoom(body, FIRST_ROWS);
    return body;
  }

  // A texture with a row for each character of a body.
  makeRoom(body, rows) {
    const { gl } = this;
    body.rows = rows;
    body.texels = new Float32Array(4 * body.wide * rows);
    gl.bindTexture(gl.TEXTURE_2D, body.poses);
    this.filter(gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, body.wide, rows, 0, gl.RGBA, gl.FLOAT, null);
  }

  // Uneven ground in place of the plane: {positions, normals, indices}, or null.
  setTerrain(mesh) { this.terrain = mesh && this.groundOf(mesh); }

  groundOf({ positions, normals, indices }) { return this.vertices([[0, 3, positions], [1, 3, normals]], indices); }

  // Colours and joint matrices of each character: pose of the joint times the inverse of its bind pose.
  pose(body, characters) {
    if (characters.length > body.rows) this.makeRoom(body, 2 * characters.length);
    const { texels: out, jointCount, wide, bind: { positions, rotations } } = body;
    characters.forEach((character, row) => {
      const start = 4 * wide * row;
      out.set([...linear(character.tint), character.alpha ?? 1, ...linear(character.accent), 1], start);
      for (let j = 0; j < jointCount; j++) {
        const [x, y, z] = axesOf(multiply(turn(character.rotations, j), inverse(rotations[j])));
        const at = start + 4 * (TINTS_WIDE + JOINT_WIDE * j);
        const p = positions[j];
        for (let r = 0; r < 3; r++) {
          out[at + 4 * r] = x[r];
          out[at + 4 * r + 1] = y[r];
          out[at + 4 * r + 2] = z[r];
          out[at + 4 * r + 3] = character.positions[3 * j + r] - x[r] * p[0] - y[r] * p[1] - z[r] * p[2];
        }
      }
    });
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D, body.poses);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, wide, characters.length, gl.RGBA, gl.FLOAT, out.subarray(0, 4 * wide * characters.length));
  }

  // Give the canvas a share, along each side, of the pixels of a size in CSS pixels on the screen.
  resize(wide, tall, share) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2) * share;
    const size = [wide, tall].map((length) => Math.max(1, Math.round(length * ratio)));
    if (this.canvas.width !== size[0] || this.canvas.height !== size[1]) [this.canvas.width, this.canvas.height] = size;
  }

  // Draw a picture. Groups: {body, characters} with characters of {positions, rotations, tint, accent, alpha},
  // faint ones with an alpha below 1; `marks`: see `Marks`; `floor`: height of the plane.
  draw({ camera, groups, marks, reach, gridStep, floor = 0 }) {
    const { gl, look } = this;
    const light = this.lightAround(camera.target, reach);
    const drawn = groups.filter(({ characters }) => characters.length).map(({ body, characters }) => {
      const solid = characters.filter((each) => !(each.alpha < 1));
      const faint = characters.filter((each) => each.alpha < 1);
      this.pose(body, [...solid, ...faint]);
      return { body, solid: solid.length, faint: faint.length };
    });
    this.drawShadows(light, drawn);
    const fog = linear(look.fog);
    const far = 90 * gridStep;
    const shared = {
      camera: camera.matrix, eye: camera.eye, toLight: TO_LIGHT, keyColour: look.key, skyColour: look.sky, floorColour: look.floor,
      fogColour: fog, shadowBox: shadowBox(light, groups), fogRange: [Math.max(0.25 * far, camera.distance), Math.max(far, 2.2 * camera.distance)], lightMatrix: light,
      shadowTexel: 1 / this.shadowSize, shadowMap: 1, poses: 0, middle: [camera.target[0], floor, camera.target[2]], gridStep,
      reach: 1.2 * Math.max(far, 2.2 * camera.distance) + camera.distance, floorLevel: floor,
    };
    gl.clearColor(...fog.map((v) => v ** (1 / 2.2)), 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.shadow.texture);
    gl.activeTexture(gl.TEXTURE0);
    this.drawGround(shared);
    this.marks.vertices.fill(marks, camera, camera.height / (camera.focal * this.canvas.height));
    gl.disable(gl.CULL_FACE);
    this.drawMarks(shared);
    gl.enable(gl.CULL_FACE);
    this.bodies("body", shared, drawn);
    this.drawFaint({ ...shared, camera: camera.matrix.map((value, at) => value + (at === 14 ? BEHIND * camera.near : 0)) }, drawn);
  }

  // The matrix of the light that falls on a place and what is near it.
  lightAround(middle, reach) {
    const light = product(
      orthographic(reach, 0.1, 6 * reach),
      lookAt([0, 1, 2].map((a) => middle[a] + TO_LIGHT[a] * 3 * reach), middle, [0, 0, 1]),
    );
    // By whole texels only, so that shadows do not shimmer.
    const texel = 2 / this.shadowSize;
    for (const row of [12, 13]) light[row] = Math.round(light[row] / texel) * texel;
    return light;
  }

  drawShadows(camera, drawn) {
    const { gl } = this;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.CULL_FACE);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadow.target);
    gl.viewport(0, 0, this.shadowSize, this.shadowSize);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 3);
    this.bodies("bodyShadow", { camera }, drawn);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
  }

  drawGround(shared) {
    const { gl, look } = this;
    const { array, count } = this.terrain ?? this.plane;
    const [origin, scale] = this.terrain ? [[0, 0, 0], 1] : [shared.middle, shared.reach];
    this.use("ground", { ...shared, origin, scale, groundColour: linear(look.ground), lineColour: linear(look.line) });
    gl.bindVertexArray(array);
    gl.drawElements(gl.TRIANGLES, count, gl.UNSIGNED_INT, 0);
  }

  // Faint bodies: their nearest surface, which is found first, over what is behind it.
  drawFaint(shared, drawn) {
    const { gl } = this;
    if (!drawn.some(({ faint }) => faint)) return;
    gl.colorMask(false, false, false, false);
    this.bodies("body", shared, drawn, true);
    gl.colorMask(true, true, true, true);
    gl.enable(gl.BLEND);
    gl.depthFunc(gl.LEQUAL);
    this.bodies("body", shared, drawn, true);
    gl.depthFunc(gl.LESS);
    gl.disable(gl.BLEND);
  }

  // Solid or faint characters, those of one body in one call.
  bodies(name, uniforms, drawn, isFaint = false) {
    const { gl } = this;
    for (const { body, solid, faint } of drawn) {
      const count = isFaint ? faint : solid;
      if (!count) continue;
      gl.bindTexture(gl.TEXTURE_2D, body.poses);
      this.use(name, { poses: 0, ...uniforms, firstRow: isFaint ? solid : 0 });
      if (body.doubleSided) gl.disable(gl.CULL_FACE);
      gl.bindVertexArray(body.array);
      gl.drawElementsInstanced(gl.TRIANGLES, body.count, gl.UNSIGNED_INT, 0, count);
      gl.enable(gl.CULL_FACE);
    }
  }

  drawMarks({ camera }) {
    const { gl, marks: { array, buffer, vertices: { values, count } } } = this;
    if (!count) return;
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(-2, -8);
    this.use("mark", { camera });
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values.subarray(0, VERTEX * count), gl.STREAM_DRAW);
    gl.drawArrays(gl.TRIANGLES, 0, count);
    gl.disable(gl.POLYGON_OFFSET_FILL);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }

  use(name, uniforms) {
    const { gl } = this;
    const { program, places } = this.programs[name];
    gl.useProgram(program);
    for (const [key, value] of Object.entries(uniforms)) {
      const place = places[key];
      if (!place) continue;
      if (INTEGERS.has(key)) gl.uniform1i(place, value);
      else if (typeof value === "number") gl.uniform1f(place, value);
      else if (value.length === 16) gl.uniformMatrix4fv(place, false, value);
      else gl[`uniform${value.length}fv`](place, value);
    }
  }
}
