"""Footholds of each limb over time, and the motion of a foot between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.synthetic.bodies import Body, BodyLimb
from deepphase.synthetic.program import Timeline
from deepphase.synthetic.waves import brisk_step, on_ground, smooth_bump, smooth_step

# A step shorter than this is left out: the foot stays where it is.
_SHORTEST_SWING_S = 0.07
# In cycles: a shorter hop, or one with a shorter landing, is none; steps shorter than a usual
# one rise less.
_SHORTEST_HOP, _SHORTEST_LANDING, _USUAL_SWING = 0.1, 0.06, 0.3
# A foot that stands longer than this stands for the body at rest, not for its travel.
_LONG_STANCE_S = 1.3
# Metres that a body goes over a standing foot at most, per metre of leg.
_LONGEST_STANCE = 1.65
# The body rests where a stand has this weight; no swing lasts so long there.
_STANDS, _LONG_SWING_S = 0.97, 0.5
# Share of the stance after which the heel rises.
_HEEL_RISE = 0.42
# Share of the swing after which it is highest.
_HEEL_TOP = 0.2
# How far the toes of a swinging foot hang, as a share of its pitch.
_TOE_HANG = 0.5


@dataclass(frozen=True, eq=False)
class Footholds:
    """The stances of one limb, one after the other, on any clock that never runs backwards."""

    touch_downs: Array  # (stances,) readings of the clock (cycles, beats)
    lift_offs: Array  # (stances,) each before the next touch-down
    positions: Array  # (stances, 2) metres: x and z of the toe joint
    yaws: Array  # (stances,) radians that the foot points from +Z to +X, not wrapped


@dataclass(frozen=True, eq=False)
class FootMotion:
    """One foot over time."""

    contact: Array  # (frames,) whether it stands
    aloft: Array  # (frames,) 0 in stance, smoothly 1 in the middle of a swing
    toe: Array  # (frames, 3) metres: the toe joint
    yaw: Array  # (frames,) radians: where the foot points
    pitch: Array  # (frames,) radians, toe up positive
    toe_pitch: Array  # (frames,) of the toes


def follow_footholds(
    limb: BodyLimb, holds: Footholds, clock: Array, tracks: dict[str, Array]
) -> FootMotion:
    """The motion of a foot over its footholds, at (frames,) readings of their clock.

    In stance the toe joint keeps its place; the foot rolls from the heel onto the toes, the toe
    joint coming down where it will stand. In swing it goes to the next foothold, smooth to the
    second derivative. Of the tracks it reads step_height (m), strike, toe_off, swing_flexion
    (radians) and loading (clock units).
    """
    index = np.searchsorted(holds.touch_downs, clock, side="right") - 1
    index = np.clip(index, 0, len(holds.touch_downs) - 2)
    down, lift = holds.touch_downs[index], holds.lift_offs[index]
    following = holds.touch_downs[index + 1]
    contact, air, left = clock < lift, following - lift, clock - lift
    swing = np.where(contact, 0.0, left / np.maximum(air, 1e-9))
    moved, travelled = smooth_step(swing), brisk_step(swing)
    steps = holds.positions[index + 1] - holds.positions[index]
    ground = holds.positions[index] + travelled[:, None] * steps
    yaw = holds.yaws[index] + moved * (holds.yaws[index + 1] - holds.yaws[index])

    strike, toe_off = tracks["strike"], tracks["toe_off"]
    # Paws may roll on and off at once, a heel is down before it rises.
    flat_by = _HEEL_RISE if limb.heel is not None else 0.7
    loading = np.minimum(tracks["loading"], flat_by * (lift - down))
    landed = np.where(contact, 1 - smooth_step((clock - down) / loading), moved)
    rising, falling = (1 - _HEEL_RISE) * (lift - down), _HEEL_TOP * air
    # The heel goes on rising as the foot leaves; both flanks in clock units, smooth across it.
    peeled = smooth_step((left + rising) / np.maximum(rising + falling, 1e-9))
    peeled = peeled * (1 - smooth_step((left - falling) / np.maximum(air - falling, 1e-9)))
    bump = np.where(contact, 0.0, smooth_bump(swing)) * np.minimum(air / _USUAL_SWING, 1.0) ** 2
    pitch = strike * landed - toe_off * peeled - tracks["swing_flexion"] * bump
    height = limb.standing[1] + tracks["step_height"] * bump
    toe_pitch = -_TOE_HANG * toe_off * np.where(contact, 0.0, moved * (1 - moved))
    if limb.heel is not None:
        landing = np.maximum(strike, 0.0)
        rise = _ball_rise(limb, landing * landed)
        height = height + np.where(contact, rise, landed * _ball_rise(limb, landing))
        toe_pitch = toe_pitch + landing * landed
    toe = np.stack([ground[:, 0], height, ground[:, 1]], axis=1)
    aloft = np.where(contact, 0.0, smooth_step(swing / 0.3) * smooth_step((1 - swing) / 0.3))
    return FootMotion(contact, aloft, toe, yaw, pitch, toe_pitch)


def _ball_rise(limb: BodyLimb, pitch: Array) -> Array:
    """(frames,) metres by which a pitch, toe up, lifts the toe joint of a foot on its heel."""
    _, up, along = limb.ball - limb.heel
    return up * np.cos(pitch) + along * np.sin(pitch) - up


def gait_footholds(body: Body, line: Timeline, number: int, toe_out: float) -> Footholds:
    """A limb's footholds: each lies under the middle of the body's travel in its stance."""
    limb = body.limbs[number]
    clock, seconds = line.limb_cycles[:, number], line.seconds
    # A leg cannot stand while the body goes further than this.
    longest = _LONGEST_STANCE * sum(limb.lengths)
    downs, lifts = _stances(line, clock, longest)
    down_s, lift_s = (_time_of(event, clock, seconds) for event in (downs, lifts))
    middle_s = 0.5 * (down_s + lift_s)

    def at(moments: Array, curve: Array) -> Array:
        return np.interp(moments, seconds, curve)

    first, middle, last = (
        np.stack([at(moments, curve) for curve in line.path.T], axis=-1)
        for moments in (down_s, middle_s, lift_s)
    )
    centre, half = 0.5 * (first + last), 0.5 * np.linalg.norm(last - first, axis=-1)
    # Standing long, it rather stands where the body rests, as far as the leg lets it.
    rest = middle - centre
    goal = np.clip((lift_s - down_s) / _LONG_STANCE_S - 1.0, 0.0, 0.7)
    room = np.maximum(0.4 * longest - half, 0.0) / np.maximum(np.linalg.norm(rest, axis=-1), 1e-9)
    centre = centre + np.minimum(goal, room)[:, None] * rest
    heading = 0.5 * (at(down_s, line.heading) + at(lift_s, line.heading))
    side = np.sign(limb.standing[0])
    across = limb.standing[0] + side * at(middle_s, line.tracks["width"])
    ahead = limb.standing[2] + at(middle_s, line.tracks["forward"])
    return Footholds(
        downs, lifts, centre + on_ground(heading, across, ahead), heading + side * toe_out
    )


def _time_of(event: Array, clock: Array, seconds: Array) -> Array:
    # The slope makes a clock that stands or trembles invertible.
    rising = np.maximum.accumulate(clock) + 1e-9 * np.arange(len(clock))
    return np.interp(event, rising, seconds)


def _stances(line: Timeline, clock: Array, longest: float) -> tuple[Array, Array]:
    """Clock readings of the touch-downs and lift-offs of one limb."""
    seconds, stands = line.seconds, line.tracks["stands"]
    rising = np.maximum.accumulate(clock)
    cycle = np.arange(np.floor(clock[0]) - 1, np.ceil(rising[-1]) + 1)

    def reached(share: Array) -> Array:
        """Clock reading at which each cycle first passes a share of itself; inf for never."""
        moments = _time_of(cycle, clock - share, seconds)
        return np.where(cycle < (clock - share).max(), np.interp(moments, seconds, rising), np.inf)

    # Each cycle has a touch-down and a lift-off, and with a hop another two.
    lifts = reached(line.tracks["duty"])
    hop_lifts, hop_downs = (reached(share) for share in line.tracks["hop"].T)
    hops = np.isfinite(hop_downs) & (hop_downs + _SHORTEST_LANDING < lifts)
    hops[hops] = hop_downs[hops] - hop_lifts[hops] >= _SHORTEST_HOP
    downs = np.concatenate([cycle, hop_downs[hops]])
    lifts = np.concatenate([np.where(hops, hop_lifts, lifts), lifts[hops]])
    order = np.argsort(downs, kind="stable")
    downs, lifts = downs[order], lifts[order]
    # A foot leaves before the body is out of its reach.
    steps = np.linalg.norm(np.diff(line.path, axis=0), axis=1)
    travelled = np.concatenate([[0.0], np.cumsum(steps)])
    limits = np.interp(_time_of(downs, clock, seconds), seconds, travelled) + longest
    out_of_reach = np.interp(limits, travelled + 1e-9 * np.arange(len(clock)), rising)
    lifts = np.where(limits < travelled[-1], np.minimum(lifts, out_of_reach), lifts)
    lifts[:-1] = np.clip(lifts[:-1], downs[:-1], downs[1:])

    left_s, landed_s = (_time_of(event, clock, seconds) for event in (lifts[:-1], downs[1:]))
    rests = np.interp(0.5 * (left_s + landed_s), seconds, stands) > _STANDS
    stuck = rests & (landed_s - left_s > _LONG_SWING_S)
    # A foot that would not come down again before the body rests for good does not leave either.
    stuck |= (downs[1:] > rising[-1]) & (stands[-1] > _STANDS)
    short = (landed_s - left_s < _SHORTEST_SWING_S) & (downs[1:] <= rising[-1])
    keep = ~(stuck | short) & (lifts[:-1] < downs[1:])
    downs = np.append(downs[np.append(True, keep)], rising[-1] + 2.0)
    lifts = np.append(lifts[np.append(keep, False)], [rising[-1] + 1.0, rising[-1] + 3.0])
    return downs, lifts
