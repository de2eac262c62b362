"""Frames of any body by a shared codebook: what two bodies that never met are compared by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import GRAVITY
from deepphase.motion.kinematics import velocities
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.body_points import joints_of
from deepphase.phase.model import PhaseModel

# Frames of one stride differ by as much as a chord of the circle of this radius, in units of the
# codes' own spread; one e-fold of the speed is as far as this.
_PHASE_WEIGHT, _SPEED_WEIGHT = 0.6, 1.0
# Seconds over which the speed of travel is averaged, and the share of sqrt(g * leg length) from
# which on speeds are compared by their ratio.
_SPEED_S, _STILL = 0.5, 0.05
# Columns of `places` with the phase.
_RING = slice(-3, -1)
# Frames of a code below which a body lacks it: one second.
_LACKING = 60
# Times the distance of the nearest code within which others stand in for a code, too.
_NEARLY = 1.5
# Length of the phase in `places` from which on a body strides.
_STRIDES = 0.3


@dataclass(frozen=True, eq=False)
class SharedFrames:
    """Frames of one body on the manifold that all bodies of a model share.

    Parameters
    ----------
    places
        (frames, values): codes, phase and speed. Their Euclidean distance compares any bodies.
    codes
        (frames,) of the first stage.
    phase, frequency
        (frames,) cycles and Hz of the stride.
    """

    places: Array
    codes: Array
    phase: Array
    frequency: Array

    @classmethod
    def of(cls, model: PhaseModel[Any], clips: Iterable[Clip]) -> SharedFrames:
        """Frames of clips of one skeleton, one behind the other.

        Parameters
        ----------
        model
            Of any skeleton, or bound to that of the clips.

        Raises
        ------
        ParameterError
            Where the model has no codebook.
        """
        codebook = getattr(model.network, "codebook", None)
        if codebook is None:
            raise ParameterError(
                "the phase model has no codebook that skeletons share",
                hint="train one: `deepphase train phase PEOPLE DOGS --config shared -o MODEL`",
            )
        centres = codebook.codes.numpy()
        mean, each = (part.numpy() for part in codebook.spread())
        spread = each * np.sqrt(len(mean))
        bound = model if model.bound_from else None
        leg_m = float(codebook.leg_m)
        parts: list[tuple[Array, ...]] = []
        for clip in clips:
            if bound is None:
                signals, plan = joints_of(clip)
                bound, leg_m = model.bound_to(signals, plan), plan.leg_m
            phases = bound.encode(clip)
            assert phases.codes is not None
            values = sum(centres[stage][each] for stage, each in enumerate(phases.codes.T))
            phase = phases.parameters.phase[:, 0]
            speed = _speed(clip, phases.fps, len(phases)) / np.sqrt(GRAVITY * leg_m)
            # A body that stands has no phase.
            moving = speed / (speed + _STILL)
            angle = 2.0 * np.pi * phase
            ring = _PHASE_WEIGHT * moving[:, None] * np.stack([np.sin(angle), np.cos(angle)], 1)
            fast = _SPEED_WEIGHT * np.log(speed + _STILL)
            places = np.concatenate([(values - mean) / spread, ring, fast[:, None]], 1)
            frequency = phases.parameters.frequency[:, 0]
            parts.append((places.astype(np.float32), phases.codes[:, 0], phase, frequency))
        if not parts:
            raise ParameterError("there are no clips to compare", hint="give a store with clips")
        places, codes, phase, frequency = map(np.concatenate, zip(*parts, strict=True))
        return cls(places, codes, phase, frequency)

    def __len__(self) -> int:
        return len(self.places)

    def stand_ins(self, other: SharedFrames) -> dict[int, tuple[int, ...]]:
        """Codes of these frames that another body lacks, and for each the nearest that it has.

        Codes are compared by their values and by the speed, both on average over their frames:
        those up to half as far again as the nearest stand in as well.

        Parameters
        ----------
        other
            Frames of the other body; codes with less than a second of them count as lacking.
        """
        own = other.own_codes
        lacking = np.setdiff1d(self.codes, own)
        if not len(lacking):
            return {}
        theirs = np.stack([other.mean_place(code) for code in own])
        found = {}
        for code in lacking.tolist():
            apart = np.linalg.norm(theirs - self.mean_place(code), axis=1)
            near = np.flatnonzero(apart <= _NEARLY * apart.min())
            found[code] = tuple(own[near[apart[near].argsort()]].tolist())
        return found

    @cached_property
    def own_codes(self) -> Array:
        """Codes that the body has for a second or more, or the one that it has most often."""
        numbers, frames = np.unique(self.codes, return_counts=True)
        return np.asarray(numbers[frames >= min(_LACKING, frames.max())])

    def unshared_words(self, frame: int, other: SharedFrames) -> str:
        """That another body lacks the code of a frame, in a sentence; empty where it has it."""
        code = int(self.codes[frame])
        if code in other.own_codes:
            return ""
        near = ", ".join(map(str, self.stand_ins(other)[code]))
        return (
            f"this moment is not shared: the body that is searched has its code, {code}, for less "
            f"than a second in all; of what that body does, {near} is nearest by stride and speed"
        )

    def mean_place(self, code: int) -> Array:
        """(values,) values and speed of the frames with a code, without their phase."""
        places = self.places[self.codes == code]
        return np.asarray(np.delete(places, _RING, axis=1).mean(0))

    @cached_property
    def moving(self) -> Array:
        """(frames,) bool: the body strides, so that it has a rhythm."""
        return np.asarray(np.linalg.norm(self.places[:, _RING], axis=1) > _STRIDES)


def _speed(clip: Clip, fps: float, frames: int) -> Array:
    """(frames,) m/s over the ground, at another rate."""
    roles = find_roles(clip.skeleton, clip=clip)
    travel = velocities(root_trajectory(clip, roles).positions[:, ::2], clip.fps)
    smooth = uniform_filter1d(travel, max(round(_SPEED_S * clip.fps), 1), axis=0, mode="nearest")
    times = np.arange(len(clip)) / clip.fps
    return np.interp(np.arange(frames) / fps, times, np.linalg.norm(smooth, axis=1))
