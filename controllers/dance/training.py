"""Training of dancers: data of clips with their songs, training and measurement."""

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
from controllers.dance.song_clips import SongClips
from controllers.dance.split import held_out_songs, split_by_segment, split_by_song
from controllers.data.controller_data import ControllerData
from controllers.training.train import train_controller
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import PhaseExtractor
from deepphase.progress import Progress

# Number of dances of which the reference is measured.
_MEASURED = 120


@dataclass(frozen=True, eq=False)
class DanceData:
    """Training data of a dancer.

    Parameters
    ----------
    data
        Training data of the controller.
    clips
        Clips and their songs.
    music
        Normalisation of the audio features.
    held_out_songs
        Names of the songs that are held out.
    """

    data: ControllerData
    clips: SongClips
    music: MusicInput
    held_out_songs: frozenset[str]

    @classmethod
    def read(
        cls,
        clips: SongClips,
        config: DanceConfig,
        phases: PhaseExtractor | None = None,
        *,
        description: Any = None,
        progress: Progress | None = None,
    ) -> DanceData:
        """Read clips and songs as a config says.

        Parameters
        ----------
        clips
            Clips and their songs.
        config
            Config of the dancer.
        phases
            Phase model, for networks that need phases.
        description
            Skeleton description.
        progress
            Called with the number of clips done.

        Raises
        ------
        DeepPhaseError
            As `ControllerData.read` does.
        """
        options = config.training
        by_song = config.dance.held_out_by == "song"
        held_out: frozenset[str] = frozenset()
        if by_song:
            held_out = held_out_songs(clips, options.held_out, options.split_seed)
        # The normalisation is fitted to the songs of the training alone.
        train_songs = [song for name, song in clips.songs.items() if name not in held_out]
        music = MusicInput.of_songs(train_songs, config.music.features, config.schema.step_s)

        def tracks(clip: Clip) -> dict[str, Array]:
            song, start_s = clips.song(clip), clip.source.song_start_s
            return {MUSIC: music.track(song, len(clip), clip.fps, start_s)}

        data = ControllerData.read(
            clips.store,
            config.controller,
            phases,
            tracks=tracks,
            description=description,
            progress=progress,
        )
        if by_song:
            split = split_by_song(data.split, data.samples, clips, held_out)
            if split is data.split:
                held_out = frozenset()
        else:
            split = split_by_segment(data.samples, clips, options.held_out, options.split_seed)
        return cls(replace(data, split=split), clips, music, held_out)


def train_dance(
    data: DanceData,
    config: DanceConfig,
    *,
    folder: str | Path,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> Dancer | None:
    """Train a dancer, and measure its dances to held-out songs, or to all songs if none are.

    Parameters, return value None and errors are those of
    :func:`controllers.training.train.train_controller`.
    """
    controller = train_controller(
        data.data,
        config.controller,
        folder=folder,
        resume=resume,
        progress=progress,
        **trainer,
    )
    if controller is None:
        return None
    song_clips = data.clips
    store = song_clips.store
    chosen = np.unique(np.linspace(0, len(store) - 1, min(_MEASURED, len(store))).astype(int))
    clips = [clip for clip in map(store.clip, chosen.tolist()) if clip.duration >= 1.0]
    if not clips:
        raise ParameterError(
            "all dances are shorter than a second", hint="train on clips of a second or more"
        )
    dancer = Dancer(
        controller=controller,
        music=data.music,
        reference=DanceReference.of(clips, [song_clips.song(clip) for clip in clips]),
    )
    songs = [song_clips.songs[name] for name in sorted(data.held_out_songs or song_clips.songs)]
    health = dance_health(dancer, songs, progress) | {"unheard": bool(data.held_out_songs)}
    split = {
        "held_out_by": config.dance.held_out_by,
        "unheard": sorted(data.held_out_songs),
    }
    measured = replace(
        controller,
        health={**controller.health, "dance": health},
        provenance={**controller.provenance, **split},
    )
    return replace(dancer, controller=measured)
