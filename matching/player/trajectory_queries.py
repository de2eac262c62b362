"""Queries of characters: the features of what plays, with the desired trajectory; and the facings
that the motion of a database can hold while it travels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.feature import (
    TRAJECTORY_PATH,
    Feature,
    facing_directions,
    relative_trajectory,
)
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.stored_rows import GROUND_HEIGHTS
from deepphase.steering.goal_sources import ForwardedGoals, GoalSource, RootStates
from deepphase.steering.springs import wrapped_angle
from deepphase.terrain.heightmap import SIDES, Heightmap, ground_level, trajectory_heights

# Directions of travel relative to the facing are divided into this many sectors.
SECTORS = 8
# Seconds of motion in a sector from which on it counts as covered.
_COVERED_S = 2.0


@dataclass(frozen=True, eq=False)
class FacingCoverage:
    """Directions, relative to the facing, in which motion travels."""

    # (8,) bool: sectors of 45 degrees. The first is centred on the front, the third on the left.
    covered: Array
    standing_speed: float  # m/s: slower motion has no direction

    @classmethod
    def from_velocities(
        cls, velocities: Array, fps: float, standing_speed: float
    ) -> FacingCoverage:
        """The coverage of velocities (frames, 2) m/s relative to the facing, x to the left."""
        x, z = velocities[np.hypot(*velocities.T) > standing_speed].T
        frames = np.bincount(_sectors(np.arctan2(x, z)), minlength=SECTORS)
        covered = frames >= _COVERED_S * fps
        covered[0] = True
        return cls(covered, standing_speed)

    def holds(self, velocities: Array, facings: Array) -> Array:
        """(...) bool: whether motion with velocities (..., 2) m/s can face (...) radians."""
        ways = np.arctan2(velocities[..., 0], velocities[..., 1])
        fast = np.hypot(velocities[..., 0], velocities[..., 1]) > self.standing_speed
        turned = np.where(fast, ways - facings, 0.0)
        return ~fast | self.covered[_sectors(np.where(np.isfinite(turned), turned, 0.0))]


def _sectors(angles: Array) -> Array:
    """(...) sector of each angle from the front, in radians."""
    return np.floor(wrapped_angle(angles) / (2.0 * np.pi / SECTORS) + 0.5).astype(int) % SECTORS


class HeldFacings(ForwardedGoals):
    """Goals of another source, with facings that the motion can hold. A `GoalSource`.

    Where the motion cannot travel as desired with the facing that is desired at the last of the
    times ahead, it faces its direction of travel: `ways` (characters,) radians is then set to that
    direction, else to NaN. During a turn, facing and travel differ for a moment only.
    """

    def __init__(self, goal_source: GoalSource, coverage: FacingCoverage, ways: Array) -> None:
        super().__init__(goal_source)
        self._coverage, self.ways = coverage, ways

    def trajectory(
        self, root_states: RootStates, which: Array, offsets_s: Array
    ) -> tuple[Array, Array]:
        """As `GoalSource.trajectory`, with facings that can be held."""
        places, angles = self._goal_source.trajectory(root_states, which, offsets_s)
        before = np.concatenate([root_states.positions[which, None], places[:, :-1]], axis=1)
        velocities = (places - before) / np.diff(offsets_s, prepend=0.0)[:, None]
        held = self._coverage.holds(velocities[:, -1], angles[:, -1])
        ways = np.arctan2(velocities[..., 0], velocities[..., 1])
        self.ways[which] = np.where(held, np.nan, ways[:, 0])
        if held.all():
            return places, angles
        # Facings of goals are continuous in time, so the shorter turn is taken.
        turned = angles + wrapped_angle(ways - angles)
        return places, np.where(held[:, None], angles, turned)

    def target(self) -> tuple[Array, Array]:
        """As `GoalSource.target`, with facings as in the last request."""
        places, facings = super().target()
        return places, np.where(np.isfinite(self.ways), self.ways, facings)


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
        """Desired positions and directions (which, offsets, 3), and those of roots (which, 3)."""
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
