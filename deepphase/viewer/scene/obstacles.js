// Walls and pits that the user puts on the ground: their shapes, and goals that go around them.
//
// They have the runtime's form: {kind: "wall", segment: [x, z, x, z]}, {kind: "pit", circle: [x, z,
// radius]}. Goals bend before the runtime's own clearance is reached, which makes turns wider.

const WALL = { height: 0.55, half: 0.06 };
const PIT_DEPTH = 0.9;
const SIDES = 48;
// Walls on uneven ground are built of parts of this length in metres, and reach as far into it.
const PART_M = 0.25;
// The ground has room for so many.
export const MOST_PITS = 8;

export class Obstacles {
  constructor(size) {
    this.size = size;
    this.all = [];
    // Height of the ground at a place.
    this.level = () => 0;
  }

  addWall(from, to) {
    if (Math.hypot(to[0] - from[0], to[1] - from[1]) < 0.15 * this.size) return false;
    this.all = [...this.all, { kind: "wall", segment: [...from, ...to] }];
    return true;
  }

  addPit(center) {
    const pits = this.all.filter((each) => each.kind === "pit");
    const spare = pits.length < MOST_PITS ? null : pits[0];
    this.all = [...this.all.filter((each) => each !== spare), { kind: "pit", circle: [...center, 0.38 * this.size] }];
  }

  // Remove the obstacle at a place, if there is one.
  remove(place) {
    const found = this.all.find((each) => away(each, place)[0] < 0.15 * this.size);
    this.all = this.all.filter((each) => each !== found);
    return found !== undefined;
  }

  // The part of a velocity (x, z) that does not lead into an obstacle.
  around(place, velocity, heading) {
    const speed = Math.hypot(...velocity);
    if (!this.all.length) return velocity;
    let result = velocity;
    for (const obstacle of this.all) {
      // The runtime's own paths slide along walls but end at pits, so pits need more room.
      const near = (obstacle.kind === "pit" ? 0.33 : 0.16) * this.size;
      const far = near + 0.32 * this.size + 0.3 * speed;
      const [distance, nx, nz] = away(obstacle, place);
      if (distance > far) continue;
      const into = -(result[0] * nx + result[1] * nz);
      const part = Math.min(Math.max((far - distance) / (far - near), 0), 1);
      if (into > 0) {
        result = [result[0] + part * into * nx, result[1] + part * into * nz];
        // Straight at it: along it, to the side that the character already looks at.
        const rest = Math.hypot(...result);
        if (speed > 0 && rest < 0.6 * speed) {
          const side = Math.sign(Math.sin(heading) * -nz + Math.cos(heading) * nx) || 1;
          const add = part * (0.75 * speed - rest);
          result = [result[0] - nz * side * add, result[1] + nx * side * add];
        }
      }
      if (distance < near) {
        const push = (near - distance) * 4;
        result = [result[0] + nx * push, result[1] + nz * push];
      }
    }
    return result;
  }

  // Triangles of walls and of the wells of pits; circles of pits.
  shapes() {
    const positions = [];
    const normals = [];
    const quad = (corners, normal) => {
      for (const at of [0, 1, 2, 0, 2, 3]) {
        positions.push(...corners[at]);
        normals.push(...normal);
      }
    };
    const pits = [];
    for (const each of this.all) {
      if (each.kind === "wall") this.wall(each, quad);
      else {
        pits.push(each.circle);
        this.well(each, quad);
      }
    }
    return [{ positions, normals }, pits];
  }

  wall({ segment }, quad) {
    const [from, to] = [segment.slice(0, 2), segment.slice(2)];
    const [dx, dz] = [to[0] - from[0], to[1] - from[1]];
    const height = WALL.height * this.size;
    const long = Math.hypot(dx, dz);
    const [ux, uz] = [dx / long, dz / long];
    const half = WALL.half * this.size;
    const parts = Math.max(1, Math.ceil((long + 2 * half) / PART_M));
    // A corner of the wall `share` of its length on, at a side, at its foot (0) or its top (1).
    const at = (share, side, top) => {
      const along = share * (long + 2 * half) - half;
      const [x, z] = [from[0] + ux * along - uz * half * side, from[1] + uz * along + ux * half * side];
      return [x, this.level(x, z) + (top ? height : -PART_M), z];
    };
    for (let part = 0; part < parts; part++) {
      const [a, b] = [part / parts, (part + 1) / parts];
      for (const side of [-1, 1]) quad([at(a, side, 0), at(b, side, 0), at(b, side, 1), at(a, side, 1)], [-uz * side, 0, ux * side]);
      quad([at(a, -1, 1), at(b, -1, 1), at(b, 1, 1), at(a, 1, 1)], [0, 1, 0]);
    }
    for (const end of [0, 1]) {
      const out = 2 * end - 1;
      quad([at(end, -1, 0), at(end, 1, 0), at(end, 1, 1), at(end, -1, 1)], [ux * out, 0, uz * out]);
    }
  }

  well({ circle: [x, z, radius] }, quad) {
    const rim = Array.from({ length: SIDES + 1 }, (_, n) => (2 * Math.PI * n) / SIDES)
      .map((angle) => [x + radius * Math.cos(angle), z + radius * Math.sin(angle)]);
    const heights = rim.map((place) => this.level(...place));
    const bottom = Math.min(...heights) - PIT_DEPTH * this.size;
    for (let n = 0; n < SIDES; n++) {
      const a = [(rim[n][0] - x) / radius, (rim[n][1] - z) / radius];
      const at = (k, y) => [rim[k][0], y, rim[k][1]];
      quad([at(n, heights[n]), at(n + 1, heights[n + 1]), at(n + 1, bottom), at(n, bottom)], [-a[0], 0, -a[1]]);
      quad([at(n, bottom), at(n + 1, bottom), [x, bottom, z], [x, bottom, z]], [0, 1, 0]);
    }
  }
}

// Distance of a place to an obstacle's edge, and the direction away from it.
function away(obstacle, [x, z]) {
  let near = obstacle.circle;
  if (obstacle.kind === "wall") {
    const [ax, az, bx, bz] = obstacle.segment;
    const [dx, dz] = [bx - ax, bz - az];
    const t = Math.min(Math.max(((x - ax) * dx + (z - az) * dz) / (dx * dx + dz * dz), 0), 1);
    near = [ax + t * dx, az + t * dz];
  }
  const [nx, nz] = [x - near[0], z - near[1]];
  const distance = Math.hypot(nx, nz);
  const inside = obstacle.kind === "pit" ? obstacle.circle[2] : 0;
  return distance > 1e-6 ? [distance - inside, nx / distance, nz / distance] : [-inside, 1, 0];
}
