"""Learning to dance: a controller whose track is the song of each clip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from controllers.dance_clock import SongClock
from controllers.dance_config import MUSIC, DanceConfig
from controllers.dance_health import dance_health
from controllers.dance_music import MusicInput
from controllers.dance_ratios import BeatRatios
from controllers.dance_reference import DanceReference
from controllers.dance_songs import Danced
from controllers.dancer import Dancer
from controllers.training import Lessons, train_controller
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.parameters import wrapped
from deepphase.phase.windows import held_out_sources
from deepphase.progress import Progress

Array = np.ndarray

# Dances that the reference is measured of.
_MEASURED = 120


@dataclass(frozen=True, eq=False)
class DanceLessons:
    """All that a training learns from, read once.

    Parameters
    ----------
    lessons
        Of the controller. What is held out are songs: all clips of one are on one side.
    danced
        Clips and songs.
    music
        How songs are read.
    """

    lessons: Lessons
    danced: Danced
    music: MusicInput

    @classmethod
    def read(
        cls,
        danced: Danced,
        config: DanceConfig,
        phases: PhaseExtractor | None = None,
        *,
        description: Any = None,
        progress: Progress | None = None,
    ) -> DanceLessons:
        """Read clips and songs as a recipe says.

        Raises as `Lessons.read` does.
        """
        options = config.training
        # Songs that are held out have no say in how songs are read.
        kept = _held_out_songs(danced, options.held_out, options.split_seed)
        heard = [song for name, song in danced.songs.items() if name not in kept]
        music = MusicInput.of_songs(heard, config.music.features, config.schema.step_s)

        def tracks(clip: Clip) -> dict[str, Array]:
            song, start_s = danced.song(clip), clip.source.song_start_s
            return {MUSIC: music.track(song, len(clip), clip.fps, start_s)}

        lessons = Lessons.read(
            danced.store,
            config.controller,
            phases,
            tracks=tracks,
            description=description,
            progress=progress,
        )
        if kept:
            lessons = replace(lessons, split=_split_by_song(lessons, danced, kept))
        return cls(lessons, danced, music)


def train_dance(
    lessons: DanceLessons,
    config: DanceConfig,
    *,
    folder: str | Path,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> Dancer | None:
    """Train a dancer, and let it dance to the songs that were held out.

    Parameters and errors as of `training.train_controller`; None where that is.
    """
    made = train_controller(
        lessons.lessons,
        config.controller,
        folder=folder,
        resume=resume,
        progress=progress,
        **trainer,
    )
    if made is None:
        return None
    store, danced = lessons.lessons.store, lessons.danced
    some = np.unique(np.linspace(0, len(store) - 1, min(_MEASURED, len(store))).astype(int))
    clips = [clip for clip in map(store.clip, some.tolist()) if clip.duration >= 1.0]
    if not clips:
        raise ParameterError("all dances are shorter than a second")
    dancer = Dancer(
        controller=made,
        music=lessons.music,
        ratios=_ratios(lessons),
        reference=DanceReference.of(clips, [danced.song(clip) for clip in clips]),
    )
    songs = [danced.songs[name] for name in sorted(_songs_held_out(lessons))]
    health = {**made.health, "dance": dance_health(dancer, songs, progress)}
    return replace(dancer, controller=replace(made, health=health))


def _held_out_songs(danced: Danced, share: float, seed: int) -> frozenset[str]:
    """Songs that are held out; none where there is but one."""
    frames: dict[str, int] = {}
    for source, length in zip(danced.store.sources, danced.store.lengths.tolist(), strict=True):
        frames[source.song] = frames.get(source.song, 0) + length
    if len(frames) < 2:
        return frozenset()
    return frozenset(held_out_sources(frames, share, seed))


def _split_by_song(lessons: Lessons, danced: Danced, songs: frozenset[str]) -> Any:
    samples, store = lessons.samples, danced.store
    song_of = {name: source.song for name, source in zip(store.names, store.sources, strict=True)}
    held = np.array([song_of[name] in songs for name in samples.names])
    if held.all() or not held.any():
        # Clips of one side are too short for a single sample.
        return lessons.split
    files = {
        source for source, is_held in zip(samples.sources, held.tolist(), strict=True) if is_held
    }
    return replace(
        lessons.split,
        train=samples.rows_of_runs(~held),
        held_out=samples.rows_of_runs(held),
        sources=frozenset(files),
    )


def _songs_held_out(lessons: DanceLessons) -> set[str]:
    sources = lessons.lessons.split.sources
    store = lessons.danced.store
    return {
        source.song
        for name, source in zip(store.names, store.sources, strict=True)
        if (source.path or name) in sources
    }


def _ratios(lessons: DanceLessons) -> BeatRatios | None:
    schema = lessons.lessons.schema
    if "phase_manifold" not in schema.outputs:
        return None
    return BeatRatios.learnt(_danced_phases(lessons), schema.channels)


def _danced_phases(lessons: DanceLessons) -> Iterator[tuple[Array, Array, Array, Array, Array]]:
    """Phases of the training clips frame by frame, and the beats of their songs."""
    samples, danced, schema = lessons.lessons.samples, lessons.danced, lessons.lessons.schema
    store, slices = danced.store, lessons.lessons.schema.outputs.slices
    place = {name: index for index, name in enumerate(store.names)}
    train = np.zeros(len(samples) + 1, bool)
    train[lessons.lessons.split.train] = True
    for run, (start, stop) in enumerate(zip(samples.run_starts, samples.run_stops, strict=True)):
        source = store.sources[place[samples.names[run]]]
        song = danced.songs[source.song]
        if not train[start]:
            continue
        rows = np.asarray(samples.outputs[start:stop])
        channels = schema.channels
        # The first of the later samples is now, a frame behind the inputs.
        pairs = rows[:, slices["phase_manifold"]][:, : 2 * channels].reshape(-1, channels, 2)
        frames = samples.first_frames[run] + 1 + np.arange(len(rows))
        times = frames / store.fps + source.song_start_s
        clock = SongClock(song)
        position, clock_hz = clock.at(times)
        yield (
            wrapped(np.arctan2(pairs[..., 0], pairs[..., 1]) / (2.0 * np.pi)),
            rows[:, slices["phase_frequency"]][:, :channels],
            rows[:, slices["phase_amplitude"]][:, :channels],
            position,
            np.where(clock.inside(times), clock_hz, 0.0),
        )
