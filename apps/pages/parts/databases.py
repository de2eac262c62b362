"""Motion databases of the open clips, built once for all sessions."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from apps.pages.parts.collection import OpenClips, OpenModel
from apps.pages.parts.encodings import Encodings, encodings
from apps.pages.parts.telling import working
from deepphase.motion.clip import Clip
from deepphase.phase.health import Health
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import ClipPhases
from deepphase.phase.signals import JointVelocities
from deepphase.progress import Progress
from matching.database import MotionDatabase
from matching.search import Searcher, open_searcher

# Pairs of clips and model whose databases are kept for all sessions together.
_KEPT = 3
PHASE = "phase"


@dataclass(frozen=True, eq=False)
class Searched:
    """A database and what finds its nearest rows."""

    database: MotionDatabase
    searcher: Searcher


class KnownPhases:
    """A model whose phases of a store's clips were read before: a `PhaseExtractor`."""

    def __init__(self, read: Encodings) -> None:
        self._read, self._model = read, read.extractor
        self._places = {name: index for index, name in enumerate(read.store.names)}
        self.signals: JointVelocities = self._model.signals
        self.projection: ManifoldProjection | None = self._model.projection
        self.health: Health | None = self._model.health

    @property
    def fps(self) -> float:
        return self._model.fps

    @property
    def window(self) -> int:
        return self._model.window

    @property
    def channels(self) -> int:
        return self._model.channels

    @property
    def sha256(self) -> str:
        return self._model.sha256

    def encode(self, clip: Clip) -> ClipPhases:
        """What was read of the clip of that name."""
        return self._read.phases(self._places[clip.name])

    def save(self, path: str | Path) -> None:
        self._model.save(path)


class Databases:
    """The databases of one store by one model, each built when it is first asked for."""

    def __init__(self, clips: OpenClips, model: OpenModel) -> None:
        self._read = encodings(clips, model)
        self._built: dict[str, Searched] = {}
        self._lock = threading.Lock()

    def known(self, layout: str) -> Searched | None:
        """The database of a layout, if it is there."""
        return self._built.get(layout)

    def built(self, layout: str, progress: Progress) -> Searched:
        """The database of a layout; whoever comes second waits for the first.

        Raises ParameterError where clips, model and layout do not fit.
        """
        with self._lock:
            if layout not in self._built:
                database = MotionDatabase.build(
                    self._read.store,
                    layout,
                    KnownPhases(self._read) if layout == PHASE else None,
                    progress=progress,
                )
                searcher = open_searcher(database, "exact", progress=progress)
                self._built[layout] = Searched(database, searcher)
            return self._built[layout]


def searched(clips: OpenClips, model: OpenModel, layout: str, what: str) -> Searched:
    """A database to search; the page tells how far building is.

    Parameters
    ----------
    layout
        A recipe of configs/matching.
    what
        What is searched, in words.
    """
    kept = _kept(clips.key, model.key, clips, model)
    found = kept.known(layout)
    if found is None:
        with working(f"Getting ready to search {what}") as progress:
            progress("starting", 0, 1, "")
            found = kept.built(layout, progress)
    return found


@st.cache_resource(max_entries=_KEPT, show_spinner=False)
def _kept(clips_key: Hashable, model_key: str, _clips: OpenClips, _model: OpenModel) -> Databases:
    return Databases(_clips, _model)
