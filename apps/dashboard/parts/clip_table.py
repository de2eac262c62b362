"""Rows of the clip table: labels, length and ground contact of each clip."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from apps.dashboard.parts.collection import OpenClips
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import SkeletonError
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import find_roles
from deepphase.progress import Progress

# Collections in the cache of contacts that all sessions share.
_CACHED_STORES = 8
# A label with more values gets no filter.
_MAX_VALUES = 200
# A label with fewer values gets a filter even if every clip has a different one.
_FEW_VALUES = 13


@dataclass(frozen=True)
class ClipRow:
    """One clip in the table."""

    index: int
    name: str
    labels: Mapping[str, str]
    seconds: float
    frames: int
    file: str
    captured_fps: float


class GroundContacts:
    """Share of the frames in which each clip has a foot on the ground, measured clip by clip."""

    def __init__(self, store: ClipStore) -> None:
        self._store = store
        self._shares: dict[int, float | None] = {}
        self._lock = threading.Lock()

    def known(self, index: int) -> bool:
        """Whether the clip is measured already."""
        return index in self._shares

    def share(self, index: int) -> float | None:
        """Share over all feet and frames of a clip, 0 to 1; None for a body without feet."""
        with self._lock:
            if index not in self._shares:
                self._shares[index] = _share(self._store, index)
            return self._shares[index]

    def measure(self, indices: Sequence[int], progress: Progress | None = None) -> None:
        """Measure some clips; what was measured before an interruption stays."""
        for done, index in enumerate(indices, start=1):
            self.share(index)
            if progress is not None:
                progress("clips", done, len(indices), "")


def ground_contacts(clips: OpenClips) -> GroundContacts:
    """The contacts of these clips; each clip is measured on first use."""
    return _contacts(clips.key, clips.store)


@st.cache_resource(max_entries=_CACHED_STORES, show_spinner=False)
def _contacts(key: Hashable, _store: ClipStore) -> GroundContacts:
    return GroundContacts(_store)


def clip_rows(store: ClipStore) -> list[ClipRow]:
    """A row of each clip, in the store's order."""
    return [
        ClipRow(
            index,
            name,
            store.labels[index],
            float(store.lengths[index] / store.fps),
            int(store.lengths[index]),
            store.sources[index].path,
            float(store.sources[index].fps),
        )
        for index, name in enumerate(store.names)
    ]


def filters(store: ClipStore) -> dict[str, list[str]]:
    """Labels that distinguish clips -> their sorted values."""
    found = {}
    for name in store.label_names:
        values = sorted({labels[name] for labels in store.labels if name in labels})
        if 2 <= len(values) <= _MAX_VALUES and len(values) < max(len(store), _FEW_VALUES):
            found[name] = values
    return found


def filtered(
    rows: Sequence[ClipRow], words: str, wanted: Mapping[str, Sequence[str]]
) -> list[ClipRow]:
    """Rows whose name holds all the words and whose labels are among the wanted values."""
    parts = words.lower().split()
    return [
        row
        for row in rows
        if all(part in row.name.lower() for part in parts)
        and all(row.labels.get(name, "") in values for name, values in wanted.items() if values)
    ]


def _share(store: ClipStore, index: int) -> float | None:
    clip = store.clip(index)
    try:
        flags = foot_contacts(clip, find_roles(clip.skeleton, clip=clip)).flags
    except SkeletonError:
        return None
    return float(np.mean(flags))
