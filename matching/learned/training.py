"""Matchers of a database, and the measures of what was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.errors import ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.data import FRAMES, LearnedData
from deepphase.matching.learned.least_squares import fitted
from deepphase.matching.learned.matcher import Matcher, rounded
from deepphase.matching.learned.motion import KeptStates, MatcherBody
from deepphase.matching.player.settings import MomentFilter
from deepphase.matching.player.source import database_measures
from deepphase.motion import quaternions
from deepphase.packages import version
from deepphase.work import Progress

_MOST_LATENTS, _LONGEST_S = 1024, 1.0


def train_matcher(
    database: MotionDatabase,
    *,
    latents: int = 80,
    spacing_s: float = 0.05,
    moments: MomentFilter | None = None,
    progress: Progress | None = None,
) -> Matcher:
    """Compress a motion database to a matcher of learned motion matching.

    Its decompressor is linear and fitted by least squares, in seconds. In the paper it is a
    network: joints by one are farther off in a file of equal size, after a hundred times as long
    (docs/measurements/matching.md).

    Parameters
    ----------
    database
        A database whose features have a trajectory ahead.
    latents
        Latent values of a state, beside its features; 1 to 1024.
    spacing_s
        Seconds from one kept state to the next, up to 1. The file grows as this shrinks.
    moments
        The moments that are played; idle and locomotion by default.

    Returns
    -------
    The matcher, measured on rows of the database.

    Raises
    ------
    ParameterError
        If `latents` or `spacing_s` is out of its range, or no clip is as long as the spacing.

    References
    ----------
    Holden, Kanoun, Perepichka and Popa 2020, Learned Motion Matching.
    """
    if not 1 <= latents <= _MOST_LATENTS:
        raise ParameterError(f"{latents} latents", hint=f"give a number from 1 to {_MOST_LATENTS}")
    if not 0.0 < spacing_s <= _LONGEST_S:
        raise ParameterError(
            f"a spacing of {spacing_s:g} s", hint=f"give a time above 0, up to {_LONGEST_S:g} s"
        )
    data = LearnedData(database, spacing_s, moments=moments, progress=progress)
    playback, database = data.playback, data.database
    own, layer = fitted(data, latents, progress)
    # Rounded as in a file.
    features, own = (numbers * step for numbers, step in map(rounded, (data.kept.features, own)))
    clips, frames = database.clip_of(data.firsts), database.frame_of(data.firsts)
    rows = data.rows_of(np.arange(len(data.kept)))
    name = "" if database.path is None else database.path.name
    made_with = {"database": name, "deepphase": version(), "latents": latents}
    matcher = Matcher(
        body=MatcherBody.from_playback(playback, database.body, data.playable),
        layout=database.layout,
        normalisation=database.normalisation,
        values=data.values,
        kept=KeptStates(features, own, data.kept.spacing, data.kept.counts),
        offered=data.offered,
        names=tuple(
            database.clip_names[clip] + (f" from frame {frame}" if frame else "")
            for clip, frame in zip(clips.tolist(), frames.tolist(), strict=True)
        ),
        labels=tuple(database.labels[clip] for clip in clips.tolist()),
        contacts=playback.contacts[rows],
        kinds=np.asarray(database.kinds)[rows],
        decompressor=(layer,),
        data=database_measures(database, playback),
        provenance={**dict(database.made_with), **made_with, "spacing_s": spacing_s},
    )
    return replace(matcher, health=matcher_health(matcher, data))


# Moments that are measured.
_MOMENTS = 2_000


def matcher_health(matcher: Matcher, data: LearnedData) -> dict[str, Any]:
    """Measures of a matcher on moments spread over its database.

    Returns ``pose_error_cm``, ``pose_error_95_cm`` and ``rotation_error_degrees`` of decompressed
    poses, in root space; ``root_speed_error``, m/s; and ``speed_ratio`` and ``jerk_ratio``: of the
    joints in root space, the mean over that of the database.
    """
    rows = data.measured_rows
    rows = rows[rows + FRAMES <= data.kept.stops[data.kept.stretch_of(rows)]]
    rows = rows[:: max(len(rows) // _MOMENTS, 1)][:, None] + np.arange(FRAMES)
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
