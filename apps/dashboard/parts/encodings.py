"""Phases of the open clips by the open model, read once for all sessions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import collection
from deepphase.apps.dashboard.parts.choosers import Span, suggest_moment, takes_suggestion
from deepphase.apps.dashboard.parts.collection import OpenClips, OpenModel
from deepphase.apps.dashboard.parts.folder import FoundFolder
from deepphase.apps.dashboard.parts.messages import draw_bar, give_way, shared_cache, show_error
from deepphase.arrays import Array
from deepphase.errors import DeepPhaseError
from deepphase.figures.phase_cloud import ground_speed
from deepphase.figures.theme import thinning
from deepphase.motion.clip import Clip
from deepphase.phase.encoding import interior_frames
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import ClipPhases
from deepphase.phase.recurrence import PeriodicMoment, periodic_moments
from deepphase.phase.rings import STRETCH_S, Ring, steadiest
from deepphase.viewer.take import Channels, Take
from deepphase.work import Progress, report

# Pairs of clips and model, and clips with all of their signals, in the caches of all sessions.
_CACHED_PAIRS, _CACHED_CLIPS = 6, 32
# Seconds that a thread leaves to the pages after each clip; those that no page may have run for
# before it reads on, for a page and before a page asks; those that it reads before it waits at
# all, as long as clips of a small collection take; and those that it waits at most.
_PAUSE_S, _PAGE_S, _IDLE_S, _BEFORE_S, _MOST_WAITED_S = 0.002, 2.0, 4.0, 0.3, 30.0
# Frames that are read while a page waits, in a second; and before a page asks: an hour of them, in
# half a minute of one processor.
_AT_ONCE_FRAMES, _AHEAD_FRAMES = 12_000, 216_000
# Seconds around a part of a clip over which its signals are smoothed.
_REACH_S = 1.0
# Seconds between two looks at what a thread has read.
_LOOK_S = 0.5
# Moments whose poses recur that are encoded to find the steadiest one.
_MOMENTS = 8
# Frames whose signals are stored, the largest number of points in a cloud.
MAX_POINTS = 20_000


class Encodings:
    """Phases and signals of the clips of one store by one model, read one by one."""

    def __init__(self, clips: OpenClips, model: OpenModel) -> None:
        self.clips, self.model = clips, model
        self.store, self.extractor = clips.store, model.extractor
        self._phases: dict[int, ClipPhases] = {}
        self._signals: dict[int, Array] = {}
        self._speeds: dict[int, Array | None] = {}
        self._lock = threading.RLock()
        # Whether a thread reads all clips, whether a user ended that, its error, and how long no
        # page may have run for it.
        self.reading = self.cancelled = False
        self.failed: DeepPhaseError | None = None
        self._quiet_s = 0.0
        # As if pauses between two readings had not been.
        self.began = self._ended = time.monotonic()
        self._frames = _chosen_frames(
            clips.store.lengths * (model.extractor.fps / clips.store.fps), model.extractor.window
        )

    def phases(self, index: int) -> ClipPhases:
        """Phases of one clip at the rate of the model. SkeletonError if the clip lacks a joint."""
        # Without the lock where it can be: a thread holds it while it reads a clip.
        if index not in self._phases:
            with self._lock:
                if index not in self._phases:
                    self._read(index)
        return self._phases[index]

    def inside(self, index: int) -> Array:
        """(frames,) bool: the interior frames of a clip; all of a clip without any."""
        interior = self.phases(index).interior
        return interior if interior.any() else np.ones(len(interior), bool)

    def all(self, progress: Progress | None = None) -> list[ClipPhases]:
        """Phases of all clips, in the order of the store."""
        count = len(self.store)
        for index in range(count):
            if index not in self._phases:
                self.phases(index)
                report(progress, "reading phases", index + 1, count)
        return [self._phases[index] for index in range(count)]

    @property
    def key(self) -> Hashable:
        """What changes with the clips or the model."""
        return self.clips.key, self.model.key

    @property
    def known(self) -> list[int]:
        """Indices of the clips that have been read."""
        return sorted(self._phases)

    @property
    def is_whole(self) -> bool:
        """Whether all clips have been read."""
        return len(self._phases) == len(self.store)

    def read_on(self, first: int, quiet_s: float = _PAGE_S) -> None:
        """Read all clips in a thread, `first` first, after `quiet_s` without a page."""
        self._quiet_s = quiet_s
        if self.reading or self.cancelled:
            return
        with self._lock:
            if self.reading or self.failed or self.is_whole:
                return
            self.reading = True
            self.began += time.monotonic() - self._ended
        threading.Thread(target=self._read_all, args=(first,), daemon=True).start()

    def cancel(self) -> None:
        """Let the thread end; the clips read so far stay."""
        self.cancelled = True

    def _read_all(self, first: int) -> None:
        try:
            spent = waited = 0.0
            for index in dict.fromkeys([first, *range(len(self.store))]):
                if self.cancelled:
                    break
                if spent > _BEFORE_S:
                    waited += give_way(self._quiet_s, _MOST_WAITED_S - waited)
                began = time.monotonic()
                self.phases(index)
                spent += time.monotonic() - began
                # The pages of all sessions come first.
                time.sleep(_PAUSE_S)
        except DeepPhaseError as error:
            self.failed = error
        finally:
            self.reading, self._ended = False, time.monotonic()

    def frames(self, index: int) -> Array:
        """Frames of a clip that a cloud of all clips shows: interior ones, evenly spread."""
        phases = self.phases(index)
        return self._frames[index][self._frames[index] < len(phases)]

    def signals(self, index: int) -> Array:
        """(frames, signals) m/s: joint velocities in root space at `frames(index)`."""
        self.phases(index)
        return self._signals[index]

    def speed(self, index: int) -> Array | None:
        """(all frames,) m/s of the hips over the ground; None if hips are not read."""
        self.phases(index)
        return self._speeds[index]

    def _encoded(self, clip: Clip) -> tuple[Array, ClipPhases]:
        """The signals of a clip, and their phases."""
        extractor = self.extractor
        signals = extractor.signals.read(clip)
        if isinstance(extractor, PhaseModel):
            source = clip.source.path
            return signals, extractor.encode_signals(signals, name=clip.name, source=source)
        return signals, extractor.encode(clip)

    def _read(self, index: int) -> None:
        signals, phases = self._encoded(self.store.clip(index))
        frames = self._frames[index]
        self._signals[index] = signals[frames[frames < len(phases)]]
        self._speeds[index] = ground_speed(self.extractor, signals)
        self._phases[index] = phases

    def part(self, index: int, span: Span) -> tuple[Array | None, ClipPhases]:
        """Phases of some seconds of a clip, with their signals where only these were read."""
        clip, extractor = self.store.clip(index), self.extractor
        frames = span.frames(extractor.fps)
        local = isinstance(extractor, PhaseModel) and clip.fps == extractor.fps
        if index in self._phases or not local:
            return None, self.phases(index)[frames]
        reach = extractor.window // 2 + round(_REACH_S * clip.fps)
        first = max(frames.start - reach, 0)
        signals, phases = self._encoded(clip.sliced(first, min(frames.stop + reach, len(clip))))
        own = slice(frames.start - first, frames.stop - first)
        return signals[own], phases[own]

    def opening_take(self, index: int, span: Span) -> Take:
        """A take of some seconds of a clip with their phases, of which others draw the rest."""
        take, own = collection.opening_take(self.store, index, span), self.part(index, span)[1]
        return replace(take, channels=Channels(own.parameters, own.fps, own.interior), curves=())


@st.cache_resource(max_entries=_CACHED_PAIRS, show_spinner=False, hash_funcs=collection.BY_KEY)
def encodings(clips: OpenClips, model: OpenModel) -> Encodings:
    """The phases of these clips by this model; each clip is read on first use."""
    return Encodings(clips, model)


def open_encodings() -> Encodings:
    """The phases of the clips and by the model that the sidebar's choosers name."""
    clips = collection.open_clips()
    return encodings(clips, collection.open_model(clips))


