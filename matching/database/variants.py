"""Databases of the same clips with other weights, or with pose features in place of phases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.work import Progress

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
    replaced = sum(block.dims * block.weight**2 for block in layout if block not in trajectory)
    pose = FeatureLayout(
        Feature("pose_position", kind="joint_position", joints=joints),
        Feature("pose_velocity", kind="joint_velocity", joints=joints),
    ).resolved(skeleton, roles)
    weight = float(np.sqrt(replaced / pose.dims)) if replaced else 1.0
    return FeatureLayout(*(replace(feature, weight=weight) for feature in pose), *trajectory)


def pose_databases(
    database: MotionDatabase, progress: Progress | None = None
) -> Iterator[tuple[str, MotionDatabase]]:
    """Names and databases of reduced and full pose features (Starke et al. 2022, section 5.3)."""
    store = ClipStore.from_clips(database.clip(index) for index in range(len(database.clip_names)))
    first = store.clip(0)
    roles = find_roles(first.skeleton, description=dict(database.body), clip=first)
    for name, joints in POSES.items():
        layout = pose_layout(database.layout, joints, first.skeleton, roles)
        yield name, MotionDatabase.build(store, layout, progress=progress)
