"""Compiled search of the best touches of a ball: rolls between touches, and their sequence."""

from __future__ import annotations

import numpy as np
from numba import types

from deepphase.arrays import compiled

_F1, _F2 = types.float64[::1], types.float64[:, ::1]
_F3, _I1 = types.float64[:, :, ::1], types.int64[::1]

# Restitution that a foot gives: below, it yields too much, above, it kicks harder than it swings.
_LOWEST_E, _USUAL_E, _HIGHEST_E, _E_TOLERANCE = -0.5, 0.0, 0.6, 0.15
# A foot has to come nearer to the ball by this, m/s.
_LEAST_APPROACH, _APPROACH_TOLERANCE = 0.1, 0.2
# Impulse along the foot's surface as a share of that across it, and its tolerance in m/s.
_FRICTION, _FRICTION_TOLERANCE = 0.6, 0.3
# Larger changes of velocity do not occur in dribbling, m/s.
_HARDEST, _HARD_TOLERANCE = 6.0, 1.0
# A ball is dented, and a foot gives way, by this: metres.
_DENT_M, _DENT_TOLERANCE_M = 0.02, 0.02
# Distance from the body in metres, beyond which a ball is out of reach.
_REACH_M, _REACH_TOLERANCE_M = 0.9, 0.2
# Preferences among plausible balls: near to the body, and touched as softly as feet swing.
_NEAR_WEIGHT, _NEAR_M, _E_WEIGHT = 0.2, 0.6, 0.1
_TINY = 1e-9


@compiled(types.UniTuple(types.float64, 2)(types.float64, types.float64, types.float64))
def roll_speeds(distance: float, seconds: float, deceleration: float) -> tuple[float, float]:
    """m/s at both ends of a roll over a distance in some seconds; see `Ball.speed_to_roll`."""
    if distance < 0.5 * deceleration * seconds * seconds:
        return np.sqrt(2.0 * deceleration * distance), 0.0
    mean, half = distance / seconds, 0.5 * deceleration * seconds
    return mean + half, max(mean - half, 0.0)


@compiled(types.float64(*[types.float64] * 8))
def touch_cost(
    normal_x: float,
    normal_z: float,
    foot_x: float,
    foot_z: float,
    before_x: float,
    before_z: float,
    after_x: float,
    after_z: float,
) -> float:
    """How implausible a touch is: 0 where a foot gives that impulse.

    `foot_x`, `foot_z`, `before_x`, `before_z`, `after_x`, `after_z` in m/s: the foot, and the ball
    before and after.
    """
    approach = (foot_x - before_x) * normal_x + (foot_z - before_z) * normal_z
    change_x, change_z = after_x - before_x, after_z - before_z
    across = change_x * normal_x + change_z * normal_z
    along = abs(change_x * normal_z - change_z * normal_x)
    cost = 0.0
    if approach < _LEAST_APPROACH:
        cost += ((_LEAST_APPROACH - approach) / _APPROACH_TOLERANCE) ** 2
        approach = _LEAST_APPROACH
    restitution = across / approach - 1.0
    excess = max(restitution - _HIGHEST_E, _LOWEST_E - restitution, 0.0)
    cost += (excess * min(approach, 1.0) / _E_TOLERANCE) ** 2
    cost += _E_WEIGHT * min((restitution - _USUAL_E) ** 2, 1.0)
    sliding = max(along - _FRICTION * max(across, 0.0), 0.0)
    cost += (sliding / _FRICTION_TOLERANCE) ** 2
    hard = max(np.sqrt(change_x**2 + change_z**2) - _HARDEST, 0.0)
    return cost + (hard / _HARD_TOLERANCE) ** 2


