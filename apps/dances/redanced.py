"""Dances of which one passage is danced again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.inertialization import (
    angular_velocities,
    from_rotation_vectors,
    inertialized_rotations,
    rotation_offsets,
)
from deepphase.steering.springs import decayed_offset

# Time in which the difference of two poses at a join decays to half, seconds: any two moments of a
# dance may meet there, which differ by more than the jumps of motion matching.
_HALFLIFE_S = 0.3
_UP = np.array([0.0, 1.0, 0.0])


def redanced(clip: Clip, start: int, dance: Clip) -> Clip:
    """A dance in which another one takes the place of a passage.

    The passage begins where the body stands and faces before it, and what follows goes on where it
    ends. Differences between the poses decay after each join.

    Parameters
    ----------
    clip
        The dance.
    start
        First frame of the passage.
    dance
        The motion in its place, at the same rate.

    Raises
    ------
    ParameterError
        If other joints of the bodies are translated, or the passage does not begin in the dance.
    SkeletonError
        If the bodies have other hierarchies.
    """
    dance = dance.in_order_of(clip.skeleton)
    if not np.array_equal(dance.translated_joints, clip.translated_joints):
        raise ParameterError(
            f"the body of {clip.name} is moved by other joints than the dancer's",
            hint="choose a dancer that learned from this dance's collection",
        )
    if not 0 <= start < len(clip):
        raise ParameterError(
            f"frame {start} is not in the dance, which has {len(clip)}",
            hint="choose another passage",
        )
    dance = dance.sliced(0, len(clip) - start)
    stop = start + len(dance)
    joined = clip.sliced(0, start) if start else None
    for part in (dance, clip.sliced(stop, len(clip)) if stop < len(clip) else None):
        if part is not None:
            joined = part if joined is None else _continued(joined, part)
    assert joined is not None, "the passage has a frame"
    return replace(joined, name=clip.name, labels=clip.labels, source=clip.source)


def _continued(before: Clip, after: Clip) -> Clip:
    """The frames of a motion, and those of another one that goes on from its last pose."""
    seconds = 1.0 / before.fps
    last = max(len(before) - 2, 0)
    turning = angular_velocities(before.rotations[last], before.rotations[-1], seconds)
    moving = (before.translations[-1] - before.translations[last]) / seconds
    # The pose that would have come next is that of the join.
    turned = quaternions.multiply(
        from_rotation_vectors(seconds * turning), before.rotations[-1]
    ).astype(before.rotations.dtype)
    moved = before.translations[-1] + (seconds * moving).astype(before.translations.dtype)
    after = _placed(_followed(before, turned[None], moved[None]), after)
    second = min(1, len(after) - 1)
    offset, rate = rotation_offsets(
        turned,
        turning,
        after.rotations[0],
        angular_velocities(after.rotations[0], after.rotations[second], seconds),
    )
    shift = moved - after.translations[0]
    shifting = moving - (after.translations[second] - after.translations[0]) / seconds
    times = (seconds * np.arange(len(after)))[:, None, None]
    return _followed(
        before,
        inertialized_rotations(offset, rate, after.rotations, _HALFLIFE_S, times),
        after.translations + decayed_offset(shift, shifting, _HALFLIFE_S, times),
    )


def _followed(clip: Clip, rotations: Array, translations: Array) -> Clip:
    """A motion with further frames behind it."""
    added = np.concatenate([clip.rotations, rotations.astype(clip.rotations.dtype)])
    places = np.concatenate([clip.translations, translations.astype(clip.translations.dtype)])
    return replace(clip, rotations=quaternions.sign_continuous(added), translations=places)


def _placed(before: Clip, after: Clip) -> Clip:
    """A motion moved and turned on the ground to begin where another one ends."""
    end, begin = (
        root_trajectory(each, find_roles(each.skeleton, clip=each)) for each in (before, after)
    )
    turn = quaternions.about_axis(_UP, end.angles[-1:] - begin.angles[:1])[0]
    ground = np.array([1.0, 0.0, 1.0])
    pivot, goal = begin.positions[0] * ground, end.positions[-1] * ground
    rotations, translations = after.rotations.copy(), after.translations.copy()
    rotations[:, 0] = quaternions.multiply(turn, rotations[:, 0])
    translations[:, 0] = quaternions.rotate(turn, translations[:, 0] - pivot) + goal
    return replace(after, rotations=rotations, translations=translations)
