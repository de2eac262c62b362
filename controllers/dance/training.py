"""Training of dancers: clips with their songs, the held-out split, training and measurement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.dance.config import MUSIC, DanceConfig, DanceTraining
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.health import dance_health
from deepphase.controllers.dance.lasting_starts import lasting_starts
from deepphase.controllers.dance.music_input import MusicInput
from deepphase.controllers.dance.path_share import path_share
from deepphase.controllers.dance.reference import DanceReference
from deepphase.controllers.dance.song_clips import SongClips
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.sample_split import SampleSplit
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.controllers.training.train import train_controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_clock import DanceClocks, clocks_of_clips
from deepphase.evaluation.dance_measures import DanceMeasures, measure_dance
from deepphase.evaluation.dance_repeats import clip_segments
from deepphase.motion.clip import Clip
from deepphase.motion.resample import at_frames
from deepphase.music.song_controls import stretched
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.windows import held_out_sources
from deepphase.progress import Progress
from deepphase.short_repr import brief_repr


def held_out_songs(clips: SongClips, share: float, seed: int) -> frozenset[str]:
    """Names of songs that have about a share of all frames; none if there is only one song.

    They measure how the dancer responds to unknown songs. Movement that several songs share is on
    both sides of the split.
    """
    frames: dict[str, int] = {}
    for source, length in zip(clips.store.sources, clips.store.lengths.tolist(), strict=True):
        frames[source.song] = frames.get(source.song, 0) + length
    if len(frames) < 2:
        return frozenset()
    return frozenset(held_out_sources(frames, share, seed))


def split_by_song(
    split: SampleSplit, samples: ControllerSamples, clips: SongClips, songs: frozenset[str]
) -> SampleSplit:
    """Hold out all samples of some songs; the split as it is if one side would be empty."""
    store = clips.store
    song_of = {name: source.song for name, source in zip(store.names, store.sources, strict=True)}
    held = np.array([song_of[name] in songs for name in samples.names])
    if held.all() or not held.any():
        # The clips of one side are too short for a sample.
        return split
    files = {samples.sources[run] for run in np.flatnonzero(held)}
    return replace(
        split,
        train=samples.rows_of_runs(~held),
        held_out=samples.rows_of_runs(held),
        sources=frozenset(files),
    )


def split_by_segment(
    samples: ControllerSamples, held: Mapping[str, Array], share: float
) -> SampleSplit:
    """Hold out captured segments in all clips that contain them, whatever the song.

    They measure how the dancer responds to unknown movement. Parts of every song may be on both
    sides. No training sample contains a frame of a held-out segment, neither as its own frame nor
    in the trajectory around it.

    Parameters
    ----------
    samples
        Samples of the dances.
    held
        Clip -> (frames,) bool: whether the frame is of a held-out segment.
    share
        Share of the frames that was asked for.

    Raises
    ------
    ParameterError
        If one side of the split is empty.
    """
    offsets, fps = samples.schema.config.offsets_s, samples.schema.fps
    # A sample is a frame and the next one.
    past, future = round(-min(offsets) * fps), round(max(offsets) * fps) + 1
    train, held_out = [], []
    for run, (start, stop) in enumerate(zip(samples.run_starts, samples.run_stops, strict=True)):
        flags = held[samples.names[run]]
        frames = samples.first_frames[run] + np.arange(stop - start)
        held_before = np.concatenate([[0], np.cumsum(flags)])
        first, stop_frame = np.clip([frames - past, frames + future + 1], 0, len(flags))
        train.append(start + np.flatnonzero(held_before[stop_frame] == held_before[first]))
        held_out.append(start + np.flatnonzero(flags[frames] & flags[frames + 1]))
    train_rows, held_out_rows = np.concatenate(train), np.concatenate(held_out)
    if not (len(train_rows) and len(held_out_rows)):
        raise ParameterError(
            f"holding out segments of {share:.0%} of the frames leaves {len(train_rows)} training "
            f"samples and {len(held_out_rows)} held-out ones",
            hint="hold out another share (training.held_out), or by song",
        )
    return SampleSplit(train_rows, held_out_rows, frozenset())


def held_segments(clips: SongClips, share: float, seed: int) -> dict[str, Array]:
    """Clip -> (frames,) bool: whether the frame is of a held-out segment.

    Segments are found in dances as recorded: the same movement at two rates is not recognised.
    Raises ParameterError if the dances are one captured segment.
    """
    segments = clip_segments(clips.store)
    numbers, frames = np.unique(np.concatenate(segments), return_counts=True)
    if len(numbers) < 2:
        raise ParameterError(
            "all dances are one captured segment",
            hint="hold out songs (held_out_by: song), or give more dances",
        )
    sizes: Mapping[str, int] = dict(zip(map(str, numbers.tolist()), frames.tolist(), strict=True))
    kept = [int(each) for each in held_out_sources(sizes, share, seed)]
    flags = [np.isin(each, kept) for each in segments]
    return dict(zip(clips.store.names, flags, strict=True))


# Its multiples modulo 1 are spread evenly, however many there are.
_GOLDEN = 0.618033988749895
# Number of dances of which the reference is measured.
_MEASURED = 120


@brief_repr
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
    clocks
        Clocks by which the clips are re-timed; None if they are as recorded.
    """

    data: ControllerData
    clips: SongClips
    music: MusicInput
    held_out_songs: frozenset[str]
    clocks: DanceClocks | None

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
        options, dance = config.training, config.dance
        clocks, recorded = None, clips
        if dance.timing == "bars":
            clocks = clocks_of_clips(clips, progress)
            clips = _with_clips(clips, clocks.retimed(clips.store))
        by_song = dance.held_out_by == "song"
        held_out: frozenset[str] = frozenset()
        if by_song:
            held_out = held_out_songs(clips, options.held_out, options.split_seed)
        # The normalisation is fitted to the songs of the training alone.
        train_songs = [song for name, song in clips.songs.items() if name not in held_out]
        tempi = (dance.slowest, dance.fastest) if dance.tempo_copies else (1.0, 1.0)
        music = MusicInput.of_songs(train_songs, config.music.features, config.schema.step_s, tempi)
        every, copies = with_tempo_copies(clips, dance, held_out)

        def tracks(clip: Clip) -> dict[str, Array]:
            song, start_s = clips.song(clip), clip.source.song_start_s
            if clip.name in copies:
                song = stretched(song, copies[clip.name].factor)
            return {MUSIC: music.track(song, len(clip), clip.fps, start_s)}

        data = ControllerData.read(
            every.store,
            config.controller,
            phases,
            tracks=tracks,
            description=description,
            progress=progress,
        )
        if by_song:
            split = split_by_song(data.split, data.samples, every, held_out)
            if split is data.split:
                held_out = frozenset()
        else:
            held = held_segments(recorded, options.held_out, options.split_seed)
            of_copies = {name: held[each.clip] for name, each in copies.items()}
            lengths = zip(every.store.names, every.store.lengths.tolist(), strict=True)
            flags = {name: _at_length((held | of_copies)[name], length) for name, length in lengths}
            split = split_by_segment(data.samples, flags, options.held_out)
        return cls(replace(data, split=split), clips, music, held_out, clocks)


