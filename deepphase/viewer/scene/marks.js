// Marks on the ground: trajectories as ribbons with arrows, contacts as rings, soft shadows of feet.

const COLOURS = {
  light: { predicted: [0.0, 0.45, 0.7], desired: [0.84, 0.37, 0.0], contact: [0.0, 0.62, 0.45], shade: [0.05, 0.07, 0.1] },
  dark: { predicted: [0.34, 0.71, 0.91], desired: [0.96, 0.62, 0.16], contact: [0.2, 0.85, 0.62], shade: [0, 0, 0] },
};

export class Marks {
  constructor() {
    // Height of the ground at a place.
    this.level = () => 0;
    this.clear("light");
  }

  clear(look) {
    this.colours = COLOURS[look];
    this.vertices = { mark: [], disc: [], ring: [] };
  }

  quad(kind, corners, colour, across) {
    const out = this.vertices[kind];
    const raised = corners.map(([x, y, z]) => [x, y + this.level(x, z), z]);
    for (const at of [0, 1, 2, 0, 2, 3]) out.push(...raised[at], ...colour[at] ?? colour[0], ...across[at]);
  }

  square(kind, x, z, radius, colour, height = 0.004) {
    const across = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
    this.quad(kind, across.map(([u, v]) => [x + u * radius, height, z + v * radius]), [colour], across);
  }

  // Rows of (x, z, dx, dz) as a ribbon that fades towards its ends, with an arrow for each row.
  trajectory(rows, name, size, alpha = 0.9) {
    const colour = this.colours[name];
    const count = rows.length / 4;
    const height = name === "desired" ? 0.006 : 0.008;
    const points = [];
    for (let i = 0; i < count; i++) points.push(rows.subarray(4 * i, 4 * i + 4));
    const half = (name === "desired" ? 0.014 : 0.02) * size;
    const fade = (i) => alpha * (0.35 + 0.65 * Math.sin((Math.PI * (i + 0.6)) / (count + 0.2)));
    for (let i = 0; i + 1 < count; i++) {
      const [a, b] = [points[i], points[i + 1]];
      const [dx, dz] = [b[0] - a[0], b[1] - a[1]];
      const long = Math.hypot(dx, dz);
      if (long < 1e-4) continue;
      const [nx, nz] = [(-dz / long) * half, (dx / long) * half];
      const [near, far] = [[...colour, fade(i)], [...colour, fade(i + 1)]];
      this.quad("mark", [
        [a[0] + nx, height, a[1] + nz], [a[0] - nx, height, a[1] - nz],
        [b[0] - nx, height, b[1] - nz], [b[0] + nx, height, b[1] + nz],
      ], [near, near, far, far], [[1, 0], [-1, 0], [-1, 0], [1, 0]]);
    }
    points.forEach(([x, z, dx, dz], i) => {
      const long = Math.hypot(dx, dz);
      if (long < 1e-4) return;
      this.arrow(x, z, dx / long, dz / long, 0.075 * size, [...colour, fade(i)], height + 0.002);
    });
  }

  arrow(x, z, dx, dz, size, colour, height) {
    const at = (along, side) => [x + (dx * along - dz * side) * size, height, z + (dz * along + dx * side) * size];
    const out = this.vertices.mark;
    for (const corner of [at(1.2, 0), at(-0.55, 0.62), at(-0.2, 0), at(1.2, 0), at(-0.2, 0), at(-0.55, -0.62)]) {
      out.push(corner[0], corner[1] + this.level(corner[0], corner[2]), corner[2], ...colour, 0, 0.5);
    }
  }

  // A dashed line from one place to another.
  line(from, to, colour, size) {
    const [dx, dz] = [to[0] - from[0], to[1] - from[1]];
    const long = Math.hypot(dx, dz);
    for (let s = 0; s < long; s += 0.12 * size) {
      const part = [s / long, Math.min((s + 0.06 * size) / long, 1)];
      this.trajectory(Float32Array.from(part.flatMap((p) => [from[0] + dx * p, from[1] + dz * p, 0, 0])), colour, size);
    }
  }

  contact(x, z, strength, size) {
    if (strength > 0.05) this.square("ring", x, z, 0.1 * size, [...this.colours.contact, 0.85 * strength], 0.01);
  }

  // The shade of a ball; a ring around one that is lost.
  ball({ place: [x, y, z], lost }, radius) {
    const near = Math.exp((radius - Math.max(y, radius)) / radius);
    this.shade(x, z, (1.1 + 0.8 * (1 - near)) * radius, 0.55 * near);
    if (lost) this.square("ring", x, z, 2.4 * radius, [...this.colours.desired, 0.9], 0.01);
  }

  shade(x, z, radius, strength) {
    this.square("disc", x, z, radius, [...this.colours.shade, strength]);
  }
}
