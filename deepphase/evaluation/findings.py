"""Findings of a run in words: characters that ran away, stood still or bent a knee backward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.evaluation.motion_measures import BENT_BACK, MeasuredMotion, limb_bends
from deepphase.evaluation.run_measures import AT_REST_M_S, RUNAWAY_M, idle_speeds
from deepphase.evaluation.runs import seconds_of
from deepphase.motion.kinematics import joint_positions, velocities
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import to_root_space
from deepphase.steering.laid_run import FeetOnGround
from deepphase.steering.run import Run

# Multiple of the desired speed beyond which a character has run away.
_TOO_FAST = 1.25
# A character stands in a second if its joints move less than this share of the data's slowest
# travel, or its root less than this share of the desired speed.
_STILL_SHARE, _SLOW_SHARE = 0.5, 0.25
# Share of the seconds with a desired speed in which a statue stands.
_STATUE_SHARE = 0.25
# Share of the data's idle movement below which a body that stands is lifeless.
_LIFELESS_SHARE = 0.5
# Share of the frames on cliffs from which on they are said, and of the contact frames with feet in
# the ground or above it.
_CLIFF_SHARE, _OFF_GROUND_SHARE = 0.01, 0.25
# Share of a character's frames beyond the data's from which on bent knees are said.
_BENT_SHARE = 0.002
# Share of frames whose facing was replaced by the direction of travel from which on it is said.
_REPLACED_SHARE = 0.05


def run_findings(run: Run, data: Mapping[str, Any]) -> list[str]:
    """Sentences on characters that did not do what was desired; empty if all did.

    ========  ====================================================================================
    lost      the values of the character were not those of a body any more
    ran away  the distance from the desired place is above 0.5 m on average, or the mean speed is
              above 1.25 times the desired one
    statue    in more than a quarter of the seconds with a desired speed, the joints moved less than
              half as fast as in the data's slowest travel, or the root less than a quarter as fast
              as desired
    walks on  where standing was desired for a second or more, no half second of the root was as
              slow as a body that stands, or it moved faster again more than half a second before
              the goal did
    lifeless  where standing was desired, the joints moved less than half as fast as in the idle
              frames of the data, as a mean over its seconds
    knees     in more than 0.2 % of the legs' frames beyond the share in the data, a knee lies 3 cm
              (of an adult's leg) behind the line from hip to ankle
    facing    in more than a twentieth of the frames, the character faced its direction of travel
              because the data has no motion that travels as desired with the desired facing
    ========  ====================================================================================

    Lost characters are in no other count. Characters that lived less than a second are not judged.

    `data` has the measures of the captured motion by `motion_measures.measured_data`. What is
    desired is taken from the commanded velocities; without them, only lost characters are found.
    """
    count, findings = run.characters, []
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
    living = np.flatnonzero(~lost)
    away = _runaways(run, living, desired)
    if away:
        findings.append(
            f"{_some(len(away), count)} ran away: the worst {away[0]}; try a lower --speed, "
            "or of a controller --blend responsive, or more clips of that speed"
        )
    statues = [i for i in living.tolist() if _is_statue(run, i, data, desired[i])]
    if statues:
        findings.append(
            f"{_some(len(statues), count)} stood like a statue in more than {_STATUE_SHARE:.0%} "
            "of the seconds in which movement was desired; try another start pose, or train longer"
        )
    standing = float(data.get("standing_speed", np.inf))
    at_rest = [_speed_at_rest(run, i, standing, desired[i]) for i in living.tolist()]
    fast = [speed for speed in at_rest if speed > standing]
    if fast:
        findings.append(
            f"{_some(len(fast), count)} walked on where standing was desired: at up to "
            f"{max(fast):.2f} m/s in the slowest half second, or after they stood; try more clips "
            "that stop, or of a controller training.made_stops=0.3"
        )
    lifeless = [i for i in living.tolist() if _is_lifeless(run, i, data, desired[i])]
    if lifeless:
        findings.append(
            f"{_some(len(lifeless), count)} stood without life: the joints moved less than half as "
            f"fast as in the data's idle frames ({100.0 * data['idle_speed']:.1f} cm/s); try more "
            "clips of bodies that stand"
        )
    if bent := _bent_knees(run, living, data):
        findings.append(
            f"{_some(len(bent), count)} bent a knee backward: the worst by {max(bent):.0%} of "
            "the leg; try clips that go as desired, or motion matching, which plays captured poses"
        )
    replaced = run.tracks.get("facing_replaced")
    if replaced is not None and replaced.mean() > _REPLACED_SHARE:
        findings.append(
            f"in {replaced.mean():.0%} of the frames the facing was the direction of travel: the "
            "data has too little motion that travels with the desired facing"
        )
    return findings


def ground_findings(feet: Sequence[FeetOnGround], *, laid: bool) -> list[str]:
    """Sentences on characters whose feet cannot stand on the ground; empty if they can.

    ======  ======================================================================================
    cliffs  in more than a hundredth of the frames, the ground under both feet of a pair differs by
            more than half a leg
    feet    in more than a quarter of the contact frames, feet are more than 2 cm in the ground or
            more than 3 cm above it
    ======  ======================================================================================

    `laid`: the motion was made on a flat floor, and laid on the ground.
    """
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


def _runaways(run: Run, living: Array, desired_speeds: Array) -> list[str]:
    """What each runaway did, the worst first."""
    steps = np.linalg.norm(np.diff(run.positions[living], axis=1), axis=-1)
    speeds = steps.mean(axis=1) * run.fps
    desired = desired_speeds[living].mean(axis=1)
    too_fast = (desired > 0) & (speeds > _TOO_FAST * desired)
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
    """m/s: the slowest half second while a goal stood, or what followed where that stood.

    The largest of all goals that stood for a second; 0 without any. The last half second belongs to
    the next start, which a path shows ahead.
    """
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


def _bent_knees(run: Run, living: Array, data: Mapping[str, Any]) -> list[float]:
    """The deepest bend of each character whose knees bend backward, as a share of the leg."""
    share, found = _BENT_SHARE + float(data.get("bent_back", 0.0)), []
    roles = find_roles(run.spec.skeleton, description=dict(run.spec.body))
    for character in living.tolist():
        bends = limb_bends(run.spec.skeleton, roles, joint_positions(run.clip(character)))
        if bends.size and (bends < -BENT_BACK).mean() > share:
            found.append(-float(bends.min()))
    return found


def _is_lifeless(run: Run, character: int, data: Mapping[str, Any], desired: Array) -> bool:
    idle = float(data.get("idle_speed", 0.0))
    if not (idle > 0 and (seconds_of(desired, run.fps) < AT_REST_M_S).any()):
        return False
    speeds = idle_speeds(MeasuredMotion(run.clip(character), run.spec), desired)
    return bool(speeds.size and speeds.mean() < _LIFELESS_SHARE * idle)


def _is_statue(run: Run, character: int, data: Mapping[str, Any], desired: Array) -> bool:
    desired = seconds_of(desired, run.fps)
    required = desired > float(data.get("standing_speed", 0.0))
    if not required.any():
        return False
    positions = joint_positions(run.clip(character))[:, run.spec.joint_indices]
    poses = to_root_space(positions.astype(np.float64), run.root_trajectory(character))
    moved = np.linalg.norm(velocities(poses, run.fps), axis=-1).mean(axis=1)
    travel = np.linalg.norm(velocities(run.positions[character], run.fps), axis=-1)
    stands = seconds_of(moved, run.fps) < _STILL_SHARE * float(data.get("still_speed", 0.0))
    stands |= seconds_of(travel, run.fps) < _SLOW_SHARE * desired
    return bool(stands[required].mean() > _STATUE_SHARE)
