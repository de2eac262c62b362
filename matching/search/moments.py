"""The moments of a database that are nearest to a moment of a clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from matching.database.database import MotionDatabase
from matching.search.searcher import Searcher

_UP = np.array([0.0, 1.0, 0.0])


@dataclass(frozen=True)
class Moment:
    """One frame of a database that a search found.

    Parameters
    ----------
    row, clip, frame
        The row, its clip's name and the frame in it.
    time_s
        Seconds from the clip's start.
    distance
        Cost: Euclidean distance of the normalised, weighted features.
    labels
        The clip's.
    """

    row: int
    clip: str
    frame: int
    time_s: float
    distance: float
    labels: Mapping[str, str]


def nearest_moments(
    database: MotionDatabase,
    searcher: Searcher,
    query: Array,
    k: int = 10,
    *,
    apart_s: float = 0.5,
    allowed: Array | None = None,
    excluded: Array | None = None,
) -> list[Moment]:
    """The k nearest moments, no two of one clip closer than `apart_s` seconds.

    Without that, most of the nearest frames are neighbours of the very nearest.

    Parameters
    ----------
    query : (dims,)
    allowed : (rows,) bool
    excluded : (2,)
        Rows from, up to which nothing is found, as the query's own neighbourhood.

    Returns
    -------
    Up to k of them, nearest first; fewer where there are no more.

    Raises
    ------
    ParameterError
        Where k or `apart_s` is of no use, or the query does not fit the database.
    """
    if k < 1 or not (np.isfinite(apart_s) and apart_s >= 0):
        raise ParameterError(f"{k} moments, {apart_s} s apart: both must be positive")
    free = np.ones(len(database), bool) if allowed is None else allowed.copy()
    ranges = None if excluded is None else np.asarray(excluded)[None]
    found: list[Moment] = []
    while len(found) < k:
        # One at a time where each closes its neighbourhood, else all at once.
        count = 1 if apart_s > 0 else k
        distances, rows = searcher.search(query, count, allowed=free, excluded=ranges)
        there = rows[0] >= 0
        found += [
            moment(database, row, distance)
            for row, distance in zip(rows[0, there], distances[0, there], strict=True)
        ]
        if not there.all() or apart_s == 0:
            break
        first, stop = database.neighbourhood(rows[0], apart_s)[0]
        free[first:stop] = False
    return found[:k]


def moment(database: MotionDatabase, row: int, distance: float = 0.0) -> Moment:
    """What a row stands for."""
    clip = int(database.clip_of(row))
    frame = int(row) - int(database.range_starts[clip])
    return Moment(
        int(row),
        database.clip_names[clip],
        frame,
        frame / database.fps,
        float(distance),
        database.labels[clip],
    )


def following(database: MotionDatabase, row: int, seconds: float, before_s: float = 0.0) -> Clip:
    """The clip from some seconds before a row to some behind it, as far as it goes."""
    index = int(database.clip_of(row))
    clip, frame = database.clip(index), int(row) - int(database.range_starts[index])
    start = max(frame - round(before_s * database.fps), 0)
    stop = min(frame + round(seconds * database.fps) + 1, len(clip))
    return replace(clip.sliced(start, stop), name=f"{clip.name} from {start / clip.fps:.2f} s")


def placed(clip: Clip, position: Array, angle: float, to_position: Array, to_angle: float) -> Clip:
    """A clip moved over the ground as one piece.

    Parameters
    ----------
    position, angle
        A place (3,) on the ground and a facing about Y from +Z, radians, in the clip's world.
    to_position, to_angle
        Where that place and facing come to lie.
    """
    turn = quaternions.about_axis(_UP, np.array(to_angle - angle))
    rotations, translations = np.array(clip.rotations), np.array(clip.translations)
    rotations[:, 0] = quaternions.multiply(turn.astype(rotations.dtype), rotations[:, 0])
    relative = translations[:, 0] - np.asarray(position)
    translations[:, 0] = quaternions.rotate(turn, relative) + np.asarray(to_position)
    return replace(clip, rotations=rotations, translations=translations)
