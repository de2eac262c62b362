"""Pieces of dances: windows of two seconds, and how near they are to each other.

A dance that repeats a step again and again, or that dances another style than its song asks for,
shows in the distances between its pieces, and from them to pieces of recorded dances.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deepphase.arrays import Array

PIECE_S = 2.0
"""Length of a piece in seconds."""

_HOP_S, _SAMPLES = 0.25, 8
# Two pieces of one dance overlap or continue each other if they begin nearer than this.
_APART_S = 2.0
# Pieces nearer than this are one and the same step; recorded repetitions are about this far apart.
_SAME_M = 0.06
_COUNTED_S = 10.0
_UP = np.array([0.0, 1.0, 0.0])


def dance_pieces(points: Mapping[str, Array], fps: float) -> Array:
    """(pieces, values) float32 pieces of a dance, a quarter of a second apart.

    Distances between pieces are root mean squares over points of the body and time, in metres:
    every pose is relative to the middle of the hips and to their facing.

    Parameters
    ----------
    points
        Of :func:`deepphase.evaluation.dance_body.body_points`.
    fps
        Frames a second.

    Returns
    -------
    No piece if the dance is shorter than one.
    """
    across = points["left_hip"] - points["right_hip"]
    across = across * np.array([1.0, 0.0, 1.0])
    across /= np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-9)
    forward = np.cross(across, _UP)
    names = sorted(name for name in points if "_" in name)
    body = np.stack([points[name] for name in names], axis=1) - points["root"][:, None]
    axes = np.stack([across, np.broadcast_to(_UP, across.shape), forward], axis=1)
    local = np.einsum("fac,fpc->fpa", axes, body)
    step = PIECE_S / _SAMPLES * fps
    count = int((len(local) - 1 - (_SAMPLES - 1) * step) // (_HOP_S * fps)) + 1
    starts = np.arange(max(count, 0)) * _HOP_S * fps
    frames = np.rint(starts[:, None] + np.arange(_SAMPLES) * step).astype(np.intp)
    scale = 1.0 / np.sqrt(_SAMPLES * len(names))
    return (scale * local[frames].reshape(len(frames), _SAMPLES * len(names) * 3)).astype(
        np.float32
    )


def nearest_repeats(pieces: Array) -> Array:
    """(pieces,) metres from each piece to the nearest other one of the same dance.

    Others are those that begin two seconds away or more; none if no piece does.
    """
    apart = round(_APART_S / _HOP_S)
    if len(pieces) <= apart:
        return np.zeros(0)
    distances = _distances(pieces)
    index = np.arange(len(pieces))
    distances[np.abs(index[:, None] - index) < apart] = np.inf
    nearest = distances.min(axis=1)
    return np.asarray(nearest[np.isfinite(nearest)], np.float64)


def distinct_pieces(pieces: Array) -> float:
    """Mean number of distinct pieces in ten seconds; 0 if the dance is shorter.

    A piece is distinct if it is 6 cm or more from all distinct ones before it. Pieces begin a
    quarter of a second apart, so that there are 33 at most.
    """
    length = round((_COUNTED_S - PIECE_S) / _HOP_S) + 1
    counts = []
    for first in range(0, len(pieces) - length + 1, length):
        near = _distances(pieces[first : first + length]) < _SAME_M
        chosen: list[int] = []
        for index in range(length):
            if not near[index, chosen].any():
                chosen.append(index)
        counts.append(len(chosen))
    return float(np.mean(counts)) if counts else 0.0


def _distances(pieces: Array) -> Array:
    """(pieces, pieces) metres."""
    rows = pieces.astype(np.float64)
    squares = np.einsum("nd,nd->n", rows, rows)
    products = squares[:, None] + squares - 2.0 * rows @ rows.T
    return np.sqrt(np.maximum(products, 0.0))
