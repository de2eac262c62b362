// Cameras that turn around a target: angles in radians, lengths in metres or any other unit.

import { add, clamp, cross, lookAt, mix, product, scaled } from "../vectors.js";

const FIELD_OF_VIEW = (36 * Math.PI) / 180;
const STEEPEST = 1.5;
// A picture that is narrower than this many times its height gets a wider angle.
const NARROW = 1.15;

export class Camera {
  constructor({ yaw = 0.6, pitch = 0.22, distance = 4 } = {}) {
    Object.assign(this, { yaw, pitch, distance });
    this.target = [0, 0, 0];
    // Offset of the target from the middle of the picture: to the left and down, in halves of its size.
    this.offset = [0, 0];
    this.screen = new Float64Array(3);
    this.frame(100, 100);
  }

  // Set the size of the picture in pixels and compute the view; called before projecting.
  frame(width, height) {
    const { yaw, pitch, distance, target } = this;
    [this.width, this.height] = [width, height];
    this.focal = this.focalLength(width, height);
    this.near = 0.02 * distance;
    const far = 40 * distance + 100;
    const back = [Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch), Math.cos(pitch) * Math.cos(yaw)];
    this.eye = this.above(add(target, back, distance));
    const view = lookAt(this.eye, target);
    this.right = [view[0], view[4], view[8]];
    this.up = [view[1], view[5], view[9]];
    const span = this.near - far;
    this.projection = [
      (2 * this.focal) / width, 0, 0, 0, 0, (2 * this.focal) / height, 0, 0,
      this.offset[0], -this.offset[1], (far + this.near) / span, -1, 0, 0, (2 * far * this.near) / span, 0,
    ];
    this.matrix = product(this.projection, view);
  }

  focalLength(width, height) {
    return (0.5 * Math.min(height, width * NARROW)) / Math.tan(FIELD_OF_VIEW / 2);
  }

  // Where the eye may be, for one that is meant to be at a place.
  above(eye) { return eye; }

  depth(x, y, z) {
    const m = this.matrix;
    return m[3] * x + m[7] * y + m[11] * z + m[15];
  }

  // (x, y) in pixels and depth; the same array each time. Places behind the eye are nearer than `near`.
  project(x, y, z) {
    const { matrix: m, screen } = this;
    const depth = this.depth(x, y, z);
    const scale = 0.5 / Math.max(depth, this.near);
    screen[0] = this.width * (0.5 + scale * (m[0] * x + m[4] * y + m[8] * z + m[12]));
    screen[1] = this.height * (0.5 - scale * (m[1] * x + m[5] * y + m[9] * z + m[13]));
    screen[2] = depth;
    return screen;
  }

  // Add a line to the context's path, clipped in front of the eye.
  line(context, ax, ay, az, bx, by, bz) {
    const da = this.depth(ax, ay, az), db = this.depth(bx, by, bz), { near } = this;
    if (da < near && db < near) return;
    if (da < near || db < near) {
      const part = (near - da) / (db - da);
      const x = mix(ax, bx, part), y = mix(ay, by, part), z = mix(az, bz, part);
      if (da < near) [ax, ay, az] = [x, y, z];
      else [bx, by, bz] = [x, y, z];
    }
    const a = this.project(ax, ay, az);
    context.moveTo(a[0], a[1]);
    const b = this.project(bx, by, bz);
    context.lineTo(b[0], b[1]);
  }

  turn(dx, dy) {
    this.yaw -= dx * 0.008;
    this.pitch = clamp(this.pitch + dy * 0.008, -STEEPEST, STEEPEST);
  }

  zoom(steps) { this.distance = clamp(this.distance * Math.exp(steps), 0.05, 500); }

  // Offset of the target for a move in the picture, given in pixels.
  pan(dx, dy) {
    return scaled(add(scaled(this.right, -dx), this.up, dy), this.distance / this.focal);
  }
}

const FOLLOWING_FIELD = (34 * Math.PI) / 180;
// Height that the camera looks at, as a share of the body's.
const MIDDLE = 0.5;
// Distance of the eye in heights or in lengths of the body, whichever is more.
const HEIGHTS_AWAY = 2.75, LENGTHS_AWAY = 2.4;
// A picture that is narrower than this many times its height, or in which the body is longer than this
// share of its width, gets a wider angle.
const NARROW_BODY = 0.8, WIDEST_BODY = 0.77;
// Distance of the target behind the body, at most, as a share of the body's height.
const MOST_LAG = 0.12;
// Share of the picture's height that is kept free above the body; least pitch.
const ABOVE = 0.04, LOWEST = 0.03;

// Share of the way from a foot to the eye from which on the ground may hide it, and between places that are looked at;
// distance of feet from the hips, as a share of the body's height.
const NEAREST = 0.04, SIGHT_STEP = 0.01, STRIDE = 0.3;

