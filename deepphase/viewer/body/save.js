// Files of what was driven: BVH, and glb with the mannequin's mesh.

import { childrenOf } from "./bodyplan.js";
import { CHUNKS, MAGIC, SIZES, TYPES } from "./glb.js";
import { axesOf, clamp, inverse, linear, multiply, point, rotate, subtract, turn } from "../vectors.js";

// A joint that leaves its place at its parent by more than this has a position in every frame (m).
const MOVES_BY = 2e-4;
const CM = 100;

// Local transforms of a frame: translation and rotation of every joint relative to its parent.
function localPose(skeleton, frame) {
  const local = [...skeleton.parents].map((parent, j) => {
    const place = point(frame.positions, j), turned = turn(frame.rotations, j);
    if (parent < 0) return [place, turned];
    const back = inverse(turn(frame.rotations, parent));
    return [rotate(back, subtract(place, point(frame.positions, parent))), multiply(back, turned)];
  });
  return { translations: local.map(([place]) => place), rotations: local.map(([, rotation]) => rotation) };
}

// Joints whose place at their parent changes, and the place of the others.
function lengthsOf(skeleton, poses) {
  return [...skeleton.parents].map((parent, j) => {
    const rest = parent < 0 ? [0, 0, 0] : poses[0].translations[j];
    const moves = parent < 0 || poses.some((pose) => pose.translations[j].some((v, a) => Math.abs(v - rest[a]) > MOVES_BY));
    return { moves, rest };
  });
}

// Angles in degrees of the rotation Rz * Rx * Ry.
function eulerZXY([x, y, z, w]) {
  const degrees = 180 / Math.PI;
  const sine = clamp(2 * (y * z + w * x), -1, 1);
  if (Math.abs(sine) > 0.999999) return [2 * Math.atan2(z, w) * degrees, Math.asin(sine) * degrees, 0];
  return [
    Math.atan2(-2 * (x * y - w * z), 1 - 2 * (x * x + z * z)) * degrees,
    Math.asin(sine) * degrees,
    Math.atan2(-2 * (x * z - w * y), 1 - 2 * (x * x + y * y)) * degrees,
  ];
}

// The text of a BVH file, in centimetres.
export function bvhText(skeleton, frames, frameRate) {
  const poses = frames.map((frame) => localPose(skeleton, frame));
  const lengths = lengthsOf(skeleton, poses);
  const order = [];
  const lines = ["HIERARCHY"];
  const numbers = (values) => values.map((v) => (CM * v).toFixed(5)).join(" ");
  const visit = (j, indent) => {
    const say = (...words) => lines.push(...words.map((line) => indent + line));
    order.push(j);
    const channels = lengths[j].moves ? "CHANNELS 6 Xposition Yposition Zposition" : "CHANNELS 3";
    say(`${skeleton.parents[j] < 0 ? "ROOT" : "JOINT"} ${skeleton.names[j].replace(/\s+/g, "_")}`, "{");
    say(`\tOFFSET ${numbers(lengths[j].rest)}`, `\t${channels} Zrotation Xrotation Yrotation`);
    const children = childrenOf(skeleton, j);
    children.forEach((k) => visit(k, `${indent}\t`));
    const ends = [...(skeleton.endParents ?? [])].flatMap((k, at) => (k === j ? [point(skeleton.endOffsets, at)] : []));
    // Every branch of a BVH ends in an end site.
    if (!ends.length && !children.length) ends.push([0, 0, 0]);
    for (const end of ends) say("\tEnd Site", "\t{", `\t\tOFFSET ${numbers(end)}`, "\t}");
    say("}");
  };
  skeleton.names.forEach((_, j) => skeleton.parents[j] < 0 && visit(j, ""));
  lines.push("MOTION", `Frames: ${frames.length}`, `Frame Time: ${(1 / frameRate).toFixed(8)}`);
  for (const pose of poses) {
    lines.push(order.map((j) => {
      const angles = eulerZXY(pose.rotations[j]).map((v) => v.toFixed(5)).join(" ");
      return lengths[j].moves ? `${numbers(pose.translations[j])} ${angles}` : angles;
    }).join(" "));
  }
  return `${lines.join("\n")}\n`;
}

