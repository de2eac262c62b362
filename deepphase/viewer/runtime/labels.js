/** The label of a character, which approaches the desired one. */

export class DesiredLabel {
  /**
   * @param schema
   * @param {Float32Array} initial  values of the label in the start state
   * @param {number} halflifeSeconds  of a change; 0 changes it at once
   */
  constructor(schema, initial, halflifeSeconds) {
    this.label = schema.label;
    this.current = Float32Array.from(initial);
    this.goal = Float32Array.from(initial);
    const seconds = 1 / schema.frameRate;
    this.share = halflifeSeconds > 0 ? 1 - 0.5 ** (seconds / halflifeSeconds) : 1;
  }

  /** Set the desired value; null keeps it. */
  set(value) {
    if (value === null || value === undefined) return;
    const index = this.label.values.indexOf(value);
    if (index < 0) {
      const known = this.label.values.join(", ") || "none";
      throw new Error(`${this.label.name || "label"} ${value} is not a value of this controller: ${known}`);
    }
    this.goal.fill(0);
    this.goal[index] = 1;
  }

  /** The desired value; an empty text without a label. */
  get goalValue() {
    return this.label.values[this.goal.indexOf(1)] ?? "";
  }

  /** Advance by one frame. */
  advance() {
    const { current, goal, share } = this;
    for (let i = 0; i < current.length; i++) current[i] += share * (goal[i] - current[i]);
  }
}
