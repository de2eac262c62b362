"""Queries made from frames of clips, and the nearest moments of a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.corpus.motion_files import settings_in
from deepphase.errors import ParameterError
from deepphase.features.feature import BodyFrames
from deepphase.formats.load import load
from deepphase.matching.database.build import floor_tracks
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.stored_rows import has_ground_heights
from deepphase.matching.search.request import Searcher
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor


def clip_queries(
    database: MotionDatabase, clip: Clip, model: PhaseExtractor | None = None
) -> tuple[np.ndarray, Clip]:
    """Query of every frame of a clip.

    Returns `queries` (frames, dims) float32, normalised. clip: At the database's rate: frame i has
    query i. Raises ParameterError where the model is a different one or missing; SkeletonError
    where the clip lacks a joint.
    """
    if clip.fps != database.fps:
        clip = resample(clip, database.fps)
    layout = database.layout
    tracks = floor_tracks(layout) if has_ground_heights(layout) else None
    return database.normalised(database.reader(model, tracks).read(clip)["features"]), clip


@dataclass(frozen=True, eq=False)
class QueryMoment:
    """One frame of a clip, with its query."""

    query: Array  # (dims,) float32, normalised
    # clip, frame: The clip at the database's rate, and the frame in it.
    clip: Clip
    frame: int
    row: int | None  # Its row, where the clip is in the database
    # root_position, root_angle: (3,) metres on the ground, and facing in radians.
    root_position: Array
    root_angle: float


def query_moment(
    database: MotionDatabase,
    clip: str,
    frame: int,
    *,
    model: Path | None = None,
) -> QueryMoment:
    """The query of a frame of a clip in the database or of a motion file."""
    if clip in database.clip_names:
        row = database.row_of(clip, frame)
        query = database.query(np.array([row]))[0]
        whole = database.clip(int(database.clip_of(row)))
        position, angle = database.root_positions[row], float(database.root_angles[row])
        return QueryMoment(query, whole, frame, row, np.array(position), angle)
    if not Path(clip).is_file():
        raise ParameterError(
            f"{clip!r} is neither a clip of the database nor a file",
            hint=f"the database has clips such as {database.clip_names[0]!r}",
        )
    read, extractor = load(clip, **settings_in(Path(clip).parent).reader(Path(clip).name)), None
    if model is not None:
        from deepphase.phase.extractor import load_model

        extractor = load_model(model).bound(read)
    queries, resampled = clip_queries(database, read, extractor)
    if not 0 <= frame < len(queries):
        raise ParameterError(
            f"no frame {frame} in {clip}: it has {len(queries)} at {database.fps:g} Hz"
        )
    root = BodyFrames.from_clip(resampled, database.body).root
    return QueryMoment(
        queries[frame], resampled, frame, None, root.positions[frame], float(root.angles[frame])
    )


_UP = np.array([0.0, 1.0, 0.0])


@brief_repr
@dataclass(frozen=True)
class Moment:
    """One frame of a database, as the result of a search.

    Parameters
    ----------
    row, clip, frame
        The row, its clip's name and the frame in it.
    time_s
        Seconds from the clip's start.
    distance
        Cost: Euclidean distance of the normalised, weighted features.
    labels
        Labels of the clip.
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

    Otherwise most of the nearest frames would be neighbours of the first one.

    Parameters
    ----------
    query : (dims,)
    allowed : (rows,) bool
    excluded : (2,)
        First row and last row + 1 of the range to exclude, such as the query's neighbourhood.

    Returns
    -------
    Up to k moments, nearest first.

    Raises
    ------
    ParameterError
        Where k or `apart_s` is out of range, or the query does not fit the database.
    """
    if k < 1 or not (np.isfinite(apart_s) and apart_s >= 0):
        raise ParameterError(f"k must be at least 1, not {k}, and apart_s 0 or more, not {apart_s}")
    free = np.ones(len(database), bool) if allowed is None else allowed.copy()
    ranges = None if excluded is None else np.asarray(excluded)[None]
    found: list[Moment] = []
    while len(found) < k:
        # One at a time where each result excludes its neighbourhood, else all at once.
        count = 1 if apart_s > 0 else k
        distances, rows = searcher.search(query, count, allowed=free, excluded=ranges)
        valid = rows[0] >= 0
        found += [
            moment(database, row, distance)
            for row, distance in zip(rows[0, valid], distances[0, valid], strict=True)
        ]
        if not valid.all() or apart_s == 0:
            break
        first, stop = database.neighbourhood(rows[0], apart_s)[0]
        free[first:stop] = False
    return found[:k]


def moment(database: MotionDatabase, row: int, distance: float = 0.0) -> Moment:
    """The moment of a row."""
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
    """The part of a clip from `before_s` before a row to `seconds` after it, within its ends."""
    index = int(database.clip_of(row))
    clip, frame = database.clip(index), int(row) - int(database.range_starts[index])
    start = max(frame - round(before_s * database.fps), 0)
    stop = min(frame + round(seconds * database.fps) + 1, len(clip))
    return replace(clip.sliced(start, stop), name=f"{clip.name} from {start / clip.fps:.2f} s")


def placed(clip: Clip, position: Array, angle: float, to_position: Array, to_angle: float) -> Clip:
    """A clip moved rigidly over the ground.

    `position, angle`: position (3,) on the ground and facing about Y from +Z, radians, in the
    clip's world.
    """
    turn = quaternions.about_axis(_UP, np.array(to_angle - angle))
    rotations, translations = np.array(clip.rotations), np.array(clip.translations)
    rotations[:, 0] = quaternions.multiply(turn.astype(rotations.dtype), rotations[:, 0])
    relative = translations[:, 0] - np.asarray(position)
    translations[:, 0] = quaternions.rotate(turn, relative) + np.asarray(to_position)
    return replace(clip, rotations=rotations, translations=translations)
