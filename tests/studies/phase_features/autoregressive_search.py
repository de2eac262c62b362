"""Autoregressive search: the nearest frame of each found frame, again and again.

A feature with a direction of time plays a motion on; one without finds the frame that was played
before, and the body stands still (Starke et al. 2022, fig. 17).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from deepphase.arrays import Array
from deepphase.phase.matches import Frames
from tests.studies.phase_features.frame_features import FrameFeatures


@dataclass(frozen=True, eq=False)
class SearchedPaths:
    """Sequences of frames that were found one from the other."""

    paths: Array  # (starts, steps + 1) indices of frames, the start first
    # (starts, steps + 1) metres: mean distance of corresponding joints to the frames that follow
    # the start in its clip.
    distances: Array
    # (starts,) share of the steps whose change of pose is along the motion at the frame.
    forward: Array
    # (starts,) share of different frames: 1 plays on, near 0 is stuck between a few.
    distinct: Array


def searched_paths(
    features: FrameFeatures,
    poses: Array,
    frames: Frames,
    fps: float,
    *,
    steps: int,
    starts: int = 100,
    seed: int = 0,
) -> SearchedPaths:
    """Search for the next frame `steps` times, beginning at random frames.

    The query is the current frame's features, advanced by one frame if they have a frequency. The
    nearest of all other frames is the next one.

    Parameters
    ----------
    poses
        (frames, joints, 3) metres, root space.
    steps
        Frames; the starts are followed by as many in their clips.
    """
    begin = frames.followed(steps, starts, seed)
    paths = np.empty((len(begin), steps + 1), np.int64)
    paths[:, 0] = begin
    for step in range(steps):
        current = paths[:, step]
        paths[:, step + 1] = nearest_to(
            features.advanced(current, 1.0 / fps), features.values, current
        )
    continued = begin[:, None] + np.arange(steps + 1)
    distances = np.stack(
        [
            np.linalg.norm(poses[path] - poses[true], axis=-1).mean(-1)
            for path, true in zip(paths, continued, strict=True)
        ]
    )
    return SearchedPaths(
        paths,
        distances,
        _forward(paths, poses, frames),
        np.array([len(np.unique(path)) / path.size for path in paths]),
    )


def _forward(paths: Array, poses: Array, frames: Frames) -> Array:
    """(starts,) share of steps along the motion at the frame that they leave."""
    shares = []
    for path in paths:
        here = path[:-1]
        # At the end of a clip, the motion is the last change.
        after = np.where(frames.reaches(here, 1), here + 1, here)
        before = np.where(frames.reaches(here, 1), here, np.maximum(here - 1, 0))
        motion = poses[after].astype(np.float64) - poses[before]
        change = poses[path[1:]].astype(np.float64) - poses[here]
        shares.append(float((np.einsum("fjc,fjc->f", change, motion) > 0).mean()))
    return np.array(shares)


def nearest_to(wanted: Array, features: Array, left_out: Array) -> Array:
    """(queries,) index of the frame nearest to each vector, other than the one left out.

    Parameters
    ----------
    wanted, features
        (queries, dimensions) and (frames, dimensions).
    left_out
        (queries,) index of a frame that is not an answer.
    """
    nearest = []
    for query, other in zip(wanted.astype(np.float64), left_out.tolist(), strict=True):
        distances = cdist(query[None], features, "sqeuclidean")[0]
        distances[other] = np.inf
        nearest.append(int(distances.argmin()))
    return np.array(nearest, np.int64)
