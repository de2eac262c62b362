"""What a matcher is made of: features and motion of the rows of a database that are played."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.motion import KeptStates, PoseValues, RootPoses
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import MomentFilter
from deepphase.matching.player.trajectory_search import TrajectorySearch
from deepphase.work import Progress

FRAMES = 4
"""Successive frames that are measured at a time, for a third difference; no stretch has fewer."""
# Most rows that measures are taken in.
_MEASURED_ROWS = 20_000


class LearnedData:
    """Rows of a database that are played, and the kept states of every `spacing_s` of them.

    `moments`: those that are played; by default idle and locomotion.

    Attributes: `playback`: the motion of the rows. `kept`: kept states, without latents, of the
    stretches of rows that are played. `firsts`: the first row of each. `offered` (kept,) bool.
    """

    def __init__(
        self,
        database: MotionDatabase,
        spacing_s: float,
        *,
        moments: MomentFilter | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.database = database = database.with_kinds(progress)
        self.playback = Playback.from_database(database, progress)
        playback = self.playback
        self.values = PoseValues.from_body(playback, playback.fps)
        policy = TrajectorySearch(database, None, moments=moments or MomentFilter())
        played = policy.playable
        self.playable = np.ones(len(database), bool) if played is None else played
        spacing = max(round(spacing_s * database.fps), 1)
        firsts, counts = self._stretches(spacing)
        if not len(counts):
            raise ParameterError(
                f"no clip has {max(spacing + 1, FRAMES)} frames in a row that are played",
                hint="choose a smaller spacing, or add longer clips",
            )
        nothing = np.zeros((int(counts.sum()), 0), np.float32)
        self.kept, self.firsts = KeptStates(nothing, nothing, spacing, counts), firsts
        features = np.ascontiguousarray(database.features[self.kept_rows], np.float32)
        self.kept = replace(self.kept, features=features)
        self.offered = np.isin(self.kept_rows, policy.targets)

    def _stretches(self, spacing: int) -> tuple[Array, Array]:
        """(stretches,) first row, and number of kept states, of rows of one clip; a remainder is
        left out."""
        database, found = self.database, []
        for start, stop in zip(database.range_starts, database.range_stops, strict=True):
            for first, end in true_runs(self.playable[start:stop]):
                found.append((start + first, (end - first - 1) // spacing + 1))
        stretches = np.array(found, np.int64).reshape(-1, 2)
        lengths = (stretches[:, 1] - 1) * spacing + 1
        stretches = stretches[lengths >= max(spacing + 1, FRAMES)]
        return stretches[:, 0], stretches[:, 1]

    def rows_of(self, rows: Array) -> Array:
        """Rows of the database of rows of the kept states."""
        stretch = self.kept.stretch_of(rows)
        return rows - self.kept.starts[stretch] + self.firsts[stretch]

    @cached_property
    def kept_rows(self) -> Array:
        """(kept,) row of the database of each kept state."""
        return self.rows_of(self.kept.rows)

    def poses(self, rows: Array) -> RootPoses:
        """Poses (...) of rows (...) of the database."""
        return RootPoses(*(getattr(self.playback, name)[rows] for name in RootPoses._fields))

    def pose_values(self, rows: Array) -> Array:
        """(..., dims) values of the poses of rows (...) of the database."""
        return self.values.values(self.poses(rows))

    @cached_property
    def measured_rows(self) -> Array:
        """(n,) rows of the kept states spread over them, which are not the last of a stretch."""
        rows = np.linspace(0, len(self.kept) - 1, min(len(self.kept), _MEASURED_ROWS))
        return np.setdiff1d(rows.astype(np.int64), self.kept.stops - 1)
