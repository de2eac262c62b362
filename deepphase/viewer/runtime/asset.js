/** Assets: what `apps/live/assets.py` writes, read from one buffer without copies. */

const ASSET_MAGIC = "DPLIVE1\n";
const ASSET_ALIGNMENT = 16;
const TYPES = { float32: Float32Array, int32: Int32Array, int8: Int8Array, float16: Uint16Array };

/** Read the content of an asset: `kind` ("controller" or "matcher"), `frameRate` in Hz and more, the `header`, all `arrays` by name. */
export function readAsset(buffer) {
  const { header, arrays } = readArrays(buffer);
  const { label, network = {} } = header;
  const ofManifold = (name) => arrays[`manifold.${name}`];
  return {
    kind: header.kind, name: header.name, frameRate: header.frame_rate, speeds: header.speeds, skeleton: readSkeleton(header),
    labels: label && label.name ? { field: label.name, values: label.values } : null,
    phases: header.channels ? { channels: header.channels } : null,
    experts: network?.experts || network?.points || 0,
    manifold: ofManifold("points")
      ? Object.fromEntries(["points", "phase", "mean", "basis"].map((name) => [name, ofManifold(name)])) : null,
    schema: header.kind === "controller" ? readSchema(header) : null, header, arrays,
  };
}

function readArrays(buffer) {
  const given = buffer instanceof Uint8Array ? buffer : new Uint8Array(buffer);
  // Views of numbers begin at a multiple of the alignment.
  const bytes = given.byteOffset % ASSET_ALIGNMENT ? given.slice() : given;
  const text = new TextDecoder();
  if (text.decode(bytes.subarray(0, ASSET_MAGIC.length)) !== ASSET_MAGIC) {
    throw new Error("not a live asset of this version: export it again");
  }
  const begin = ASSET_MAGIC.length + 4;
  const end = begin + new DataView(bytes.buffer, bytes.byteOffset).getUint32(ASSET_MAGIC.length, true);
  const header = JSON.parse(text.decode(bytes.subarray(begin, end)));
  const start = Math.ceil(end / ASSET_ALIGNMENT) * ASSET_ALIGNMENT;
  const read = ([name, entry]) => [name, readArray(bytes, start, entry, name)];
  return { header, arrays: Object.fromEntries(Object.entries(header.arrays).map(read)) };
}

function readArray(bytes, start, entry, name) {
  const Kind = TYPES[entry.type];
  if (!Kind) throw new Error(`the array ${name} has the unknown type ${entry.type}`);
  const count = entry.shape.reduce((product, size) => product * size, 1);
  const at = bytes.byteOffset + start + entry.start;
  if (at + Kind.BYTES_PER_ELEMENT * count > bytes.byteOffset + bytes.byteLength) {
    throw new Error(`the asset ends within its array ${name}`);
  }
  const values = new Kind(bytes.buffer, at, count);
  return entry.type === "float16" ? fromHalf(values) : values;
}

let halfValues = null;

/** Half-precision numbers as float32, by a table of all 65,536. */
function fromHalf(halves) {
  halfValues ??= new Float32Array(1 << 16).map((_, bits) => {
    const exponent = (bits >> 10) & 31, fraction = bits & 1023;
    let value = (1 + fraction / 1024) * 2 ** (exponent - 15);
    if (exponent === 0) value = fraction * 2 ** -24;
    if (exponent === 31) value = fraction ? NaN : Infinity;
    return bits >> 15 ? -value : value;
  });
  const values = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) values[i] = halfValues[halves[i]];
  return values;
}

function readSkeleton({ skeleton, feet }) {
  return {
    names: skeleton.names, kind: skeleton.kind, roles: { ...skeleton.roles, tail: skeleton.tail ?? [] }, feet,
    parents: Int32Array.from(skeleton.parents), offsets: Float32Array.from(skeleton.offsets.flat()),
    endParents: Int32Array.from(skeleton.end_parents), endOffsets: Float32Array.from(skeleton.end_offsets.flat()),
  };
}

/** The point in three dimensions of a manifold at some phases. */
export function projectManifold({ mean, basis }, phases) {
  const width = mean.length;
  const vectors = Array.from(mean, (middle, at) => {
    const channel = at >> 1, angle = 2 * Math.PI * phases.phase[channel];
    return phases.amplitude[channel] * (at % 2 ? Math.cos(angle) : Math.sin(angle)) - middle;
  });
  return [0, 1, 2].map((axis) => vectors.reduce((sum, value, at) => sum + basis[axis * width + at] * value, 0));
}

/** Layouts of the rows of a controller, and the times of its trajectories. */
function readSchema(header) {
  const offsets = Float64Array.from(header.offsets_s);
  const now = offsets.indexOf(0);
  const { inputs, gate, outputs } = header.layouts;
  return {
    frameRate: header.frame_rate, offsets, now, later: offsets.length - now, stepSeconds: header.step_s,
    joints: Int32Array.from(header.joints), feet: Int32Array.from(header.feet), channels: header.channels, label: header.label,
    inputs: new Layout(inputs), gate: gate && new Layout(gate), outputs: new Layout(outputs),
  };
}

/** Named blocks of a row, each with its first column and the one after its last. */
class Layout {
  constructor(blocks) {
    this.blocks = new Map(Object.entries(blocks));
    this.dims = Math.max(...Array.from(this.blocks.values(), ([, stop]) => stop));
  }

  /** The columns of a block as a view of the row; null if the layout does not have it. */
  view(row, name) {
    const block = this.blocks.get(name);
    return block ? row.subarray(block[0], block[1]) : null;
  }
}
