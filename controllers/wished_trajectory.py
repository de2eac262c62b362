"""The trajectory ahead of characters: what the network predicts, blended with what is wished.

Places and velocities are complex numbers x + i z, as in `recorded_past`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controllers.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import (
    TRAJECTORY_DIRECTION,
    TRAJECTORY_POSITION,
    TRAJECTORY_VELOCITY,
    TrajectoryBlocks,
    complex_of,
    pairs,
)
from deepphase.steering.blending import blended_angles, blended_positions, wish_weights
from deepphase.steering.followers import Follower
from deepphase.steering.movers import Movers

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Ahead:
    """Trajectories from now on, seen from the roots of now.

    Parameters
    ----------
    places
        (characters, samples) complex metres, without now.
    angles
        (characters, samples) radians from the facing of now, without now.
    velocities
        (characters, 1 + samples) complex m/s relative to the world, of now and later.
    """

    places: Array
    angles: Array
    velocities: Array

    def in_world(self, places: Array, angles: Array) -> tuple[Array, Array]:
        """(characters, samples, 2) metres and (characters, samples) radians, seen from nowhere."""
        turned = self.places * np.exp(-1j * angles)[:, None]
        return pairs(places[:, None] + turned), angles[:, None] + self.angles


class AheadReader:
    """Reads what lies ahead off rows of inputs or outputs.

    Parameters
    ----------
    layout
        Whose trajectory blocks are read.
    schema
        Whose offsets of now and later they are read at.
    """

    def __init__(self, layout: FeatureLayout, schema: ControllerSchema) -> None:
        self._blocks = TrajectoryBlocks(layout.slices, len(schema.config.later_s))
        self._step = schema.config.step_s

    def read(self, rows: Array) -> Ahead:
        """Of raw rows (characters, dims)."""
        blocks = self._blocks
        places = blocks.read_later(rows, TRAJECTORY_POSITION)[:, 1:]
        facing = blocks.read_later(rows, TRAJECTORY_DIRECTION)[:, 1:]
        if TRAJECTORY_VELOCITY in blocks:
            velocities = blocks.read_later(rows, TRAJECTORY_VELOCITY)
        else:
            way = np.concatenate([np.zeros_like(places[:, :1]), places], axis=1)
            velocities = np.gradient(way, self._step, axis=1)
        return Ahead(places, np.arctan2(facing.real, facing.imag), velocities)


class WishBlend:
    """Blends predictions with wishes (Holden, Komura and Saito 2017, section 6).

    Parameters
    ----------
    schema
        Whose later samples are blended.
    position_bias, direction_bias
        As `deepphase.steering.blending.wish_weights` has them.
    """

    def __init__(
        self, schema: ControllerSchema, position_bias: float, direction_bias: float
    ) -> None:
        later = np.array([each for each in schema.config.later_s if each > 0.0])
        self._samples, frame = len(later), 1.0 / schema.fps
        # A moment before and behind each sample tell its velocity.
        self._moments = np.concatenate([later, later - frame, later + frame])
        self._fps, self._biases = schema.fps, (position_bias, direction_bias)
        self._weights = wish_weights(self._samples, position_bias)
        wish_weights(self._samples, direction_bias)

    def blended(self, predicted: Ahead, follower: Follower, movers: Movers) -> tuple[Ahead, Array]:
        """What lies ahead, and the places wished for: (characters, samples, 2) metres, world.

        Raises ParameterError where a wish is not finite.
        """
        count, samples = len(movers.angles), self._samples
        wished, facings = follower.ahead(movers, np.arange(count), self._moments)
        if not (np.isfinite(wished).all() and np.isfinite(facings).all()):
            raise ParameterError("a wished trajectory that is not finite")
        here, turn = complex_of(movers.positions), np.exp(1j * movers.angles)[:, None]
        seen = (complex_of(wished.reshape(count, -1)) - here) * turn
        before, behind = seen[:, samples : 2 * samples], seen[:, 2 * samples :]
        velocities = predicted.velocities.copy()
        velocities[:, 1:] += self._weights * (
            0.5 * self._fps * (behind - before) - velocities[:, 1:]
        )
        places = blended_positions(
            pairs(predicted.places), pairs(seen[:, :samples]), self._biases[0]
        )
        angles = facings[:, :samples] - movers.angles[:, None]
        return (
            Ahead(
                complex_of(places.reshape(count, -1)),
                blended_angles(predicted.angles, angles, self._biases[1]),
                velocities,
            ),
            wished[:, :samples],
        )
