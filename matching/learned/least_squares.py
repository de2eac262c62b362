"""Linear decompressors: latents and the one layer that makes poses of them, by least squares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csc_matrix, identity
from scipy.sparse.linalg import splu

from deepphase.arrays import Array
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.matcher import Layer, rounded
from deepphase.matching.learned.motion import AROUND, KeptStates
from deepphase.motion.skeleton import subtree_mask
from deepphase.work import Progress, reported

# Metres that a rotation by one radian weighs beside the places that it moves, and metres that an
# error of 1 m/s weighs.
_ROTATION_M, _VELOCITY_S = 0.25, 0.3
# Keeps a spline from swinging at its ends, and features of which one follows from others from it.
_RIDGE = 1e-6
_ROWS_AT_ONCE = 1 << 13
# Every so many measured rows show how long the arms of rotations are.
_SHOWN = 10


def fitted(
    data: LearnedData, latents: int, progress: Progress | None = None
) -> tuple[Array, Layer]:
    """Latents (kept, at most `latents`) of kept states, and the layer from states to pose values.

    Features tell a part of a pose, by a linear regression; latents are the principal components of
    the rest, weighted by how far they move joints.
    """
    kept, weights = data.kept, _metres(data)
    poses = _spline(kept, lambda rows: data.pose_values(data.rows_of(rows)) * weights, progress)
    numbers, step = rounded(kept.features)
    features = numbers * step.astype(np.float64)
    middle, centre = features.mean(axis=0), poses.mean(axis=0)
    away = features - middle
    ridge = _RIDGE * len(away) * np.eye(away.shape[1])
    told = np.linalg.solve(away.T @ away + ridge, away.T @ (poses - centre))
    rest = poses - centre - away @ told
    components = np.linalg.eigh(rest.T @ rest)[1].T[::-1][:latents]
    layer = np.concatenate([told, components]) / weights
    bias = (centre - middle @ told) / weights
    return (
        (rest @ components.T).astype(np.float32),
        Layer(layer.astype(np.float32), bias.astype(np.float32)),
    )


def _metres(data: LearnedData) -> Array:
    """(dims,) metres, root of a sum of squares over joints, that one unit of each value weighs."""
    values, playback = data.values, data.playback
    poses = data.poses(data.rows_of(data.measured_rows[::_SHOWN]))
    places = playback.positions(poses.rotations, poses.translations)
    body, weights = list(values.body), np.full(values.dims, _VELOCITY_S)
    arms, counts = np.empty(len(body)), dict[int, float]()
    for index, joint in enumerate(body):
        below = subtree_mask(playback.skeleton, joint)[body]
        arms[index] = np.square(places[:, below] - places[:, [index]]).sum(axis=(1, 2)).mean()
        counts[joint] = float(below.sum())
    moved = playback.translated_joints[list(values.moved)].tolist()
    weights[values.slices["rotations"]] = np.repeat(np.sqrt(_ROTATION_M**2 + arms), 6)
    weights[values.slices["translations"]] = np.repeat(np.sqrt([counts[each] for each in moved]), 3)
    return weights


def _spline(kept: KeptStates, values: Callable[[Array], Array], progress: Progress | None) -> Array:
    """(kept, width) states whose spline is nearest to the values (n, width) of all rows (n,)."""
    count = len(kept.features)
    squares, sums = _RIDGE * identity(count, format="csc"), 0.0
    blocks = np.array_split(np.arange(len(kept)), len(kept) // _ROWS_AT_ONCE + 1)
    for rows in reported(progress, "fitting", blocks, len(blocks)):
        near, frames = kept.around(rows)
        places = np.repeat(np.arange(len(rows)), AROUND), near.ravel()
        basis = csc_matrix((kept.weights[frames].ravel(), places), (len(rows), count))
        squares = squares + basis.T @ basis
        sums = sums + basis.T @ values(rows)
    return splu(squares.tocsc()).solve(sums)
