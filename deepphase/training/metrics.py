"""Logging of the metrics of a training to a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
from pytorch_lightning.utilities import rank_zero_only

from deepphase.atomic_write import atomic_write, writing
from deepphase.training.metrics_file import STEP, metrics_rows

# Columns that stand first, in this order; others follow as they are first logged.
_FIRST = (STEP, "loss", "explained_variance", "learning_rate", "samples_per_s")


class MetricsCsv(Logger):
    """A Lightning logger that writes one CSV file, a row each time that metrics are logged.

    The first column is `step`: optimizer steps so far. Values that a row does not have are empty.
    A training that is resumed appends to the rows up to its resume point; rows of later steps,
    which the resumed training repeats, are dropped.

    Parameters
    ----------
    path
        The CSV file.
    resume
        Keep the rows that are there.
    """

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        super().__init__()
        self._path, self._resume = Path(path), resume
        self._columns: list[str] = []
        self._began = False

    @property
    def name(self) -> str:
        return "deepphase"

    @property
    def version(self) -> str:
        return ""

    @property
    @rank_zero_experiment
    def experiment(self) -> Path:
        """The file."""
        return self._path

    @rank_zero_only
    def log_hyperparams(self, *_: Any, **__: Any) -> None:
        """The configuration is in the model file."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        row = {STEP: 0 if step is None else step, **metrics}
        if not self._began:
            self._begin(int(row[STEP]))
        new = [name for name in row if name not in self._columns]
        if new:
            rows = metrics_rows(self._path) if self._columns else []
            columns = [*self._columns, *new]
            self._columns = [*dict.fromkeys([*_FIRST, *columns])]
            self._rewrite(rows)
        with (
            writing(self._path),
            self._path.open("a", newline="", encoding="utf-8") as file,
        ):
            csv.DictWriter(file, self._columns).writerow({k: _text(v) for k, v in row.items()})

    def _begin(self, step: int) -> None:
        """Keep the rows of earlier steps where the training is resumed, else none."""
        self._began = True
        rows = metrics_rows(self._path) if self._resume else []
        rows = [row for row in rows if int(row[STEP]) < step]
        if rows:
            self._columns = list(rows[0])
            self._rewrite(rows)

    def _rewrite(self, rows: list[dict[str, str]]) -> None:
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, self._columns)
        writer.writeheader()
        writer.writerows(rows)
        with atomic_write(self._path) as file:
            file.write(text.getvalue().encode())


def _text(value: float) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
