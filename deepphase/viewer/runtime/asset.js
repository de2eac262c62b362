/** Assets: what `apps/live/asset.py` writes, read from one buffer without copies. */

const ASSET_MAGIC = "DPLIVE1\n";
const ASSET_ALIGNMENT = 16;

/**
 * Read an asset.
 *
 * @param {ArrayBuffer|Uint8Array} buffer  content of the file
 * @returns an object with `kind` ("controller" or "matcher"), `name`, `frameRate` in Hz,
 *   `skeleton`, `labels`, `speeds`, `phases`, `experts`, `manifold`, `schema` (of controllers),
 *   and, for the modules of the runtime, the whole `header` and all `arrays` by name.
 */
export function readAsset(buffer) {
  const { header, arrays } = readArrays(buffer);
  const { label } = header;
  return {
    kind: header.kind,
    name: header.name,
    frameRate: header.frame_rate,
    skeleton: readSkeleton(header),
    labels: label && label.name ? { field: label.name, values: label.values } : null,
    speeds: header.speeds,
    phases: header.channels ? { channels: header.channels } : null,
    experts: expertsOf(header),
    manifold: readManifold(arrays),
    schema: header.kind === "controller" ? readSchema(header) : null,
    header,
    arrays,
  };
}

/** The `header` and the `arrays` by name of any asset. */
export function readArrays(buffer) {
  const bytes = aligned(buffer);
  const text = new TextDecoder();
  if (text.decode(bytes.subarray(0, ASSET_MAGIC.length)) !== ASSET_MAGIC) {
    throw new Error("not a live asset of this version: export it again");
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const begin = ASSET_MAGIC.length + 4;
  const end = begin + view.getUint32(ASSET_MAGIC.length, true);
  const header = JSON.parse(text.decode(bytes.subarray(begin, end)));
  const start = Math.ceil(end / ASSET_ALIGNMENT) * ASSET_ALIGNMENT;
  const arrays = {};
  for (const [name, entry] of Object.entries(header.arrays)) {
    arrays[name] = readArray(bytes, start, entry, name);
  }
  return { header, arrays };
}

/** The bytes, copied only if they do not begin at a multiple of the alignment. */
function aligned(buffer) {
  const bytes = buffer instanceof Uint8Array ? buffer : new Uint8Array(buffer);
  return bytes.byteOffset % ASSET_ALIGNMENT ? bytes.slice() : bytes;
}

function readArray(bytes, start, entry, name) {
  const count = entry.shape.reduce((product, size) => product * size, 1);
  const at = bytes.byteOffset + start + entry.start;
  const width = { float16: 2, int8: 1 }[entry.type] || 4;
  if (at + width * count > bytes.byteOffset + bytes.byteLength) {
    throw new Error(`the asset ends within its array ${name}`);
  }
  if (entry.type === "float32") return new Float32Array(bytes.buffer, at, count);
  if (entry.type === "int8") return new Int8Array(bytes.buffer, at, count);
  if (entry.type === "int32") return new Int32Array(bytes.buffer, at, count);
  if (entry.type === "float16") return fromHalf(new Uint16Array(bytes.buffer, at, count));
  throw new Error(`the array ${name} has the unknown type ${entry.type}`);
}

let halfValues = null;

/** Half-precision numbers as float32, by a table of all 65,536. */
function fromHalf(halves) {
  if (!halfValues) {
    halfValues = new Float32Array(1 << 16);
    for (let bits = 0; bits < halfValues.length; bits++) {
      const exponent = (bits >> 10) & 31;
      const fraction = bits & 1023;
      let value = (1 + fraction / 1024) * 2 ** (exponent - 15);
      if (exponent === 0) value = fraction * 2 ** -24;
      if (exponent === 31) value = fraction ? NaN : Infinity;
      halfValues[bits] = bits >> 15 ? -value : value;
    }
  }
  const values = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) values[i] = halfValues[halves[i]];
  return values;
}

function readSkeleton(header) {
  const { skeleton } = header;
  const toes = ["left_toe", "right_toe"].map((role) => skeleton.roles[role]);
  return {
    names: skeleton.names,
    parents: Int32Array.from(skeleton.parents),
    offsets: Float32Array.from(skeleton.offsets.flat()),
    endParents: Int32Array.from(skeleton.end_parents),
    endOffsets: Float32Array.from(skeleton.end_offsets.flat()),
    kind: skeleton.kind,
    roles: { ...skeleton.roles, tail: skeleton.tail ?? [] },
    feet: header.feet,
    toes: toes.filter((joint) => joint !== undefined),
    height: header.height,
  };
}

function expertsOf(header) {
  if (!header.network) return 0;
  const { experts, points } = header.network;
  return experts || points || 0;
}

/** The projection to three dimensions; see `projectManifold`. */
function readManifold(arrays) {
  if (!arrays["manifold.points"]) return null;
  return {
    points: arrays["manifold.points"],
    phase: arrays["manifold.phase"],
    mean: arrays["manifold.mean"],
    basis: arrays["manifold.basis"],
  };
}

/** The point of a manifold at some phases. */
export function projectManifold(manifold, phases) {
  const point = [0, 0, 0];
  const width = manifold.mean.length;
  for (let channel = 0; 2 * channel < width; channel++) {
    const angle = 2 * Math.PI * phases.phase[channel];
    const amplitude = phases.amplitude[channel];
    const s = amplitude * Math.sin(angle) - manifold.mean[2 * channel];
    const c = amplitude * Math.cos(angle) - manifold.mean[2 * channel + 1];
    for (let axis = 0; axis < 3; axis++) {
      const place = axis * width + 2 * channel;
      point[axis] += manifold.basis[place] * s + manifold.basis[place + 1] * c;
    }
  }
  return point;
}

/** Read the schema from an asset's header. */
export function readSchema(header) {
  const offsets = Float64Array.from(header.offsets_s);
  const now = offsets.indexOf(0);
  const { inputs, gate, outputs } = header.layouts;
  return {
    frameRate: header.frame_rate,
    offsets,
    now,
    later: offsets.length - now,
    stepSeconds: header.step_s,
    joints: Int32Array.from(header.joints),
    feet: Int32Array.from(header.feet),
    channels: header.channels,
    label: header.label,
    inputs: new Layout(inputs),
    gate: gate && new Layout(gate),
    outputs: new Layout(outputs),
  };
}

/** Named blocks of a row, each with its first column and the one after its last. */
export class Layout {
  constructor(blocks) {
    this.blocks = new Map(Object.entries(blocks));
    this.dims = Math.max(...Array.from(this.blocks.values(), ([, stop]) => stop));
  }

  has(name) {
    return this.blocks.has(name);
  }

  /** The columns of a block as a view of the row; null if the layout does not have it. */
  view(row, name) {
    const block = this.blocks.get(name);
    return block ? row.subarray(block[0], block[1]) : null;
  }
}
