// A user's body: the skinned mesh of a glb file, carried by the joints of a skeleton.

import { quaternionOf } from "../runtime/pose.js";
import { rolesOf } from "./bodyplan.js";
import { Glb } from "./glb.js";
import { add, cross, distance, inverse, length, multiply, point, rotate, scaled, shortestArc, subtract, unit } from "../vectors.js";

// Joints that a body must have, of those that the skeleton has.
const NEEDED = ["hips", "left_hip", "left_knee", "left_foot", "right_hip", "right_knee", "right_foot"];
const ROLES = [...NEEDED, "neck", "head", "chest", ...["left", "right"].flatMap((side) =>
  ["toe", "shoulder", "elbow", "hand"].map((part) => `${side}_${part}`))];
// Largest mean difference of offsets, as a share of their length, with which joints have the axes of
// the skeleton.
const SAME_AXES = 0.03;
const INFLUENCES = 4;
const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const NAMED_IN_ERRORS = 6;

// The mesh of a glb file, in the form of `buildMannequin`, with `colours` (4 numbers a vertex, the
// last one 1), `doubleSided`, `images` to be painted with, and the number of joints that `matched`.
//
// Joints are found by their names, else by the parts of the body that their names tell of. The bind
// pose is expressed in the skeleton's joints: in their own axes where the file's are the same, else
// the rest pose of the skeleton is turned, joint by joint, to the directions of the file's limbs.
export function readBody(bytes, skeleton) {
  const glb = new Glb(bytes);
  const { nodes = [], skins = [] } = glb.json;
  const skinned = nodes.filter((node) => node.skin !== undefined && node.mesh !== undefined);
  if (!skinned.length) throw new Error("it has no skinned mesh: a body needs a mesh that is bound to joints");
  const chains = chainsOf(nodes);
  const binds = new Map();
  for (const { skin } of skinned) {
    const { joints, inverseBindMatrices } = skins[skin];
    const numbers = inverseBindMatrices === undefined ? null : glb.numbers(inverseBindMatrices);
    joints.forEach((joint, at) => binds.set(joint, bindOf(numbers ? numbers.subarray(16 * at, 16 * at + 16) : IDENTITY)));
  }
  const matches = matchJoints(nodes, chains, [...binds.keys()], skeleton);
  const { size, pose } = poseOf(skeleton, matches, binds);
  // Each node is carried by its own joint, or by that of the nearest node above that has one.
  const own = new Map([...matches].map(([joint, node]) => [node, joint]));
  const carriers = chains.map((chain) => own.get(chain.find((node) => own.has(node))) ?? rolesOf(skeleton).hips);
  const parts = skinned.flatMap(({ mesh, skin }) => partsOf(glb, mesh, skins[skin].joints.map((joint) => carriers[joint])));
  return { ...joined(parts, size), pose, matched: matches.size, images: parts };
}

// For each node, itself and the nodes above it.
function chainsOf(nodes) {
  const above = new Map(nodes.flatMap((node, at) => (node.children ?? []).map((child) => [child, at])));
  return nodes.map((_, node) => {
    const chain = [];
    for (let at = node; at !== undefined; at = above.get(at)) {
      if (chain.length > nodes.length) throw new Error("its nodes are above themselves");
      chain.push(at);
    }
    return chain;
  });
}

// Place and rotation of a joint in the space of the meshes, when bound, by its inverse bind matrix.
function bindOf(m) {
  // Rows of the inverse are the axes of the joint, as long as its scale.
  const axes = [0, 1, 2].map((row) => [m[row], m[4 + row], m[8 + row]]);
  const place = axes.reduce((sum, axis, row) => add(sum, axis, -m[12 + row] / (length(axis) ** 2 || 1)), [0, 0, 0]);
  return { place, rotation: quaternionOf(...axes.map((axis) => unit(axis))) };
}

const plainName = (name) => name.slice(name.lastIndexOf(":") + 1).toLowerCase().replace(/[^a-z0-9]/g, "");

// Joint of the skeleton -> node, for all that are found.
function matchJoints(nodes, chains, joints, skeleton) {
  const names = joints.map((joint) => nodes[joint].name ?? "");
  const byName = new Map(names.map((name, at) => [plainName(name), joints[at]]));
  const found = new Map();
  skeleton.names.forEach((name, joint) => {
    const node = byName.get(plainName(name));
    if (node !== undefined) found.set(joint, node);
  });
  const own = rolesOf(skeleton);
  const missing = () => NEEDED.filter((role) => own[role] !== undefined && !found.has(own[role]));
  if (missing().length) {
    const parents = joints.map((joint) => joints.indexOf(chains[joint].slice(1).find((node) => joints.includes(node))));
    const roles = rolesOf({ names, parents });
    const taken = new Set(found.values());
    for (const role of ROLES) {
      const node = joints[roles[role]];
      if (own[role] === undefined || node === undefined || found.has(own[role]) || taken.has(node)) continue;
      found.set(own[role], node);
      taken.add(node);
    }
  }
  const left = missing();
  if (left.length || found.size < 2) {
    const some = (list) => list.slice(0, NAMED_IN_ERRORS).join(", ") + (list.length > NAMED_IN_ERRORS ? " ..." : "");
    throw new Error(
      `its joints do not match the skeleton: none for ${some(left.map((role) => skeleton.names[own[role]])) || "most"}. ` +
      `It has ${some(names)}; the skeleton has ${some(skeleton.names)}`,
    );
  }
  return found;
}

