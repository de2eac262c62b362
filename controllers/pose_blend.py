"""Characters that go on from a pose that is shown: the difference from their own is blended out."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from controllers.character import Character, Tracks
from controllers.character_frame import CharacterSettings
from controllers.controller import Controller
from controllers.starts import Starts
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.inertialization import (
    angular_velocities,
    inertialized_rotations,
    rotation_offsets,
)
from deepphase.steering.movers import Movers
from deepphase.steering.run import Frame
from deepphase.steering.springs import decayed

Array = np.ndarray

# Seconds in which half of the difference is gone.
HALFLIFE_S = 0.3


class Shown(NamedTuple):
    """What characters show: the poses of this frame and of the one before, as `Frame` has them.

    Parameters
    ----------
    rotations_before, rotations
        (characters, joints, 4).
    translations_before, translations
        (characters, translated joints, 3) metres.
    positions, angles
        (characters, 2) m and (characters,) rad: the roots of this frame.
    """

    rotations_before: Array
    rotations: Array
    translations_before: Array
    translations: Array
    positions: Array
    angles: Array


class BlendedCharacter:
    """Characters that begin with moments of their own, at the place and in the pose of others.

    Parameters
    ----------
    controller, starts
        As of `Character`.
    shown
        Where they are, and how they move.
    settings
        How they run; feet are not held.
    seed
        Of a network that draws.
    tracks
        As for `Character.step`, of the first frame.
    """

    def __init__(
        self,
        controller: Controller,
        starts: Starts,
        shown: Shown,
        settings: CharacterSettings,
        seed: int,
        tracks: Tracks | None,
    ) -> None:
        self._character = Character(
            controller,
            starts,
            positions=shown.positions,
            angles=shown.angles,
            settings=replace(settings, foot_ik=False),
            seed=seed,
        )
        self._seconds = 1.0 / controller.fps
        self._shown = shown
        # Stands for the frame that is shown: what the next one moves from.
        first = self._character.step(None, tracks)
        self._first: Frame | None = first
        self._turn = self._turning = self._shift = self._shifting = np.zeros(0)
        self._later_s = 0.0

    @property
    def phases(self) -> PhaseParameters | None:
        """As `Character.phases`."""
        return self._character.phases

    @property
    def movers(self) -> Movers:
        """As `Character.movers`."""
        return self._character.movers

    @property
    def seen(self) -> tuple[Array, Array]:
        """As `Character.seen`."""
        return self._character.seen

    def step(self, follower: None = None, tracks: Tracks | None = None) -> Frame:
        """As `Character.step`, with what is left of the difference."""
        frame = self._character.step(follower, tracks)
        if self._first is not None:
            self._begin(self._first, frame)
            self._first = None
        self._later_s += self._seconds
        rotations = inertialized_rotations(
            self._turn, self._turning, frame.rotations, HALFLIFE_S, self._later_s
        ).astype(np.float32)
        left, _ = decayed(self._shift, self._shifting, HALFLIFE_S, self._later_s)
        translations = (frame.translations + left).astype(np.float32)
        return replace(frame, rotations=rotations, translations=translations)

    def _begin(self, before: Frame, after: Frame) -> None:
        """Keep the difference between what was shown and the frame that stands for it."""
        old, seconds = self._shown, self._seconds
        self._turn, self._turning = rotation_offsets(
            old.rotations,
            angular_velocities(old.rotations_before, old.rotations, seconds),
            before.rotations,
            angular_velocities(before.rotations, after.rotations, seconds),
        )
        self._shift = old.translations - before.translations
        moved = old.translations - old.translations_before
        self._shifting = (moved - (after.translations - before.translations)) / seconds
