"""Feature rows of the frames of a clip."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.ndimage import gaussian_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.features.feature import Feature
from deepphase.features.layout import FeatureLayout
from deepphase.features.pose import BodyFrames
from deepphase.features.trajectory import TRAJECTORY_PATH, path_of_clip, relative_trajectory


def frame_rows(
    layout: FeatureLayout,
    body: BodyFrames,
    *,
    manifold: Array | None = None,
    tracks: Mapping[str, Array] | None = None,
) -> tuple[Array, Array]:
    """Raw features of every frame, neither normalised nor weighted.

    `manifold` (frames, 2 * channels) phase manifold; needed where the layout has phases; `tracks`:
    name -> (frames, values): tracks that the layout names. Returns `rows` (frames, dims) float32.
    `inside` (frames,) bool: Whether all offsets of trajectories and tracks lie inside the clip.
    Outside, trajectories are continued straight and tracks repeat their outermost value. Raises
    ParameterError where phases or a track are missing or of another length, or a value is not
    finite.
    """
    inside = np.ones(len(body), bool)
    blocks = {}
    for feature in layout:
        if feature.kind in TRAJECTORY_PATH:
            block, within = _trajectory_block(feature, body)
            inside &= within
        elif feature.kind.startswith("joint"):
            values = body.positions if feature.kind == "joint_position" else body.velocities
            block = values[:, body.index_of(feature.joints)].reshape(len(body), -1)
            block = _slow(block, feature.smoothing_s, body.fps)
        else:
            source = (
                manifold if feature.kind == "phase_manifold" else (tracks or {}).get(feature.track)
            )
            if source is None or len(source) != len(body):
                raise ParameterError(
                    f"feature {feature.name!r} must have values for each of the clip's {len(body)} "
                    "frames"
                )
            block = at_offsets(source.reshape(len(body), -1), feature.offsets_s, body.fps)
            inside &= reach_inside(len(body), feature.offsets_s, body.fps)
        blocks[feature.name] = block
    return layout.assembled(blocks), inside


def at_offsets(values: Array, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames, n * values) values at n offsets from each frame; the outermost are repeated."""
    frames = offset_frames(len(values), offsets_s, fps)
    return values[frames].reshape(len(values), -1)


def offset_frames(frames: int, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames, offsets) nearest frame at each offset from each frame, clamped to the clip."""
    steps = np.round(np.asarray(offsets_s) * fps).astype(np.int64)
    return np.clip(np.arange(frames)[:, None] + steps, 0, frames - 1)


def reach_inside(frames: int, offsets_s: tuple[float, ...], fps: float) -> Array:
    """(frames,) bool: whether the frames at all offsets lie within the clip."""
    steps = np.round(np.asarray(offsets_s) * fps).astype(np.int64)
    index = np.arange(frames)
    return (index + steps.min() >= 0) & (index + steps.max() < frames)


def _trajectory_block(feature: Feature, body: BodyFrames) -> tuple[Array, Array]:
    path, inside = path_of_clip(body.root, np.array(feature.offsets_s), body.fps)
    blocks = relative_trajectory(
        path.positions, path.directions, body.root.positions, body.root.directions
    )
    return blocks[TRAJECTORY_PATH.index(feature.kind)], inside


def _slow(values: Array, smoothing_s: float, fps: float) -> Array:
    """(frames, values) after a Gaussian filter over time; the outermost frames are repeated.

    `smoothing_s`: standard deviation in seconds; 0 leaves the values as they are.
    """
    if not smoothing_s:
        return values
    return gaussian_filter1d(values, smoothing_s * fps, axis=0, mode="nearest")
