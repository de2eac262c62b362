"""Databases with other weights of their features, to change what a search weighs at run time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, JoinedRows
from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Normalisation
from deepphase.matching.database.database import MotionDatabase


def reweighted(database: MotionDatabase, factors: Mapping[str, float]) -> MotionDatabase:
    """A database whose features have other weights; rows, clips and queries stay.

    Its features are in memory, and its index is built again.

    Returns The database itself if all factors are 1. Raises ParameterError if a feature is unknown,
    a factor is negative or not finite, or all weights are 0.
    """
    layout = database.layout
    for name, factor in factors.items():
        _ = layout[name]
        if not (np.isfinite(factor) and factor >= 0):
            raise ParameterError(f"factor {factor} of the feature {name!r}: it must be 0 or more")
    weights = {each.name: each.weight * factors.get(each.name, 1.0) for each in layout}
    if all(factor == 1.0 for factor in factors.values()):
        return database
    if not any(weights.values()):
        raise ParameterError("all features have weight 0", hint="leave one of them a weight")
    columns = np.ones(database.dims, np.float32)
    for name, factor in factors.items():
        columns[layout.slices[name]] = factor
    old = database.normalisation
    normalisation = Normalisation(old.mean, old.scale * columns)
    features: Array | JoinedRows
    if isinstance(database.features, JoinedRows) and database.features.transform is old:
        features = JoinedRows(database.features.parts, normalisation)
    else:
        features = np.asarray(database.features) * columns
    return replace(
        database,
        layout=FeatureLayout(*(each.changed(weight=weights[each.name]) for each in layout)),
        features=features,
        normalisation=normalisation,
        index="auto",
        path=None,
        hashes=(),
    )