// The bind pose in the joints of the skeleton, places and rotations, and the length of the skeleton's limbs as a multiple
// of the file's.
function poseOf(skeleton, matches, binds) {
  const { names, parents, offsets } = skeleton;
  // Places of all joints without any rotation.
  const rest = [];
  names.forEach((_, joint) => rest.push(parents[joint] < 0 ? [0, 0, 0] : add(rest[parents[joint]], point(offsets, joint))));
  // The nearest joint above one that was found; -1 for none.
  const above = names.map((_, joint) => {
    let at = parents[joint];
    while (at >= 0 && !matches.has(at)) at = parents[at];
    return at;
  });
  const bindOfJoint = (joint) => binds.get(matches.get(joint));
  const limbs = [...matches.keys()].filter((joint) => above[joint] >= 0).map((joint) => ({
    parent: above[joint],
    own: subtract(rest[joint], rest[above[joint]]),
    given: subtract(bindOfJoint(joint).place, bindOfJoint(above[joint]).place),
  }));
  const sum = (valueOf) => limbs.reduce((total, limb) => total + valueOf(limb), 0);
  const [ownLength, givenLength] = [sum(({ own }) => length(own)), sum(({ given }) => length(given))];
  if (!(ownLength > 0 && givenLength > 0)) throw new Error("all its joints lie in one place");
  const size = ownLength / givenLength;
  const apart = sum(({ parent, own, given }) => distance(own, rotate(inverse(bindOfJoint(parent).rotation), scaled(given, size))));
  const same = apart < SAME_AXES * ownLength;
  const pose = { positions: [], rotations: [] };
  names.forEach((_, joint) => {
    const before = above[joint] < 0 ? [0, 0, 0, 1] : pose.rotations[above[joint]];
    const found = matches.has(joint);
    pose.positions.push(found ? scaled(bindOfJoint(joint).place, size) : rest[joint]);
    const below = limbs.filter(({ parent, own, given }) => parent === joint && length(own) > 0 && length(given) > 0);
    if (found && same) pose.rotations.push(bindOfJoint(joint).rotation);
    else pose.rotations.push(found ? turnedTo(before, below.map(({ own, given }) => [unit(own), unit(given)])) : before);
  });
  return { size, pose };
}

// The rotation near another one that turns directions to others.
function turnedTo(before, pairs) {
  if (!pairs.length) return before;
  let [best, widest] = [null, 0.2];
  for (let i = 0; i < pairs.length; i++) {
    for (let j = 0; j < i; j++) {
      const width = Math.min(length(cross(pairs[i][0], pairs[j][0])), length(cross(pairs[i][1], pairs[j][1])));
      if (width > widest) [best, widest] = [[pairs[i], pairs[j]], width];
    }
  }
  if (!best) return multiply(shortestArc(rotate(before, pairs[0][0]), pairs[0][1]), before);
  const frame = (k) => {
    const [a, b] = [best[0][k], best[1][k]];
    const [x, y] = [unit(add(a, b)), unit(subtract(a, b))];
    return quaternionOf(x, y, cross(x, y));
  };
  return multiply(frame(1), inverse(frame(0)));
}

// The triangles of a mesh: arrays of each primitive, with joints of the skeleton.
function partsOf(glb, mesh, joints) {
  const { meshes, materials = [] } = glb.json;
  return meshes[mesh].primitives.filter(({ mode = 4 }) => mode === 4).map((primitive) => {
    const { attributes } = primitive;
    const numbers = (name) => (attributes[name] === undefined ? null : glb.numbers(attributes[name]));
    const positions = glb.numbers(attributes.POSITION);
    const count = positions.length / 3;
    const indices = primitive.indices === undefined ? Float32Array.from({ length: count }, (_, i) => i) : glb.numbers(primitive.indices);
    if (indices.some((index) => index >= count)) throw new Error("its triangles name vertices that it does not have");
    const bound = [0, 1].map((set) => ({ joints: numbers(`JOINTS_${set}`), weights: numbers(`WEIGHTS_${set}`) }))
      .filter((set) => set.joints && set.weights);
    if (!bound.length) throw new Error("its mesh is not bound to its joints");
    const material = materials[primitive.material] ?? {};
    const { baseColorFactor: colour = [1, 1, 1, 1], baseColorTexture: texture } = material.pbrMetallicRoughness ?? {};
    const textureAt = texture ? numbers(`TEXCOORD_${texture.texCoord ?? 0}`) : null;
    return {
      positions, indices, normals: numbers("NORMAL") ?? normalsAcross(positions, indices), ...influences(bound, count, joints),
      colours: coloursOf(numbers("COLOR_0"), count, colour), doubleSided: Boolean(material.doubleSided),
      image: textureAt && imageOf(glb, texture.index), textureAt,
    };
  });
}

