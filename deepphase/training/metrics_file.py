"""The CSV file of the metrics of a training."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from deepphase.arrays import Array

STEP = "step"
_METRICS = "metrics.csv"


def metrics_file(folder: Path) -> Path:
    """The CSV of the training whose checkpoint lies in `folder`."""
    return folder / _METRICS


def metrics_beside(model: Path, part: str = "") -> Path:
    """MODEL.metrics.csv, or MODEL.PART.metrics.csv of a network that a model was given."""
    return model.with_name(".".join(name for name in (model.name, part, _METRICS) if name))


def read_metrics(path: str | Path) -> dict[str, Array]:
    """The columns of a file that a training wrote.

    Returns column -> (rows,) float64, NaN where a row has no value. Empty where there is no such
    file.
    """
    rows = metrics_rows(Path(path))
    return {
        name: np.array([float(row[name]) if row[name] else math.nan for row in rows])
        for name in (rows[0] if rows else ())
    }


def metrics_rows(path: Path) -> list[dict[str, str]]:
    """The rows of such a file, by column."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if None not in row.values() and row.get(STEP)]
