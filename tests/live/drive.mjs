// Runs the JavaScript runtime for tests: reads a request from stdin and writes its answer to stdout.
import { readFileSync } from "node:fs";

import { projectManifold, readAsset } from "../../deepphase/viewer/runtime/asset.js";
import { Heightmap } from "../../deepphase/viewer/runtime/heightmap.js";
import { WalkedGround } from "../../deepphase/viewer/runtime/walked_ground.js";
import { createCharacter } from "../../deepphase/viewer/runtime/character.js";
import { firstLabel, goalOf, sampleFrames } from "../../deepphase/viewer/input/driver.js";
import { kept } from "../../deepphase/viewer/timeline/history.js";
import { FollowingCamera } from "../../deepphase/viewer/scene/camera.js";
import { buildMannequin } from "../../deepphase/viewer/body/mannequin.js";
import { bvhText, glbBytes } from "../../deepphase/viewer/body/save.js";
import { readBody } from "../../deepphase/viewer/body/skin.js";
import { networkOf } from "../../deepphase/viewer/runtime/network.js";
import { add, clamp, distance, inverse, point, rotate, subtract, turn } from "../../deepphase/viewer/vectors.js";

const request = JSON.parse(readFileSync(0, "utf8"));
if (request.withoutWebAssembly) globalThis.WebAssembly = undefined;
const asset = readAsset(readFileSync(request.asset));

/** Typed arrays as lists. */
function plain(key, value) {
  return ArrayBuffer.isView(value) ? Array.from(value) : value;
}

/** Places of vertices that are carried by joints, at a frame. */
function carried(mesh, frame) {
  const { positions, rotations } = mesh.pose;
  const places = new Float32Array(mesh.positions.length);
  for (let v = 0; 3 * v < places.length; v++) {
    for (let k = 4 * v; k < 4 * v + 4; k++) {
      const joint = mesh.joints[k];
      const local = rotate(inverse(rotations[joint]), subtract(point(mesh.positions, v), positions[joint]));
      const place = add(rotate(turn(frame.rotations, joint), local), point(frame.positions, joint));
      for (let axis = 0; axis < 3; axis++) places[3 * v + axis] += mesh.weights[k] * place[axis];
    }
  }
  return places;
}

/** The glb file with other names of its nodes, and with other units and axes of mesh and joints. */
function changed(bytes, { names, circle, unit = 1, axes = [0, 0, 0, 1] }) {
  const view = new DataView(bytes.buffer);
  const length = view.getUint32(12, true);
  const json = JSON.parse(new TextDecoder().decode(bytes.subarray(20, 20 + length)));
  json.nodes.forEach((node, at) => { node.name = names?.[at] ?? node.name; });
  if (circle) json.nodes[json.nodes[0].children[0]].children.push(0);
  const text = new TextEncoder().encode(JSON.stringify(json));
  const padded = new Uint8Array(4 * Math.ceil(text.length / 4)).fill(32);
  padded.set(text);
  const out = new Uint8Array(bytes.length - length + padded.length);
  out.set(bytes.subarray(0, 20));
  out.set(padded, 20);
  out.set(bytes.subarray(20 + length), 20 + padded.length);
  const words = new DataView(out.buffer);
  words.setUint32(8, out.length, true);
  words.setUint32(12, padded.length, true);
  const startOf = (bufferView) => 28 + padded.length + json.bufferViews[bufferView].byteOffset;
  const numbers = (accessor) => {
    const { bufferView, count, type } = json.accessors[accessor];
    const start = startOf(bufferView);
    return new Float32Array(out.buffer.slice(start, start + 4 * { VEC3: 3, MAT4: 16 }[type] * count));
  };
  const write = (accessor, values) => {
    out.set(new Uint8Array(values.buffer), startOf(json.accessors[accessor].bufferView));
  };
  const { POSITION } = json.meshes[0].primitives[0].attributes;
  write(POSITION, numbers(POSITION).map((value) => unit * value));
  const binds = numbers(json.skins[0].inverseBindMatrices);
  for (let at = 0; at < binds.length; at += 16) {
    for (let column = 0; column < 4; column++) {
      const turned = rotate(axes, [0, 1, 2].map((row) => binds[at + 4 * column + row]));
      binds.set(turned.map((value) => (column < 3 ? value / unit : value)), at + 4 * column);
    }
  }
  write(json.skins[0].inverseBindMatrices, binds);
  return out;
}

function mapOf({ heights, columns, spacing, origin }) {
  return new Heightmap(Float32Array.from(heights), columns, spacing, origin);
}

/** Outputs of the network that are given in place of its own. */
function replay(character, outputs) {
  let frame = 0;
  character.network.step = () => Float32Array.from(outputs[frame++]);
}

