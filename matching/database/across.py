"""Databases searched by motion of another body, on the manifold that both share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.errors import ParameterError
from deepphase.features.feature import Feature
from deepphase.features.layout import FeatureLayout
from deepphase.features.moment_kinds import KINDS, LYING, SITTING, clip_kinds
from deepphase.features.normalisation import Normalisation
from deepphase.features.pose import BodyFrames
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.queries import QueryMoment
from deepphase.motion.clip import Clip
from deepphase.motion.resample import resample
from deepphase.phase.body_points import FPS
from deepphase.phase.model import PhaseModel
from deepphase.phase.shared_frames import SharedFrames
from deepphase.phase.signals import JointVelocities


def frames_of_database(database: MotionDatabase, model: PhaseModel[Any]) -> SharedFrames:
    """The rows of a database on the shared manifold.

    Raises
    ------
    ParameterError
        Where the model has no codebook, or the database has another rate.
    """
    if database.fps != FPS:
        raise ParameterError(
            f"the database has {database.fps:g} frames a second, and bodies are compared at "
            f"{FPS:g}",
            hint=f"prepare the store with --fps {FPS:g}, and build the database again",
        )
    clips = (database.clip(index) for index in range(len(database.clip_names)))
    return SharedFrames.of(model, clips)


def is_of_another_body(database: MotionDatabase, clip: Clip) -> bool:
    """Whether a clip has other joints than the clips of a database."""
    return set(clip.skeleton.names) != set(database.clip(0).skeleton.names)


def on_shared_manifold(
    database: MotionDatabase, model: PhaseModel[Any]
) -> tuple[MotionDatabase, SharedFrames]:
    """A database whose features are the places of its rows on the shared manifold, and these.

    Raises
    ------
    ParameterError
        Where the model has no codebook, or the database has another rate.
    """
    own = frames_of_database(database, model)
    values = own.places.shape[1] - 3
    blocks = (("codes", values), ("stride", 2), ("speed", 1))
    layout = FeatureLayout(*(Feature(name, kind="track", channels=n) for name, n in blocks))
    same = Normalisation(np.zeros(layout.dims, np.float32), np.ones(layout.dims, np.float32))
    placed = replace(database, features=own.places, layout=layout, normalisation=same, path=None)
    return placed, own


def query_across(
    database: MotionDatabase, own: SharedFrames, model: PhaseModel[Any], clip: Clip, frame: int
) -> tuple[QueryMoment, str]:
    """The query of a clip of any body in a database of `on_shared_manifold`.

    Parameters
    ----------
    own
        The rows of the database.
    frame
        Frame of the clip at the database's rate.

    Returns
    -------
    The query, and a sentence where the moment is not shared (`SharedFrames.unshared_words`), or
    where the clip sits or lies, which codes do not tell from standing.

    Raises
    ------
    ParameterError
        Where the model has no codebook, or there is no such frame.
    """
    clip = resample(clip, database.fps)
    if not 0 <= frame < len(clip):
        raise ParameterError(
            f"no frame {frame} in {clip.name}: it has {len(clip)} at {database.fps:g} Hz"
        )
    shared = SharedFrames.of(model, [clip])
    root = BodyFrames.of_clip(clip, JointVelocities.of_clip(clip).body).root
    place, angle = root.positions[frame], float(root.angles[frame])
    moment = QueryMoment(shared.places[frame], clip, frame, None, place, angle)
    words, kind = shared.unshared_words(frame, own), clip_kinds(clip)[frame]
    if not words and kind in (SITTING, LYING):
        words = (
            f"the clip is {KINDS[kind]} at this moment: codes are read from movement, so that at "
            "rest they do not tell sitting, lying and standing apart"
        )
    return moment, words
