"""Measures of a matcher beside the rows of its database: poses, and how they move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.matching.learned.matcher import Matcher
from deepphase.motion import quaternions

if TYPE_CHECKING:
    from deepphase.matching.learned.data import LearnedData

# Moments that are measured, and successive rows of each.
_MOMENTS, _FRAMES = 2_000, 4


def matcher_health(matcher: Matcher, data: LearnedData) -> dict[str, Any]:
    """Measures of a matcher on moments spread over its database.

    Returns ``pose_error_cm``, ``pose_error_95_cm`` and ``rotation_error_degrees`` of decompressed
    poses, in. root space; ``root_speed_error``, m/s; and ``speed_ratio`` and ``jerk_ratio``: of the
    joints. in root space, the mean over that of the database.
    """
    rows = data.measured_rows
    rows = rows[rows + _FRAMES <= data.kept.stops[data.kept.stretch_of(rows)]]
    rows = rows[:: max(len(rows) // _MOMENTS, 1)][:, None] + np.arange(_FRAMES)
    motion, playback = matcher.motion, data.playback
    found = [getattr(motion, name)[rows] for name in ("rotations", "translations", "steps")]
    truth = data.poses(data.rows_of(rows))
    places = [playback.positions(*each[:2]) for each in (found, truth)]
    apart = 100.0 * np.linalg.norm(places[0] - places[1], axis=-1)
    turns = quaternions.multiply(found[0], quaternions.conjugate(truth.rotations))
    angles = 2.0 * np.degrees(np.arccos(np.clip(np.abs(turns[..., 3]), 0.0, 1.0)))
    speeds, jerks = (
        [np.linalg.norm(np.diff(each, order, axis=1), axis=-1).mean() for each in places]
        for order in (1, 3)
    )
    steps = (found[2] - truth.steps)[..., :2] * matcher.fps
    return {
        "pose_error_cm": float(apart.mean()),
        "pose_error_95_cm": float(np.percentile(apart, 95)),
        "rotation_error_degrees": float(angles[..., list(data.values.body)].mean()),
        "root_speed_error": float(np.linalg.norm(steps, axis=-1).mean()),
        "speed_ratio": float(speeds[0] / max(speeds[1], 1e-9)),
        "jerk_ratio": float(jerks[0] / max(jerks[1], 1e-9)),
    }


def matcher_lines(health: Mapping[str, Any]) -> list[str]:
    """Sentences on the measures."""
    return [
        f"decompressed poses: joints {health['pose_error_cm']:.2f} cm from the database's on "
        f"average, {health['rotation_error_degrees']:.2f} degrees; root "
        f"{health['root_speed_error']:.3f} m/s",
        f"joints move {health['speed_ratio']:.2f} times as fast as the database's, with "
        f"{health['jerk_ratio']:.2f} times the jerk",
    ]
