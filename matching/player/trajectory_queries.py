"""Queries of characters: the features of what plays, with the desired trajectory."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.feature import Feature
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import (
    TRAJECTORY_PATH,
    facing_directions,
    relative_trajectory,
)
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.on_ground import GROUND_HEIGHTS
from deepphase.steering.goal_sources import GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.terrain.heightmap import SIDES, Heightmap, ground_level, trajectory_heights

# Speed at which a desired trajectory begins, m/s, from which on a character at rest starts.
_STARTING_M_S = 0.35


def _trajectory_features(layout: FeatureLayout) -> list[Feature]:
    return [feature for kind in TRAJECTORY_PATH for feature in layout.of_kind(kind)]


def ground_features(layout: FeatureLayout) -> list[Feature]:
    """Features of a layout that are heights of the ground ahead."""
    return [each for each in layout.of_kind("track") if each.track == GROUND_HEIGHTS]


def future_offsets(layout: FeatureLayout) -> Array:
    """(offsets,) future times, in seconds from now, of the layout's trajectory features; rising."""
    features = _trajectory_features(layout)
    return np.array(sorted({time for each in features for time in each.offsets_s if time > 0}))


class TrajectoryQueries:
    """Goals of characters, and their queries.

    A query consists of the features of the row that plays, with the future trajectory replaced
    by the desired one.

    Raises ParameterError where the layout has no future trajectory.
    """

    def __init__(self, rows: MotionDatabase, ground: Heightmap | None) -> None:
        self._rows, self._ground = rows, ground
        layout = rows.layout
        self._heights = [each.name for each in ground_features(layout)]
        self._features = _trajectory_features(layout)
        self.offsets_s = future_offsets(layout)
        if not len(self.offsets_s):
            raise ParameterError(
                "the database's features have no trajectory ahead, so it cannot follow goals",
                hint=f"build it with {' or '.join(TRAJECTORY_PATH)}",
            )

    def goals(
        self, goal_source: GoalSource, root_states: RootStates, which: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Goals of the characters `which`, as `search` and `initial` take them.

        Returns Desired positions and directions (which, offsets, 3) at `offsets_s`, and root
        positions. and directions (which, 3), in the world.
        """
        positions, angles = goal_source.trajectory(root_states, which, self.offsets_s)
        return (
            np.insert(positions, 1, 0.0, axis=-1),
            facing_directions(angles),
            np.insert(root_states.positions[which], 1, 0.0, axis=-1),
            facing_directions(root_states.angles[which]),
        )

    def starting(self, rows: Array, goals: tuple[Array, Array, Array, Array]) -> Array:
        """(q,) bool: characters at rest whose goals travel: they need a moment of another kind."""
        positions, _, places, _ = goals
        away = np.linalg.norm((positions[:, 0] - places)[:, ::2], axis=1)
        return self._rows.idle(rows) & (away > _STARTING_M_S * self.offsets_s[0])

    def queries(self, rows: Array, goals: tuple[Array, Array, Array, Array]) -> Array:
        """(q, dims) the features of rows with the desired future trajectory."""
        blocks = self._desired_blocks(self._rows.query(rows), goals)
        return self._rows.query(rows, blocks)

    def initial_queries(self, goals: tuple[Array, Array, Array, Array]) -> Array:
        """(q, dims) queries with the desired future trajectory, in any pose."""
        count = len(goals[0])
        blocks = self._desired_blocks(np.zeros((count, self._rows.layout.dims), np.float32), goals)
        queries = self._rows.query(np.zeros(count, np.int64), blocks)
        for feature in self._rows.layout:
            if feature.name not in blocks:
                # Normalised, 0 is the mean: no pose is preferred.
                queries[:, self._rows.layout.slices[feature.name]] = 0.0
        return queries

    def _desired_blocks(
        self, own: Array, goals: tuple[Array, Array, Array, Array]
    ) -> dict[str, Array]:
        """Raw trajectory features: the past of normalised rows `own`, and the goals."""
        raw = self._rows.normalisation.inverse(own)
        by_kind = dict(zip(TRAJECTORY_PATH, relative_trajectory(*goals), strict=True))
        blocks = {}
        for feature in self._features:
            block = raw[:, self._rows.layout.slices[feature.name]].reshape(len(own), -1, 2)
            desired = by_kind[feature.kind].reshape(len(own), -1, 2)
            # The past of the trajectory stays the rows' own.
            for index, time in enumerate(feature.offsets_s):
                if time > 0:
                    block[:, index] = desired[:, np.searchsorted(self.offsets_s, time)]
            blocks[feature.name] = block.reshape(len(own), -1)
        for name in self._heights:
            blocks[name] = self._heights_ahead(goals)
        return blocks

    def _heights_ahead(self, goals: tuple[Array, Array, Array, Array]) -> Array:
        """(q, 3 * offsets) metres of the ground along goals, over the level; 0 on a flat floor."""
        positions, directions, place, facing = (each[..., ::2] for each in goals)
        if self._ground is None:
            return np.zeros((len(positions), SIDES * len(self.offsets_s)), np.float32)
        level = ground_level(self._ground, place, facing)
        found = trajectory_heights(self._ground, positions, directions, level)
        return found.reshape(len(positions), -1).astype(np.float32)