# How Streamlit's caches know encodings again.
BY_CLIPS_AND_MODEL: dict[Any, Callable[[Any], Hashable]] = {Encodings: lambda read: read.key}


@st.cache_resource(max_entries=_CACHED_CLIPS, show_spinner=False, hash_funcs=BY_CLIPS_AND_MODEL)
def signals(read: Encodings, index: int) -> Array:
    """(frames, 3 * joints) m/s of one clip as the model reads it."""
    return read.extractor.signals.read(read.store.clip(index))


def suggest_clip() -> None:
    """Let pages open on a cycle that moves, where none of the open clips is chosen."""
    # The page shows an error.
    with suppress(DeepPhaseError):
        read = open_encodings()
        names = read.store.names
        if read.clips.id != "demo" and takes_suggestion(names):
            index, start_s = opening_moment(read)
            suggest_moment(names[index], start_s, len(names))


def opening_moment(read: Encodings) -> PeriodicMoment:
    """The clip and its second with which pages open; the demo has an order of its own."""
    return PeriodicMoment(0, 0.0) if read.clips.id == "demo" else first_sight(read)


@st.cache_resource(max_entries=_CACHED_PAIRS, show_spinner=False, hash_funcs=BY_CLIPS_AND_MODEL)
def first_sight(read: Encodings) -> PeriodicMoment:
    """The steadiest of the cycles that recur most; only some seconds of these are encoded."""
    moments = periodic_moments(read.store, _MOMENTS)
    spans = [Span(start_s, start_s + STRETCH_S, start_s) for _, start_s in moments]
    parts = [read.part(at.clip, span)[1] for at, span in zip(moments, spans, strict=True)]
    ring = steadiest_of(parts)
    return moments[0 if ring is None else ring.manifold]


