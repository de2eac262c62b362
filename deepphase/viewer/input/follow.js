// Goals of characters, and the velocity of one that follows another.

export const goalOf = (velocity, facing = null, label = null) => ({ velocity, facing, label });

// Labels that a character begins with, where it has them: it stands at first.
const CALM = ["idle", "stand", "walk", "normal", "neutral"];

/** The value of the label to begin with; null without labels. */
export function firstLabel(asset) {
  const values = asset.labels?.values ?? [];
  return CALM.find((value) => values.includes(value)) ?? values[0] ?? null;
}

/** The place [x, z] of a follower: metres to the left of a leader and ahead of it, as it faces. */
export function placeFrom({ position: [x, z], heading }, left, ahead) {
  const [s, c] = [Math.sin(heading), Math.cos(heading)];
  return [x + left * c + ahead * s, z - left * s + ahead * c];
}

/** The velocity (x, z) in m/s to a target beside a leader. Places are (x, z); `others` are the places of all that are kept off. */
export function followingVelocity(target, leader, place, others, size, top) {
  const [dx, dz] = [target[0] - place[0], target[1] - place[1]];
  const distance = Math.hypot(dx, dz);
  let velocity = [0, 0];
  // Small distances are not a reason to step.
  if (distance > 0.22 * size || Math.hypot(...leader.velocity) > 0.1) {
    velocity = [0.95 * leader.velocity[0] + 1.1 * dx, 0.95 * leader.velocity[1] + 1.1 * dz];
  }
  for (const other of others) {
    const [ax, az] = [place[0] - other[0], place[1] - other[1]];
    const gap = Math.hypot(ax, az);
    if (gap < 1e-6 || gap > 0.45 * size) continue;
    const push = (2.2 * (0.45 * size - gap)) / gap;
    velocity = [velocity[0] + ax * push, velocity[1] + az * push];
  }
  const speed = Math.hypot(...velocity);
  return speed > top ? velocity.map((v) => (v * top) / speed) : speed < 0.08 ? [0, 0] : velocity;
}