const tasks = {
  /** Frames of a character on goals. */
  run() {
    const ground = request.ground && new WalkedGround(mapOf(request.ground), asset);
    const character = createCharacter(asset, { ...request.options, ground });
    if (request.outputs) replay(character, request.outputs);
    return request.goals.map((goal) => ({ ...character.step(goal), inputs: request.rows && Array.from(character.input.inputs) }));
  },
  /** Heights and levels of ground, and lines that its picture needs. */
  ground() {
    const ground = new WalkedGround(mapOf(request.ground), asset);
    return {
      heights: request.places.map(([x, z]) => ground.map.at(x, z)),
      levels: request.places.map(([x, z], i) => ground.level({ x, z, angle: i })),
      lines: ground.map.lines(0.001, 3, Infinity),
      fewLines: ground.map.lines(0.001, 3, 9),
    };
  },
  /** Raw outputs of rows of raw inputs and gates. */
  network() {
    const network = networkOf(asset);
    return request.rows.map(({ inputs, gate }) => ({
      outputs: Array.from(network.step(inputs, gate)),
      blend: network.blendWeights && network.blendWeights.slice(),
    }));
  },
  /** The mannequin out of a glb file: how far its vertices are from the mannequin's own, in m. */
  body() {
    const label = firstLabel(asset);
    const samples = sampleFrames(asset, label);
    const mannequin = buildMannequin(asset.skeleton, samples);
    const file = glbBytes(asset.skeleton, samples, asset.frameRate, mannequin, "#ffffff");
    const character = createCharacter(asset, { label });
    let frame = null;
    for (let i = 0; i < 100; i++) frame = kept(character.step(goalOf([0.5, 1.2], null, label)));
    const own = carried(mannequin, frame);
    return request.bodies.map((change) => {
      try {
        const content = change.bytes ? Uint8Array.from(change.bytes) : changed(file, change);
        const mesh = readBody(content, asset.skeleton);
        const places = carried(mesh, frame);
        const apart = Array.from({ length: places.length / 3 }, (_, v) => distance(point(own, v), point(places, v)));
        return { matched: mesh.matched, largest: Math.max(...apart), mean: apart.reduce((a, b) => a + b) / apart.length };
      } catch (problem) {
        return { problem: problem.message };
      }
    });
  },
  /** Metres between the ground and lines from the eye, over the stairs, to feet of one who goes down. */
  stairs() {
    const camera = new FollowingCamera({ height: 1.8, length: 0.7 });
    Object.assign(camera, { yaw: Math.PI, level: (x, z) => 0.17 * clamp(Math.floor((4.3 - z) / 0.25), 0, 8) });
    for (let i = 0; i < 240; i++) camera.follow([0, i / 50], 0, 1 / 60, 1.8);
    camera.frame(1.5, 1);
    const eye = [camera.eye[2], camera.eye[1]], parts = Array.from({ length: 77 }, (_, i) => (i + 4) / 81);
    return [-0.4, 0, 0.4].map((ahead) => {
      const z = camera.target[2] + ahead, foot = [z, camera.level(0, z) + 0.08];
      const along = (part) => foot.map((own, axis) => own + part * (eye[axis] - own));
      return Math.min(...parts.map(along).map(([at, y]) => y - camera.level(0, at)));
    });
  },

  /** Places in the picture of the ends of a body that runs, at its foot and top, in shares of its size. */
  camera() {
    return request.views.map(({ size, aspect, beside, heading, speed }) => {
      const camera = new FollowingCamera(size);
      camera.beside = beside;
      const way = [Math.sin(heading), Math.cos(heading)];
      const middle = [0, 0];
      for (let i = 0; i < 120; i++) {
        way.forEach((part, axis) => { middle[axis] += (part * speed) / 60; });
        camera.follow(middle, heading, 1 / 60, size.height);
      }
      camera.frame(aspect, 1);
      const ends = [-1, 1].map((side) => way.map((part, axis) => middle[axis] + 0.5 * side * size.length * part));
      return ends.flatMap(([x, z]) => [0, size.height].map((y) => [camera.project(x, y, z)[0] / aspect, camera.project(x, y, z)[1]]));
    });
  },
  /** The text of the BVH file of frames, and the rotations and places of their joints. */
  saved() {
    const character = createCharacter(asset, request.options);
    const frames = request.goals.map((goal) => character.step(goal));
    const text = bvhText(asset.skeleton, frames.map((frame) => kept(frame)), asset.frameRate);
    return { text, names: asset.skeleton.names, frames };
  },
  /** What a page reads of an asset, and a point of its manifold. */
  asset() {
    const { arrays, header, schema, ...values } = asset;
    const point = request.phases && projectManifold(asset.manifold, request.phases);
    return { ...values, point };
  },
};

process.stdout.write(JSON.stringify(tasks[request.task](), plain));
