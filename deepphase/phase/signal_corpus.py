"""The signals of a whole corpus in one array, as a training reads them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from deepphase.phase.windows import Centres, Split, split_by_source
from deepphase.work import Progress, reported

# A joint that moves less than this share of the liveliest one is left out of the signals.
_STILL = 1e-4
# No body that is measured in metres moves faster, in the mean over its joints.
_FASTEST_M_PER_S = 60.0
# Frames that are copied at once.
_BLOCK = 65_536


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
