"""The signals of a whole corpus in one array, as a training reads them, and their split."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic

import numpy as np

from deepphase.arrays import Array, counted, release_pages, short_repr, timed
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import DeepPhaseError, FormatError, ParameterError
from deepphase.features.moment_kinds import source_kinds
from deepphase.files import mapped_array
from deepphase.motion.resample import resampled_frames
from deepphase.motion.roles import find_roles
from deepphase.music.cache import song_features
from deepphase.music.features import check_names
from deepphase.phase.model import Signals
from deepphase.phase.signals import POINTS, BodyPlan, JointVelocities, PointVelocities, joints_of
from deepphase.phase.song_signals import SONG_FEATURES, SongSignals
from deepphase.work import Progress, reported

# A joint that moves less than this share of the liveliest one is left out of the signals.
_STILL = 1e-4
# No body that is measured in metres moves faster, in the mean over its joints.
_FASTEST_M_PER_S = 60.0
# Frames that are copied at once.
_BLOCK = 65_536


@dataclass(frozen=True, eq=False)
class Centres:
    """Middle frames of all windows in some stretches of frames, computed when they are indexed.

    `ranges` (ranges, 2) frames start to stop - 1 of each stretch, of a window or more.
    """

    ranges: Array
    window: int

    def __len__(self) -> int:
        return int(self._stops[-1]) if len(self._stops) else 0

    def __getitem__(self, rows: Array | slice) -> Array:
        """(rows,) indices of frames in the corpus."""
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        starts = np.append(0, self._stops)[:-1]
        shifts = self.ranges[:, 0] + self.window // 2 - starts
        return rows + shifts[np.searchsorted(self._stops, rows, side="right")]

    @cached_property
    def _stops(self) -> Array:
        return np.cumsum(self.ranges[:, 1] - self.ranges[:, 0] - self.window // 2 * 2)


@dataclass(frozen=True, eq=False)
class Split:
    """Frames that windows may be centred on, for training and for measuring."""

    train_windows: Centres
    held_out_windows: Centres
    too_short: int

    @property
    def train(self) -> Array:
        """(windows,) indices of frames in the corpus: eight bytes each."""
        return self.train_windows[:]

    @property
    def held_out(self) -> Array:
        """(windows,) indices of frames in the corpus."""
        return self.held_out_windows[:]

    @property
    def held_out_ranges(self) -> Array:
        """(ranges, 2) frames start to stop - 1 of each held-out stretch of a clip."""
        return self.held_out_windows.ranges


def split_by_source(
    starts: Array,
    stops: Array,
    sources: list[str],
    window: int,
    held_out: float,
    seed: int,
    kinds: Callable[[str], Array] | None = None,
) -> Split:
    """Hold out about a share `held_out` of the frames, by source file.

    A clip, its mirror image and other pieces of the same file stay on one side. Where there is
    only one source, the last part of each of its clips is held out. With `kinds`, the training
    keeps clips of all kinds of moments that are held out, see :func:`held_out_sources`.
    """
    every = list(zip(np.asarray(starts).tolist(), np.asarray(stops).tolist(), sources, strict=True))
    usable = [clip for clip in every if clip[1] - clip[0] >= window]
    if not usable:
        longest = max((stop - start for start, stop, _ in every), default=0)
        raise ParameterError(
            f"no clip is as long as a window: the longest has {longest} frames of {window}",
            hint="choose a smaller network.window_s, or longer clips",
        )
    frames = Counter[str]()
    for start, stop, source in usable:
        frames[source] += stop - start
    if len(frames) > 1:
        kept = held_out_sources(frames, held_out, seed, kinds)
        ranges = [(start, stop, source in kept) for start, stop, source in usable]
    else:
        ranges = []
        for start, stop, _ in usable:
            tail = max(int(held_out * (stop - start)), window)
            if stop - start - tail >= window:
                ranges += [(start, stop - tail, False), (stop - tail, stop, True)]
            else:
                ranges.append((start, stop, False))
        if not any(held for *_, held in ranges):
            # Nothing can be spared: measures are then those of the training itself.
            ranges += [(start, stop, True) for start, stop, _ in ranges]
    train, held_out_windows = (
        Centres(
            np.array([(a, b) for a, b, held in ranges if held == side], np.int64).reshape(-1, 2),
            window,
        )
        for side in (False, True)
    )
    return Split(train, held_out_windows, len(every) - len(usable))


# Largest share of one held-out file, in shares that are to be held out.
_MAX_EXCESS = 3.0
# A kind of moments belongs to a file from this share of its frames on, and training keeps at least
# this many times as many frames of it as are held out.
_KIND_SHARE, _KIND_TIMES = 0.1, 2


def held_out_sources(
    frames: Mapping[str, int],
    held_out: float,
    seed: int,
    kinds: Callable[[str], Array] | None = None,
) -> set[str]:
    """Files that hold about a share `held_out` of all frames: at least one, and not all.

    A file with more than three times that share is left to the training if there are shorter ones.
    So is a file with a kind of moments of which the training would keep less than two frames for
    each that is held out: errors on motion that a training lacks say nothing of the training.

    `kinds`: function of a file: its frames of each kind, as by
    :func:`deepphase.features.moment_kinds.source_kinds`.
    """
    names = sorted(frames)
    kept: set[str] = set()
    kept_frames = 0
    wanted = held_out * sum(frames.values())
    longest = max(_MAX_EXCESS * wanted, min(frames.values()))
    order = [names[index] for index in np.random.default_rng(seed).permutation(len(names))]
    fitting = [name for name in order if frames[name] <= longest]
    # Frames of each kind that the training needs, and those in files of it that were looked at:
    # the last ones first, since few of all files are enough for most kinds.
    needed, found = np.zeros(1, np.int64), np.zeros(1, np.int64)
    last, looked_at = reversed(order), set[str]()
    for name in fitting:
        if (kept and kept_frames >= wanted) or len(kept) == len(names) - 1:
            break
        if kinds is not None:
            own = kinds(name)
            more = needed + _KIND_TIMES * np.where(own >= _KIND_SHARE * own.sum(), own, 0)
            while (found - own * (name in looked_at) < more).any():
                if (other := next(last, None)) is None:
                    break
                if other not in kept:
                    found = found + kinds(other)
                    looked_at.add(other)
            rest = found - own * (name in looked_at)
            if (rest < more).any():
                continue
            needed, found = more, rest
            looked_at.discard(name)
        kept.add(name)
        kept_frames += frames[name]
    # No file's kinds are in others: as if they were unknown.
    return kept or set(fitting[:1])


@dataclass(frozen=True, eq=False)
class CorpusBody:
    """One body among several in a corpus."""

    name: str
    clips: slice
    joints: SignalCorpus[JointVelocities]
    plan: BodyPlan


@dataclass(frozen=True, eq=False)
class SignalCorpus(Generic[Signals]):
    """The signals of all clips of a store, or of songs, one behind the other.

    Parameters
    ----------
    signals
        What they are.
    values
        (frames, signals) float32.
    starts, stops
        (clips,) the range of each clip.
    sources
        (clips,) the file of each clip; of songs with the same content the first.
    origin
        What they were read from, as a model's provenance keeps it.
    bodies
        The bodies whose points the signals are of, in this order; empty for other signals.
    kinds
        Function of a file: its frames of each kind of moments; None for songs.
    """

    signals: Signals
    values: Array
    starts: Array
    stops: Array
    sources: list[str]
    origin: Mapping[str, Any] = field(default_factory=dict)
    bodies: tuple[CorpusBody, ...] = ()
    kinds: Callable[[str], Array] | None = None

    def __repr__(self) -> str:
        frames = timed(len(self.values), self.signals.fps)
        clips, signals = counted(len(self.starts), "clip"), counted(len(self.values.T), "signal")
        return short_repr(self, clips, frames, signals)

    @classmethod
    def from_store(
        cls,
        store: ClipStore,
        progress: Progress | None = None,
        signals: JointVelocities | None = None,
        description: Mapping[str, Any] | None = None,
        *,
        memory: int | None = None,
    ) -> SignalCorpus[JointVelocities]:
        """Root-space joint velocities of every clip of a store.

        `signals` says which; if not given, those of all joints that move, where a skeleton
        `description` may say which joint is which. Values of more than `memory` bytes are mapped
        from a file in the system's temporary folder.

        Raises
        ------
        CheckpointError
            Where that folder is full.
        """
        given = signals is not None
        if signals is None:
            first = store.clip(int(np.argmax(store.lengths)))
            signals = JointVelocities.from_clip(
                first, find_roles(first.skeleton, description, clip=first)
            )
        width = len(signals.names)
        lengths = [resampled_frames(n, store.fps, signals.fps) for n in store.lengths.tolist()]
        stops = np.cumsum(lengths)
        starts = stops - lengths
        shape = (int(stops[-1]), width)
        in_file = memory is not None and 4 * width * shape[0] > memory
        values = mapped_array(shape, np.float32) if in_file else np.empty(shape, np.float32)
        power = np.zeros(width)
        sources: list[str] = []
        ranges = zip(store, starts, stops, strict=True)
        for clip, start, stop in reported(progress, "reading clips", ranges, len(store)):
            part = signals.read(clip)
            squares = np.square(part, dtype=np.float64).sum(0)
            power += squares
            speed = float(np.sqrt(3.0 * squares.mean() / max(len(part), 1)))
            if speed > _FASTEST_M_PER_S:
                raise ParameterError(
                    f"{clip.name}: joints move at {speed:.3g} m/s on average",
                    hint="its unit or frame rate is wrong: see `deepphase inspect`, then --unit",
                )
            sources.append(clip.source.path or clip.name)
            values[start:stop] = part
            if in_file:
                for mapped in (values, store.rotations, store.translations):
                    release_pages(mapped)
        kinds = source_kinds(store, description)
        corpus = SignalCorpus(signals, values, starts, stops, sources, store.origin, kinds=kinds)
        return corpus if given else corpus._moving(power / len(values))

    @classmethod
    def from_songs(
        cls,
        paths: Sequence[str | Path],
        features: Sequence[str] = SONG_FEATURES,
        *,
        progress: Progress | None = None,
        refused: list[DeepPhaseError] | None = None,
    ) -> SignalCorpus[SongSignals]:
        """Features of sound files, with the scale that fits them.

        Parameters
        ----------
        features
            Names of `deepphase.music.features.KINDS`.
        refused
            Takes the errors of files that are not songs, which are then left out; without it the
            first one is raised.

        Raises
        ------
        FormatError
            Where a file is not sound; with `refused`, where none is.
        ParameterError
            Where a feature is none, or the songs are silent.
        """
        check_names(features)
        parts, sources = [], []
        first_of: dict[str, str] = {}
        for path in reported(progress, "reading songs", list(map(Path, paths)), len(paths)):
            try:
                song = song_features(path)
            except DeepPhaseError as error:
                if refused is None:
                    raise
                refused.append(error)
            else:
                parts.append(song.array(features))
                # The same song twice is not once for training and once for measuring.
                sources.append(first_of.setdefault(song.sha256, str(path)))
        if not parts:
            raise FormatError(
                f"none of {len(paths)} songs can be read", hint="the reasons stand above"
            )
        values = np.concatenate(parts)
        stops = np.cumsum([len(part) for part in parts])
        starts = stops - [len(part) for part in parts]
        signals = SongSignals.from_values(values, starts, features)
        folder = os.path.commonpath([Path(path).absolute().parent for path in paths])
        files = {os.path.relpath(source, folder).replace(os.sep, "/") for source in sources}
        origin = {"songs": Path(folder).name, "files": sorted(files)}
        return SignalCorpus(signals, signals.scaled(values), starts, stops, sources, origin)

    @classmethod
    def from_stores(
        cls,
        stores: Sequence[ClipStore],
        progress: Progress | None = None,
        description: Mapping[str, Any] | None = None,
    ) -> SignalCorpus[PointVelocities]:
        """Velocities of the body points of several skeletons, at 60 frames per second.

        Each store has clips of one skeleton; a skeleton `description` is for all of them. Points
        that a skeleton lacks are zero. Raises ParameterError where there are no stores.
        """
        if not stores:
            raise ParameterError("a model for any skeleton needs at least one store")
        bodies: list[CorpusBody] = []
        parts: list[Array] = []
        clips = 0
        for store in stores:
            signals, plan = joints_of(store, description)
            joints = SignalCorpus.from_store(store, progress, signals)
            own = joints.values.reshape(len(joints.values), -1, 3)
            points = np.einsum("pj,fjc->fpc", plan.points_from_joints(), own)
            parts.append(points.reshape(len(points), 3 * len(POINTS)))
            bodies.append(CorpusBody(store.group, slice(clips, clips + len(store)), joints, plan))
            clips += len(store)
        lengths = np.concatenate([body.joints.stops - body.joints.starts for body in bodies])
        stops = np.cumsum(lengths)
        return SignalCorpus(
            PointVelocities(),
            np.concatenate(parts),
            stops - lengths,
            stops,
            [source for body in bodies for source in body.joints.sources],
            {"skeletons": [dict(body.joints.origin) for body in bodies]},
            tuple(bodies),
        )

    def split(self, window: int, held_out: float, seed: int) -> Split:
        """Frames to train on and frames to measure, of each body its own (`split_by_source`)."""
        own = [(body.clips, body.joints.kinds) for body in self.bodies]
        parts = [
            split_by_source(
                self.starts[clips], self.stops[clips], self.sources[clips], window, held_out, seed,
                kinds,
            )
            for clips, kinds in own or [(slice(None), self.kinds)]
        ]  # fmt: skip
        both = zip(*((part.train_windows, part.held_out_windows) for part in parts), strict=True)
        train, held = (np.concatenate([centres.ranges for centres in side]) for side in both)
        too_short = sum(part.too_short for part in parts)
        return Split(Centres(train, window), Centres(held, window), too_short)

    def _moving(self: SignalCorpus[JointVelocities], power: Array) -> SignalCorpus[JointVelocities]:
        """Without the joints that never move, by the mean square `power` (signals,) of each."""
        speed = np.sqrt(power.reshape(-1, 3).sum(1))
        if not speed.max() > 1e-6:
            raise ParameterError(
                "nothing moves: every joint stands still in every clip",
                hint="phases are learnt from movement; see `deepphase inspect`",
            )
        moves = speed > _STILL * speed.max()
        if self.signals.partners:
            # A still left hand stays where the right one moves: mirroring needs both.
            moves |= moves[list(self.signals.partners)]
        if moves.all():
            return self
        columns = (3 * np.flatnonzero(moves)[:, None] + np.arange(3)).reshape(-1)
        values = _with_columns(self.values, columns)
        return replace(self, signals=self.signals.select(moves), values=values)


def _with_columns(values: Array, columns: Array) -> Array:
    """Some columns, in place of all: a second array would double the memory."""
    frames, width = len(values), len(columns)
    flat = values.reshape(-1)
    for first in range(0, frames, _BLOCK):
        block = values[first : first + _BLOCK][:, columns]
        flat[first * width : first * width + block.size] = block.reshape(-1)
        release_pages(values)
    return flat[: frames * width].reshape(frames, width)
