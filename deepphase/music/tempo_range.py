"""Change of a song's tempo octave: beats and bars at double or half the tempo."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from deepphase.arrays import Array
from deepphase.music.bars import Bars
from deepphase.music.beats import Beats
from deepphase.music.features import SongFeatures, rhythm_blocks

Range = tuple[float, float]

# A bar may be this much longer or shorter than all that are known, and is one of them.
_SLACK = 1.1


def bar_seconds(song: SongFeatures) -> float | None:
    """The usual length of a song's bars; None where they are not known."""
    downs = song.downbeats_s
    return None if downs is None or len(downs) < 2 else float(np.median(np.diff(downs)))


def beat_seconds(song: SongFeatures) -> float | None:
    """The usual length of a song's beats; None where no beats are reliable."""
    return 60.0 / song.tempo_bpm if song.has_beat else None


def octaves_to(song: SongFeatures, bars_s: Range, beats_s: Range) -> int:
    """How often a song's beats are to be doubled, or halved below 0, to lie in a range.

    Parameters
    ----------
    bars_s, beats_s
        Seconds, the shortest and the longest; (0, 0) for any. The song's bars decide
        where they are known, otherwise its beats. Outside the range, the octave nearest to its
        middle is taken.
    """
    for found, (shortest, longest) in (
        (bar_seconds(song), bars_s),
        (beat_seconds(song), beats_s),
    ):
        if found is None or not shortest > 0:
            continue
        if shortest / _SLACK <= found <= longest * _SLACK:
            return 0
        return int(np.rint(np.log2(found / np.sqrt(shortest * longest))))
    return 0


def within_tempo_range(song: SongFeatures, octaves: int) -> SongFeatures:
    """The song with beats and bars so many octaves faster, or slower below 0.

    Bars keep their number of beats: of twice as many beats two make one bar of before, of half as
    many a bar is two of before, from the first on.
    """
    while octaves and len(song.beats_s) > 1:
        song = _doubled(song) if octaves > 0 else _halved(song)
        octaves -= int(np.sign(octaves))
    return song


def _doubled(song: SongFeatures) -> SongFeatures:
    beats = song.beats_s
    between = 0.5 * (beats[:-1] + beats[1:])
    both = np.insert(beats, np.arange(1, len(beats)), between)
    first = _first_beats(song)
    if first is not None:
        # The middle of a bar of n beats is n of the new ones behind its first.
        halves = first[:-1] + first[1:]
        first = np.sort(np.concatenate([2 * first, halves]))
    return _with(song, both, first)


def _halved(song: SongFeatures) -> SongFeatures:
    first = _first_beats(song)
    if first is None:
        return _with(song, song.beats_s[::2], None)
    kept_bars = first[::2]
    edges = np.append(kept_bars, len(song.beats_s))
    kept = [np.arange(kept_bars[0], -1, -2)[:0:-1]]
    kept += [np.arange(start, stop, 2) for start, stop in pairwise(edges.tolist())]
    every = np.concatenate(kept)
    return _with(song, song.beats_s[every], np.searchsorted(every, kept_bars))


def _first_beats(song: SongFeatures) -> Array | None:
    """(bars,) index of the beat that each bar begins with."""
    if song.downbeats_s is None or len(song.downbeats_s) < 2:
        return None
    after = np.clip(np.searchsorted(song.beats_s, song.downbeats_s), 1, len(song.beats_s) - 1)
    nearer = song.downbeats_s - song.beats_s[after - 1] < song.beats_s[after] - song.downbeats_s
    return after - nearer


def _with(song: SongFeatures, beats_s: Array, first: Array | None) -> SongFeatures:
    tempo_bpm = float(60.0 / np.median(np.diff(beats_s))) if len(beats_s) > 1 else 0.0
    beats = Beats(beats_s, tempo_bpm, song.beat_confidence)
    bars = None
    if first is not None and song.beats_per_bar is not None and len(first) > 1:
        bars = Bars(song.beats_per_bar, first, song.bar_confidence)
    counted = rhythm_blocks(beats, bars, len(song))
    return replace(
        song,
        blocks={**song.blocks, **{name: each.astype(np.float32) for name, each in counted.items()}},
        beats_s=beats_s,
        downbeats_s=None if bars is None else beats_s[bars.downbeats],
        beats_per_bar=None if bars is None else bars.beats_per_bar,
        tempo_bpm=tempo_bpm,
        bar_confidence=0.0 if bars is None else song.bar_confidence,
    )