@compiled(
    types.float64(
        *[types.float64] * 4, types.int64, types.int64, *[types.float64] * 3, _F3, _F2
    )
)  # fmt: skip
def roll_cost(
    x: float,
    z: float,
    speed_x: float,
    speed_z: float,
    begin: int,
    end: int,
    seconds: float,
    radius: float,
    deceleration: float,
    points: np.ndarray,
    roots: np.ndarray,
) -> float:
    """How implausible a free roll is: legs that it passes through, and distance from the body.

    `x`, `z`, `speed_x`, `speed_z`: metres and m/s at frame `begin`. `points` (frames, points, 3)
    metres: of the legs, heights over the ball's centre. `roots` (frames, 2) metres.
    """
    speed = np.sqrt(speed_x * speed_x + speed_z * speed_z)
    step = 1 if end > begin else -1
    deepest, near = 0.0, 0.0
    farthest = 0.0
    frame = begin + step
    while frame != end:
        time = (frame - begin) * seconds
        if step > 0:
            time = min(time, speed / max(deceleration, _TINY))
        # Backwards in time a rolling ball was faster.
        share = 0.0
        if speed > _TINY:
            share = time - 0.5 * deceleration * time * time / speed
        ball_x, ball_z = x + speed_x * share, z + speed_z * share
        for point in range(points.shape[1]):
            away_y = points[frame, point, 1]
            if abs(away_y) < radius:
                away_x = points[frame, point, 0] - ball_x
                away_z = points[frame, point, 2] - ball_z
                square = away_x * away_x + away_y * away_y + away_z * away_z
                if square < radius * radius:
                    deepest = max(deepest, radius - np.sqrt(square))
        from_x, from_z = roots[frame, 0] - ball_x, roots[frame, 1] - ball_z
        distance = np.sqrt(from_x * from_x + from_z * from_z)
        farthest = max(farthest, distance)
        near += distance * distance
        frame += step
    cost = (max(deepest - _DENT_M, 0.0) / _DENT_TOLERANCE_M) ** 2
    cost += (max(farthest - _REACH_M, 0.0) / _REACH_TOLERANCE_M) ** 2
    return cost + _NEAR_WEIGHT * near * seconds / _NEAR_M**2


