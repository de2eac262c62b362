"""Cost of rows by feature: the parts of the squared distance between a query and rows."""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array
from deepphase.features.layout import FeatureLayout


def cost_terms(layout: FeatureLayout, query: Array, rows: Array) -> Array:
    """Squared distances between a query and rows, feature by feature.

    `query` (dims,) Normalised, as `MotionDatabase.query` makes it; weights of features are part of
    this; `rows` (n, dims) Rows of `MotionDatabase.features`. Returns (n, features) float64, in the
    order of the layout. The sum over features is the square of the. cost, the Euclidean distance by
    which searches rank rows.
    """
    squares = np.square(np.asarray(rows, np.float64) - np.asarray(query, np.float64))
    starts = [columns.start for columns in layout.slices.values()]
    return np.add.reduceat(squares, starts, axis=1)