// Colours of vertices (4 numbers each): those of the material times their own, and 1.
function coloursOf(own, count, colour) {
  const width = own ? own.length / count : 0;
  return Float32Array.from({ length: 4 * count }, (_, at) => {
    const part = at % 4;
    return part === 3 ? 1 : colour[part] * (own ? own[width * (at >> 2) + part] : 1);
  });
}

// Joints and weights of vertices: the largest ones, with a sum of 1.
function influences(bound, count, carriers) {
  const joints = new Uint16Array(INFLUENCES * count);
  const weights = new Float32Array(INFLUENCES * count);
  for (let v = 0; v < count; v++) {
    const shares = new Map();
    for (const set of bound) {
      for (let k = 4 * v; k < 4 * v + 4; k++) {
        const joint = carriers[set.joints[k]];
        if (set.weights[k] > 0 && joint !== undefined) shares.set(joint, (shares.get(joint) ?? 0) + set.weights[k]);
      }
    }
    const largest = [...shares].sort((a, b) => b[1] - a[1]).slice(0, INFLUENCES);
    const total = largest.reduce((sum, [, share]) => sum + share, 0);
    joints.set(largest.map(([joint]) => joint), INFLUENCES * v);
    weights.set(largest.length ? largest.map(([, share]) => share / total) : [1], INFLUENCES * v);
  }
  return { joints, weights };
}

// Normals of vertices, from the triangles around them.
function normalsAcross(positions, indices) {
  const normals = new Float32Array(positions.length);
  for (let i = 0; i + 2 < indices.length; i += 3) {
    const corners = indices.subarray(i, i + 3);
    const [a, b, c] = [...corners].map((corner) => point(positions, corner));
    const across = cross(subtract(b, a), subtract(c, a));
    for (const corner of corners) normals.set(add(point(normals, corner), across), 3 * corner);
  }
  for (let v = 0; 3 * v < normals.length; v++) normals.set(unit(point(normals, v)), 3 * v);
  return normals;
}

// Picture of a texture; null for one that lies in another file.
function imageOf(glb, texture) {
  const image = glb.json.images?.[glb.json.textures?.[texture]?.source];
  if (!image || image.bufferView === undefined) return null;
  return new Blob([glb.bytesOf(image.bufferView)], { type: image.mimeType ?? "image/png" });
}

// One mesh of all parts.
function joined(parts, size) {
  let vertices = 0;
  for (const part of parts) {
    part.start = vertices;
    vertices += part.positions.length / 3;
  }
  const all = (Type, valuesOf) => Type.from(parts.flatMap((part) => Array.from(valuesOf(part))));
  const [normals, weights, colours] = ["normals", "weights", "colours"].map((name) => all(Float32Array, (part) => part[name]));
  return {
    positions: all(Float32Array, ({ positions }) => positions.map((value) => size * value)), normals, weights, colours,
    joints: all(Uint16Array, ({ joints }) => joints), indices: all(Uint32Array, ({ indices, start }) => indices.map((index) => index + start)),
    accent: new Float32Array(vertices), openness: new Float32Array(vertices).fill(1), doubleSided: parts.some((part) => part.doubleSided),
  };
}

// Give the vertices of a mesh of `readBody` the colours of its pictures.
export async function paint(mesh) {
  for (const { image, textureAt, colours, start } of mesh.images) {
    if (!image) continue;
    const bitmap = await createImageBitmap(image);
    const canvas = Object.assign(document.createElement("canvas"), { width: bitmap.width, height: bitmap.height });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(bitmap, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const texel = (share, size) => Math.min(Math.floor((share - Math.floor(share)) * size), size - 1);
    for (let v = 0; 2 * v < textureAt.length; v++) {
      const at = 4 * (texel(textureAt[2 * v], canvas.width) + canvas.width * texel(textureAt[2 * v + 1], canvas.height));
      for (let k = 0; k < 3; k++) mesh.colours[4 * (start + v) + k] = colours[4 * v + k] * (data[at + k] / 255) ** 2.2;
    }
  }
}