@compiled(
    types.float64(
        _I1, _F2, _F2, _F2, _F1, _I1, _I1, _F2, _F3, _F2, types.float64, types.float64,
        types.float64, types.int64, types.int64, _I1, _F2,
    )
)  # fmt: skip
def best_touches(
    frames: np.ndarray,
    places: np.ndarray,
    normals: np.ndarray,
    feet: np.ndarray,
    own: np.ndarray,
    lowest: np.ndarray,
    highest: np.ndarray,
    bodies: np.ndarray,
    points: np.ndarray,
    roots: np.ndarray,
    seconds: float,
    radius: float,
    deceleration: float,
    first_stop: int,
    last_start: int,
    chosen: np.ndarray,
    speeds: np.ndarray,
) -> float:
    """The sequence of touches with the least cost: dynamic programming over rolls.

    `frames` (candidates,) frame of each possible touch, rising by swings. `places`, `normals`,
    `feet` (candidates, 2) metres, unit vectors and m/s: the ball, the direction from the foot to
    it, and the foot. `own` (candidates,) cost of the touch's place itself. `lowest`, `highest`
    (candidates,) candidates lowest to highest - 1 may follow. `bodies` (candidates, 2) m/s of the
    body, from which the ball's velocity before the first touch and after the last one is taken.
    `chosen` (touches,) output: candidates of the best sequence, then -1. `speeds` (2, 2) output:
    velocity before the first touch, and after the last. Returns the cost.
    """
    count, total = len(frames), 0
    starts = np.zeros(count + 1, np.int64)
    for i in range(count):
        total += highest[i] - lowest[i]
        starts[i + 1] = total
    cost, best = np.empty(total), np.full(total, np.inf)
    out, into = np.empty((total, 2)), np.empty((total, 2))
    back = np.full(total, -1, np.int64)
    for i in range(count):
        for j in range(lowest[i], highest[i]):
            edge = starts[i] + j - lowest[i]
            way_x, way_z = places[j, 0] - places[i, 0], places[j, 1] - places[i, 1]
            distance = np.sqrt(way_x * way_x + way_z * way_z)
            time = max(frames[j] - frames[i], 1) * seconds
            first, last = roll_speeds(distance, time, deceleration)
            over = 1.0 / max(distance, _TINY)
            out[edge, 0], out[edge, 1] = first * way_x * over, first * way_z * over
            into[edge, 0], into[edge, 1] = last * way_x * over, last * way_z * over
            if frames[j] <= frames[i]:
                cost[edge] = np.inf
                continue
            # A ball that cannot be caught needs no further look.
            if touch_cost(
                normals[j, 0], normals[j, 1], feet[j, 0], feet[j, 1],
                into[edge, 0], into[edge, 1], feet[j, 0], feet[j, 1],
            ) > 400.0:  # fmt: skip
                cost[edge] = np.inf
                continue
            cost[edge] = roll_cost(
                places[i, 0], places[i, 1], out[edge, 0], out[edge, 1], frames[i], frames[j],
                seconds, radius, deceleration, points, roots,
            )  # fmt: skip
    # Shares of the body's speed that a ball may have before the first and after the last touch.
    shares = np.array([0.0, 0.4, 0.7, 0.9, 1.1, 1.3, 1.6])
    begun = np.full((count, len(shares)), np.inf)
    length = len(roots)
    for i in range(first_stop):
        for k in range(4):
            x, z = shares[k] * bodies[i, 0], shares[k] * bodies[i, 1]
            begun[i, k] = roll_cost(
                places[i, 0], places[i, 1], x, z, frames[i], -1, seconds, radius, deceleration,
                points, roots,
            )  # fmt: skip
    first_share = np.full(total, 0, np.int64)
    predecessors = np.empty(count, np.int64)
    answer, last_edge, last_candidate, last_share = np.inf, -1, -1, 0
    for i in range(count):
        known = 0
        for h in range(i):
            if lowest[h] <= i < highest[h]:
                edge = starts[h] + i - lowest[h]
                if best[edge] < np.inf:
                    predecessors[known] = edge
                    known += 1
        # What follows the touch: a roll to another one, or the end of the clip.
        endings = len(shares) if i >= last_start else 0
        for follow in range(highest[i] - lowest[i] + endings):
            ends = follow >= highest[i] - lowest[i]
            if ends:
                share = follow - (highest[i] - lowest[i])
                after_x, after_z = shares[share] * bodies[i, 0], shares[share] * bodies[i, 1]
                later = roll_cost(
                    places[i, 0], places[i, 1], after_x, after_z, frames[i], length, seconds,
                    radius, deceleration, points, roots,
                )  # fmt: skip
            else:
                share = 0
                edge = starts[i] + follow
                after_x, after_z, later = out[edge, 0], out[edge, 1], cost[edge]
            if later == np.inf:
                continue
            least, came, option = np.inf, -1, 0
            for place in range(known):
                before = predecessors[place]
                if best[before] >= least:
                    continue
                value = best[before] + touch_cost(
                    normals[i, 0], normals[i, 1], feet[i, 0], feet[i, 1],
                    into[before, 0], into[before, 1], after_x, after_z,
                )  # fmt: skip
                if value < least:
                    least, came = value, before
            if i < first_stop:
                for k in range(4):
                    value = begun[i, k] + touch_cost(
                        normals[i, 0], normals[i, 1], feet[i, 0], feet[i, 1],
                        shares[k] * bodies[i, 0], shares[k] * bodies[i, 1], after_x, after_z,
                    )  # fmt: skip
                    if value < least:
                        least, came, option = value, -1, k
            least += own[i] + later
            if ends:
                if least < answer:
                    answer, last_edge, last_candidate, last_share = least, came, i, share
                    if came < 0:
                        speeds[0, 0] = shares[option] * bodies[i, 0]
                        speeds[0, 1] = shares[option] * bodies[i, 1]
            elif least < best[starts[i] + follow]:
                edge = starts[i] + follow
                best[edge], back[edge], first_share[edge] = least, came, option
    chosen[:] = -1
    if last_candidate < 0:
        return answer
    speeds[1, 0] = shares[last_share] * bodies[last_candidate, 0]
    speeds[1, 1] = shares[last_share] * bodies[last_candidate, 1]
    # Back through the best rolls.
    number = 0
    chosen[number] = last_candidate
    edge = last_edge
    while edge >= 0:
        i = int(np.searchsorted(starts, edge, side="right")) - 1
        number += 1
        chosen[number] = i
        if back[edge] < 0:
            share = first_share[edge]
            speeds[0, 0], speeds[0, 1] = shares[share] * bodies[i, 0], shares[share] * bodies[i, 1]
        edge = back[edge]
    for place in range((number + 1) // 2):
        other = number - place
        kept = chosen[place]
        chosen[place], chosen[other] = chosen[other], kept
    return answer
