"""State of one browser session: uploaded clips, trained models, and a temporary folder."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.resample import ResampleLimit
from deepphase.phase.extractor import PhaseExtractor
from deepphase.temporary_files import temporary_folder

_KEY = "deepphase session"
# Limits of one session, so that many can share a machine.
MAX_CLIPS, MAX_FRAMES, MAX_MODELS = 200, 400_000, 12
# Bytes of one upload's clips while they are resampled.
_MAX_CLIP_BYTES = 512 << 20


class Session:
    """Clips, models and files of one session, which are removed at its end.

    Attributes
    ----------
    clips
        Uploaded clips with their provenance, at one rate.
    models
        Display name -> model that was trained or uploaded here.
    """

    def __init__(self) -> None:
        self.clips: list[tuple[Clip, Mapping[str, Any]]] = []
        self.models: dict[str, PhaseExtractor] = {}
        self._folder: Path | None = None
        self._stores: list[ClipStore] | None = None

    @property
    def folder(self) -> Path:
        """The session's temporary folder, created at its first use."""
        if self._folder is None:
            place = ExitStack()
            self._folder = place.enter_context(temporary_folder())
            # Removed with the session, and at the end of the program.
            weakref.finalize(self, place.close)
        return self._folder

    @property
    def room(self) -> ResampleLimit:
        """What resampling may produce of the next upload."""
        frames = MAX_FRAMES - sum(len(each) for each, _ in self.clips)
        return ResampleLimit(max(frames, 0), _MAX_CLIP_BYTES)

    def add_clip(self, clip: Clip, provenance: Mapping[str, Any]) -> Clip:
        """Add a clip, and return it under a unique name.

        Raises
        ------
        ParameterError
            If the session would exceed its limits.
        """
        frames = len(clip) + sum(len(each) for each, _ in self.clips)
        if len(self.clips) >= MAX_CLIPS or frames > MAX_FRAMES:
            raise ParameterError(
                f"there are more than {MAX_CLIPS} clips or {MAX_FRAMES:,} frames in one session",
                hint="remove some, or give the program a folder: deepphase app FOLDER",
            )
        clip = _renamed(clip, {each.name for each, _ in self.clips})
        self.clips.append((clip, provenance))
        self._stores = None
        return clip

    def remove_clips(self) -> None:
        """Remove all uploaded clips."""
        self.clips.clear()
        self._stores = None

    def add_model(self, name: str, model: PhaseExtractor) -> str:
        """Add a model, and return its unique name; the oldest model is dropped beyond the limit."""
        while len(self.models) >= MAX_MODELS:
            self.models.pop(next(iter(self.models)))
        given, number = name, 2
        while given in self.models:
            given, number = f"{name} ({number})", number + 1
        self.models[given] = model
        return given

    def stores(self) -> list[ClipStore]:
        """The uploaded clips, one store for each skeleton."""
        if self._stores is None:
            self._stores = self._grouped()
        return self._stores

    def _grouped(self) -> list[ClipStore]:
        groups: list[list[tuple[Clip, Mapping[str, Any]]]] = []
        for each in self.clips:
            for group in groups:
                if group[0][0].skeleton.same_hierarchy(each[0].skeleton):
                    group.append(each)
                    break
            else:
                groups.append([each])
        return [
            ClipStore.from_clips(
                [clip for clip, _ in group], provenance=[given for _, given in group]
            )
            for group in groups
        ]


def session() -> Session:
    """The session that the current page runs in."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    return st.session_state[_KEY]


def _renamed(clip: Clip, taken: set[str]) -> Clip:
    name, number = clip.name, 2
    while name in taken:
        name, number = f"{clip.name} ({number})", number + 1
    return replace(clip, name=name)
