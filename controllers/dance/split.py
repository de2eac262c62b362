"""What a dancer's training leaves out: whole songs, or captured movement wherever it occurs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from controllers.dance.song_clips import SongClip
from controllers.data.sample_split import SampleSplit
from controllers.data.samples import ControllerSamples
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_repeats import clip_segments
from deepphase.phase.windows import held_out_sources


def held_out_songs(danced: SongClip, share: float, seed: int) -> frozenset[str]:
    """Songs that together have about a share of all frames; none where there is but one.

    A dancer is asked with them: can it dance to a song that it never heard? Movement that several
    songs share is on both sides.
    """
    frames: dict[str, int] = {}
    for source, length in zip(danced.store.sources, danced.store.lengths.tolist(), strict=True):
        frames[source.song] = frames.get(source.song, 0) + length
    if len(frames) < 2:
        return frozenset()
    return frozenset(held_out_sources(frames, share, seed))


def split_by_song(
    split: SampleSplit, samples: ControllerSamples, danced: SongClip, songs: frozenset[str]
) -> SampleSplit:
    """All samples of these songs held out; where one side would be empty, the split as it is."""
    store = danced.store
    song_of = {name: source.song for name, source in zip(store.names, store.sources, strict=True)}
    held = np.array([song_of[name] in songs for name in samples.names])
    if held.all() or not held.any():
        # Clips of one side are too short for a single sample.
        return split
    files = {samples.sources[run] for run in np.flatnonzero(held)}
    return replace(
        split,
        train=samples.rows_of_runs(~held),
        held_out=samples.rows_of_runs(held),
        sources=frozenset(files),
    )


def split_by_segment(
    samples: ControllerSamples, danced: SongClip, share: float, seed: int
) -> SampleSplit:
    """Captured segments held out in all clips that they occur in, whatever the song.

    A dancer is asked with them: does it know movement that it never saw? Every song is on both
    sides, in pieces. What is learnt from sees no frame of a held-out segment, neither as its own
    nor in the trajectory around it.

    Raises
    ------
    ParameterError
        Where the dances are of a single segment, or nothing is left to learn from or to ask with.
    """
    held = _held_frames(danced, share, seed)
    offsets, fps = samples.schema.config.offsets_s, samples.schema.fps
    # A pair is a frame and the next one.
    back, on = round(-min(offsets) * fps), round(max(offsets) * fps) + 1
    train, asked = [], []
    for run, (start, stop) in enumerate(zip(samples.run_starts, samples.run_stops, strict=True)):
        flags = held[samples.names[run]]
        frames = samples.first_frames[run] + np.arange(stop - start)
        before = np.concatenate([[0], np.cumsum(flags)])
        first, behind = np.clip([frames - back, frames + on + 1], 0, len(flags))
        train.append(start + np.flatnonzero(before[behind] == before[first]))
        asked.append(start + np.flatnonzero(flags[frames] & flags[frames + 1]))
    rows, questions = np.concatenate(train), np.concatenate(asked)
    if not (len(rows) and len(questions)):
        raise ParameterError(
            f"segments that have {share:.0%} of the frames, held out with what is around them, "
            f"leave {len(rows)} samples to learn from and {len(questions)} to ask with",
            hint="hold out another share (training.held_out), or by song",
        )
    return SampleSplit(rows, questions, frozenset())


def _held_frames(danced: SongClip, share: float, seed: int) -> dict[str, Array]:
    """Clip -> (frames,) bool: the frame is of a segment that is held out."""
    segments = clip_segments(danced.store)
    numbers, frames = np.unique(np.concatenate(segments), return_counts=True)
    if len(numbers) < 2:
        raise ParameterError(
            "all dances are one captured segment", hint="hold out by song, or give more dances"
        )
    sizes: Mapping[str, int] = dict(zip(map(str, numbers.tolist()), frames.tolist(), strict=True))
    kept = [int(each) for each in held_out_sources(sizes, share, seed)]
    flags = [np.isin(each, kept) for each in segments]
    return dict(zip(danced.store.names, flags, strict=True))
