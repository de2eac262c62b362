"""Logging of the metrics of a training to a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytorch_lightning.loggers.logger import Logger
from pytorch_lightning.utilities import rank_zero_only

from deepphase.atomic_write import atomic_write
from deepphase.training.metrics_file import STEP, metrics_rows

# Columns that stand first, in this order; others follow as they are first logged.
_FIRST = (STEP, "loss", "explained_variance", "learning_rate", "samples_per_s")


class MetricsCsv(Logger):
    """A Lightning logger that writes one CSV file, a row each time that metrics are logged.

    The first column is `step`: optimizer steps so far. Values that a row does not have are empty. A
    training that is resumed keeps the rows up to its checkpoint.
    """

    name, version = "deepphase", ""

    def __init__(self, path: Path, *, resume: bool = False) -> None:
        super().__init__()
        self._path, self._resumed = path, resume
        self._rows: list[dict[str, Any]] = []

    @rank_zero_only
    def log_hyperparams(self, *_: Any, **__: Any) -> None:
        """The configuration is in the model file."""

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, float], step: int | None = None) -> None:
        row = {STEP: step or 0, **metrics}
        if self._resumed:
            # Steps after the checkpoint are repeated.
            before = metrics_rows(self._path)
            self._rows = [old for old in before if int(old[STEP]) < int(row[STEP])]
            self._resumed = False
        self._rows.append(
            {
                name: f"{value:.6g}" if isinstance(value, float) else str(value)
                for name, value in row.items()
            }
        )
        text = io.StringIO(newline="")
        columns = dict.fromkeys([*_FIRST, *(name for row in self._rows for name in row)])
        writer = csv.DictWriter(text, list(columns))
        writer.writeheader()
        writer.writerows(self._rows)
        with atomic_write(self._path) as file:
            file.write(text.getvalue().encode())
