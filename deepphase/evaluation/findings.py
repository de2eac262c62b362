"""Findings of a run in words: what someone who watches it would see first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from deepphase.arrays import Array, true_runs
from deepphase.evaluation.measurement import ObservedRun, sliding_of_data
from deepphase.evaluation.motion_measures import (
    BENT_BACK,
    FEET_APART,
    TRUNK,
    MeasuredMotion,
    most_at_speed,
    seconds_of,
    smoothed_velocities,
    trunk_beyond,
)
from deepphase.evaluation.run_measures import AT_REST_M_S, RUNAWAY_M, idle_speeds
from deepphase.motion.clip import velocities
from deepphase.steering.laid_run import FeetOnGround
from deepphase.steering.run import Run
from deepphase.steering.springs import wrapped_angle

ANSWERED = 0.66
"""Share of a desired speed from which on it is answered, in its direction."""
# Multiple of the desired speed beyond which a character has run away.
_TOO_FAST = 1.25
# A character stands in a second if its joints move less than this share of the data's slowest
# travel, or its root less than this share of the desired speed.
_STILL_SHARE, _SLOW_SHARE = 0.5, 0.25
# Share of the seconds with a desired speed in which a statue stands.
_STATUE_SHARE = 0.25
# Share of the data's idle movement below which a body that stands is lifeless.
_LIFELESS_SHARE = 0.25
# Share of the frames on cliffs from which on they are said, and of the contact frames with feet in
# the ground or above it.
_CLIFF_SHARE, _OFF_GROUND_SHARE = 0.01, 0.25
# Share of a character's frames beyond the data's from which on bent knees are said.
_BENT_SHARE = 0.002
# A goal is ignored where it is not answered for so many seconds.
_IGNORED_S = 2.0
# Multiples of the data's usual acceleration of a joint that jumps and of the speed of feet that
# slide; seconds that a trunk leans.
_JUMP, _SLIDES, _LEAN_S = 2.5, 2.5, 0.25
# Feet that are all higher than this share of the leg for so long leap: those of runs and gallops
# are at half of it. Hips below this share of their usual height for so long crouch.
_LEAP_SHARE, _LEAP_S, _CROUCH_SHARE, _CROUCH_S = 0.25, 0.1, 0.8, 0.25
# Share of steps on the foot of the step before from which on bodies skip; seconds of a lifted foot.
_SKIP_SHARE, _LIFTED_S = 0.25, 0.1
# Multiple of the data's usual distance between the feet at the same speed, for so long; share of
# the leg that a body is off its path.
_APART, _APART_S, _OFF_PATH = 1.2, 0.1, 0.75
_STRIDES = (("splayed the legs", "sideways"), ("lunged", "lengthways"))
_WAYS = ("ahead", "back", "aside", "suddenly")
# Metres a second by which they are faster at least; the contacts of captures slide at up to .08.
_SLIDES_MORE = 0.1
# Seconds from which on a path's delay is said.
_LATE_S = 0.5
# Share of frames whose facing was replaced by the direction of travel from which on it is said.
_REPLACED_SHARE = 0.05


def run_findings(observed: ObservedRun) -> list[str]:
    """Sentences on characters that did not do what was desired; empty if all did."""
    run, data, findings = observed.run, observed.data, list[str]()
    count = run.characters
    lost = ~run.alive.all(axis=1)
    if lost.any():
        first = min(run.lived(index) for index in np.flatnonzero(lost).tolist()) / run.fps
        was = "was" if lost.sum() == 1 else "were"
        findings.append(
            f"{_some(int(lost.sum()), count)} {was} lost, first after {first:.1f} s: the values "
            "were not those of a body any more; try a slower or smoother path, or train longer"
        )
    if len(run) < round(run.fps) or run.commanded_velocities is None:
        return findings
    desired = np.linalg.norm(run.commanded_velocities, axis=-1)
    # Motion matching searches; a controller does not.
    other_way = "" if "cost" in run.tracks else ", or motion matching, which plays captured poses"
    living = np.flatnonzero(~lost)
    motions = dict(zip(observed.characters, observed.motions, strict=True))
    bodies = [motions[index] for index in living.tolist()]
    if away := _runaways(run, living, desired, float(data.get("standing_speed", 0.0))):
        findings.append(
            f"{_some(len(away), count)} ran away: the worst {away[0]}; try a lower --speed, "
            "or of a controller --blend responsive, or more clips of that speed"
        )
    if ignored := [found for i in living.tolist() if (found := _ignored(run, i, data))]:
        slow, desired_speed, way = min(ignored, key=lambda each: each[0] / each[1])
        findings.append(
            f"{_some(len(ignored), count)} ignored the goal for {_IGNORED_S:g} s and more: the "
            f"worst went {slow:.2f} of {desired_speed:.2f} m/s, {way:.0f} degrees off its facing; "
            f"try clips that go so{other_way}"
        )
    off = observed.path_distances
    ways = [] if off is None else [(off[i], motions[i].leg) for i in living.tolist()]
    # Those that are off it all the time have run away.
    left = [own for own, leg in ways if own.max() > _OFF_PATH * leg > 0 and own.mean() < RUNAWAY_M]
    if left:
        most = max(left, key=np.max)
        findings.append(
            f"{_some(len(left), count)} left the path by up to {100 * most.max():.0f} cm "
            f"({most.argmax() / run.fps:.1f} s); try a slower or rounder path{other_way}"
        )
    if statues := [i for i in living.tolist() if _is_statue(run, i, motions[i], data, desired[i])]:
        findings.append(
            f"{_some(len(statues), count)} stood like a statue in more than {_STATUE_SHARE:.0%} "
            "of the seconds in which movement was desired; try another start pose, or train longer"
        )
    standing = float(data.get("standing_speed", np.inf))
    at_rest = [_speed_at_rest(run, i, standing, desired[i]) for i in living.tolist()]
    if fast := [speed for speed in at_rest if speed > standing]:
        findings.append(
            f"{_some(len(fast), count)} walked on where standing was desired: at up to "
            f"{max(fast):.2f} m/s in the slowest half second, or after they stood; try more clips "
            "that stop, or of a controller training.made_stops=0.3"
        )
    resting = [idle_speeds(motions[i], desired[i]) for i in living.tolist()]
    life = _LIFELESS_SHARE * float(data.get("idle_speed", 0.0))
    if lifeless := [own for own in resting if own.size and own.mean() < life]:
        findings.append(
            f"{_some(len(lifeless), count)} stood without life: joints move less than a quarter as "
            f"fast as in the data's idle frames ({100.0 * data['idle_speed']:.1f} cm/s); try more "
            "clips of bodies that stand"
        )
    share = _BENT_SHARE + float(data.get("bent_back", 0.0))
    bends = [each.bends for each in bodies if each.bends.size]
    if bent := [-float(own.min()) for own in bends if (own < -BENT_BACK).mean() > share]:
        findings.append(
            f"{_some(len(bent), count)} bent a knee backward: the worst by {max(bent):.0%} of "
            f"the leg; try clips that go as desired{other_way}"
        )
    usual = float(data.get("usual_acceleration", np.inf))
    jumps = [most for each in bodies if (most := each.accelerations.max()) > _JUMP * usual]
    if jumps:
        findings.append(
            f"joints of {_some(len(jumps), count)} jumped: at up to {max(jumps):,.0f} m/s2, where "
            f"the data have {usual:,.0f}; try a slower goal, or more clips that go as desired"
        )
    if leaps := [most for i in living.tolist() if (most := _leap(run, motions[i])) > _LEAP_SHARE]:
        findings.append(
            f"{_some(len(leaps), count)} leaped: all feet were up to {max(leaps):.0%} of a leg "
            "over the ground; try clips without jumps"
        )
    if skips := [share for each in bodies if (share := _skips(each)) >= _SKIP_SHARE]:
        findings.append(
            f"{_some(len(skips), count)} skipped or hopped: {max(skips):.0%} of the steps were on "
            "the foot of the step before; try clips that walk and run"
        )
    for name, (did, along) in zip(FEET_APART, _STRIDES, strict=True):
        if wide := [found for each in bodies if (found := _feet_apart(each, data, name))]:
            _, apart, own, speed, second = max(wide)
            findings.append(
                f"{_some(len(wide), count)} {did}: feet up to {100 * apart:.0f} cm apart {along} "
                f"at {speed:.1f} m/s ({second:.1f} s), where the data have {100 * own:.0f}; try "
                f"the speed and the turns of the data{other_way}"
            )
    usual_hips = float(np.median(np.concatenate([each.hip_heights for each in bodies] or [[1.0]])))
    lows = [_lowest_hips(motions[i], desired[i]) / usual_hips for i in living.tolist()]
    if crouches := [low for low in lows if low < _CROUCH_SHARE]:
        findings.append(
            f"{_some(len(crouches), count)} crouched where travel was desired: the hips sank to "
            f"{min(crouches):.0%} of their usual height; try a slower goal, or clips that stay up"
        )
    pairs = [motions[i].contact_pairs(observed.flags(i)) for i in living.tolist()]
    sliding = [(float(own[0].mean()), sliding_of_data(own, data)) for own in pairs if own.size]
    if slides := [(v, own) for v, own in sliding if v > max(_SLIDES * own, own + _SLIDES_MORE)]:
        most, own = max(slides)
        findings.append(
            f"feet of {_some(len(slides), count)} slid: at up to {100 * most:.0f} cm/s, where the "
            f"data have {100 * own:.0f} at this speed; try the speed and the turns of the data"
        )
    beyond = [trunk_beyond(each, data) for each in bodies]
    for turns, did in enumerate(("leaned", "turned")):
        trunks = [_trunk(*each, data, turns > 0) for each in zip(bodies, beyond, strict=True)]
        if odd := list(filter(None, trunks)):
            _, own, usual, speed, second, way = max(odd)
            findings.append(
                f"{_some(len(odd), count)} {did} the trunk {_WAYS[int(way)]}: by up to {own:.0f} "
                f"degrees at {speed:.1f} m/s ({second:.1f} s), where the data have "
                f"{usual:.0f} at most; try the speed and the turns of the data{other_way}"
            )
    different = _different(run, living, np.linspace(len(run) // 2, len(run) - 1, 8).astype(int))
    if different < len(living):
        begun = _different(run, living, np.zeros(1, int))
        cause = "there are no more start poses; try more clips"
        if begun > different:
            cause = f"{begun} start poses differ, and the same goals lead to the same frames"
        findings.append(
            f"{len(living)} characters move as {different}: the others are exactly alike; {cause}"
        )
    replaced = run.tracks.get("facing_replaced")
    if replaced is not None and replaced.mean() > _REPLACED_SHARE:
        findings.append(
            f"in {replaced.mean():.0%} of the frames the facing was the direction of travel: the "
            "data has too little motion that travels with the desired facing"
        )
    return findings


def time_findings(run: Run) -> list[str]:
    """The sentence on a path whose times were not kept; empty where they were, or without one."""
    delays, path = run.path_delays, run.path
    if path is None or delays is None or delays.max() < _LATE_S:
        return []
    causes = ["waits for characters that lag"]
    if path.given_times is not None:
        slowed = path.duration - float(np.ptp(path.given_times))
        causes.insert(0, f"slows at corners that bodies cannot turn, by {slowed:.1f} s in all,")
    late = f"{delays.max():.1f} s late at the end"
    return [f"the times of the path were not kept ({late}): it {' and '.join(causes)}"]


def ground_findings(feet: Sequence[FeetOnGround], *, laid: bool) -> list[str]:
    """Sentences on cliffs, and on feet in contact in the ground or above it; empty without any."""
    found = [each.ground for each in feet if each.ground is not None]
    if not found:
        return []
    findings = []
    cliffs = float(np.mean([each["cliffs"] for each in found]))
    if cliffs > _CLIFF_SHARE:
        findings.append(
            f"in {cliffs:.0%} of the frames the ground under both feet differs by more than half a "
            "leg, where no body walks: smooth the heights, or save them as .npz with "
            "the right spacing and in metres"
        )
    deep, floating = (
        float(np.mean([each[name] for each in found])) for name in ("deep", "floating")
    )
    if deep + floating > _OFF_GROUND_SHARE:
        findings.append(
            f"feet in contact were in the ground in {deep:.0%} of the frames and above it in "
            f"{floating:.0%}"
            + (": the motion was made on a flat floor and laid on the ground" if laid else "")
        )
    return findings


def _some(some: int, count: int) -> str:
    return f"{some} of {count} characters" if count > 1 else "the character"


def _runaways(run: Run, living: Array, desired_speeds: Array, standing: float) -> list[str]:
    """What each runaway did, the worst first."""
    # Over half a second: bodies that sway do not travel.
    half = round(0.5 * run.fps)
    steps = run.positions[living, half:] - run.positions[living, :-half]
    speeds = np.linalg.norm(steps, axis=-1).mean(axis=1) * (run.fps / half)
    desired = desired_speeds[living].mean(axis=1)
    too_fast = (
        (desired > 0) & (run.path is None) & (speeds > np.maximum(_TOO_FAST * desired, standing))
    )
    away = np.zeros(len(living))
    if run.desired_positions is not None:
        offsets = run.positions[living] - run.desired_positions[living]
        away = np.linalg.norm(offsets, axis=-1).mean(axis=1)
    found = np.flatnonzero(too_fast | (away > RUNAWAY_M))
    order = found[np.lexsort((speeds[found], away[found]))[::-1]]
    fetching = np.zeros(len(living))
    if "ball_lost" in run.tracks:
        fetching = run.tracks["ball_lost"][living].sum(axis=1) / run.fps
    return [
        f"at {speeds[each]:.2f} m/s where {desired[each]:.2f} m/s was desired, {away[each]:.2f} m "
        "from the desired place on average"
        + (f"; its ball was lost for {fetching[each]:.1f} s" if fetching[each] else "")
        for each in order.tolist()
    ]


def _speed_at_rest(run: Run, character: int, standing: float, desired: Array) -> float:
    """m/s: the largest, of goals that stood for 1 s, of the slowest half second or what followed
    it."""
    speeds = np.linalg.norm(velocities(run.positions[character], run.fps), axis=-1)
    half, found = round(0.5 * run.fps), 0.0
    for begin, end in true_runs(desired < AT_REST_M_S):
        if end - begin > round(run.fps):
            means = np.convolve(speeds[begin:end], np.full(half, 1.0 / half), "valid")
            slowest = float(means.min())
            if slowest < standing:
                stood = begin + int(np.argmax(means < standing))
                after = speeds[stood : end - half]
                slowest = float(after.mean()) if len(after) >= half else slowest
            found = max(found, slowest)
    return found


def _leap(run: Run, motion: MeasuredMotion) -> float:
    """The highest that all feet stay over the ground for `_LEAP_S`, as a share of the leg."""
    heights = motion.lowest[:, 1]
    if run.spec.ground is not None:
        heights = heights - run.spec.ground.at(motion.lowest[:, ::2])
    air = minimum_filter1d(heights - np.percentile(heights, 5), round(_LEAP_S * run.fps))
    return float(air.max() / motion.leg) if motion.leg else 0.0


def _feet_apart(
    motion: MeasuredMotion, data: Mapping[str, Any], name: str
) -> tuple[float, ...] | None:
    """Where feet are further apart than the data's: how much, metres, the data's, m/s, seconds."""
    own = most_at_speed(motion, name, data)
    apart = motion.feet_apart[:, FEET_APART.index(name)]
    apart = minimum_filter1d(apart, max(1, round(_APART_S * motion.fps)))
    at = int((apart / own).argmax())
    found = (apart[at] / own[at], apart[at], own[at], motion.smoothed_speeds[at], at / motion.fps)
    return tuple(map(float, found)) if found[0] > _APART else None


def _trunk(
    motion: MeasuredMotion, beyond: Array, data: Mapping[str, Any], turns: bool
) -> tuple[float, ...] | None:
    """Where the trunk turns as the data do not, or leans so for `_LEAN_S`: degrees beyond, degrees,
    the data's, m/s, seconds, and which of `TRUNK`."""
    held = minimum_filter1d(beyond, 1 if turns else 1 + round(_LEAN_S * motion.fps), axis=0)
    held[:, slice(3) if turns else slice(3, None)] = -np.inf
    at, way = np.unravel_index(held.argmax(), held.shape)
    usual, speed = most_at_speed(motion, TRUNK[way], data)[at], motion.smoothed_speeds[at]
    found = (held[at, way], motion.trunk[at, way], usual, speed, at / motion.fps, way)
    return tuple(map(float, found)) if found[0] > 0.0 else None