// The bytes of a glb file: skeleton, skinned mannequin and animation.
export function glbBytes(skeleton, frames, frameRate, mesh, tint) {
  const poses = frames.map((frame) => localPose(skeleton, frame));
  const lengths = lengthsOf(skeleton, poses);
  const file = new GlbFile();
  const joints = skeleton.names.map((_, j) => j);
  file.json.nodes = joints.map((j) => {
    const children = childrenOf(skeleton, j);
    const node = { name: skeleton.names[j], translation: poses[0].translations[j], rotation: poses[0].rotations[j] };
    return children.length ? { ...node, children } : node;
  });
  const roots = joints.filter((j) => skeleton.parents[j] < 0);
  Object.assign(file.json, { scenes: [{ nodes: roots }], meshes: [], materials: [] });
  file.json.skins = [{ joints, skeleton: roots[0], inverseBindMatrices: file.add(inverseBinds(mesh.pose), "MAT4") }];
  const body = addMesh(file, "mannequin", mesh, mesh.colours ? undefined : linear(tint));
  file.json.nodes[body].skin = 0;
  const times = file.add(Float32Array.from(frames, (_, i) => i / frameRate), "SCALAR", { bounds: true });
  const animation = { name: "driven", samplers: [], channels: [] };
  const animate = (node, path, values, type) => {
    animation.channels.push({ sampler: animation.samplers.length, target: { node, path } });
    animation.samplers.push({ input: times, output: file.add(values, type) });
  };
  for (const j of joints) {
    let before = [0, 0, 0, 0];
    const turns = poses.flatMap(({ rotations }) => {
      // The sign of a quaternion is free; the shorter way is interpolated.
      const sign = rotations[j].reduce((sum, v, a) => sum + v * before[a], 0) < 0 ? -1 : 1;
      const size = sign * Math.hypot(...rotations[j]);
      return (before = rotations[j].map((value) => value / size));
    });
    animate(j, "rotation", Float32Array.from(turns), "VEC4");
    if (lengths[j].moves) animate(j, "translation", Float32Array.from(poses.flatMap((pose) => pose.translations[j])), "VEC3");
  }
  file.json.animations = [animation];
  return file.bytes();
}

// A node with a skinned mesh, in one colour or with those of its vertices; returns its number.
function addMesh(file, name, { positions, normals, indices, colours, joints, weights }, colour = [1, 1, 1]) {
  const { nodes, meshes, materials, scenes } = file.json;
  const node = nodes.push({ name, mesh: 0 }) - 1;
  scenes[0].nodes.push(node);
  const add = (values, type, bounds = false) => file.add(values, type, { target: 34962, bounds });
  const attributes = { POSITION: add(positions, "VEC3", true), NORMAL: add(normals, "VEC3"), JOINTS_0: add(joints, "VEC4"), WEIGHTS_0: add(weights, "VEC4") };
  if (colours) attributes.COLOR_0 = add(colours, "VEC4");
  meshes.push({ name, primitives: [{ attributes, indices: file.add(indices, "SCALAR", { target: 34963 }), material: 0 }] });
  materials.push({ name, pbrMetallicRoughness: { baseColorFactor: [...colour, 1], metallicFactor: 0, roughnessFactor: 0.6 } });
  return node;
}

function inverseBinds(pose) {
  return Float32Array.from(pose.rotations.flatMap((q, j) => {
    const back = inverse(q);
    return [...axesOf(back).flatMap((axis) => [...axis, 0]), ...rotate(back, pose.positions[j]).map((v) => -v), 1];
  }));
}

class GlbFile {
  constructor() {
    this.json = { asset: { version: "2.0", generator: "deepphase" }, scene: 0, accessors: [], bufferViews: [], buffers: [] };
    this.parts = [];
    this.length = 0;
  }

  // Add an array, and return the number of its accessor.
  add(values, type, { target, bounds } = {}) {
    const { accessors, bufferViews } = this.json;
    const size = SIZES[type];
    const accessor = {
      bufferView: bufferViews.length,
      componentType: Number(Object.keys(TYPES).find((type) => TYPES[type] === values.constructor)),
      count: values.length / size,
      type,
    };
    if (bounds) {
      const columns = Array.from({ length: size }, (_, column) => values.filter((__, i) => i % size === column));
      accessor.min = columns.map((column) => column.reduce((least, value) => Math.min(least, value), Infinity));
      accessor.max = columns.map((column) => column.reduce((most, value) => Math.max(most, value), -Infinity));
    }
    bufferViews.push({ buffer: 0, byteOffset: this.length, byteLength: values.byteLength, ...(target ? { target } : {}) });
    const padding = (4 - (values.byteLength % 4)) % 4;
    this.parts.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), new Uint8Array(padding));
    this.length += values.byteLength + padding;
    return accessors.push(accessor) - 1;
  }

  bytes() {
    this.json.buffers = [{ byteLength: this.length }];
    const text = new TextEncoder().encode(JSON.stringify(this.json));
    const padded = new Uint8Array(4 * Math.ceil(text.length / 4)).fill(32);
    padded.set(text);
    const out = new Uint8Array(28 + padded.length + this.length);
    const view = new DataView(out.buffer);
    const words = [MAGIC, 2, out.length, padded.length, CHUNKS.json];
    words.forEach((word, at) => view.setUint32(4 * at, word, true));
    out.set(padded, 20);
    view.setUint32(20 + padded.length, this.length, true);
    view.setUint32(24 + padded.length, CHUNKS.binary, true);
    let at = 28 + padded.length;
    for (const part of this.parts) {
      out.set(part, at);
      at += part.length;
    }
    return out;
  }
}
