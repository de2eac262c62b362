/** Ground whose height is interpolated between the points of a grid. */

export class Heightmap {
  /** `heights` in metres, rows along +Z, columns along +X, `spacing` metres apart; `origin`: x and z of the first point. */
  constructor(heights, columns, spacing, origin) {
    Object.assign(this, { heights, columns, spacing, origin, rows: heights.length / columns });
  }

  /** A ground whose middle is at the origin of the world, from a function of x and z. */
  static centred(points, spacing, height) {
    const first = -0.5 * (points - 1) * spacing;
    const heights = new Float32Array(points * points);
    for (let i = 0; i < heights.length; i++) {
      heights[i] = height(first + (i % points) * spacing, first + Math.floor(i / points) * spacing);
    }
    return new Heightmap(heights, points, spacing, [first, first]);
  }

  /** Height at a place; outside the grid that of the nearest edge. */
  at(x, z) {
    const { heights, columns, rows, spacing, origin } = this;
    const column = Math.min(Math.max((x - origin[0]) / spacing, 0), columns - 1);
    const row = Math.min(Math.max((z - origin[1]) / spacing, 0), rows - 1);
    const left = Math.min(Math.floor(column), Math.max(columns - 2, 0));
    const top = Math.min(Math.floor(row), Math.max(rows - 2, 0));
    const right = Math.min(left + 1, columns - 1), below = Math.min(top + 1, rows - 1);
    const across = column - left, down = row - top;
    const upper = heights[top * columns + left] * (1 - across) + heights[top * columns + right] * across;
    const lower = heights[below * columns + left] * (1 - across) + heights[below * columns + right] * across;
    return upper * (1 - down) + lower * down;
  }

  /** Rise along x and z over a width in metres. */
  gradient(x, z, width = 2 * this.spacing) {
    const half = 0.5 * width;
    return [(this.at(x + half, z) - this.at(x - half, z)) / width, (this.at(x, z + half) - this.at(x, z - half)) / width];
  }

  /** [xs, zs]: lines of the grid at most `gap` metres apart, and nearer where the ground bends by `tolerance`; farther apart
   * where they would have more than `most` points, which are 4 or more. */
  lines(tolerance, gap, most) {
    const bends = [this.bends(0), this.bends(1)];
    for (let factor = 1; ; factor *= 1.25) {
      const found = bends.map((own, axis) => this.linesOf(own, axis, factor * tolerance, factor * gap));
      if (found[0].length * found[1].length <= most) return found;
    }
  }

  // Root mean square of second differences at each line of the grid across X (axis 0) or Z (1).
  bends(axis) {
    const { heights, columns, rows } = this;
    const [count, others, along, across] = axis ? [rows, columns, columns, 1] : [columns, rows, 1, columns];
    return Array.from({ length: count }, (_, line) => {
      let sum = 0;
      for (let at = line * along, end = at + others * across; line % (count - 1) && at < end; at += across) {
        sum += (heights[at - along] - 2 * heights[at] + heights[at + along]) ** 2;
      }
      return Math.sqrt(sum / others);
    });
  }

  linesOf(bends, axis, tolerance, gap) {
    const { spacing, origin } = this;
    let bent = 0, last = 0;
    return bends.flatMap((_, line) => {
      // Beside a bend, too, for the slopes of what does not bend.
      bent += Math.max(...bends.slice(Math.max(line - 1, 0), line + 2));
      if (line % (bends.length - 1) && bent <= tolerance && (line + 1 - last) * spacing <= gap) return [];
      [bent, last] = [0, line];
      return [origin[axis] + line * spacing];
    });
  }
}