def _skips(motion: MeasuredMotion) -> float:
    """Share of the steps of a body on two feet that travels which the foot before makes again."""
    lifted, feet = _LIFTED_S * motion.fps, motion.contacts.T
    travels = motion.smoothed_speeds > 3.0 * motion.standing_speed
    landings = sorted(
        (start, foot)
        for foot, flags in enumerate(feet)
        for (_, before), (start, _) in pairwise([(-len(flags), 0), *true_runs(flags)])
        if start - before > lifted and travels[start]
    )
    # A body that has stopped begins on either foot.
    pairs = [pair for pair in pairwise(landings) if travels[pair[0][0] : pair[1][0]].all()]
    again = sum(before == foot for (_, before), (_, foot) in pairs)
    return again / len(landings) if len(feet) == 2 and again > 1 else 0.0


def _lowest_hips(motion: MeasuredMotion, desired: Array) -> float:
    """Metres: the lowest hips for `_CROUCH_S` where travel is desired; infinite without any."""
    high = maximum_filter1d(motion.hip_heights, round(_CROUCH_S * motion.fps))
    return float(high.min(where=desired[: len(high)] > 2.0 * motion.standing_speed, initial=np.inf))


def _ignored(run: Run, character: int, data: Mapping[str, Any]) -> tuple[float, ...] | None:
    """m/s for seconds in the desired direction, and desired, and degrees of that direction from
    the facing, where the share is least."""
    assert run.commanded_velocities is not None
    commands = run.commanded_velocities[character]
    desired = np.maximum(np.linalg.norm(commands, axis=-1), 1e-6)
    speeds = np.vecdot(smoothed_velocities(run.positions[character], run.fps), commands) / desired
    changed = np.linalg.norm(np.diff(commands, axis=0, prepend=commands[:1]), axis=-1)
    asked = desired > float(data.get("standing_speed", np.inf))
    # A path waits, and its goals are slow, for a character that has stopped beside it.
    if run.desired_positions is not None:
        gaps = run.positions[character] - run.desired_positions[character]
        asked |= (np.linalg.norm(gaps, axis=-1) > RUNAWAY_M) & (desired > AT_REST_M_S)
    low = (speeds < ANSWERED * desired) & asked
    off = np.abs(wrapped_angle(np.arctan2(*commands.T) - run.angles[character])) * 180.0 / np.pi
    found = [
        tuple(float(each[begin:end].mean()) for each in (speeds, desired, off))
        for begin, end in true_runs(low & (changed < 0.2 * desired))
        if end - begin >= _IGNORED_S * run.fps
    ]
    return min(found, key=lambda each: each[0] / each[1], default=None)


def _different(run: Run, living: Array, frames: Array) -> int:
    """Number of characters of which no two have the same poses in these frames."""
    poses = run.rotations[living][:, frames, 1:].reshape(len(living), -1)
    return len(np.unique(np.round(poses, 3), axis=0))


def _is_statue(
    run: Run, character: int, motion: MeasuredMotion, data: Mapping[str, Any], desired: Array
) -> bool:
    desired = seconds_of(desired, run.fps)
    required = desired > float(data.get("standing_speed", 0.0))
    moved = seconds_of(motion.pose_speeds.mean(axis=1), run.fps)
    travel = np.linalg.norm(velocities(run.positions[character], run.fps), axis=-1)
    stands = moved < _STILL_SHARE * float(data.get("still_speed", 0.0))
    stands |= seconds_of(travel, run.fps) < _SLOW_SHARE * desired
    return bool(required.any() and stands[required].mean() > _STATUE_SHARE)
