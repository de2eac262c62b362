"""Measures of a matcher beside the rows of its database: pose, drift, and what is projected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.learned.matcher import Matcher
from deepphase.motion import quaternions

if TYPE_CHECKING:
    from deepphase.matching.learned.data import LearnedData

_ROWS, _QUERIES = 2_000, 2_000
# Seconds after which the stepper is compared with the clip.
_STEPPED_S = (0.25, 0.5, 1.0)
# A projected state whose nearest row is within this time of the true one counts as found.
_NEAR_S = 0.1


def matcher_health(matcher: Matcher, data: LearnedData, states: Array) -> dict[str, Any]:
    """Measures of a matcher on rows spread over its database.

    Parameters
    ----------
    states
        (rows, state) states of all rows.

    Returns
    -------
    ``pose_error_cm``, ``pose_error_95_cm`` and ``rotation_error_degrees`` of decompressed poses,
    in root space; ``contact_agreement``; ``step_error_cm`` after `_STEPPED_S` seconds of stepping,
    beside ``still_error_cm`` of a pose that does not change; ``root_drift_m`` after the last of
    them; ``recall``, the share of queries whose projected state is nearest to the row that a
    search finds, or to one within 0.1 s of it, and ``projected_cost``, the distance of the
    projected state to the query as a share of that row's.
    """
    return {
        **_pose_errors(matcher, data, states),
        **_drift(matcher, data, states),
        **_recall(matcher, data, states),
    }


def matcher_lines(health: Mapping[str, Any]) -> list[str]:
    """Sentences on the measures."""
    step = health["step_error_cm"]
    times = ", ".join(f"{each:.1f} cm after {after} s" for after, each in step.items())
    return [
        f"decompressor: joints {health['pose_error_cm']:.2f} cm from the database's on average, "
        f"{health['rotation_error_degrees']:.2f} degrees",
        f"stepper: {times}; root {100 * health['root_drift_m']:.0f} cm after a second",
        f"projector: the row of a search for {health['recall']:.0%} of queries; costs "
        f"{health['projected_cost']:.2f} times those of the rows found",
    ]


def _positions(data: LearnedData, rotations: Array, translations: Array) -> Array:
    return data.playback.positions(rotations, translations)


def _pose_errors(matcher: Matcher, data: LearnedData, states: Array) -> dict[str, Any]:
    rows = data.measured_rows[:: max(len(data.measured_rows) // _ROWS, 1)]
    found, truth = matcher.decompressed(states[rows]), data.poses(rows)
    apart = np.linalg.norm(_positions(data, *found[:2]) - _positions(data, *truth[:2]), axis=-1)
    turns = quaternions.multiply(found.rotations, quaternions.conjugate(truth.rotations))
    angles = 2.0 * np.degrees(np.arccos(np.clip(np.abs(turns[..., 3]), 0.0, 1.0)))
    agreement = (found.contacts == truth.contacts).mean() if truth.contacts.size else 1.0
    return {
        "pose_error_cm": 100.0 * float(apart.mean()),
        "pose_error_95_cm": 100.0 * float(np.percentile(apart, 95)),
        "rotation_error_degrees": float(angles[:, list(data.values.body)].mean()),
        "contact_agreement": float(agreement),
    }


def _drift(matcher: Matcher, data: LearnedData, states: Array) -> dict[str, Any]:
    fps, last = matcher.fps, round(_STEPPED_S[-1] * matcher.fps)
    rows = data.measured_rows
    stops = data.database.ranges_of(rows)[1]
    rows = rows[(rows + last < stops) & data.playable[np.minimum(rows + last, len(states) - 1)]]
    rows = rows[:: max(len(rows) // (_ROWS // 4), 1)]
    if not len(rows):
        return {"step_error_cm": {}, "still_error_cm": {}, "root_drift_m": 0.0}
    state = states[rows]
    stepped: dict[str, float] = {}
    still: dict[str, float] = {}
    begin = data.poses(rows)
    roots = np.zeros((2, len(rows), 3))
    for frame in range(1, last + 1):
        own, true = matcher.decompressed(state).steps, data.playback.steps[rows + frame - 1]
        roots = np.stack(
            [_moved(place, step) for place, step in zip(roots, (own, true), strict=True)]
        )
        state = matcher.stepped(state)
        for after in _STEPPED_S:
            if frame == round(after * fps):
                truth = _positions(data, *data.poses(rows + frame)[:2])
                for into, poses in ((stepped, matcher.decompressed(state)), (still, begin)):
                    apart = np.linalg.norm(_positions(data, *poses[:2]) - truth, axis=-1)
                    into[f"{after:g}"] = 100.0 * float(apart.mean())
    drift = np.linalg.norm((roots[0] - roots[1])[:, :2], axis=-1)
    return {
        "step_error_cm": stepped, "still_error_cm": still, "root_drift_m": float(drift.mean())
    }  # fmt: skip


def _moved(places: Array, steps: Array) -> Array:
    """Root places (n, 3), x, z and angle, after steps (n, 3) in root space."""
    sine, cosine = np.sin(places[:, 2]), np.cos(places[:, 2])
    x = cosine * steps[:, 0] + sine * steps[:, 1]
    z = cosine * steps[:, 1] - sine * steps[:, 0]
    return places + np.stack([x, z, steps[:, 2]], 1)


def _recall(matcher: Matcher, data: LearnedData, states: Array) -> dict[str, Any]:
    import torch

    from deepphase.matching.learned.nearest import NearestStates, random_queries

    count, every = matcher.features, torch.from_numpy(states)
    metric = torch.ones(states.shape[1])
    metric[count:] = data.config.training.pose_weight
    nearest = NearestStates(data, every, metric)
    generator = torch.Generator().manual_seed(0)
    rows = data.measured_rows[:: max(len(data.measured_rows) // _QUERIES, 1)]
    queries = random_queries(data, every, torch.from_numpy(rows), generator)
    asked = queries.states.numpy()
    found = matcher.projected(
        asked[:, :count],
        asked[:, count:],
        queries.styles.numpy(),
        queries.starts.numpy(),
    )
    true = nearest(queries).numpy()
    projected = nearest(queries._replace(states=torch.from_numpy(found))).numpy()
    hit = (np.abs(projected - true) <= _NEAR_S * matcher.fps) & (
        data.database.clip_of(projected) == data.database.clip_of(true)
    )

    def costs(values: Array) -> Array:
        return np.linalg.norm((values - asked) * metric.numpy(), axis=1)

    ratio = np.median(costs(found) / np.maximum(costs(states[true]), 1e-6))
    return {"recall": float(hit.mean()), "projected_cost": float(ratio)}
