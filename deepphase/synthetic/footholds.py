"""Footholds of each limb over time, and the motion of a foot between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.synthetic.bodies import Body, BodyLimb, limb_lengths
from deepphase.synthetic.timeline import Timeline
from deepphase.synthetic.waves import brisk_step, smooth_bump, smooth_step

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
    """The stances of one limb, one after the other, on any clock that never runs backwards.

    Parameters
    ----------
    touch_downs, lift_offs
        (stances,) readings of the clock (cycles, beats); each lift-off lies before the next
        touch-down.
    positions
        (stances, 2) metres: x and z of the toe joint.
    yaws
        (stances,) radians that the foot points from +Z to +X, not wrapped.
    """

    touch_downs: Array
    lift_offs: Array
    positions: Array
    yaws: Array


@dataclass(frozen=True, eq=False)
class FootMotion:
    """One foot over time.

    Parameters
    ----------
    contact
        (frames,) whether it stands.
    aloft
        (frames,) 0 in stance, smoothly 1 in the middle of a swing.
    toe
        (frames, 3) metres: the toe joint.
    yaw, pitch, toe_pitch
        (frames,) radians: where the foot points, its pitch and that of the toes, toe up positive.
    """

    contact: Array
    aloft: Array
    toe: Array
    yaw: Array
    pitch: Array
    toe_pitch: Array


def follow_footholds(
    limb: BodyLimb, holds: Footholds, clock: Array, tracks: dict[str, Array]
) -> FootMotion:
    """The motion of a foot over its footholds.

    In stance the toe joint keeps its place; the foot rolls from the heel onto the toes, the toe
    joint coming down where it will stand. In swing it goes to the next foothold, smooth to the
    second derivative.

    Parameters
    ----------
    clock : (frames,)
        The readings of the footholds' clock.
    tracks
        Name -> (frames,): step_height (m), strike, toe_off, swing_flexion (radians), loading
        (clock units), as of a Gait.
    """
    index = np.searchsorted(holds.touch_downs, clock, side="right") - 1
    index = np.clip(index, 0, len(holds.touch_downs) - 2)
    down, lift, following = (
        holds.touch_downs[index],
        holds.lift_offs[index],
        holds.touch_downs[index + 1],
    )
    contact = clock < lift
    swing = np.where(contact, 0.0, (clock - lift) / np.maximum(following - lift, 1e-9))
    moved, travelled = smooth_step(swing), brisk_step(swing)
    ground = holds.positions[index] + travelled[:, None] * (
        holds.positions[index + 1] - holds.positions[index]
    )
    yaw = holds.yaws[index] + moved * (holds.yaws[index + 1] - holds.yaws[index])

    strike, toe_off = tracks["strike"], tracks["toe_off"]
    # Paws may roll on and off at once, a heel is down before it rises.
    flat_by = _HEEL_RISE if limb.heel is not None else 0.7
    loading = np.minimum(tracks["loading"], flat_by * (lift - down))
    landed = np.where(contact, 1 - smooth_step((clock - down) / loading), moved)
    air = following - lift
    rising, falling = (1 - _HEEL_RISE) * (lift - down), _HEEL_TOP * air
    left = clock - lift
    # The heel goes on rising as the foot leaves; both flanks in clock units, smooth across it.
    peeled = smooth_step((left + rising) / np.maximum(rising + falling, 1e-9))
    peeled = peeled * (1 - smooth_step((left - falling) / np.maximum(air - falling, 1e-9)))
    size = np.minimum(air / _USUAL_SWING, 1.0) ** 2
    bump = np.where(contact, 0.0, smooth_bump(swing)) * size
    pitch = strike * landed - toe_off * peeled - tracks["swing_flexion"] * bump
    height = limb.standing[1] + tracks["step_height"] * bump
    toe_pitch = -_TOE_HANG * toe_off * np.where(contact, 0.0, moved * (1 - moved))
    if limb.heel is not None:
        landing = np.maximum(strike, 0.0)
        flat = _ball_over_heel(limb, np.zeros(1))
        rise = _ball_over_heel(limb, landing * landed) - flat
        rise_swing = landed * (_ball_over_heel(limb, landing) - flat)
        height = height + np.where(contact, rise, rise_swing)
        toe_pitch = toe_pitch + landing * landed
    toe = np.stack([ground[:, 0], height, ground[:, 1]], axis=1)
    aloft = np.where(contact, 0.0, smooth_step(swing / 0.3) * smooth_step((1 - swing) / 0.3))
    return FootMotion(contact, aloft, toe, yaw, pitch, toe_pitch)


def _ball_over_heel(limb: BodyLimb, pitch: Array) -> Array:
    """(frames,) height of the toe joint over the heel in a foot pitched toe up."""
    along = limb.sole[2]
    return limb.sole[1] * np.cos(pitch) + along * np.sin(pitch)


def gait_footholds(body: Body, line: Timeline, toe_out: float) -> list[Footholds]:
    """Every limb's footholds: each lies under the middle of the body's travel in its stance."""
    return [_limb_footholds(body, number, line, toe_out) for number in range(len(body.limbs))]


def _limb_footholds(body: Body, number: int, line: Timeline, toe_out: float) -> Footholds:
    limb = body.limbs[number]
    clock, seconds = line.limb_cycles[:, number], line.seconds
    # A leg cannot stand while the body goes further than this.
    longest = _LONGEST_STANCE * sum(limb_lengths(body.skeleton, limb))
    downs, lifts = _stances(clock, seconds, line, number, longest)
    down_s, lift_s = (_time_of(event, clock, seconds) for event in (downs, lifts))

    def at(curve: Array, moments: Array) -> Array:
        return np.interp(moments, seconds, curve)

    middle_s = 0.5 * (down_s + lift_s)
    ends = np.stack([[at(curve, down_s), at(curve, lift_s)] for curve in line.path.T], axis=-1)
    centre, half = ends.mean(axis=0), 0.5 * np.linalg.norm(ends[1] - ends[0], axis=-1)
    # Standing long, it rather stands where the body rests, as far as the leg lets it.
    rest = np.stack([at(curve, middle_s) for curve in line.path.T], axis=-1) - centre
    goal = np.clip((lift_s - down_s) / _LONG_STANCE_S - 1.0, 0.0, 0.7)
    room = np.maximum(0.4 * longest - half, 0.0) / np.maximum(np.linalg.norm(rest, axis=-1), 1e-9)
    centre = centre + np.minimum(goal, room)[:, None] * rest
    heading = 0.5 * (at(line.heading, down_s) + at(line.heading, lift_s))
    side = np.sign(limb.standing[0])
    across = limb.standing[0] + side * at(line.tracks["width"], middle_s)
    ahead = limb.standing[2] + at(line.tracks["forward"][:, number], middle_s)
    sine, cosine = np.sin(heading), np.cos(heading)
    offset = np.stack([cosine * across + sine * ahead, cosine * ahead - sine * across], axis=1)
    return Footholds(downs, lifts, centre + offset, heading + side * toe_out)


def _time_of(event: Array, clock: Array, seconds: Array) -> Array:
    # The slope makes a clock that stands or trembles invertible.
    rising = np.maximum.accumulate(clock) + 1e-9 * np.arange(len(clock))
    return np.interp(event, rising, seconds)


def _stances(
    clock: Array, seconds: Array, line: Timeline, number: int, longest: float
) -> tuple[Array, Array]:
    """Clock readings of the touch-downs and lift-offs of one limb."""
    rising = np.maximum.accumulate(clock)
    cycle = np.arange(np.floor(clock[0]) - 1, np.ceil(rising[-1]) + 1)

    def reached(share: Array) -> Array:
        """Clock reading at which each cycle first passes a share of itself; inf for never."""
        moments = _time_of(cycle, clock - share, seconds)
        return np.where(cycle < (clock - share).max(), np.interp(moments, seconds, rising), np.inf)

    lifts = reached(line.tracks["duty"][:, number])
    hop_lifts, hop_downs = (reached(share) for share in line.tracks["hop"].T)
    hops = np.isfinite(hop_downs) & (hop_downs + _SHORTEST_LANDING < lifts)
    hops[hops] = hop_downs[hops] - hop_lifts[hops] >= _SHORTEST_HOP
    # Each cycle has a touch-down and a lift-off, and with a hop another two.
    downs = np.concatenate([cycle, hop_downs[hops]])
    lifts = np.concatenate([np.where(hops, hop_lifts, lifts), lifts[hops]])
    order = np.argsort(downs, kind="stable")
    downs, lifts = downs[order], lifts[order]
    travelled = np.concatenate(
        [[0.0], np.cumsum(np.linalg.norm(np.diff(line.path, axis=0), axis=1))]
    )
    limits = np.interp(_time_of(downs, clock, seconds), seconds, travelled) + longest
    out_of_reach = np.interp(limits, travelled + 1e-9 * np.arange(len(clock)), rising)
    lifts = np.where(limits < travelled[-1], np.minimum(lifts, out_of_reach), lifts)
    lifts[:-1] = np.clip(lifts[:-1], downs[:-1], downs[1:])

    left_s, landed_s = (_time_of(event, clock, seconds) for event in (lifts[:-1], downs[1:]))
    stands = np.interp(0.5 * (left_s + landed_s), seconds, line.tracks["stands"])
    stuck = (stands > _STANDS) & (landed_s - left_s > _LONG_SWING_S)
    # A foot that would not come down again before the body rests for good does not leave either.
    stuck |= (downs[1:] > rising[-1]) & (line.tracks["stands"][-1] > _STANDS)
    short = (landed_s - left_s < _SHORTEST_SWING_S) & (downs[1:] <= rising[-1])
    keep = ~(stuck | short) & (lifts[:-1] < downs[1:])
    downs = np.append(downs[np.append(True, keep)], rising[-1] + 2.0)
    lifts = np.append(lifts[np.append(keep, False)], [rising[-1] + 1.0, rising[-1] + 3.0])
    return downs, lifts
