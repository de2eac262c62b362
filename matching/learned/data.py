"""Training data of learned motion matching: features and motion of the rows of a database."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.body import PoseValues, RootPoses
from deepphase.matching.learned.kept_states import KeptStates
from deepphase.matching.learned.matcher import LearnedConfig
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import MomentFilter
from deepphase.matching.player.trajectory_search import TrajectorySearch
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableData

# Rows that the deviations of values are measured in, and windows for validation.
_MEASURED_ROWS, _VALIDATED = 20_000, 256


class LearnedData(ResumableData, pl.LightningDataModule):
    """Windows of a database's rows, for `LearnedModule` in any trainer.

    A batch has the first kept states of its windows, each of which ends at the next one. The
    database is compressed, so all rows that are played are trained on; what is validated are
    windows spread over them. `moments`: those that are played; by default idle and locomotion.

    Attributes: `playback`: the motion of the rows. `kept`: kept states, without latents, of the
    stretches of rows that are played. `firsts`: the first row of each. `offered` (kept,) bool.
    """

    def __init__(
        self,
        database: MotionDatabase,
        config: LearnedConfig,
        *,
        moments: MomentFilter | None = None,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        options = config.training
        self.config, self.batch_size = config, options.batch_size
        self.database = database = database.with_kinds(progress)
        self.playback = Playback.from_database(database, progress)
        playback = self.playback
        self.values = PoseValues.from_body(playback, playback.fps)
        policy = TrajectorySearch(database, None, moments=moments or MomentFilter())
        played = policy.playable
        self.playable = np.ones(len(database), bool) if played is None else played
        spacing = max(round(options.spacing_s * database.fps), 1)
        firsts, counts = self._stretches(spacing)
        if not len(counts):
            raise ParameterError(
                f"no clip has {spacing + 1} frames in a row that are played",
                hint="choose a smaller training.spacing_s, or add longer clips",
            )
        nothing = np.zeros((int(counts.sum()), 0), np.float32)
        self.kept, self.firsts = KeptStates(nothing, nothing, spacing, counts), firsts
        features = np.ascontiguousarray(database.features[self.kept_rows], np.float32)
        self.kept = replace(self.kept, features=features)
        self.offered = np.isin(self.kept_rows, policy.targets)
        last = np.cumsum(counts) - 1
        windows = torch.from_numpy(np.setdiff1d(np.arange(len(features)), last))
        self.set_train(windows, options.seed)
        chosen = np.linspace(0, len(windows) - 1, min(len(windows), _VALIDATED))
        self.held_out = windows[chosen.astype(np.int64)]

    def _stretches(self, spacing: int) -> tuple[Array, Array]:
        """(stretches,) first row, and number of kept states, of rows of one clip; a remainder is
        left out."""
        database, found = self.database, []
        for start, stop in zip(database.range_starts, database.range_stops, strict=True):
            for first, end in true_runs(self.playable[start:stop]):
                found.append((start + first, (end - first - 1) // spacing + 1))
        stretches = np.array([each for each in found if each[1] > 1], np.int64).reshape(-1, 2)
        return stretches[:, 0], stretches[:, 1]

    def rows_of(self, rows: Array) -> Array:
        """Rows of the database of rows of the kept states."""
        stretch = self.kept.stretch_of(rows)
        return rows - self.kept.starts[stretch] + self.firsts[stretch]

    @cached_property
    def kept_rows(self) -> Array:
        """(kept,) row of the database of each kept state."""
        return self.rows_of(self.kept.rows)

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        return self.config.training.windows

    def poses(self, rows: Array) -> RootPoses:
        """Poses (...) of rows (...) of the database."""
        return RootPoses(*(getattr(self.playback, name)[rows] for name in RootPoses._fields))

    def pose_values(self, rows: Array) -> Tensor:
        """(..., dims) values of the poses of rows (...) of the database."""
        return torch.from_numpy(self.values.values(self.poses(rows)))

    @cached_property
    def measured_rows(self) -> Array:
        """(n,) rows of the kept states spread over them, which are not the last of a stretch."""
        rows = np.linspace(0, len(self.kept) - 1, min(len(self.kept), _MEASURED_ROWS))
        return np.setdiff1d(rows.astype(np.int64), self.kept.stops - 1)

    @cached_property
    def pose_scale(self) -> tuple[Array, Array]:
        """Mean (dims,) and deviation (dims,) of pose values, one deviation for a kind of values."""
        values = self.pose_values(self.rows_of(self.measured_rows)).numpy()
        scale = np.empty(values.shape[1], np.float32)
        for block in self.values.slices.values():
            if block.stop > block.start:
                scale[block] = max(float(values[:, block].std(axis=0).mean()), 1e-3)
        return values.mean(axis=0), scale
