"""Learning to dance: a controller whose track is the song of each clip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from controllers.dance_config import MUSIC, DanceConfig
from controllers.dance_health import dance_health
from controllers.dance_music import MusicInput
from controllers.dance_reference import DanceReference
from controllers.dance_songs import Danced
from controllers.dance_split import held_out_songs, split_by_segment, split_by_song
from controllers.dancer import Dancer
from controllers.data.controller_data import ControllerData
from controllers.training import train_controller
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import PhaseExtractor
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
