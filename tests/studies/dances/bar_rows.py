"""Rows of a report on the place of dances in the bar: own songs against other songs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array
from deepphase.evaluation.dance_bars import BarDirection, BarPhases, bar_phases
from deepphase.evaluation.dance_beats import TEMPO_FACTORS
from deepphase.evaluation.dance_measures import DanceMeasures
from tests.studies.dances.dance_set import DanceSet
from tests.studies.dances.rows import DanceMeasure, mean_of

# Songs that are cut to begin with a bar agree by their cut; a random later start removes that.
# Number of draws for each song, and maximum of the delay.
_DRAWS, _LATER_S = 3, 20.0
# Relative tolerance of equal bar lengths: over a window of ten bars it is a tenth of a bar.
_SAME_TEMPO = 0.01


def bar_measures(
    dances: DanceSet, reference: DanceSet, metres: Sequence[int]
) -> list[DanceMeasure]:
    """Signed speed and height at the place in the bar where recorded dances have theirs.

    Parameters
    ----------
    dances
        Dances that are measured.
    reference
        Recorded dances that define the place: those to songs in the same metre, without the song
        of the measured dance. A metre with fewer than two such songs has no rows.
    metres
        Beats per bar.
    """
    found = []
    for count in metres:
        found += _measures(dances, _Recorded(reference, count), count)
    return found


class _Recorded:
    """Directions of recorded dances to songs in one metre, each with one song left out."""

    def __init__(self, reference: DanceSet, beats_per_bar: int) -> None:
        self._phases = [
            (each.song, _phases(each, reference.bars[each.name][1]))
            for each in reference.measures
            if _metre(reference, each) == beats_per_bar
        ]
        self.songs = {song for song, phases in self._phases if len(phases)}

    def without(self, song: str) -> BarDirection | None:
        rest = [phases for other, phases in self._phases if other != song and len(phases)]
        return BarDirection.of(rest) if rest else None


def _measures(dances: DanceSet, recorded: _Recorded, count: int) -> list[DanceMeasure]:
    with_song = [each for each in dances.measures if each.name in dances.own]
    in_metre = [each for each in with_song if _metre(dances, each) == count]
    if not in_metre or len(recorded.songs) < 2:
        return []
    rows: dict[str, list[tuple[DanceMeasures, Array]]] = {key: [] for key in _CONTROLS}
    for number, each in enumerate(in_metre):
        direction = recorded.without(each.song)
        if direction is None:
            continue
        downbeats = dances.bars[each.name][1]
        others = [dances.bars[one.name][1] for one in in_metre if one.song != each.song]
        later = np.random.default_rng([number, count]).uniform(0.0, _LATER_S, (len(others), _DRAWS))
        found = {
            "": [_phases(each, downbeats)],
            "tempo shifted": [_phases(each, downbeats, factor) for factor in TEMPO_FACTORS],
            "other songs": [_phases(each, other) for other in others],
            "other songs of its tempo": [
                _phases(each, other)
                for other in others
                if abs(_bar_s(other) / _bar_s(downbeats) - 1) < _SAME_TEMPO
            ],
            "other songs begun later": [
                _phases(each, other - seconds)
                for other, draws in zip(others, later, strict=True)
                for seconds in draws
            ],
        }
        for key, phases in found.items():
            rows[key] += [(each, np.stack(direction.along(one), axis=1)) for one in phases]
        own, other = (_mean(direction, found[key]) for key in ("", "other songs"))
        if own is not None and other is not None:
            rows["over other songs"].append((each, (own - other)[None]))
    measures = mean_of(
        f"bar of {count}, found",
        f"share of dances with a song in which bars of {count} were found: others have no place",
        "",
        "dances",
        [(float(each in in_metre), each) for each in with_song],
    )
    for column, (what, text) in enumerate(_WHAT.items()):
        for key, (definition, unit_of_n) in _CONTROLS.items():
            name = ", ".join(filter(None, (f"bar of {count}, {what}", key)))
            values = [(float(row[column]), each) for each, some in rows[key] for row in some]
            measures += mean_of(name, definition or text, "", unit_of_n, values)
    return measures


_WHAT = {
    "place of speed": (
        "vector strength of the mean joint speed at the bar that was found, along the direction of "
        "recorded dances to other songs, signed; 20 s windows; 0 on average for dances that do "
        "not follow the bar"
    ),
    "place of hips' height": (
        "correlation of the hips' height with a sinusoid of the bar that was found, along the "
        "direction of recorded dances to other songs, signed; 20 s windows; 0 on average for "
        "dances that do not follow the bar"
    ),
}
_CONTROLS = {
    "": ("", "windows"),
    "tempo shifted": ("the same with the song 13 to 21 % faster or slower", "windows"),
    "other songs": (
        "the same against all other songs of the set in that metre, from their start; songs that "
        "are cut to begin with a bar agree by their cut",
        "windows",
    ),
    "other songs of its tempo": (
        "the same against those whose bars have the same length within 1 %",
        "windows",
    ),
    "over other songs": (
        "difference between the own song and the other songs, of each dance's means",
        "dances",
    ),
    "other songs begun later": (
        "the same against other songs from a random time in their first 20 s, three draws each",
        "windows",
    ),
}


def _bar_s(downbeats: Array) -> float:
    """Median length of a bar in seconds."""
    return float(np.median(np.diff(downbeats))) if len(downbeats) > 1 else np.inf


def _metre(dances: DanceSet, dance: DanceMeasures) -> int | None:
    return dances.bars[dance.name][0] if dance.name in dances.bars else None


def _phases(dance: DanceMeasures, downbeats: Array, factor: float = 1.0) -> BarPhases:
    return bar_phases(dance.speed, dance.height, dance.fps, downbeats, factor=factor)


def _mean(direction: BarDirection, phases: Sequence[BarPhases]) -> Array | None:
    """(2,) mean over windows of speed and height; None if there are no windows."""
    rows = [row for one in phases for row in zip(*direction.along(one), strict=True)]
    return np.mean(rows, axis=0) if rows else None
