"""Databases of the same clips with other weights, or with pose features in place of phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, ComputedRows
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.layout import Feature, FeatureLayout, Normalisation
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.progress import Progress


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
    features: Array | ComputedRows
    if isinstance(database.features, ComputedRows) and database.features.transform is old:
        features = ComputedRows(database.features.source, normalisation)
    else:
        features = np.asarray(database.features) * columns
    return replace(
        database,
        layout=FeatureLayout(*(replace(each, weight=weights[each.name]) for each in layout)),
        features=features,
        normalisation=normalisation,
        index="auto",
        path=None,
        hashes=(),
    )


# Joints of the pose features; trajectory features are those of the database.
POSES = {"reduced pose": ("feet", "spine"), "full pose": ("all",)}


def pose_layout(
    layout: FeatureLayout, joints: tuple[str, ...], skeleton: Skeleton, roles: Roles
) -> FeatureLayout:
    """Positions and velocities of joints, with the trajectory features of another layout.

    The pose features together get the weight, relative to the trajectory, of the features that
    they replace. A block of standardised values contributes its number of values times the square
    of its weight.
    """
    trajectory = [feature for feature in layout if feature.kind.startswith("trajectory")]
    replaced = sum(each.dims * each.weight**2 for each in layout if each not in trajectory)
    pose = FeatureLayout(
        Feature("pose_position", kind="joint_position", joints=joints),
        Feature("pose_velocity", kind="joint_velocity", joints=joints),
    ).resolved(skeleton, roles)
    weight = float(np.sqrt(replaced / pose.dims)) if replaced else 1.0
    return FeatureLayout(*(replace(feature, weight=weight) for feature in pose), *trajectory)


def pose_databases(
    database: MotionDatabase, progress: Progress | None = None
) -> Iterator[tuple[str, MotionDatabase]]:
    """Names and databases of reduced and full pose features, with the rows of a database.

    Starke et al. 2022, section 5.3: the baselines of motion matching.
    """
    store = ClipStore.from_clips(database.clip(index) for index in range(len(database.clip_names)))
    first = store.clip(0)
    roles = find_roles(first.skeleton, description=dict(database.body), clip=first)
    for name, joints in POSES.items():
        layout = pose_layout(database.layout, joints, first.skeleton, roles)
        yield name, MotionDatabase.build(store, layout, progress=progress)
