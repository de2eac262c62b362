"""Measures of motion on ground: penetration, float and sliding of feet."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.foot_ik import LimbSolver
from deepphase.motion.kinematics import velocities
from deepphase.terrain.heightmap import Heightmap
from deepphase.terrain.laying import LaidMotion

DEEP_M, FLOATING_M = 0.02, 0.03
# Share of a leg's length by which the ground of a pair of feet differs on cliffs.
_CLIFF_SHARE = 0.5
GROUND_MEASURES: Mapping[str, tuple[str, str, str]] = {
    "deep": ("", "less", "contact frames with a foot more than 2 cm in the ground"),
    "floating": ("", "less", "contact frames with all of a foot more than 3 cm above the ground"),
    "depth": ("m", "less", "depth of feet in contact in the ground, on average"),
    "depth_95": ("m", "less", "the same, 95th percentile"),
    "gap": ("m", "less", "distance of feet in contact above the ground, on average"),
    "gap_95": ("m", "less", "the same, 95th percentile"),
    "swing_deep": ("", "less", "other frames with a foot more than 2 cm in the ground"),
    "sliding": ("m/s", "less", "horizontal speed of feet in contact, on average"),
    "slope": ("m/m", "", "rise of the ground under the feet, on average"),
    "cliffs": ("", "", "frames in which the ground of both feet differs by more than half a leg"),
}
"""Measure of the feet of a motion -> (unit, better values, definition)."""
_ALONG = np.linspace(0.0, 1.0, 4)


def ground_measures(
    laid: LaidMotion, ground: Heightmap, ends: Array | None = None
) -> dict[str, float] | None:
    """The `GROUND_MEASURES` of a laid motion; None if no foot is ever in contact.

    The points of a foot lie between the last joint and the tip of its limb, less their heights over
    the floor while they stand on it. The tips' `ends` are those of `LegChains.ends`.
    """
    clip, flags = laid.clip, laid.contacts
    if not flags.any():
        return None
    solver = LimbSolver(clip.skeleton, laid.chains, ends)
    limbs = solver.transforms(clip.rotations, clip.local_positions())
    last, tips = limbs.positions[2:]
    points = last + _ALONG[:, None, None, None] * (tips - last)
    soles = laid.soles[0] + _ALONG[:, None] * (laid.soles[1] - laid.soles[0])
    over = points[..., 1] - soles[..., None] - ground.at(points[..., ::2])
    depth, gap = np.maximum(-over, 0.0).max(axis=0), np.maximum(over, 0.0).min(axis=0)
    nearest = np.take_along_axis(points, over.argmin(axis=0)[None, ..., None], axis=0)[0]
    speeds = np.linalg.norm(
        np.stack([velocities(each[:, None, ::2], clip.fps)[:, 0] for each in nearest]), axis=-1
    )
    cliffs = _cliffs(ground.at(last[..., ::2]), limbs.lengths)
    found = {
        "deep": depth[flags] > DEEP_M,
        "floating": gap[flags] > FLOATING_M,
        "depth": depth[flags],
        "gap": gap[flags],
        "swing_deep": depth[~flags] > DEEP_M if not flags.all() else np.zeros(1),
        "sliding": speeds[flags],
        "slope": np.linalg.norm(ground.gradients(points[0][..., ::2], 0.2), axis=-1),
        "cliffs": cliffs,
    }
    means = {name: float(values.mean()) for name, values in found.items()}
    tails = {f"{name}_95": float(np.percentile(found[name], 95)) for name in ("depth", "gap")}
    return means | tails


def _cliffs(heights: Array, lengths: Array) -> Array:
    """(frames,) whether the ground (limbs, frames) of a pair differs by more than half a leg."""
    apart = np.abs(heights[:-1:2] - heights[1::2])
    return (apart > _CLIFF_SHARE * lengths[: 2 * len(apart) : 2]).any(axis=0)
