"""Training of a dancer from clips with their songs, and measures of its dances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.controllers.dance.config import MUSIC, DanceConfig
from deepphase.controllers.dance.dance_set import DanceSet
from deepphase.controllers.dance.dancer import Dancer, MusicInput
from deepphase.controllers.dance.dancing import generate_dances
from deepphase.controllers.dance.health import MOST_SONGS, SHORTEST_S, dance_health, request_of
from deepphase.controllers.dance.starts import lasting_starts
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.sample_rows import SampleSplit
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.controllers.training.train import train_controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.dance import DanceReference, body_of_clip
from deepphase.evaluation.dance_clock import DanceClocks, clocks_of_clips
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.signal_corpus import held_out_sources
from deepphase.work import Progress

# Number of dances of which the reference is measured.
_MEASURED = 120
# Shares of the path beyond these are not small corrections: such a dancer is left as it is. Dances
# that stay in place have no path to compare.
_SHARES, _SLOWEST = (0.5, 1.5), 0.05


@brief_repr
@dataclass(frozen=True, eq=False)
class DanceData:
    """Training data of a dancer.

    Parameters
    ----------
    data
        Training data of the controller.
    dances
        The dances, without copies at other tempi.
    music
        Normalisation of the audio features.
    held_out_songs
        Songs whose dances measure the dancer: they have about `training.held_out` of all frames.
        None if there is only one song.
    clocks
        Clocks by which the dances are re-timed; None if they are as recorded.
    """

    data: ControllerData
    dances: DanceSet
    music: MusicInput
    held_out_songs: frozenset[str]
    clocks: DanceClocks | None

    @classmethod
    def read(
        cls,
        dances: DanceSet,
        config: DanceConfig,
        phases: PhaseExtractor | None = None,
        *,
        description: Any = None,
        progress: Progress | None = None,
    ) -> DanceData:
        """Read dances and songs as a config says; raises as `ControllerData.read`."""
        clocks = None
        if config.dance.timing == "bars":
            clocks = clocks_of_clips(dances, progress)
            dances = replace(dances, store=ClipStore.from_clips(clocks.retimed(dances.store)))
        held_out = _held_out_songs(dances, config.controller.training.held_out)
        music = MusicInput.from_songs(
            [song for name, song in dances.songs.items() if name not in held_out],
            config.music.features,
            config.controller.schema.step_s,
        )
        copied = dances.with_tempo_copies(config.dance.tempo_copies, held_out)

        def tracks(clip: Clip) -> dict[str, Array]:
            song, start_s = copied.song(clip), clip.source.song_start_s
            return {MUSIC: music.track(song, len(clip), clip.fps, start_s)}

        data = ControllerData.read(
            copied.store,
            config.controller,
            phases,
            tracks=tracks,
            description=description,
            progress=progress,
        )
        split = _split_by_song(data.samples, copied, held_out)
        if split is None:
            return cls(data, dances, music, frozenset(), clocks)
        return cls(replace(data, split=split), dances, music, held_out, clocks)


def _held_out_songs(dances: DanceSet, share: float) -> frozenset[str]:
    frames: dict[str, int] = {}
    store = dances.store
    for source, length in zip(store.sources, store.lengths.tolist(), strict=True):
        frames[source.song] = frames.get(source.song, 0) + length
    return frozenset(held_out_sources(frames, share, 0)) if len(frames) > 1 else frozenset()


def _split_by_song(
    samples: ControllerSamples, dances: DanceSet, songs: frozenset[str]
) -> SampleSplit | None:
    """Hold out all samples of some songs; None if the clips of one side are too short for any."""
    store = dances.store
    song_of = {name: source.song for name, source in zip(store.names, store.sources, strict=True)}
    held = np.array([song_of[name] in songs for name in samples.names])
    if held.all() or not held.any():
        return None
    files = frozenset(samples.sources[run] for run in np.flatnonzero(held))
    return SampleSplit(samples.rows_of_runs(~held), samples.rows_of_runs(held), files)


def train_dance(
    data: DanceData,
    config: DanceConfig,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> Dancer | None:
    """Train a dancer, and measure its dances to held-out songs, or to all songs if none are.

    Parameters, return value None and errors are those of
    :func:`deepphase.controllers.training.train.train_controller`.
    """
    controller = train_controller(
        data.data, config.controller, folder=folder, resume=resume, progress=progress, **trainer
    )
    if controller is None:
        return None
    dances = data.dances
    clips = [clip for clip in _spread(dances.store, _MEASURED) if clip.duration >= 1.0]
    if not clips:
        raise ParameterError(
            "all dances are shorter than a second", hint="train on clips of a second or more"
        )
    reference = DanceReference.from_clips(clips, [dances.song(clip) for clip in clips])
    starts = lasting_starts(controller.starts, data.data.store, reference.usual_speed)
    controller = replace(controller, starts=starts)
    dancer = Dancer(controller, data.music, reference)
    share = path_share(dancer, dances, data.held_out_songs, progress)
    dancer = replace(dancer, path_share=share)
    songs = [dances.songs[name] for name in sorted(data.held_out_songs or dances.songs)]
    health = dance_health(dancer, songs, progress) | {"unheard": bool(data.held_out_songs)}
    provenance = {
        "unheard": sorted(data.held_out_songs),
        "songs": sorted(set(dances.songs) - data.held_out_songs),
        "timing": config.dance.timing,
        "clocks": {} if data.clocks is None else data.clocks.as_mapping(),
    }
    measured = replace(
        controller,
        health={**controller.health, "dance": health},
        provenance={**controller.provenance, **provenance},
    )
    return replace(dancer, controller=measured)


def path_share(
    dancer: Dancer,
    dances: DanceSet,
    left_out: frozenset[str] = frozenset(),
    progress: Progress | None = None,
) -> float:
    """Speed of the recorded hips over the ground, as a share of the dancer's.

    A network predicts the step of the root and the pose separately. Over long runs the root is
    faster than the legs, by a factor that hardly changes, and standing feet slide along.
    """
    usable = [
        clip
        for clip in dances.store
        if clip.source.song not in left_out
        and min(clip.duration, dances.song(clip).duration_s) > SHORTEST_S
    ]
    if not usable:
        return 1.0
    chosen = _spread(usable, MOST_SONGS)
    requests = [request_of(dances.song(clip), seed) for seed, clip in enumerate(chosen, start=1)]
    settings = CharacterSettings(*BLENDS["natural"], gating=False, foot_ik=False)
    uncorrected = replace(dancer, path_share=1.0)
    results = generate_dances(uncorrected, requests, settings=settings, progress=progress)
    recorded = float(np.mean([_hips_speed(clip) for clip in chosen]))
    share = recorded / max(float(np.mean([_hips_speed(dance.clip) for dance in results])), _SLOWEST)
    return share if recorded > _SLOWEST and _SHARES[0] <= share <= _SHARES[1] else 1.0


def _hips_speed(clip: Clip) -> float:
    """m/s: mean speed of the hips over the ground."""
    ground = body_of_clip(clip)[0]["root"][:, [0, 2]]
    return float(np.linalg.norm(np.diff(ground, axis=0), axis=1).mean() * clip.fps)


def _spread(clips: ClipStore | Sequence[Clip], count: int) -> list[Clip]:
    """At most so many clips, spread over all."""
    rows = np.unique(np.linspace(0, len(clips) - 1, min(count, len(clips))).astype(int))
    at = clips.clip if isinstance(clips, ClipStore) else clips.__getitem__
    return [at(row) for row in rows.tolist()]
