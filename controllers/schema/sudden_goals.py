"""Trajectories ahead as a stick makes them: a goal changes without warning, and the body follows.

The trajectory ahead of a captured clip shows a start or a stop a second before it, and is as fast
as the body. A stick shows nothing before, and its goal then has the new velocity within .3 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.springs import spring_to_angle, spring_to_velocity

# Seconds after a change in which the trajectory ahead is the goal's; then it is the clip's again.
_SECONDS = 1.0
# Velocities before and after are means over this time.
_MEAN_S = 0.3


@dataclass(frozen=True)
class SuddenGoal:
    """A change of a clip's motion that its trajectory ahead does not show before it happens."""

    frame: int
    settled: int


@dataclass(frozen=True, eq=False)
class GoalsAhead:
    """What the goals of a sudden change are ahead of some consecutive frames."""

    frames: slice
    positions: Array  # (frames, offsets, 2) m in the world, x and z
    angles: Array  # (frames, offsets) radians about Y
    velocities: Array  # (frames, offsets, 2) m/s in the world, x and z
    known: Array  # (frames, offsets) bool: where this replaces the clip's own trajectory

    @classmethod
    def of_change(
        cls, root: RootTrajectory, change: SuddenGoal, offsets_s: Array, fps: float
    ) -> GoalsAhead:
        """The goals around one change.

        `offsets_s` (offsets,) seconds from each frame. Those up to 0 are never replaced.
        """
        settings, at = GamepadSettings(), change.frame
        ahead = np.asarray(offsets_s, np.float64)
        begin = max(at - int(np.ceil(ahead.max() * fps)), 0)
        stop = min(at + round(_SECONDS * fps), len(root))
        places = root.positions[:, ::2].astype(np.float64)
        old, new = (_mean_velocity(places, each, fps) for each in (at, change.settled))
        angle, goal = float(root.angles[at]), np.array(float(root.angles[change.settled]))
        since = (np.arange(begin, stop) - at)[:, None] / fps
        later = since + ahead
        # Before the change all goes straight on; its moments that lie before it are the clip's.
        waiting = since < 0.0
        known = np.where(waiting, later > 0.0, ahead > 0.0)
        started = np.where(waiting, 0.0, since)
        still = np.zeros(2)

        def travelled(seconds: Array) -> tuple[Array, Array]:
            positions, speeds, _ = spring_to_velocity(
                still, old, still, new, settings.halflife_s, seconds[..., None]
            )
            return positions, speeds

        then, speeds = travelled(np.maximum(later, 0.0))
        positions = places[begin:stop, None] + then - travelled(started)[0]
        straight = places[at] + old * later[..., None]
        angles, _ = spring_to_angle(
            np.array(angle), np.zeros(()), goal, settings.facing_halflife_s, np.maximum(later, 0.0)
        )
        return cls(
            slice(begin, stop),
            np.where(waiting[..., None], straight, positions),
            np.where(waiting, angle, angles),
            np.where(waiting[..., None], old, speeds),
            known,
        )


def _mean_velocity(places: Array, frame: int, fps: float) -> Array:
    half = max(round(0.5 * _MEAN_S * fps), 1)
    first, last = max(frame - half, 0), min(frame + half, len(places) - 1)
    return (places[last] - places[first]) * fps / (last - first)
