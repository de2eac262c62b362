// A user's body: the skinned mesh of a glb file, carried by the joints of a skeleton.

import { quaternionOf } from "../runtime/pose.js";
import { rolesOf } from "./bodyplan.js";
import { Glb } from "./glb.js";
import { add, cross, distance, length, multiply, inverse, rotate, scaled, shortestArc, subtract, unit } from "../vectors.js";

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
  const above = nodesAbove(nodes);
  const binds = new Map();
  for (const { skin } of skinned) {
    const { joints, inverseBindMatrices } = skins[skin];
    const numbers = inverseBindMatrices === undefined ? null : glb.numbers(inverseBindMatrices);
    joints.forEach((joint, at) => binds.set(joint, bindOf(numbers ? numbers.subarray(16 * at, 16 * at + 16) : IDENTITY)));
  }
  const matches = matchJoints(nodes, above, [...binds.keys()], skeleton);
  const size = sizeRatio(skeleton, matches, binds);
  const pose = poseOf(skeleton, matches, binds, size);
  const carriers = carriersOf(nodes, above, matches, rolesOf(skeleton).hips);
  const parts = skinned.flatMap(({ mesh, skin }) => partsOf(glb, mesh, skins[skin].joints.map((joint) => carriers[joint])));
  return { ...joined(parts, size), pose, matched: matches.size, unitLength: 1, images: parts };
}

// Node -> the node above it, without those that have none.
function nodesAbove(nodes) {
  const above = new Map();
  nodes.forEach((node, at) => (node.children ?? []).forEach((child) => above.set(child, at)));
  nodes.forEach((_, node) => {
    let steps = 0;
    for (let at = node; at !== undefined; at = above.get(at)) {
      if (steps++ > nodes.length) throw new Error("its nodes are above themselves");
    }
  });
  return above;
}

// Place and rotation of a joint in the space of the meshes, when bound, by its inverse bind matrix.
function bindOf(m) {
  // Rows of the inverse are the axes of the joint, as long as its scale.
  const axes = [0, 1, 2].map((row) => [m[row], m[4 + row], m[8 + row]]);
  const shift = [m[12], m[13], m[14]];
  const squares = axes.map((axis) => length(axis) ** 2 || 1);
  const place = [0, 1, 2].map((k) => -axes.reduce((sum, axis, row) => sum + (axis[k] * shift[row]) / squares[row], 0));
  return { place, rotation: quaternionOf(...axes.map((axis) => unit(axis))) };
}

const plainName = (name) => name.slice(name.lastIndexOf(":") + 1).toLowerCase().replace(/[^a-z0-9]/g, "");

