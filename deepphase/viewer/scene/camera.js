// The camera: it turns around a target that follows a character smoothly.

import { add, clamp, lookAt, mix, perspective, product, subtract, unit, cross, scaled } from "./vectors.js";

const FIELD_OF_VIEW = (34 * Math.PI) / 180;
// Height that the camera looks at, as a share of the body's.
const MIDDLE = 0.5;
// Distance of the eye in heights or in lengths of the body, whichever is more.
const HEIGHTS_AWAY = 2.75;
const LENGTHS_AWAY = 2.4;
// A picture that is narrower than this many times its height, or in which the body is longer than this
// share of its width, gets a wider angle.
const NARROW = 0.8;
const WIDEST_BODY = 0.77;
// Distance of the target behind the body, at most, as a share of the body's height.
const MOST_LAG = 0.12;
// Share of the picture's height that is kept free above the body, and the smallest one between that
// and the bar at which the body has its full size.
const ABOVE = 0.04;
const ROOM = 0.82;
const LOWEST = 0.03;
const STEEPEST = 1.5;

export class Camera {
  // `size`: height and length of the body in metres, seen from above.
  constructor(size) {
    this.yaw = 0.62;
    this.pitch = 0.2;
    this.distance = 1;
    this.away = 1;
    this.target = [0, 0, 0];
    this.behind = false;
    this.aspect = 1;
    // Share of the picture's height that the bar at its lower end covers.
    this.covered = 0;
    // Share of its width that panels at its right end cover.
    this.beside = 0;
    // Height of the ground at a place, and under the target.
    this.level = () => 0;
    this.floor = 0;
    this.fit(size);
    this.update();
  }

  // Bodies of another size: the same view of them, by a part of the way.
  fit({ height, length }, part = 1) {
    const away = mix(this.away, Math.max(HEIGHTS_AWAY * height, LENGTHS_AWAY * length), part);
    this.distance *= away / this.away;
    this.away = away;
    this.height = height;
    const widest = (2 * WIDEST_BODY * away * Math.tan(FIELD_OF_VIEW / 2)) / length;
    this.widening = Math.min(1 / NARROW, widest);
    if (part === 1) this.target[1] = MIDDLE * height;
  }

  turn(dx, dy) {
    this.yaw -= dx * 0.006;
    this.pitch = clamp(this.pitch + dy * 0.006, LOWEST, STEEPEST);
  }

  zoom(steps) {
    this.distance = clamp(this.distance * Math.exp(steps), 0.33 * this.away, 9 * this.away);
  }

  // `top`: height of the body's top over the ground, which is above the usual one in a jump.
  follow(place, heading, seconds, top = 0) {
    const part = 1 - Math.exp(-seconds / 0.12);
    const far = Math.hypot(place[0] - this.target[0], place[1] - this.target[2]);
    // Small bodies are fast for their size: they stay in the picture however fast they are.
    const kept = Math.min(1, (MOST_LAG * this.height) / ((1 - part) * far || 1));
    for (const [axis, value] of [[0, place[0]], [2, place[1]]]) {
      this.target[axis] = mix(value, this.target[axis], (1 - part) * kept);
    }
    const raised = this.target[1] - this.floor;
    this.floor = mix(this.floor, this.level(...place), 1 - Math.exp(-seconds / 0.3));
    this.target[1] = this.floor + mix(raised, MIDDLE * this.height + Math.max(top - this.height, 0), part);
    if (this.behind) {
      const ahead = heading + Math.PI;
      const off = ahead - this.yaw - 2 * Math.PI * Math.round((ahead - this.yaw) / (2 * Math.PI));
      this.yaw += off * (1 - Math.exp(-seconds / 0.9));
    }
  }

  jump(place) {
    this.floor = this.level(...place);
    this.target = [place[0], this.floor + MIDDLE * this.height, place[1]];
  }

  update() {
    const { yaw, pitch, distance, target } = this;
    const back = [Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch), Math.cos(pitch) * Math.cos(yaw)];
    this.eye = add(target, back, distance);
    this.eye[1] = Math.max(this.eye[1], this.level(this.eye[0], this.eye[2]) + 0.05 * this.height);
    this.view = lookAt(this.eye, target);
    const room = Math.min((1 - ABOVE - this.covered) / ROOM, this.widening * this.aspect * (1 - this.beside), 1);
    this.projection = perspective(FIELD_OF_VIEW / room, this.aspect, 0.01 * this.away, 44 * this.away);
    // The middle of the free part of the picture, above that of the whole by this share of its half.
    this.raised = this.covered - ABOVE;
    this.projection[9] = -this.raised;
    this.projection[8] = this.beside;
    this.matrix = product(this.projection, this.view);
  }

  // Directions on the ground to the right and away from the eye.
  ground() {
    return { right: [Math.cos(this.yaw), -Math.sin(this.yaw)], away: [-Math.sin(this.yaw), -Math.cos(this.yaw)] };
  }

  // A place in the picture: (x, y) in shares of its size from the upper left; null behind the eye.
  project(p) {
    const m = this.matrix;
    const row = (r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r];
    const w = row(3);
    return w <= 0 ? null : [0.5 + (0.5 * row(0)) / w, 0.5 - (0.5 * row(1)) / w];
  }

  // Where the ray through a place in the picture meets the ground, (x, z); null above the horizon.
  onGround(x, y) {
    const forward = unit(subtract(this.target, this.eye));
    const right = unit(cross(forward, [0, 1, 0]));
    const up = cross(right, forward);
    const ray = add(add(forward, scaled(right, (2 * x - 1 + this.beside) / this.projection[0])), scaled(up, (1 - 2 * y - this.raised) / this.projection[5]));
    if (ray[1] > -1e-3) return null;
    const along = (this.floor - this.eye[1]) / ray[1];
    return along > 33 * this.away ? null : [this.eye[0] + along * ray[0], this.eye[2] + along * ray[2]];
  }
}
