"""Comparison of a phase model with other features by the measures of DeepPhase's evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.phase_measures import followed_parts, joint_energy, joints_followed
from deepphase.phase.matches import match_distances_m, nearest_frames, query_frames, ranks_of_later
from deepphase.work import Progress
from tests.studies.phase_features.autoregressive_search import SearchedPaths, searched_paths
from tests.studies.phase_features.feature_claims import (
    Claim,
    Difference,
    Measured,
    claims_about,
    difference,
)
from tests.studies.phase_features.feature_measures import KINDS, RANK_S, SEARCH_S
from tests.studies.phase_features.feature_rings import one_way_matches, unevenness, windings
from tests.studies.phase_features.frame_features import FrameFeatures
from tests.studies.phase_features.rival_features import ComparedFrames
from tests.studies.phase_features.strike_agreement import strike_deviations

MODEL = "this model"
"""Name of the features of the evaluated model."""
AHEAD_S = (1 / 12, 1 / 6, 1 / 4, 1 / 2, 3 / 4)
"""Times ahead of the curve of future frames, seconds."""
# Frames of the curve and starts of the search are fewer than the queries: each is a search of its
# own for every time ahead and every step.
_CURVE_QUERIES, _STARTS = 2_000, 100
_TAIL = "tail"
MIN_FRAMES = 30
"""Shorter clips say nothing about what a channel follows."""


@dataclass(frozen=True, eq=False)
class FeatureMeasures:
    """Measures of one feature."""

    features: FrameFeatures  # The features
    # Key of the measure -> values; measures that do not apply are left out.
    measured: dict[str, Measured]
    future: Array  # (times ahead,) mean ranks of `AHEAD_S`, NaN where no clip is long enough
    searched: SearchedPaths | None  # Frames found by searches, if clips are long enough
    nearest: Array | None  # (queries, matches) of the alignment error, if there are clips enough
    tail_channel: int | None = None  # Number of the channel that follows the tail best


@dataclass(frozen=True, eq=False)
class FeatureComparison:
    """A model's measures beside those of other features on the same frames.

    Parameters
    ----------
    model, rivals
        Their measures.
    chosen
        (queries,) frames that the alignment error is measured on.
    """

    model: FeatureMeasures
    rivals: tuple[FeatureMeasures, ...]
    chosen: Array

    @property
    def every(self) -> tuple[FeatureMeasures, ...]:
        """The model, then the others."""
        return (self.model, *self.rivals)

    @cached_property
    def differences(self) -> list[Difference]:
        """The model against each other feature, in every measure that both have."""
        made = [
            difference(key, own, rival.features.name, rival.measured[key])
            for key, own in self.model.measured.items()
            for rival in self.rivals
            if key in rival.measured
        ]
        return [each for each in made if each is not None]

    @cached_property
    def claims(self) -> list[Claim]:
        """DeepPhase's claims about features that were compared."""
        rivals = {each.features.name: each.measured for each in self.rivals}
        return claims_about(self.differences, self.model.measured, rivals)

    def as_mapping(self) -> dict[str, Any]:
        """Plain values, for report.json."""
        return {
            "features": {
                each.features.name: {
                    "measures": {
                        key: {
                            "value": measured.mean,
                            "interval_95": measured.interval,
                            "n": len(measured.values),
                        }
                        for key, measured in each.measured.items()
                    },
                    "future_ranks": [None if np.isnan(rank) else rank for rank in each.future],
                }
                for each in self.every
            },
            "definitions": {kind.key: f"{kind.name}: {kind.definition}" for kind in KINDS},
            "future_s": list(AHEAD_S),
            "differences": [vars(each) for each in self.differences],
            "claims": [vars(each) for each in self.claims],
        }


