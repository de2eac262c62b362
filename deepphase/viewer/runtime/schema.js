/** Schema of a controller: the places of its blocks in the rows of inputs, gate and outputs. */

/**
 * Read the schema from an asset's header.
 *
 * @returns an object with `frameRate` in Hz, `offsets` of the trajectory's samples in seconds,
 *   `now`, the index of offset 0, `later`, the number of samples from now on, `stepSeconds`
 *   between samples, `joints` and `feet` (indices into the skeleton, the hips first), `channels`,
 *   `label` ({name, values}), and the layouts `inputs`, `gate` (or null) and `outputs`.
 */
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
