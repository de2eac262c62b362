/** A body in a glb file by other conventions than those of the page's own files. */

import { inverseMatrix, movedPlaces } from "../../deepphase/viewer/body/nodes.js";
import { multiply, product, rotate } from "../../deepphase/viewer/vectors.js";

const HALF = Math.SQRT1_2;
// Z up, in centimetres, as meshes of other programs are.
const UPRIGHT = [HALF, 0, 0, HALF];
const CM = 100;
const SCALED = 1.6;
const TYPES = { Uint8Array: 5121, Uint16Array: 5123, Uint32Array: 5125, Float32Array: 5126 };
const SIZES = { SCALAR: 1, VEC3: 3, VEC4: 4, MAT4: 16 };

/** Matrix of a scale, a rotation and a shift. */
function matrixOf([x, y, z], q, scale) {
  const columns = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => [...rotate(q, axis).map((v) => scale * v), 0]);
  return [...columns.flat(), x, y, z, 1];
}

class File {
  constructor() {
    this.json = { asset: { version: "2.0" }, accessors: [], bufferViews: [], buffers: [{}] };
    this.parts = [];
    this.length = 0;
  }

  view(values) {
    const padding = new Uint8Array((4 - (values.byteLength % 4)) % 4);
    this.json.bufferViews.push({ buffer: 0, byteOffset: this.length, byteLength: values.byteLength });
    this.parts.push(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), padding);
    this.length += values.byteLength + padding.length;
    return this.json.bufferViews.length - 1;
  }

  add(values, type, more = {}) {
    const componentType = TYPES[values.constructor.name];
    this.json.accessors.push({ bufferView: this.view(values), componentType, count: values.length / SIZES[type], type, ...more });
    return this.json.accessors.length - 1;
  }

  /** Places of which every third one is given apart from the others. */
  addSparse(places) {
    const at = Uint16Array.from({ length: Math.floor(places.length / 9) }, (_, i) => 3 * i);
    const others = Float32Array.from(places, (value, k) => (Math.floor(k / 3) % 3 || Math.floor(k / 3) >= 3 * at.length ? value : 0));
    const values = Float32Array.from({ length: 3 * at.length }, (_, k) => places[3 * at[Math.floor(k / 3)] + (k % 3)]);
    const sparse = { count: at.length, indices: { bufferView: this.view(at), componentType: 5123 }, values: { bufferView: this.view(values) } };
    return this.add(others, "VEC3", { sparse });
  }

  bytes() {
    this.json.buffers = [{ byteLength: this.length }];
    const text = new TextEncoder().encode(JSON.stringify(this.json));
    const padded = new Uint8Array(4 * Math.ceil(text.length / 4)).fill(32);
    padded.set(text);
    const words = (...values) => new Uint8Array(Uint32Array.from(values).buffer);
    const total = 28 + padded.length + this.length;
    const parts = [words(0x46546c67, 2, total, padded.length, 0x4e4f534a), padded, words(this.length, 0x004e4942), ...this.parts];
    const out = new Uint8Array(total);
    parts.reduce((place, part) => (out.set(part, place), place + part.length), 0);
    return out;
  }
}

/**
 * The mannequin in two skinned meshes and one that hangs on a joint. `turn`: rotation of each joint's axes.
 * Returns the file, and the same vertices as a mesh of the page.
 */
