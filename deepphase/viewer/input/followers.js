// Goals of the characters that follow the first one, in a wedge behind it.

// Places behind the leader: row by row, one more in each.
function slots(count) {
  const places = [];
  for (let row = 1; places.length < count; row++) {
    for (let at = 0; at <= row && places.length < count; at++) places.push([at - row / 2, -row]);
  }
  return places;
}

// The velocity (x, z) of a follower, in m/s. Places are (x, z); `others` are the places of all.
export function followerVelocity(index, count, leader, place, others, size, top) {
  const [side, back] = slots(count)[index];
  const spacing = 0.72 * size;
  const [s, c] = [Math.sin(leader.heading), Math.cos(leader.heading)];
  const target = [
    leader.position[0] + spacing * (1.15 * side * c + back * s),
    leader.position[1] + spacing * (-1.15 * side * s + back * c),
  ];
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
