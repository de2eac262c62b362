"""Training data of learned motion matching: features and motion of the rows of a database."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytorch_lightning as pl
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.config import LearnedConfig
from deepphase.matching.learned.pose_values import PoseValues, RootPoses
from deepphase.matching.player.moment_filter import MomentFilter
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.trajectory_queries import future_columns
from deepphase.matching.player.trajectory_search import TrajectorySearch
from deepphase.matching.search.searcher import open_searcher
from deepphase.phase.windows import WindowOrder
from deepphase.progress import Progress
from deepphase.training.resumable import ResumableData

# Rows that the deviations of values are measured in, and windows for validation.
_MEASURED_ROWS, _VALIDATED = 20_000, 256


class LearnedData(ResumableData, pl.LightningDataModule):
    """Windows of a database's rows, for `LearnedModule` in any trainer.

    A batch has the first rows of its windows. The database is compressed, so all rows that are
    played are trained on; what is validated are rows spread over them.

    Parameters
    ----------
    database
        The database.
    config
        Networks and training.
    moments
        The moments that are played; idle and locomotion where kinds are known by default.
    progress
        Called after each clip; see `Progress`.

    Attributes
    ----------
    playback, searcher
        The motion of the rows, and the index that searches them.
    values
        The values of a pose.
    playable
        (rows,) bool: rows that are played.
    targets
        (targets,) rows that may be jumped to, rising.
    styles
        Values of the label; empty without it.
    style_of
        (rows,) index of each row's value; 0 without a label.
    label
        Name of the label; empty where the database does not have it.

    Raises
    ------
    ParameterError
        Where the features have no trajectory ahead, or no stretch is as long as a window.
    CheckpointError
        Where a store of the clips is missing or was replaced.
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
        self.playback = Playback.of_database(database, progress)
        playback = self.playback
        self.values = PoseValues.of_body(
            playback.skeleton,
            playback.carrier,
            playback.translated_joints.tolist(),
            len(playback.limbs),
            playback.fps,
        )
        self.searcher = open_searcher(database, progress=progress)
        policy = TrajectorySearch(database, self.searcher, moments=moments or MomentFilter())
        playable = policy.playable
        self.playable = np.ones(len(database), bool) if playable is None else playable
        self.targets = policy.targets
        self.window = max(round(options.unroll_s * database.fps), 2) + 1
        starts = self._window_starts()
        if not len(starts):
            raise ParameterError(
                f"no clip has {self.window} frames in a row that are played",
                hint="choose a smaller training.unroll_s, or add longer clips",
            )
        self._starts = torch.from_numpy(starts)
        self._order = WindowOrder(len(starts), options.seed)
        chosen = np.linspace(0, len(starts) - 1, min(len(starts), _VALIDATED)).astype(np.int64)
        self.held_out = torch.from_numpy(starts[chosen])
        self._set_styles(options.label)
        self.goal_columns = future_columns(database.layout)

    def _window_starts(self) -> Array:
        """(windows,) rows from which a window of playable rows of one clip begins."""
        stops, rows = self.database.range_stops, np.arange(len(self.database))
        broken = np.append(np.cumsum(~self.playable), 0)
        last = rows + self.window - 1
        inside = last < stops[self.database.clip_of(rows)]
        last = np.minimum(last, len(rows) - 1)
        return np.flatnonzero(inside & self.playable & (broken[last] == broken[rows]))

    def _set_styles(self, label: str) -> None:
        database = self.database
        of_clips = [labels.get(label, "") for labels in database.labels]
        self.styles = tuple(sorted(set(of_clips))) if any(of_clips) else ()
        self.label = label if self.styles else ""
        numbers = [self.styles.index(each) if self.styles else 0 for each in of_clips]
        lengths = database.range_stops - database.range_starts
        self.style_of = np.repeat(np.array(numbers, np.int64), lengths)

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training that the config asks for."""
        return self.config.training.windows

    @property
    def epoch_samples(self) -> int:
        """Windows of one pass over the rows, one after the other."""
        return max(len(self._starts) // self.window, 1)

    def batch(self, start: int, stop: int, share: slice = slice(None)) -> Tensor:
        """First rows of a share of the windows at these positions."""
        return self._starts[self._order(start, stop)[share]]

    def poses(self, rows: Array) -> RootPoses:
        """RootPoses (...) of rows (...)."""
        playback = self.playback
        return RootPoses(
            playback.rotations[rows],
            playback.translations[rows],
            playback.steps[rows],
            playback.contacts[rows],
            self.database.idle(rows),
        )

    def pose_values(self, rows: Array) -> Tensor:
        """(..., dims) values of the poses of rows (...)."""
        return torch.from_numpy(self.values.values(self.poses(rows)))

    @cached_property
    def features(self) -> Array:
        """(rows, dims) float32 feature rows."""
        return np.ascontiguousarray(self.database.features[np.arange(len(self.database))])

    @cached_property
    def measured_rows(self) -> Array:
        """(n,) rows spread over those that are played, whose next row is of the same clip."""
        rows = self._starts.numpy()
        count = min(len(rows), _MEASURED_ROWS)
        return rows[np.unique(np.linspace(0, len(rows) - 1, count).astype(np.int64))]

    @cached_property
    def pose_scale(self) -> tuple[Array, Array]:
        """Mean (dims,) and deviation (dims,) of pose values, one deviation for a kind of values."""
        values = self.pose_values(self.measured_rows).numpy()
        scale = np.empty(values.shape[1], np.float32)
        for block in self.values.slices.values():
            scale[block] = max(float(values[:, block].std(axis=0).mean()), 1e-3)
        return values.mean(axis=0), scale