class TempoCopy(NamedTuple):
    """Copy of a clip: the clip's name, and its tempo as a multiple of the clip's."""

    clip: str
    factor: float


def with_tempo_copies(
    clips: SongClips, dance: DanceTraining, held_out: frozenset[str]
) -> tuple[SongClips, dict[str, TempoCopy]]:
    """Clips with copies of the training dances at other tempi, and name -> copy.

    A copy is the dance played faster or slower, as its song is. The tempi of all copies cover the
    range evenly, on a logarithmic scale.
    """
    made: dict[str, TempoCopy] = {}
    copies = []
    chosen = [clip for clip in clips.store if clip.source.song not in held_out]
    for copy in range(dance.tempo_copies):
        for index, clip in enumerate(chosen):
            # Multiples of the golden ratio spread the tempi of one clip, and of its neighbours.
            place = (copy + index * dance.tempo_copies + 0.5) * _GOLDEN % 1.0
            factor = float(dance.slowest * (dance.fastest / dance.slowest) ** place)
            frames = np.arange(int((len(clip) - 1) / factor) + 1) * factor
            start_s = clip.source.song_start_s / factor
            name = f"{clip.name} at tempo {factor:.3f} ({copy + 1})"
            source = replace(clip.source, song_start_s=start_s)
            copies.append(replace(at_frames(clip, frames), name=name, source=source))
            made[name] = TempoCopy(clip.name, factor)
    if not copies:
        return clips, made
    return _with_clips(clips, [*clips.store, *copies]), made


def _at_length(flags: Array, length: int) -> Array:
    """(length,) flags of the same movement played at another rate."""
    return flags[np.rint(np.linspace(0, len(flags) - 1, length)).astype(np.intp)]


def _with_clips(clips: SongClips, others: list[Clip]) -> SongClips:
    return replace(clips, store=ClipStore.from_clips(others))


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
    reference = DanceReference.of(clips, [song_clips.song(clip) for clip in clips])
    starts = lasting_starts(controller.starts, data.data.store, reference.usual_speed)
    controller = replace(controller, starts=starts)
    dancer = Dancer(controller, data.music, reference)
    share = path_share(dancer, song_clips, data.held_out_songs, progress)
    dancer = replace(dancer, path_share=share)
    songs = [song_clips.songs[name] for name in sorted(data.held_out_songs or song_clips.songs)]
    seeds = config.dance.measured_seeds
    health = dance_health(dancer, songs, _recorded(data) if seeds else (), seeds, progress)
    health |= {"unheard": bool(data.held_out_songs)}
    split = {
        "held_out_by": config.dance.held_out_by,
        "unheard": sorted(data.held_out_songs),
        "songs": sorted(set(data.clips.songs) - data.held_out_songs),
        "timing": config.dance.timing,
        "clocks": {} if data.clocks is None else data.clocks.as_mapping(),
    }
    measured = replace(
        controller,
        health={**controller.health, "dance": health},
        provenance={**controller.provenance, **split},
    )
    return replace(dancer, controller=measured)


def _recorded(data: DanceData) -> list[tuple[DanceMeasures, int, Array]]:
    """Recorded dances to songs with bars, as trials of response need them."""
    found = []
    for clip in data.clips.store:
        song = data.clips.song(clip)
        if song.downbeats_s is None or song.beats_per_bar is None or clip.duration < 1.0:
            continue
        downbeats = np.asarray(song.downbeats_s) - clip.source.song_start_s
        found.append((measure_dance(clip), song.beats_per_bar, downbeats))
    return found
