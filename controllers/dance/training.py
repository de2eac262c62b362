"""Learning to dance: a controller whose track is the song of each clip."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from controllers.dance.config import MUSIC, DanceConfig
from controllers.dance.dancer import Dancer
from controllers.dance.health import dance_health
from controllers.dance.music_input import MusicInput
from controllers.dance.reference import DanceReference
from controllers.dance.song_clips import SongClip
from controllers.dance.split import held_out_songs, split_by_segment, split_by_song
from controllers.data.controller_data import ControllerData
from controllers.training.train import train_controller
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import PhaseExtractor
from deepphase.progress import Progress

# Dances that the reference is measured of.
_MEASURED = 120


@dataclass(frozen=True, eq=False)
class DanceData:
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

    data: ControllerData
    danced: SongClip
    music: MusicInput
    unused_songs: frozenset[str]

    @classmethod
    def read(
        cls,
        danced: SongClip,
        config: DanceConfig,
        phases: PhaseExtractor | None = None,
        *,
        description: Any = None,
        progress: Progress | None = None,
    ) -> DanceData:
        """Read clips and songs as a recipe says.

        Raises as `ControllerData.read` does.
        """
        options, how = config.training, config.dance
        by_song = how.held_out_by == "song"
        unused_songs: frozenset[str] = frozenset()
        if by_song:
            unused_songs = held_out_songs(danced, options.held_out, options.split_seed)
        # Songs that are held out have no say in how songs are read.
        heard = [song for name, song in danced.songs.items() if name not in unused_songs]
        music = MusicInput.of_songs(heard, config.music.features, config.schema.step_s)

        def tracks(clip: Clip) -> dict[str, Array]:
            song, start_s = danced.song(clip), clip.source.song_start_s
            return {MUSIC: music.track(song, len(clip), clip.fps, start_s)}

        data = ControllerData.read(
            danced.store,
            config.controller,
            phases,
            tracks=tracks,
            description=description,
            progress=progress,
        )
        if by_song:
            split = split_by_song(data.split, data.samples, danced, unused_songs)
            if split is data.split:
                unused_songs = frozenset()
        else:
            split = split_by_segment(data.samples, danced, options.held_out, options.split_seed)
        return cls(replace(data, split=split), danced, music, unused_songs)


def train_dance(
    data: DanceData,
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
        data.data,
        config.controller,
        folder=folder,
        resume=resume,
        progress=progress,
        **trainer,
    )
    if made is None:
        return None
    danced = data.danced
    store = danced.store
    some = np.unique(np.linspace(0, len(store) - 1, min(_MEASURED, len(store))).astype(int))
    clips = [clip for clip in map(store.clip, some.tolist()) if clip.duration >= 1.0]
    if not clips:
        raise ParameterError("all dances are shorter than a second")
    dancer = Dancer(
        controller=made,
        music=data.music,
        reference=DanceReference.of(clips, [danced.song(clip) for clip in clips]),
    )
    songs = [danced.songs[name] for name in sorted(data.unused_songs or danced.songs)]
    measured = dance_health(dancer, songs, progress) | {"unheard": bool(data.unused_songs)}
    given = {
        "held_out_by": config.dance.held_out_by,
        "unheard": sorted(data.unused_songs),
    }
    made = replace(
        made,
        health={**made.health, "dance": measured},
        provenance={**made.provenance, **given},
    )
    return replace(dancer, controller=made)
