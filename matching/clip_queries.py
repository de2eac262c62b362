"""Queries of a clip that is not in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from matching.database import MotionDatabase
from matching.database_build import Tracks

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor


def clip_queries(
    database: MotionDatabase,
    clip: Clip,
    model: PhaseExtractor | None = None,
    *,
    tracks: Tracks | None = None,
) -> tuple[np.ndarray, Clip]:
    """What every frame of a clip would search for.

    Parameters
    ----------
    model
        The one that the database was built with, where it has phases.

    Returns
    -------
    queries : (frames, dims) float32, normalised
    clip
        At the database's rate: frame i has query i.

    Raises
    ------
    ParameterError
        Where the model is another one or missing.
    SkeletonError
        Where the clip lacks a joint.
    """
    if clip.fps != database.fps:
        clip = resample(clip, database.fps)
    return database.normalised(database.reader(model, tracks).read(clip)["features"]), clip
