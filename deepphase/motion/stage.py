"""Stage of a motion: a path over the ground is bent so that the body stays on a rectangle.

The body is turned about the foot that it stands on, and only while it stands on one, so that no
foot slides by it. Poses do not change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.roles import Roles
from deepphase.motion.root_trajectory import RootTrajectory

# Seconds by which the path is looked ahead, and in which a turn that it needs is made.
_AHEAD_S, _TURN_S = (1.0, 2.0, 4.0), 0.6
# Largest rate of the turn, time in which it is reached, and seconds at the ends of a stance in
# which it fades.
_MAX_RATE, _SMOOTHING_S, _FADE_S = np.radians(150.0), 0.15, 0.08
# The path is bent towards this share of the stage, so that hands and feet stay on it as well.
_INSIDE = 0.8
# Share of the way from the middle to the nearest place on the stage to which the path is turned.
_PULL = 0.3
_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True, eq=False)
class StagedMotion:
    """Motion on a stage around the origin.

    Parameters
    ----------
    clip, root
        The motion and its root trajectory.
    outside_m
        Largest distance of the hips from the stage, in metres; 0 if they never leave it.
    """

    clip: Clip
    root: RootTrajectory
    outside_m: float


def on_stage(
    clip: Clip, roles: Roles, root: RootTrajectory, width: float, depth: float
) -> StagedMotion:
    """Bend the path of a motion so that the hips stay on a stage.

    Parameters
    ----------
    clip
        The motion.
    roles
        Roles of its skeleton's joints; the feet are needed.
    root
        Its root trajectory.
    width, depth
        Metres along X and Z; the stage's middle is the origin, where the motion begins.

    Raises
    ------
    ParameterError
        If the stage is not at least half a metre wide and deep.
    """
    if not (np.isfinite([width, depth]).all() and min(width, depth) >= 0.5):
        raise ParameterError(
            f"a stage of {width:g} by {depth:g} m is not possible",
            hint="give at least 0.5 m in both directions",
        )
    transforms = global_transforms(clip)
    feet = roles.both("toe") or roles.both("foot")
    flags = foot_contacts(clip, roles, transforms=transforms).flags[:, :2]
    assert feet is not None
    ground = _complex(root.positions[:, [0, 2]])
    ground = ground - ground[0]
    shift = _complex(root.positions[:1, [0, 2]])[0]
    toes = np.stack([_complex(transforms[1][:, foot][:, [0, 2]]) for foot in feet], axis=1) - shift
    half = 0.5 * (depth + 1j * width)
    angles, moves = _bend(ground, toes, flags, half, clip.fps)
    places = np.exp(1j * angles) * ground + moves
    beyond = np.maximum(np.abs(places.real) - half.real, np.abs(places.imag) - half.imag)
    return StagedMotion(
        _moved(clip, angles, moves, shift),
        RootTrajectory.of_ground(
            np.stack([places.imag, places.real], axis=1), root.angles + angles
        ),
        float(max(beyond.max(), 0.0)),
    )


def _bend(
    ground: Array, toes: Array, flags: Array, half: complex, fps: float
) -> tuple[Array, Array]:
    """(frames,) angles and complex moves: a point p of the ground goes to exp(i angle) p + move."""
    frames = len(ground)
    gate, pivots = _stances(ground, toes, flags, fps)
    steps = [max(round(each * fps), 1) for each in _AHEAD_S]
    ahead = np.stack([ground[np.minimum(np.arange(frames) + step, frames - 1)] for step in steps])
    angles, moves = np.zeros(frames), np.zeros(frames, complex)
    angle, move, rate = 0.0, 0j, 0.0
    keep = 1.0 - np.exp(-1.0 / (_SMOOTHING_S * fps))
    for frame in range(frames):
        turn = np.exp(1j * angle)
        here = turn * ground[frame] + move
        rate += keep * (_rate(here, turn * (ahead[:, frame] - ground[frame]), half) - rate)
        change = rate * gate[frame] / fps
        # The pivot stays where it is.
        move += (turn - np.exp(1j * (angle + change))) * pivots[frame]
        angle += change
        angles[frame], moves[frame] = angle, move
    return angles, moves


def _rate(here: complex, steps: Array, half: complex) -> float:
    """Rate of the turn that brings the path ahead onto the stage, in radians a second."""
    limit = _INSIDE * half
    for step in steps.tolist():
        goal = here + step
        inside = complex(
            min(max(goal.real, -limit.real), limit.real),
            min(max(goal.imag, -limit.imag), limit.imag),
        )
        if inside == goal or abs(step) < 0.05:
            continue
        # Towards the middle rather than along the edge, which ends in a corner.
        desired = _PULL * inside - here
        error = float(np.angle(desired * np.conj(step)))
        return float(np.clip(error / _TURN_S, -_MAX_RATE, _MAX_RATE))
    return 0.0


def _stances(ground: Array, toes: Array, flags: Array, fps: float) -> tuple[Array, Array]:
    """(frames,) share of the turn that a stance allows, 0 on two feet, and its point."""
    left, right = flags[:, 0], flags[:, 1]
    # 0 in the air, 1 and 2 on one foot, 3 on both.
    kind = left.astype(int) + 2 * right
    edges = np.flatnonzero(np.diff(kind)) + 1
    starts, stops = np.concatenate([[0], edges]), np.concatenate([edges, [len(kind)]])
    gate, pivots = np.zeros(len(kind)), ground.copy()
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        if kind[start] == 3:
            continue
        index = np.arange(start, stop)
        nearest = np.minimum(index - start + 0.5, stop - index - 0.5) / (_FADE_S * fps)
        gate[start:stop] = np.minimum(nearest, 1.0)
        if kind[start]:
            # A standing toe hardly moves: its mean place.
            pivots[start:stop] = toes[start:stop, kind[start] - 1].mean()
    return gate, pivots


def _moved(clip: Clip, angles: Array, moves: Array, shift: complex) -> Clip:
    turns = quaternions.about_axis(_UP, angles)
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[:, 0] = quaternions.multiply(turns, clip.rotations[:, 0])
    places = np.exp(1j * angles) * (_complex(clip.translations[:, 0][:, [0, 2]]) - shift) + moves
    translations[:, 0, 0], translations[:, 0, 2] = places.imag, places.real
    return replace(
        clip, rotations=quaternions.sign_continuous(rotations), translations=translations
    )


def _complex(ground: Array) -> Array:
    """(n,) z + i x of (n, 2) x and z: a turn about Y by an angle multiplies it by exp(i angle)."""
    return ground[:, 1].astype(np.float64) + 1j * ground[:, 0]
