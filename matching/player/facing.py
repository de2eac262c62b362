"""Facings that a database's motion can hold while it travels: strafing and walking backwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.steering.goal_sources import ForwardedGoals, GoalSource
from deepphase.steering.root_states import RootStates
from deepphase.steering.springs import wrapped_angle

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
    def of_velocities(cls, velocities: Array, fps: float, standing_speed: float) -> FacingCoverage:
        """The coverage of velocities (frames, 2) m/s relative to the facing, x to the left.

        Travel to the front counts as covered.
        """
        x, z = velocities[np.hypot(*velocities.T) > standing_speed].T
        frames = np.bincount(_sectors(np.arctan2(x, z)), minlength=SECTORS)
        covered = frames >= _COVERED_S * fps
        covered[0] = True
        return cls(covered, standing_speed)

    def holds(self, velocities: Array, facings: Array) -> Array:
        """(...) bool: whether motion with velocities (..., 2) m/s can face (...) radians.

        Values that are not finite count as held.
        """
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
        places, angles = super().trajectory(root_states, which, offsets_s)
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
