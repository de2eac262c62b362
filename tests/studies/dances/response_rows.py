"""Rows of a report on makers of dances: trials with songs, silence and songs at other tempi."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from deepphase.apps.dances.makers import DanceMaker
from deepphase.arrays import Array
from deepphase.controllers.dance.health import response_findings, variety_findings
from deepphase.evaluation.dance_measures import DanceMeasures
from deepphase.evaluation.dance_pieces import nearest_repeats
from deepphase.evaluation.song_response import (
    FOLLOWS,
    STRETCH_FACTORS,
    SongResponse,
    song_response,
)
from deepphase.motion.clip import Clip
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.phase.matches import interval_95
from deepphase.progress import Progress
from tests.studies.dances.dance_set import DanceSet
from tests.studies.dances.rows import DanceMeasure

# Number of songs at most, those with the surest bars.
_SONGS = 8


@dataclass(frozen=True, eq=False)
class MakerTrials:
    """Dances of a maker to songs, as a set, and the trials of its response.

    Parameters
    ----------
    dances
        The dances to the songs.
    response
        Measures of the trials.
    """

    dances: DanceSet
    response: SongResponse

    def findings(self, recorded: DanceSet) -> list[str]:
        """What is out of the ordinary, as lines of text."""
        metres = {
            song.beats_per_bar
            for song in recorded.songs.values()
            if song.name in self.response.songs
        }
        alike = [
            each
            for each in recorded.measures
            if each.name in recorded.songs and recorded.songs[each.name].beats_per_bar in metres
        ]
        found = response_findings(self.response.values())
        found += variety_findings(_means(self.dances.measures), _means(alike))
        return found or ["nothing out of the ordinary in the dances"]


class TriedMaker(NamedTuple):
    """A maker of dances, its name in the report, and the files of the songs that it knows."""

    name: str
    maker: DanceMaker
    known_songs: Sequence[str]


def maker_trials(
    tried: TriedMaker,
    recorded: DanceSet,
    *,
    seeds: int,
    seconds: float,
    warn: Callable[[str], None],
    progress: Progress | None = None,
) -> MakerTrials | None:
    """Let a maker dance to songs of recorded dances and to their controls, and measure it.

    Parameters
    ----------
    tried
        The maker. Songs that it knows are left out if others remain.
    recorded
        Recorded dances with their songs.
    seeds, seconds
        Number of dances to each song, and their largest length.
    warn
        Called with a message if the maker knows all songs, or no song can be used.
    progress
        Called with the number of trials done.

    Returns
    -------
    None if no song has six bars or more that the recorded dances show.
    """
    name = tried.name
    by_file = {
        each.song: recorded.songs[each.name]
        for each in recorded.measures
        if each.name in recorded.songs
    }
    songs = [song for file, song in by_file.items() if file not in set(tried.known_songs)]
    if not songs:
        warn(f"{name}: knows all songs of {recorded.name}: nothing says how it dances to others")
        songs = list(by_file.values())
    songs = sorted(songs, key=lambda song: -song.bar_confidence)

    def make(requests: Sequence[tuple[SongFeatures, DanceRequest]]) -> list[Clip]:
        return [dance.clip for dance in tried.maker.dances(requests, progress)]

    with_bars = [
        (each, *recorded.bars[each.name])
        for each in recorded.measures
        if each.name in recorded.bars
    ]
    response = song_response(
        make, songs, with_bars, seeds=seeds, seconds=seconds, most_songs=_SONGS, progress=progress
    )
    if response is None:
        warn(
            f"{name}: no trials: no song of {recorded.name} has six bars or more that recorded "
            "dances show"
        )
        return None
    files = {song.name: file for file, song in by_file.items()}
    named = [
        replace(each, name=f"{name} {number}", song=files[response.songs[number // seeds]])
        for number, each in enumerate(response.dances)
    ]
    return MakerTrials(DanceSet(name, tuple(named), {}, {}, {}, {}, ()), response)


def response_measures(response: SongResponse) -> list[DanceMeasure]:
    """Rows of the report on trials of response."""
    rows = []
    place = "sqrt(R2) cos(phase - mean phase of recorded dances) of the hips' height in the bar"
    share = "share of the hips' height, above .15 Hz, that the bar of the song explains"
    silent = "the same of dances that were made to silence"
    for name, text, values in (
        ("trials: place in the bar", place, response.place),
        ("trials: place in the bar, silence", silent, response.deaf_place),
        (
            "trials: place in the bar, another song of the tempo",
            "the same against the bars of another song of the same tempo, from a random time on",
            response.other_place[:, None],
        ),
        ("trials: bar explains", share, response.explained),
        ("trials: bar explains, silence", silent, response.deaf_explained),
        *(
            (
                f"trials: song at {factor:g} of its tempo, followed",
                f"share of dances whose bar is that of the song within {FOLLOWS:.0%}",
                np.where(
                    np.isfinite(response.rates[:, index]),
                    np.abs(response.rates[:, index] - 1.0) <= FOLLOWS,
                    np.nan,
                ),
            )
            for index, factor in enumerate(STRETCH_FACTORS)
        ),
    ):
        rows += _mean_over_songs(name, text, values)
    by_seed = response.place.mean(axis=0)
    for name, value in (("lowest", by_seed.min()), ("highest", by_seed.max())):
        text = f"mean over songs of the seed with the {name} one"
        rows.append(
            DanceMeasure(
                f"trials: place in the bar, {name} seed", text, float(value), "", len(by_seed),
                "seeds",
            )
        )  # fmt: skip
    return rows


def recorded_response_measures(response: SongResponse) -> list[DanceMeasure]:
    """The rows that recorded dances have."""
    return [
        DanceMeasure(name, "of recorded dances in the metres of the trials", value, "", 1, "mean")
        for name, value in (
            ("trials: place in the bar", response.recorded_place),
            ("trials: bar explains", response.recorded_explained),
        )
    ]


def _mean_over_songs(name: str, definition: str, values: Array) -> list[DanceMeasure]:
    """Mean of (songs, dances) values with its interval over songs; empty if none is known."""
    songs, dances = np.nonzero(np.isfinite(values))
    known = values[songs, dances].astype(float)
    if not len(known):
        return []
    interval = interval_95(known, songs) if len(np.unique(songs)) > 1 else None
    return [DanceMeasure(name, definition, float(known.mean()), "", len(known), "dances", interval)]


def _means(dances: Sequence[DanceMeasures]) -> dict[str, float]:
    """Means of what findings on variety are about."""
    repeats = [np.mean(found) for each in dances if len(found := nearest_repeats(each.pieces))]
    means = {
        "speed": [float(each.speed.mean()) for each in dances],
        "net_turning": [each.net_turning for each in dances],
        "travel": [each.travel for each in dances],
        "repeat": repeats,
    }
    return {name: float(np.mean(values)) for name, values in means.items() if values}
