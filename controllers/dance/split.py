"""Splits of a dancer's training data: held-out songs, or held-out captured segments.

Sets of dances are often cut from a few captures, so that several songs share movement. A split by
song measures the response to unknown songs, a split by segment that to unknown movement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controllers.dance.song_clips import SongClips
from controllers.data.sample_split import SampleSplit
from controllers.data.samples import ControllerSamples
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_repeats import clip_segments
from deepphase.phase.windows import held_out_sources


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
    samples: ControllerSamples, clips: SongClips, share: float, seed: int
) -> SampleSplit:
    """Hold out captured segments in all clips that contain them, whatever the song.

    They measure how the dancer responds to unknown movement. Parts of every song may be on both
    sides. No training sample contains a frame of a held-out segment, neither as its own frame nor
    in the trajectory around it.

    Raises
    ------
    ParameterError
        If the dances are one captured segment, or if one side of the split is empty.
    """
    held = _held_frames(clips, share, seed)
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


def _held_frames(clips: SongClips, share: float, seed: int) -> dict[str, Array]:
    """Clip -> (frames,) bool: whether the frame is of a held-out segment."""
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