export function foreignBody(skeleton, mannequin, turn) {
  const { pose } = mannequin;
  const file = new File();
  const { json } = file;
  const joints = skeleton.names.map((_, j) => j);
  const toMesh = matrixOf([0, 0, 0], UPRIGHT, CM);
  const placed = joints.map((j) => {
    const [place] = [movedPlaces(toMesh, pose.positions[j])];
    const scale = j % 5 === 2 ? SCALED : 1;
    return matrixOf(place, multiply(UPRIGHT, multiply(pose.rotations[j], turn)), scale);
  });
  json.nodes = joints.map((j) => {
    const parent = skeleton.parents[j];
    const children = joints.filter((k) => skeleton.parents[k] === j);
    const matrix = parent < 0 ? placed[j] : product(inverseMatrix(placed[parent]), placed[j]);
    return { name: `rig:${skeleton.names[j]}`, matrix, ...(children.length ? { children } : {}) };
  });
  const roots = joints.filter((j) => skeleton.parents[j] < 0);
  const head = skeleton.names.indexOf("Head");
  json.nodes.push({ name: "Armature", matrix: inverseMatrix(toMesh), children: roots });
  json.nodes.push({ name: "World", translation: [0.3, 0, 1], children: [joints.length] });
  // The second skin has the page's axes and metres, and some of the joints only.
  const some = joints.filter((j) => j >= joints.length / 3);
  const order = [...joints].reverse();
  const inverses = (list, space) => Float32Array.from(list.flatMap((j) => product(inverseMatrix(placed[j]), space)));
  const identity = matrixOf([0, 0, 0], [0, 0, 0, 1], 1);
  json.skins = [
    { joints: order, inverseBindMatrices: file.add(inverses(order, identity), "MAT4") },
    { joints: some, inverseBindMatrices: file.add(inverses(some, toMesh), "MAT4") },
  ];
  const faces = Array.from({ length: mannequin.indices.length / 3 }, (_, i) => [...mannequin.indices.subarray(3 * i, 3 * i + 3)]);
  const carriers = (v) => [0, 1, 2, 3].filter((k) => mannequin.weights[4 * v + k] > 0).map((k) => mannequin.joints[4 * v + k]);
  const second = faces.filter((face, i) => i % 2 && face.every((v) => carriers(v).every((j) => some.includes(j))));
  const taken = new Set(second);
  const first = faces.filter((face) => !taken.has(face));
  const vertices = [...new Set(first.flat())];
  const corners = second.flat();
  const take = (list, values, size) => list.flatMap((v) => [...values.subarray(size * v, size * v + size)]);
  const numbered = new Map(vertices.map((v, at) => [v, at]));
  const jointsOf = (list, among) => take(list, mannequin.joints, 4).map((j) => Math.max(among.indexOf(j), 0));
  const shares = (list, most) => take(list, mannequin.weights, 4).map((weight) => Math.round(most * weight));
  const at = pose.positions[head];
  const hat = [[0, 0.1, 0], [0.1, 0.1, 0], [0, 0.1, 0.1], [0.1, 0.2, 0.1]].flatMap((arm) => arm.map((v, k) => v + at[k]));
  const hang = matrixOf([5, 2, 1], [HALF, 0, HALF, 0], 3);
  const toHat = inverseMatrix(product(placed[head], hang));
  json.nodes.push({ name: "hat", matrix: hang, mesh: 2 });
  (json.nodes[head].children ??= []).push(json.nodes.length - 1);
  json.meshes = [
    { primitives: [{
      attributes: {
        POSITION: file.addSparse(movedPlaces(toMesh, take(vertices, mannequin.positions, 3))),
        JOINTS_0: file.add(Uint16Array.from(jointsOf(vertices, order)), "VEC4"),
        WEIGHTS_0: file.add(Uint16Array.from(shares(vertices, 65535)), "VEC4", { normalized: true }),
        COLOR_0: file.add(Uint8Array.from(vertices.flatMap(() => [255, 51, 0, 255])), "VEC4", { normalized: true }),
      },
      indices: file.add(Uint32Array.from(first.flat(), (v) => numbered.get(v)), "SCALAR"),
      material: 0,
    }] },
    { primitives: [{ attributes: {
      POSITION: file.add(Float32Array.from(take(corners, mannequin.positions, 3)), "VEC3"),
      NORMAL: file.add(Float32Array.from(take(corners, mannequin.normals, 3)), "VEC3"),
      JOINTS_0: file.add(Uint8Array.from(jointsOf(corners, some)), "VEC4"),
      WEIGHTS_0: file.add(Float32Array.from(take(corners, mannequin.weights, 4)), "VEC4"),
    } }] },
    { primitives: [{ mode: 5, attributes: { POSITION: file.add(movedPlaces(product(toHat, toMesh), hat), "VEC3") } }] },
  ];
  json.materials = [{ pbrMetallicRoughness: { baseColorFactor: [0.5, 1, 1, 1] } }];
  [0, 1].forEach((k) => json.nodes.push({ name: `mesh ${k}`, mesh: k, skin: k, translation: [9, 9, 9] }));
  json.scenes = [{ nodes: [joints.length + 1, ...[2, 1].map((back) => json.nodes.length - back)] }];
  json.scene = 0;
  const all = [...vertices, ...corners];
  return {
    bytes: file.bytes(),
    mesh: {
      pose,
      positions: Float32Array.from([...take(all, mannequin.positions, 3), ...hat]),
      joints: Uint8Array.from([...take(all, mannequin.joints, 4), ...[0, 1, 2, 3].flatMap(() => [head, 0, 0, 0])]),
      weights: Float32Array.from([...take(all, mannequin.weights, 4), ...[0, 1, 2, 3].flatMap(() => [1, 0, 0, 0])]),
      colours: [all.length, vertices.length],
    },
  };
}
