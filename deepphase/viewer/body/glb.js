// Binary glTF files: their JSON, and arrays of numbers out of their accessors.

export const MAGIC = 0x46546c67;
export const CHUNKS = { json: 0x4e4f534a, binary: 0x004e4942 };
export const TYPES = {
  5120: Int8Array, 5121: Uint8Array, 5122: Int16Array, 5123: Uint16Array, 5125: Uint32Array, 5126: Float32Array,
};
export const SIZES = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };
// Extensions whose geometry this reader cannot unpack.
const COMPRESSED = ["KHR_draco_mesh_compression", "EXT_meshopt_compression"];

export class Glb {
  // `bytes`: a Uint8Array with the content of the file.
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 20 || view.getUint32(0, true) !== MAGIC) throw new Error("not a glb file (binary glTF)");
    if (view.getUint32(4, true) !== 2) throw new Error(`glTF version ${view.getUint32(4, true)}; only 2 can be read`);
    const chunks = {};
    for (let at = 12; at + 8 <= bytes.length;) {
      const length = view.getUint32(at, true);
      if (at + 8 + length > bytes.length) throw new Error("the file ends too early");
      chunks[view.getUint32(at + 4, true)] ??= bytes.subarray(at + 8, at + 8 + length);
      at += 8 + length;
    }
    try {
      this.json = JSON.parse(new TextDecoder().decode(chunks[CHUNKS.json]));
    } catch {
      throw new Error("the description in the file is damaged");
    }
    this.binary = chunks[CHUNKS.binary] ?? new Uint8Array(0);
    const compressed = (this.json.extensionsRequired ?? []).filter((name) => COMPRESSED.includes(name));
    if (compressed.length) throw new Error(`its geometry is compressed (${compressed.join(", ")}): export it without compression`);
  }

  // Bytes of a buffer view, in an array of their own.
  bytesOf(index) {
    const view = this.json.bufferViews?.[index];
    const buffer = this.json.buffers?.[view?.buffer ?? 0];
    if (!view || view.buffer !== 0 || buffer?.uri !== undefined) throw new Error("its data lies in another file: export it as one glb");
    const start = view.byteOffset ?? 0;
    if (start + view.byteLength > this.binary.length) throw new Error("the file ends too early");
    return this.binary.slice(start, start + view.byteLength);
  }

  // Numbers of an accessor, one after the other, integers of a normalised one as shares of 1.
  numbers(index) {
    const accessor = this.json.accessors?.[index];
    const Type = TYPES[accessor?.componentType];
    const size = SIZES[accessor?.type];
    if (!Type || !size || !(accessor.count >= 0)) throw new Error("the file has an accessor of an unknown type");
    if (accessor.bufferView === undefined || accessor.sparse) throw new Error("the file has sparse data: export it without");
    return this.read(accessor, Type, size);
  }

  read(accessor, Type, size) {
    const out = new Float32Array(size * accessor.count);
    const bytes = this.bytesOf(accessor.bufferView);
    const width = Type.BYTES_PER_ELEMENT;
    const stride = this.json.bufferViews[accessor.bufferView].byteStride ?? size * width;
    const start = accessor.byteOffset ?? 0;
    if (accessor.count && start + stride * (accessor.count - 1) + size * width > bytes.length) throw new Error("the file ends too early");
    const view = new DataView(bytes.buffer);
    const read = view[`get${Type.name.replace("Array", "")}`].bind(view);
    const signed = Type === Int8Array || Type === Int16Array;
    const most = accessor.normalized ? 2 ** (8 * width - (signed ? 1 : 0)) - 1 : 1;
    for (let i = 0; i < accessor.count; i++) {
      for (let k = 0; k < size; k++) {
        const value = read(start + i * stride + k * width, true) / most;
        out[size * i + k] = accessor.normalized ? Math.max(value, -1) : value;
      }
    }
    return out;
  }
}