def compare_features(
    model: FrameFeatures,
    rivals: Sequence[FrameFeatures],
    compared: ComparedFrames,
    *,
    queries: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> FeatureComparison:
    """Measure a model's features and others on the same frames and queries.

    Parameters
    ----------
    model, rivals
        Features of all frames.
    compared
        The frames.
    queries
        Number of frames on which alignment and ranks are measured.
    seed
        Random seed for the choice of these frames.
    """
    chosen = query_frames(len(compared.frames), queries, seed)
    every = []
    for done, features in enumerate((model, *rivals), start=1):
        if progress is not None:
            progress("comparing", done, 1 + len(rivals), features.name)
        every.append(_measures(features, compared, chosen, queries, seed))
    return FeatureComparison(every[0], tuple(every[1:]), chosen)


def _measures(
    features: FrameFeatures, compared: ComparedFrames, chosen: Array, queries: int, seed: int
) -> FeatureMeasures:
    frames, fps = compared.frames, compared.fps
    measured: dict[str, Measured] = {}
    nearest = searched = None
    # With too few clips, no frame is far enough from a query to be compared.
    with suppress(ParameterError):
        nearest = nearest_frames(features.values, frames, chosen, exclude=compared.window // 2)
    if nearest is not None:
        _add(
            measured,
            "alignment",
            match_distances_m(compared.poses, chosen, nearest),
            frames.clip[chosen],
        )
        _add(
            measured,
            "one_way",
            one_way_matches(features.values, frames, fps, chosen, nearest),
            frames.clip[chosen],
        )
    _add_ranks(measured, "next", features, compared, 1, queries, seed, advanced=False)
    _add_ranks(measured, "next_advanced", features, compared, 1, queries, seed)
    _add_ranks(measured, "future", features, compared, round(RANK_S * fps), queries, seed)
    curve: dict[str, Measured] = {}
    for seconds in AHEAD_S:
        few = min(queries, _CURVE_QUERIES)
        _add_ranks(curve, f"{seconds}", features, compared, round(seconds * fps), few, seed)
    future = [curve[key].mean if key in curve else np.nan for key in map(str, AHEAD_S)]
    steps = round(SEARCH_S * fps)
    if frames.reaches(np.arange(len(frames)), steps).any():
        starts = min(queries, _STARTS)
        searched = searched_paths(
            features, compared.poses, frames, fps, steps=steps, starts=starts, seed=seed
        )
        clips = frames.clip[searched.paths[:, 0]]
        _add(measured, "distinct", searched.distinct, clips)
        _add(measured, "forward", searched.forward, clips)
        _add(measured, "searched", searched.distances[:, -1], clips)
    present = np.unique(frames.clip)
    _add(measured, "winding", windings(features.values, frames), present)
    _add(measured, "uneven", unevenness(features.values, frames, fps), present)
    tail = None
    if features.parameters is not None:
        phases = compared.by_clip(features.parameters.phase)
        deviations = strike_deviations(phases, compared.strikes)
        _add(measured, "strikes", deviations, np.arange(len(phases)))
        tail = _add_tail(measured, features, compared)
    order = {kind.key: measured[kind.key] for kind in KINDS if kind.key in measured}
    return FeatureMeasures(features, order, np.array(future), searched, nearest, tail)


def _add(measured: dict[str, Measured], key: str, values: Array, clips: Array) -> None:
    """Add the values that are known, if there are any."""
    known = np.flatnonzero(np.isfinite(values))
    if known.size:
        measured[key] = Measured(values[known].astype(np.float64), clips[known], known)


def _add_ranks(
    measured: dict[str, Measured],
    key: str,
    features: FrameFeatures,
    compared: ComparedFrames,
    ahead: int,
    queries: int,
    seed: int,
    *,
    advanced: bool = True,
) -> None:
    try:
        chosen = compared.frames.followed(ahead, queries, seed)
    except ParameterError:
        return
    seconds = ahead / compared.fps if advanced else 0.0
    wanted = features.advanced(chosen, seconds)
    ranks = ranks_of_later(wanted, features.values, chosen, ahead)
    _add(measured, key, ranks, compared.frames.clip[chosen])


def _add_tail(
    measured: dict[str, Measured], features: FrameFeatures, compared: ComparedFrames
) -> int | None:
    """Add the share of the tail's motion in its channel; return the channel."""
    assert features.parameters is not None
    if _TAIL not in compared.parts:
        return None
    shares, weights, clips = [], [], []
    for clip, own in enumerate(compared.places):
        if own.stop - own.start < MIN_FRAMES:
            continue
        moved = compared.velocities[own]
        energy = joint_energy(moved)
        parts = followed_parts(
            joints_followed(features.parameters[own], moved), energy, compared.parts
        )
        if _TAIL in parts:
            shares.append(parts[_TAIL])
            weights.append(energy[[part == _TAIL for part in compared.parts]].sum())
            clips.append(clip)
    if not shares:
        return None
    channel = int((np.array(weights) @ np.array(shares)).argmax())
    _add(measured, "tail", np.array(shares)[:, channel], np.array(clips))
    return channel
