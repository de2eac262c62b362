/** Critically damped springs by their half-life, in closed form, and angles. */

// The root u > 0 of (1 + u) exp(-u) = 1/2: a spring of rate w halves its distance in u / w.
const HALVING = 1.6783469900166605;

/** Rate in 1/s of the spring that halves a distance from rest in that time. */
export function springRate(halflifeSeconds) {
  return HALVING / halflifeSeconds;
}

/** [offset, velocity] of an offset that decays to 0, after some seconds. */
export function faded(offset, velocity, rate, seconds) {
  const slope = velocity + rate * offset;
  const fading = Math.exp(-rate * seconds);
  return [(offset + slope * seconds) * fading, (velocity - rate * slope * seconds) * fading];
}

/** [angle, rate] of an angle that turns the shorter way to a goal. */
export function springToAngle(angle, velocity, goal, rate, seconds) {
  const target = angle + wrappedAngle(goal - angle);
  const [offset, left] = faded(angle - target, velocity, rate, seconds);
  return [target + offset, left];
}

/** [position, velocity, acceleration] where a spring moves the velocity to a goal. */
export function springToVelocity(position, velocity, acceleration, goal, rate, seconds) {
  const difference = velocity - goal;
  const slope = acceleration + rate * difference;
  const fading = Math.exp(-rate * seconds);
  const lag = slope / rate;
  const travelled = ((difference + lag) * (1 - fading)) / rate - lag * seconds * fading;
  return [
    position + goal * seconds + travelled,
    goal + (difference + slope * seconds) * fading,
    (acceleration - rate * slope * seconds) * fading,
  ];
}

/** The same angle in [-pi, pi). */
export function wrappedAngle(angle) {
  return positiveRemainder(angle + Math.PI, 2 * Math.PI) - Math.PI;
}

/** The same phase in [-0.5, 0.5) cycles. */
export function wrappedPhase(phase) {
  return positiveRemainder(phase + 0.5, 1) - 0.5;
}

/** Remainder with the sign of the divisor. */
export function positiveRemainder(value, divisor) {
  return value - divisor * Math.floor(value / divisor);
}

/** The nearest integer; halves go to the even one. */
export function roundHalfEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 === 0 ? below : below + 1;
}
