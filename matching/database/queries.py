"""Queries of a database made from a clip: of the database itself, or of a motion file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.folder_settings import settings_in
from deepphase.errors import ParameterError
from deepphase.features.frame_rows import BodyFrames
from deepphase.formats.load import load
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.frame_reader import TrackReader
from deepphase.matching.database.on_ground import floor_tracks, has_ground_heights
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor


def clip_queries(
    database: MotionDatabase,
    clip: Clip,
    model: PhaseExtractor | None = None,
    *,
    tracks: TrackReader | None = None,
) -> tuple[np.ndarray, Clip]:
    """Query of every frame of a clip.

    Returns `queries` (frames, dims) float32, normalised. clip: At the database's rate: frame i has
    query i. Raises ParameterError where the model is a different one or missing; SkeletonError
    where the clip lacks a joint.
    """
    if clip.fps != database.fps:
        clip = resample(clip, database.fps)
    if tracks is None and has_ground_heights(database.layout):
        tracks = floor_tracks(database.layout)
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
    """The query of a frame of a clip in the database or of a motion file.

    Raises ParameterError where there is no such clip or frame.
    """
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
    read, extractor = load(clip, **settings_in(Path(clip).parent).reader), None
    if model is not None:
        from deepphase.phase.extractor import load_model

        extractor = load_model(model).bound(read)
    queries, resampled = clip_queries(database, read, extractor)
    if not 0 <= frame < len(queries):
        raise ParameterError(
            f"no frame {frame} in {clip}: it has {len(queries)} at {database.fps:g} Hz"
        )
    root = BodyFrames.of_clip(resampled, database.body).root
    return QueryMoment(
        queries[frame], resampled, frame, None, root.positions[frame], float(root.angles[frame])
    )