// The camera of the page in which one steers: its target follows a character smoothly.
export class FollowingCamera extends Camera {
  // `size`: height and length of the body in metres, seen from above.
  constructor(size) {
    super({ yaw: 0.62, pitch: 0.2, distance: 1 });
    // `beside`: share of the picture's width that panels at its right cover; `lift`: metres by which the eye is raised
    // over what would hide the feet.
    Object.assign(this, { away: 1, behind: false, beside: 0, lift: 0 });
    // Height of the ground at a place, and under the target.
    this.level = () => 0;
    this.floor = 0;
    this.fit(size);
  }

  // Bodies of another size: the same view of them, by a part of the way.
  fit({ height, length }, part = 1) {
    const away = mix(this.away, Math.max(HEIGHTS_AWAY * height, LENGTHS_AWAY * length), part);
    this.distance *= away / this.away;
    this.away = away;
    this.bodyHeight = height;
    const widest = (2 * WIDEST_BODY * away * Math.tan(FOLLOWING_FIELD / 2)) / length;
    this.widening = Math.min(1 / NARROW_BODY, widest);
    if (part === 1) this.target[1] = MIDDLE * height;
  }

  turn(dx, dy) {
    super.turn(0.75 * dx, 0.75 * dy);
    this.pitch = Math.max(this.pitch, LOWEST);
  }

  zoom(steps) {
    this.distance = clamp(this.distance * Math.exp(steps), 0.33 * this.away, 9 * this.away);
  }

  // `top`: height of the body's top over the ground, which is above the usual one in a jump.
  follow(place, heading, seconds, top = 0) {
    const part = 1 - Math.exp(-seconds / 0.12);
    const far = Math.hypot(place[0] - this.target[0], place[1] - this.target[2]);
    // Small bodies are fast for their size: they stay in the picture however fast they are.
    const kept = Math.min(1, (MOST_LAG * this.bodyHeight) / ((1 - part) * far || 1));
    for (const [axis, value] of [[0, place[0]], [2, place[1]]]) {
      this.target[axis] = mix(value, this.target[axis], (1 - part) * kept);
    }
    const raised = this.target[1] - this.floor;
    this.floor = mix(this.floor, this.level(...place), 1 - Math.exp(-seconds / 0.3));
    this.target[1] = this.floor + mix(raised, MIDDLE * this.bodyHeight + Math.max(top - this.bodyHeight, 0), part);
    this.lift = mix(this.lift, this.hidden(), 1 - Math.exp(-seconds / 0.2));
    if (this.behind) {
      const ahead = heading + Math.PI;
      const off = ahead - this.yaw - 2 * Math.PI * Math.round((ahead - this.yaw) / (2 * Math.PI));
      this.yaw += off * (1 - Math.exp(-seconds / 0.9));
    }
  }

  // Metres by which the eye is too low to see feet below, before and behind the hips past the ground between.
  hidden() {
    const stride = STRIDE * this.bodyHeight, reach = this.distance * Math.cos(this.pitch);
    const level = (away) => this.level(this.target[0] + away * Math.sin(this.yaw), this.target[2] + away * Math.cos(this.yaw));
    let least = -Infinity;
    for (const foot of [-stride, 0, stride]) {
      const own = level(foot);
      for (let part = NEAREST; part <= 1; part += SIGHT_STEP) {
        least = Math.max(least, own + (level(mix(foot, reach, part)) - own) / part);
      }
    }
    return clamp(least - this.target[1] - this.distance * Math.sin(this.pitch), 0, this.distance);
  }

  jump(place) {
    this.floor = this.level(...place);
    this.target = [place[0], this.floor + MIDDLE * this.bodyHeight, place[1]];
  }

  // The body is seen whole in the free part of the picture.
  focalLength(width, height) {
    if (!this.widening) return super.focalLength(width, height);
    this.offset = [this.beside, -ABOVE];
    const room = Math.min((this.widening * width * (1 - this.beside)) / height, 1);
    return (0.5 * height) / Math.tan(FOLLOWING_FIELD / (2 * room));
  }

  above(eye) {
    if (!this.level) return eye;
    return [eye[0], Math.max(eye[1] + this.lift, this.level(eye[0], eye[2]) + 0.05 * this.bodyHeight), eye[2]];
  }

  // Directions on the ground to the right and away from the eye.
  ground() {
    return { right: [Math.cos(this.yaw), -Math.sin(this.yaw)], away: [-Math.sin(this.yaw), -Math.cos(this.yaw)] };
  }

  // Where the ray through a place in the picture (shares of its size) meets the ground, (x, z); null above
  // the horizon.
  onGround(x, y) {
    const { right, up, offset: [left, down], projection } = this;
    const ray = add(add(cross(up, right), right, (2 * x - 1 + left) / projection[0]), up, (1 - 2 * y - down) / projection[5]);
    if (ray[1] > -1e-3) return null;
    const along = (this.floor - this.eye[1]) / ray[1];
    return along > 33 * this.away ? null : [this.eye[0] + along * ray[0], this.eye[2] + along * ray[2]];
  }
}
