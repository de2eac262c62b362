"""Future trajectory of characters: predictions of the network, blended with the goals.

Places and velocities are complex numbers x + i z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.schema.schema import ControllerSchema
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
from deepphase.steering.goal_limits import GoalLimits, LimitedGoals
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.steering.springs import wrapped_angle


@dataclass(frozen=True, eq=False)
class FutureTrajectory:
    """Trajectories from now on, relative to the current roots."""

    places: Array  # (characters, samples) complex metres, without now
    angles: Array  # (characters, samples) radians from the current facing, without now
    # (characters, 1 + samples) complex m/s, world velocities in root axes, from now on.
    velocities: Array

    def in_world(self, places: Array, angles: Array) -> tuple[Array, Array]:
        """(characters, samples, 2) metres and (characters, samples) radians in the world."""
        turned = self.places * np.exp(-1j * angles)[:, None]
        return pairs(places[:, None] + turned), angles[:, None] + self.angles


class TrajectoryReader:
    """Reads future trajectories from rows of inputs or outputs."""

    def __init__(self, layout: FeatureLayout, schema: ControllerSchema) -> None:
        self._blocks = TrajectoryBlocks(layout.slices, len(schema.config.later_s))
        self._step = schema.config.step_s

    def read(self, rows: Array) -> FutureTrajectory:
        """The trajectories in raw rows (characters, dims)."""
        blocks = self._blocks
        places = blocks.read_later(rows, TRAJECTORY_POSITION)[:, 1:]
        facing = blocks.read_later(rows, TRAJECTORY_DIRECTION)[:, 1:]
        if TRAJECTORY_VELOCITY in blocks:
            velocities = blocks.read_later(rows, TRAJECTORY_VELOCITY)
        else:
            from_now = np.concatenate([np.zeros_like(places[:, :1]), places], axis=1)
            velocities = np.gradient(from_now, self._step, axis=1)
        return FutureTrajectory(places, np.arctan2(facing.real, facing.imag), velocities)


class TrajectoryBlend:
    """Blends predictions with goals (Holden, Komura and Saito 2017, section 6)."""

    def __init__(
        self,
        schema: ControllerSchema,
        position_bias: float,
        direction_bias: float,
        limits: GoalLimits,
    ) -> None:
        later = np.array([each for each in schema.config.later_s if each > 0.0])
        self._samples, frame = len(later), 1.0 / schema.fps
        # A frame before and after each sample gives its velocity.
        self._moments = np.concatenate([later, later - frame, later + frame])
        self._fps, self._biases = schema.fps, (position_bias, direction_bias)
        self._limits = limits
        self._weights = desired_weights(self._samples, position_bias)
        desired_weights(self._samples, direction_bias)

    def blended(
        self, predicted: FutureTrajectory, goal_source: GoalSource, root_states: RootStates
    ) -> tuple[FutureTrajectory, Array, Array, Array]:
        """The blended trajectory.

        Returns
        -------
        blended
            The trajectory.
        desired : (characters, samples, 2)
            Desired places within the limits, metres in the world.
        limited : (characters,) bool
            Whether the goals were out of the limits.
        facings : (characters,)
            Radians in the world: the desired facing at the end.
        """
        count, samples = len(root_states.angles), self._samples
        goals = LimitedGoals(goal_source, self._limits, np.zeros(count, bool))
        desired, facings = goals.trajectory(root_states, np.arange(count), self._moments)
        if not (np.isfinite(desired).all() and np.isfinite(facings).all()):
            raise ParameterError(
                "the desired trajectory is not finite",
                hint="give goals with finite places and facings",
            )
        here, turn = complex_of(root_states.positions), np.exp(1j * root_states.angles)[:, None]
        relative = (complex_of(desired.reshape(count, -1)) - here) * turn
        before, after = relative[:, samples : 2 * samples], relative[:, 2 * samples :]
        wanted, too_fast = self._limits.limited_velocities(
            pairs(0.5 * self._fps * (after - before))
        )
        velocities = predicted.velocities.copy()
        velocities[:, 1:] += self._weights * (
            complex_of(wanted.reshape(count, -1)) - velocities[:, 1:]
        )
        places = blended_positions(
            pairs(predicted.places), pairs(relative[:, :samples]), self._biases[0]
        )
        angles = facings[:, :samples] - root_states.angles[:, None]
        return (
            FutureTrajectory(
                complex_of(places.reshape(count, -1)),
                blended_angles(predicted.angles, angles, self._biases[1]),
                velocities,
            ),
            desired[:, :samples],
            goals.limited | too_fast,
            facings[:, samples - 1],
        )


def desired_weights(count: int, bias: float) -> Array:
    """(count,) weights of the goal at evenly spaced future samples.

    1 - (1 - t)^bias with t from 0, now, to 1, the last sample. A bias above 1 responds sooner, one
    below 1 follows the prediction longer.

    References
    ----------
    Holden, Komura and Saito 2017, section 6, eq. 9, in the reading of their released code.
    """
    if count < 1 or not bias > 0:
        raise ParameterError(f"{count} samples blended with the bias {bias}: both must be above 0")
    time = np.arange(1, count + 1) / count
    return 1.0 - (1.0 - time) ** bias


def blended_positions(predicted: Array, desired: Array, bias: float) -> Array:
    """Future positions as the sum of blended steps.

    Parameters
    ----------
    predicted, desired : (..., samples, axes)
        Metres relative to the current place; evenly spaced in time, without now.

    Returns
    -------
    (..., samples, axes)
    """
    samples, axes = predicted.shape[-2:]
    blends = _step_blends(samples, axes, bias)
    return sum(
        rows.reshape(-1, samples * axes) @ blend
        for rows, blend in zip((predicted, desired), blends, strict=True)
    ).reshape(predicted.shape)


@lru_cache(maxsize=32)
def _step_blends(samples: int, axes: int, bias: float) -> tuple[Array, Array]:
    """Matrices (samples * axes,) * 2 that predicted and desired places are multiplied by.

    Differences, their shares and their sums are one product, which is the same in every frame.
    """
    weights = desired_weights(samples, bias)
    differences = np.eye(samples) - np.eye(samples, k=-1)
    sums = np.tril(np.ones((samples, samples)))
    predicted, desired = (
        np.kron(sums @ (share * differences), np.eye(axes)).T
        for share in (1.0 - weights[:, None], weights[:, None])
    )
    return predicted, desired


def blended_angles(predicted: Array, desired: Array, bias: float) -> Array:
    """(..., samples) radians: future facings turned towards the desired ones, the shorter way."""
    weights = desired_weights(predicted.shape[-1], bias)
    return predicted + weights * wrapped_angle(desired - predicted)
