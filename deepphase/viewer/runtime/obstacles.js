/** Walls and pits on the ground, and paths that avoid them. */

// Largest distance in metres between two samples of a path.
const MAX_SAMPLE_STEP = 10;
// Paths are checked in steps of this share of the clearance, so that none jumps over a wall.
const STEP_SHARE = 0.5;
// In a corner one wall pushes into the other; after this many pushes a path stops.
const MAX_PUSHES = 4;
const DEFAULT_CLEARANCE = 0.3;

/**
 * Obstacles with a clearance: paths slide along walls and stop at pits.
 *
 * Each entry has a `kind`, "wall" or "pit", and a shape in metres: `segment` [x, z, x, z] (walls
 * only), `circle` [x, z, radius], `box` [x, z, width, depth, angle] or `polygon` [x, z, x, z, ...].
 */
export class Obstacles {
  constructor(entries, clearance = DEFAULT_CLEARANCE) {
    this.clearance = clearance;
    this.walls = new Outline(entries.filter((entry) => entry.kind === "wall"));
    this.pits = new Outline(entries.filter((entry) => entry.kind === "pit"));
  }

  /**
   * The path [x, z, x, z, ...] kept off all obstacles.
   *
   * @param start  [x, z], outside all obstacles
   * @param path  its samples
   */
  keptOff(start, path) {
    const samples = path.length / 2;
    const free = Float64Array.from(path);
    const steps = [];
    let length = 0;
    for (let i = 0; i < samples; i++) {
      const from = i ? [path[2 * i - 2], path[2 * i - 1]] : start;
      const step = [path[2 * i] - from[0], path[2 * i + 1] - from[1]];
      const long = Math.hypot(step[0], step[1]);
      const share = Math.min(1, MAX_SAMPLE_STEP / Math.max(long, 1e-12));
      steps.push([share * step[0], share * step[1]]);
      length += share * long;
    }
    const nearest = Math.min(this.walls.distance(start), this.pits.distance(start));
    if (!(nearest < length + this.clearance)) return free;
    let place = start;
    steps.forEach((step, i) => {
      const long = Math.hypot(step[0], step[1]);
      const count = Math.max(1, Math.ceil(long / (STEP_SHARE * this.clearance)));
      for (let part = 0; part < count; part++) {
        place = this.moved(place, [place[0] + step[0] / count, place[1] + step[1] / count]);
      }
      free.set(place, 2 * i);
    });
    return free;
  }

  /** The end of a short step. */
  moved(place, goal) {
    const { clearance, walls, pits } = this;
    let pushes = 0;
    for (; pushes < MAX_PUSHES; pushes++) {
      const nearest = walls.nearest(goal);
      const away = [goal[0] - nearest[0], goal[1] - nearest[1]];
      const distance = Math.hypot(away[0], away[1]);
      if (distance >= clearance) break;
      const share = clearance / Math.max(distance, 1e-12);
      goal = [nearest[0] + share * away[0], nearest[1] + share * away[1]];
    }
    if (pushes === MAX_PUSHES && walls.distance(goal) < clearance * (1 - 1e-9)) goal = place;
    const after = pits.distance(goal);
    return after < clearance && after < pits.distance(place) ? place : goal;
  }
}

/** Edges and rims of shapes. */
class Outline {
  constructor(entries) {
    this.edges = [];
    this.rims = [];
    for (const entry of entries) this.add(entry);
  }

  add(entry) {
    if (entry.circle) {
      this.rims.push(entry.circle);
    } else if (entry.segment && entry.kind === "wall") {
      this.edges.push(entry.segment);
    } else {
      const corners = entry.box ? boxCorners(entry.box) : entry.polygon;
      if (!corners) throw new Error(`a ${entry.kind} without a known shape`);
      for (let i = 0; i < corners.length; i += 2) {
        const next = (i + 2) % corners.length;
        this.edges.push([corners[i], corners[i + 1], corners[next], corners[next + 1]]);
      }
    }
  }

  /** The nearest point; infinitely far away without any shape. */
  nearest([x, z]) {
    let found = [Infinity, Infinity], least = Infinity;
    const compare = (nearX, nearZ) => {
      const distance = Math.hypot(x - nearX, z - nearZ);
      if (distance < least) {
        least = distance;
        found = [nearX, nearZ];
      }
    };
    for (const [startX, startZ, endX, endZ] of this.edges) {
      const stepX = endX - startX, stepZ = endZ - startZ;
      const square = stepX * stepX + stepZ * stepZ;
      const along = ((x - startX) * stepX + (z - startZ) * stepZ) / square;
      const share = Math.min(Math.max(along, 0), 1);
      compare(startX + share * stepX, startZ + share * stepZ);
    }
    for (const [centreX, centreZ, radius] of this.rims) {
      const outX = x - centreX, outZ = z - centreZ;
      const share = radius / Math.max(Math.hypot(outX, outZ), 1e-12);
      compare(centreX + share * outX, centreZ + share * outZ);
    }
    return found;
  }

  distance(place) {
    const [x, z] = this.nearest(place);
    return x === Infinity ? Infinity : Math.hypot(place[0] - x, place[1] - z);
  }
}

/** Corners [x, z, ...] of a box [x, z, width, depth, angle]. */
function boxCorners([x, z, width, depth, angle = 0]) {
  const cosine = Math.cos(angle), sine = Math.sin(angle);
  return [[-1, -1], [1, -1], [1, 1], [-1, 1]].flatMap(([left, ahead]) => {
    const along = 0.5 * left * width, deep = 0.5 * ahead * depth;
    return [x + along * cosine + deep * sine, z - along * sine + deep * cosine];
  });
}
