// Files of what was driven: BVH, and glb with the mannequin's mesh.

import { CHUNKS, MAGIC, SIZES, TYPES } from "./glb.js";
import { axesOf, inverse, linear, multiply, point, rotate, subtract, turn } from "../vectors.js";

// A joint that leaves its place at its parent by more than this has a position in every frame (m).
const MOVES_BY = 2e-4;
const CM = 100;

// Local transforms of a frame: translation and rotation of every joint relative to its parent.
function localPose(skeleton, frame) {
  const translations = [];
  const rotations = [];
  skeleton.names.forEach((_, j) => {
    const parent = skeleton.parents[j];
    const place = point(frame.positions, j);
    const turned = turn(frame.rotations, j);
    if (parent < 0) {
      translations.push(place);
      rotations.push(turned);
      return;
    }
    const back = inverse(turn(frame.rotations, parent));
    translations.push(rotate(back, subtract(place, point(frame.positions, parent))));
    rotations.push(multiply(back, turned));
  });
  return { translations, rotations };
}

// Joints whose place at their parent changes, and the place of the others.
function lengthsOf(skeleton, poses) {
  return skeleton.names.map((_, j) => {
    const rest = skeleton.parents[j] < 0 ? [0, 0, 0] : poses[0].translations[j];
    const moves = skeleton.parents[j] < 0 || poses.some((pose) =>
      pose.translations[j].some((v, a) => Math.abs(v - rest[a]) > MOVES_BY));
    return { moves, rest };
  });
}

// Angles in degrees of the rotation Rz * Rx * Ry.
function eulerZXY([x, y, z, w]) {
  const degrees = 180 / Math.PI;
  const sine = Math.min(Math.max(2 * (y * z + w * x), -1), 1);
  if (Math.abs(sine) > 0.999999) {
    return [2 * Math.atan2(z, w) * degrees, Math.asin(sine) * degrees, 0];
  }
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
  const children = skeleton.names.map((_, j) => skeleton.names.map((__, k) => k).filter((k) => skeleton.parents[k] === j));
  const order = [];
  const lines = ["HIERARCHY"];
  const numbers = (values) => values.map((v) => (CM * v).toFixed(5)).join(" ");
  const visit = (j, indent) => {
    order.push(j);
    lines.push(`${indent}${skeleton.parents[j] < 0 ? "ROOT" : "JOINT"} ${skeleton.names[j].replace(/\s+/g, "_")}`, `${indent}{`);
    lines.push(`${indent}\tOFFSET ${numbers(lengths[j].rest)}`);
    const channels = "Zrotation Xrotation Yrotation";
    lines.push(lengths[j].moves
      ? `${indent}\tCHANNELS 6 Xposition Yposition Zposition ${channels}`
      : `${indent}\tCHANNELS 3 ${channels}`);
    children[j].forEach((k) => visit(k, `${indent}\t`));
    const ends = [...(skeleton.endParents ?? [])].flatMap((k, at) => (k === j ? [point(skeleton.endOffsets, at)] : []));
    // Every branch of a BVH ends in an end site.
    if (!ends.length && !children[j].length) ends.push([0, 0, 0]);
    for (const end of ends) lines.push(`${indent}\tEnd Site`, `${indent}\t{`, `${indent}\t\tOFFSET ${numbers(end)}`, `${indent}\t}`);
    lines.push(`${indent}}`);
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
    const children = joints.filter((k) => skeleton.parents[k] === j);
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
    const turns = new Float32Array(4 * poses.length);
    let before = [0, 0, 0, 0];
    poses.forEach((pose, i) => {
      let q = pose.rotations[j];
      // The sign of a quaternion is free; the shorter way is interpolated.
      if (q.reduce((sum, v, a) => sum + v * before[a], 0) < 0) q = q.map((v) => -v);
      before = q;
      const size = Math.hypot(...q);
      turns.set(q.map((value) => value / size), 4 * i);
    });
    animate(j, "rotation", turns, "VEC4");
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
  meshes.push({
    name,
    primitives: [{
      attributes: {
        POSITION: file.add(positions, "VEC3", { target: 34962, bounds: true }),
        NORMAL: file.add(normals, "VEC3", { target: 34962 }),
        JOINTS_0: file.add(joints, "VEC4", { target: 34962 }),
        WEIGHTS_0: file.add(weights, "VEC4", { target: 34962 }),
        ...(colours && { COLOR_0: file.add(colours, "VEC4", { target: 34962 }) }),
      },
      indices: file.add(indices, "SCALAR", { target: 34963 }),
      material: 0,
    }],
  });
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
      accessor.min = new Array(size).fill(Infinity);
      accessor.max = new Array(size).fill(-Infinity);
      values.forEach((v, i) => {
        accessor.min[i % size] = Math.min(accessor.min[i % size], v);
        accessor.max[i % size] = Math.max(accessor.max[i % size], v);
      });
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
