"""Means of measures by the speed of the root, to compare motion with the data at equal speeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deepphase.arrays import Array

# Bins with fewer frames say little; data at 60 Hz has this many in a second.
_MIN_FRAMES = 60
# Share of the frames whose speeds must occur in the data.
_MIN_COVERED = 0.5


def means_by_speed(speeds: Array, measures: Mapping[str, Array], width: float) -> dict[str, Any]:
    """Means in bins of speed from 0, 1, 2... times `width` m/s on, as plain values.

    Parameters
    ----------
    speeds : (frames,)
        m/s of the root.
    measures
        Name -> (frames,) values.

    Returns
    -------
    ``width``, and for each name a list with the mean of each bin, None in bins of fewer than 60
    frames.
    """
    bins = (speeds / width).astype(np.int64)
    counts = np.bincount(bins)
    found: dict[str, Any] = {"width": width}
    for name, values in measures.items():
        sums = np.bincount(bins, values)
        found[name] = [
            round(float(total / count), 4) if count >= _MIN_FRAMES else None
            for total, count in zip(sums, counts, strict=True)
        ]
    return found


def ratio_at_speed(
    speeds: Array, values: Array, name: str, reference: Mapping[str, Any]
) -> float | None:
    """Mean of a measure over the mean that the data has at the same speeds.

    Frames at speeds that the data lacks are left out; None if they are more than half.

    Parameters
    ----------
    speeds, values : (frames,)
        m/s of the root, and the measure.
    reference
        Of the data, by `means_by_speed`.
    """
    means = np.array([np.nan if each is None else each for each in reference[name]], np.float64)
    bins = (speeds / reference["width"]).astype(np.int64)
    expected = np.where(bins < len(means), means[np.minimum(bins, len(means) - 1)], np.nan)
    covered = np.isfinite(expected)
    if covered.mean() < _MIN_COVERED or not expected[covered].sum() > 0:
        return None
    return float(values[covered].sum() / expected[covered].sum())
