"""Where in the bars of their songs dances are, as a report lists it: own songs against others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from apps.dances.dance_set import DanceSet
from apps.dances.rows import DanceMeasure, mean_of
from deepphase.arrays import Array
from deepphase.evaluation.dance_bars import BarDirection, BarPhases, bar_phases
from deepphase.evaluation.dance_measures import DanceMeasures
from deepphase.evaluation.dance_rhythm import TEMPO_FACTORS

# Songs that are cut to begin with a bar agree by their cut: one that begins later does not. Draws
# of how much later, up to so many seconds.
_DRAWS, _LATER_S = 3, 20.0
# Bars as long as those of the own song, to that share: in a window of ten bars a tenth of one.
_SAME_TEMPO = 0.01


def bar_measures(
    dances: DanceSet, reference: DanceSet, metres: Sequence[int]
) -> list[DanceMeasure]:
    """Speed and height at the place in the bar where recorded dances have theirs, signed.

    Parameters
    ----------
    reference
        The recorded dances, which say where that is: those to songs in the same metre, without the
        song that a dance is to. A metre in which there are fewer than two such songs has no
        numbers.
    """
    found = []
    for count in metres:
        found += _measures(dances, _Recorded(reference, count), count)
    return found


class _Recorded:
    """The directions of recorded dances to songs in one metre, each song left out or none."""

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
    given = [each for each in with_song if _metre(dances, each) == count]
    if not given or len(recorded.songs) < 2:
        return []
    rows: dict[str, list[tuple[DanceMeasures, Array]]] = {key: [] for key in _CONTROLS}
    for number, each in enumerate(given):
        direction = recorded.without(each.song)
        if direction is None:
            continue
        downbeats = dances.bars[each.name][1]
        others = [dances.bars[one.name][1] for one in given if one.song != each.song]
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
        f"bar of {count}, told",
        f"share of dances with a song whose bars of {count} can be told: the others have no place",
        "",
        "dances",
        [(float(each in given), each) for each in with_song],
    )
    for column, (what, text) in enumerate(_WHAT.items()):
        for key, (definition, unit_of_n) in _CONTROLS.items():
            name = ", ".join(filter(None, (f"bar of {count}, {what}", key)))
            values = [(float(row[column]), each) for each, some in rows[key] for row in some]
            measures += mean_of(name, definition or text, "", unit_of_n, values)
    return measures


_WHAT = {
    "place of speed": (
        "vector strength of the mean joint speed at the bar that is told, along the direction that "
        "recorded dances to other songs have, signed; 20 s windows; 0 where the place in the bar "
        "is not known"
    ),
    "place of hips' height": (
        "correlation of the hips' height with a sinusoid of the bar that is told, along the "
        "direction that recorded dances to other songs have, signed; 20 s windows; 0 where the "
        "place in the bar is not known"
    ),
}
_CONTROLS = {
    "": ("", "windows"),
    "tempo shifted": ("the same where the song is faster or slower by 13 to 21 %", "windows"),
    "other songs": (
        "the same against all other songs of the set in that metre, from their beginning; songs "
        "that are cut to begin with a bar agree by that",
        "windows",
    ),
    "other songs of its tempo": (
        "the same against those whose bars are as long, to 1 %",
        "windows",
    ),
    "over other songs": ("the own song less the other songs, of each dance's means", "dances"),
    "other songs begun later": (
        "the same against other songs from a moment of their first 20 s, three draws each",
        "windows",
    ),
}


def _bar_s(downbeats: Array) -> float:
    """Seconds of a bar, the median."""
    return float(np.median(np.diff(downbeats))) if len(downbeats) > 1 else np.inf


def _metre(dances: DanceSet, dance: DanceMeasures) -> int | None:
    return dances.bars[dance.name][0] if dance.name in dances.bars else None


def _phases(dance: DanceMeasures, downbeats: Array, factor: float = 1.0) -> BarPhases:
    return bar_phases(dance.speed, dance.height, dance.fps, downbeats, factor=factor)


def _mean(direction: BarDirection, phases: Sequence[BarPhases]) -> Array | None:
    """(2,) mean over windows of speed and height; None where there are none."""
    rows = [row for one in phases for row in zip(*direction.along(one), strict=True)]
    return np.mean(rows, axis=0) if rows else None