def steadiest_of(phases: Sequence[ClipPhases]) -> Ring | None:
    """The steadiest cycle in the interior frames of some phases; frames are counted from them."""
    inside = [np.flatnonzero(each.interior) for each in phases]
    inside = [frames if len(frames) else np.arange(1) for frames in inside]
    parts = [each.parameters[at[0] : at[-1] + 1] for each, at in zip(phases, inside, strict=True)]
    ring = steadiest([part.manifold() for part in parts], phases[0].fps)
    if ring is None:
        return None
    first = int(inside[ring.manifold][0])
    return replace(ring, start=ring.start + first, stop=ring.stop + first)


def read_ahead(found: FoundFolder) -> None:
    """Open what the pages show first of a folder, and read its phases while no page runs."""
    opened = collection.open_ahead(found)
    if opened is not None and opened[0].store.frames <= _AHEAD_FRAMES:
        read = encodings(*opened)
        read.read_on(first_sight(read).clip, _IDLE_S)


def all_phases(read: Encodings) -> list[ClipPhases]:
    """The phases of all clips; the page shows the progress."""
    if read.is_whole:
        return read.all()
    cache = shared_cache("phases of all clips", _CACHED_PAIRS)
    return cache.find_or_make(read.key, read.all, "Reading phases")


def reads_all(read: Encodings, first: int) -> bool:
    """Whether all phases are known; a thread reads those of a large collection."""
    if not read.is_whole and read.store.frames <= _AT_ONCE_FRAMES:
        all_phases(read)
    if read.is_whole:
        return True
    read.read_on(first)
    if read.failed is not None:
        raise read.failed
    if read.cancelled:
        show_reading(read)
    else:
        st.fragment(_await_reading, run_every=_LOOK_S)(read)
    return False


def _await_reading(read: Encodings) -> None:
    if read.is_whole or read.failed is not None or read.cancelled:
        st.rerun()
    show_reading(read)


def show_reading(read: Encodings) -> None:
    """Say how many clips have been read, or why not all of them."""
    known, count = len(read.known), len(read.store)
    with st.container(horizontal=True, vertical_alignment="center"):
        if read.failed is not None:
            show_error(read.failed)
        elif read.cancelled:
            st.caption(f"Phases of {known:,} of {count:,} clips")
            if st.button("Read on", icon=":material/play_arrow:"):
                read.cancelled = False
                st.rerun()
        else:
            draw_bar("Reading phases", known, count, read.began)
            st.button("Cancel", icon=":material/stop:", on_click=read.cancel)


class _KnownPhases:
    """A phase extractor that returns the phases already read from the clips of a store."""

    def __init__(self, read: Encodings) -> None:
        self._read = read
        self._places = {name: index for index, name in enumerate(read.store.names)}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._read.extractor, name)

    def bound(self, *_: object) -> _KnownPhases:
        """Itself: the model is bound to the clips already."""
        return self

    def encode(self, clip: Clip) -> ClipPhases:
        """The phases of the clip of that name in the store."""
        return self._read.phases(self._places[clip.name])


def known_phases(read: Encodings) -> PhaseExtractor:
    """The model of `read`, which encodes no clip of its store again."""
    return cast(PhaseExtractor, _KnownPhases(read))


def _chosen_frames(lengths: Array, window: int) -> list[Array]:
    """Interior frames of each clip, every n-th; all frames where no clip has an interior one."""
    inside: Sequence[Array] = [
        np.flatnonzero(interior_frames(round(float(length)), window)) for length in lengths
    ]
    if not any(frames.size for frames in inside):
        inside = [np.arange(round(float(length))) for length in lengths]
    step = thinning(sum(map(len, inside)), MAX_POINTS)
    return [frames[::step] for frames in inside]