// Joint of the skeleton -> node, for all that are found.
function matchJoints(nodes, above, joints, skeleton) {
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
    const parents = joints.map((joint) => {
      let at = above.get(joint);
      while (at !== undefined && !joints.includes(at)) at = above.get(at);
      return at === undefined ? -1 : joints.indexOf(at);
    });
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

// The nearest joint above one that was found; -1 for none.
function matchedAbove(skeleton, matches, joint) {
  let at = skeleton.parents[joint];
  while (at >= 0 && !matches.has(at)) at = skeleton.parents[at];
  return at;
}

// Places of all joints without any rotation.
function restOf(skeleton) {
  const places = [];
  skeleton.names.forEach((_, joint) => {
    const offset = [0, 1, 2].map((k) => skeleton.offsets[3 * joint + k]);
    const parent = skeleton.parents[joint];
    places.push(parent < 0 ? [0, 0, 0] : add(places[parent], offset));
  });
  return places;
}

// Length of the skeleton's limbs as a multiple of the file's.
function sizeRatio(skeleton, matches, binds) {
  const rest = restOf(skeleton);
  let [own, given] = [0, 0];
  for (const [joint, node] of matches) {
    const parent = matchedAbove(skeleton, matches, joint);
    if (parent < 0) continue;
    own += distance(rest[joint], rest[parent]);
    given += distance(binds.get(node).place, binds.get(matches.get(parent)).place);
  }
  if (!(own > 0 && given > 0)) throw new Error("all its joints lie in one place");
  return own / given;
}

// The bind pose in the joints of the skeleton: places and rotations.
function poseOf(skeleton, matches, binds, size) {
  const rest = restOf(skeleton);
  const place = (joint) => scaled(binds.get(matches.get(joint)).place, size);
  const children = new Map([...matches.keys()].map((joint) => [joint, []]));
  let [apart, total] = [0, 0];
  for (const joint of matches.keys()) {
    const parent = matchedAbove(skeleton, matches, joint);
    if (parent < 0) continue;
    const own = subtract(rest[joint], rest[parent]);
    const given = subtract(place(joint), place(parent));
    if (length(own) > 0 && length(given) > 0) children.get(parent).push([unit(own), unit(given)]);
    apart += distance(own, rotate(inverse(binds.get(matches.get(parent)).rotation), given));
    total += length(own);
  }
  const same = apart < SAME_AXES * total;
  const pose = { positions: [], rotations: [] };
  skeleton.names.forEach((_, joint) => {
    const parent = matchedAbove(skeleton, matches, joint);
    const before = parent < 0 ? [0, 0, 0, 1] : pose.rotations[parent];
    const found = matches.has(joint);
    pose.positions.push(found ? place(joint) : rest[joint]);
    if (found && same) pose.rotations.push(binds.get(matches.get(joint)).rotation);
    else pose.rotations.push(found ? turnedTo(before, children.get(joint)) : before);
  });
  return pose;
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

// Node -> the joint that carries it: its own, or that of the nearest node above that has one.
function carriersOf(nodes, above, matches, hips) {
  const own = new Map([...matches].map(([joint, node]) => [node, joint]));
  return nodes.map((_, node) => {
    let at = node;
    while (at !== undefined && !own.has(at)) at = above.get(at);
    return at === undefined ? hips : own.get(at);
  });
}

// The triangles of a mesh: arrays of each primitive, with joints of the skeleton.
function partsOf(glb, mesh, joints) {
  const { meshes, materials = [] } = glb.json;
  return meshes[mesh].primitives.filter(({ mode = 4 }) => mode === 4).map((primitive) => {
    const { attributes } = primitive;
    const positions = glb.numbers(attributes.POSITION);
    const count = positions.length / 3;
    const indices = primitive.indices === undefined ? Float32Array.from({ length: count }, (_, i) => i) : glb.numbers(primitive.indices);
    if (indices.some((index) => index >= count)) throw new Error("its triangles name vertices that it does not have");
    const sets = [0, 1].filter((set) => attributes[`JOINTS_${set}`] !== undefined && attributes[`WEIGHTS_${set}`] !== undefined);
    if (!sets.length) throw new Error("its mesh is not bound to its joints");
    const bound = sets.map((set) => ({ joints: glb.numbers(attributes[`JOINTS_${set}`]), weights: glb.numbers(attributes[`WEIGHTS_${set}`]) }));
    const material = materials[primitive.material] ?? {};
    const { baseColorFactor: colour = [1, 1, 1, 1], baseColorTexture: texture } = material.pbrMetallicRoughness ?? {};
    const places = texture && attributes[`TEXCOORD_${texture.texCoord ?? 0}`];
    return {
      positions,
      normals: attributes.NORMAL === undefined ? normalsAcross(positions, indices) : glb.numbers(attributes.NORMAL),
      indices,
      ...influences(bound, count, joints),
      colours: coloursOf(glb, attributes.COLOR_0, count, colour),
      doubleSided: Boolean(material.doubleSided),
      image: places === undefined ? null : imageOf(glb, texture.index),
      textureAt: places === undefined ? null : glb.numbers(places),
    };
  });
}

// Colours of vertices (3 numbers each): those of the material times their own.
function coloursOf(glb, accessor, count, colour) {
  const own = accessor === undefined ? null : glb.numbers(accessor);
  const width = own ? own.length / count : 0;
  return Float32Array.from({ length: 3 * count }, (_, at) => colour[at % 3] * (own ? own[width * Math.floor(at / 3) + (at % 3)] : 1));
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
    largest.forEach(([joint, share], k) => {
      joints[INFLUENCES * v + k] = joint;
      weights[INFLUENCES * v + k] = share / total;
    });
    if (!largest.length) weights[INFLUENCES * v] = 1;
  }
  return { joints, weights };
}

// Normals of vertices, from the triangles around them.
function normalsAcross(positions, indices) {
  const normals = new Float32Array(positions.length);
  const at = (vertex) => [0, 1, 2].map((k) => positions[3 * vertex + k]);
  for (let i = 0; i + 2 < indices.length; i += 3) {
    const corners = [0, 1, 2].map((k) => indices[i + k]);
    const [a, b, c] = corners.map(at);
    const across = cross(subtract(b, a), subtract(c, a));
    for (const corner of corners) for (let k = 0; k < 3; k++) normals[3 * corner + k] += across[k];
  }
  for (let v = 0; v < normals.length; v += 3) normals.set(unit([normals[v], normals[v + 1], normals[v + 2]]), v);
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
  const count = parts.reduce((sum, part) => sum + part.positions.length / 3, 0);
  const mesh = {
    positions: new Float32Array(3 * count),
    normals: new Float32Array(3 * count),
    joints: new Uint16Array(INFLUENCES * count),
    weights: new Float32Array(INFLUENCES * count),
    colours: new Float32Array(4 * count),
    accent: new Float32Array(count),
    openness: new Float32Array(count).fill(1),
    indices: new Uint32Array(parts.reduce((sum, part) => sum + part.indices.length, 0)),
    doubleSided: parts.some((part) => part.doubleSided),
  };
  let [vertex, index] = [0, 0];
  for (const part of parts) {
    part.start = vertex;
    mesh.positions.set(part.positions.map((value) => size * value), 3 * vertex);
    mesh.normals.set(part.normals, 3 * vertex);
    mesh.joints.set(part.joints, INFLUENCES * vertex);
    mesh.weights.set(part.weights, INFLUENCES * vertex);
    mesh.indices.set(part.indices.map((each) => each + vertex), index);
    const own = part.positions.length / 3;
    for (let v = 0; v < own; v++) mesh.colours.set([...part.colours.subarray(3 * v, 3 * v + 3), 1], 4 * (vertex + v));
    vertex += own;
    index += part.indices.length;
  }
  return mesh;
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
      for (let k = 0; k < 3; k++) mesh.colours[4 * (start + v) + k] = colours[3 * v + k] * (data[at + k] / 255) ** 2.2;
    }
  }
}
