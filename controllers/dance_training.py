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
from controllers.dance_split import held_out_songs, split_by_segment, split_by_song
from controllers.dancer import Dancer
from controllers.data.controller_data import ControllerData
from controllers.training import train_controller
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.parameters import wrapped
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
        Of the controller.
    danced
        Clips and songs.
    music
        How songs are read.
    unheard
        Names of the songs that are held out.
    """

    lessons: ControllerData
    danced: Danced
    music: MusicInput
    unheard: frozenset[str]

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

        Raises as `ControllerData.read` does.
        """
        options, how = config.training, config.dance
        by_song = how.held_out_by == "song"
        unheard: frozenset[str] = frozenset()
        if by_song:
            unheard = held_out_songs(danced, options.held_out, options.split_seed)
        # Songs that are held out have no say in how songs are read.
        heard = [song for name, song in danced.songs.items() if name not in unheard]
        music = MusicInput.of_songs(heard, config.music.features, config.schema.step_s)

        def tracks(clip: Clip) -> dict[str, Array]:
            song, start_s = danced.song(clip), clip.source.song_start_s
            return {MUSIC: music.track(song, len(clip), clip.fps, start_s)}

        lessons = ControllerData.read(
            danced.store,
            config.controller,
            phases,
            tracks=tracks,
            description=description,
            progress=progress,
        )
        if by_song:
            split = split_by_song(lessons.split, lessons.samples, danced, unheard)
            if split is lessons.split:
                unheard = frozenset()
        else:
            split = split_by_segment(lessons.samples, danced, options.held_out, options.split_seed)
        return cls(replace(lessons, split=split), danced, music, unheard)


def train_dance(
    lessons: DanceLessons,
    config: DanceConfig,
    *,
    folder: str | Path,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> Dancer | None:
    """Train a dancer, and let it dance to songs that were held out; to all, where none was.

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
    danced = lessons.danced
    store = danced.store
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
    songs = [danced.songs[name] for name in sorted(lessons.unheard or danced.songs)]
    measured = dance_health(dancer, songs, progress) | {"unheard": bool(lessons.unheard)}
    told = {
        "held_out_by": config.dance.held_out_by,
        "unheard": sorted(lessons.unheard),
    }
    made = replace(
        made,
        health={**made.health, "dance": measured},
        provenance={**made.provenance, **told},
    )
    return replace(dancer, controller=made)


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
        learnt = np.flatnonzero(train[start:stop])
        if not len(learnt):
            continue
        source = store.sources[place[samples.names[run]]]
        rows = np.asarray(samples.outputs[start + learnt])
        channels = schema.channels
        # The first of the later samples is now, a frame behind the inputs.
        pairs = rows[:, slices["phase_manifold"]][:, : 2 * channels].reshape(-1, channels, 2)
        times = (samples.first_frames[run] + 1 + learnt) / store.fps + source.song_start_s
        clock = SongClock(lessons.music.counted(danced.songs[source.song]))
        position, clock_hz = clock.at(times)
        yield (
            wrapped(np.arctan2(pairs[..., 0], pairs[..., 1]) / (2.0 * np.pi)),
            rows[:, slices["phase_frequency"]][:, :channels],
            rows[:, slices["phase_amplitude"]][:, :channels],
            position,
            np.where(clock.inside(times), clock_hz, 0.0),
        )
