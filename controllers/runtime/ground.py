"""Uneven ground under characters: heights of their inputs, and their level."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.runtime.body_pose import CharacterFeet
from deepphase.controllers.runtime.parts import CharacterPart, StepInput
from deepphase.controllers.schema.config import TRAJECTORY_HEIGHT
from deepphase.features.trajectory import pairs
from deepphase.terrain.heightmap import SIDES, Heightmap, ground_level, trajectory_heights


class FlatGround(CharacterPart):
    """The floor of controllers with heights, all of which are 0."""

    def blocks(self, now: StepInput) -> dict[str, Array]:
        """As `CharacterPart.blocks`: the heights."""
        count, samples = now.path.shape
        return {TRAJECTORY_HEIGHT: np.zeros((count, SIDES * samples), np.float32)}


class UnevenGround(CharacterPart):
    """Ground whose heights the network sees."""

    def __init__(self, ground: Heightmap, feet: CharacterFeet) -> None:
        self._ground, self._feet = ground, feet

    @property
    def spec(self) -> dict[str, Any]:
        """As `CharacterPart.spec`."""
        return {"ground": self._ground, "soles": self._feet.soles}

    def blocks(self, now: StepInput) -> dict[str, Array]:
        """As `CharacterPart.blocks`: heights of the ground along the trajectory."""
        turn = np.exp(-1j * now.angle)[:, None]
        found = trajectory_heights(
            self._ground,
            pairs(now.place[:, None] + now.path * turn),
            pairs(now.directions * turn),
            self.level(now.place, now.angle),
        )
        return {TRAJECTORY_HEIGHT: found.reshape(len(now.place), -1)}

    def level(self, place: Array, angle: Array) -> Array:
        """As `CharacterPart.level`: `ground_level` at the roots."""
        directions = np.stack([np.sin(angle), np.cos(angle)], axis=-1)
        return ground_level(self._ground, pairs(place), directions)
