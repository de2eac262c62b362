"""Response of dances to their songs: trials with songs, silence and songs at other tempi.

A dance that keeps the usual bar length of its training fits any song of that tempo. Three controls
show that: dances that were made to silence and are compared with the bars of the songs, dances
that were made to another song of the same tempo, and dances to the same songs played slower and
faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_bars import BarDirection, BarPhases, bar_phases
from deepphase.evaluation.dance_measures import DanceMeasures, measure_dance
from deepphase.motion.clip import Clip
from deepphase.motion.resample import low_passed
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import SongFeatures
from deepphase.music.song_controls import silent_song, stretched
from deepphase.progress import Progress

STRETCH_FACTORS = (0.85, 0.93, 1.08, 1.18)
"""Tempi at which songs are played as a control, as multiples of their own."""

FOLLOWS = 0.03
"""Largest relative difference between the bar of a dance that follows its song and the song's."""

SHOWN = 0.15
"""Share of the height of recorded dances that the bar explains in metres that they show."""

Make = Callable[[Sequence[tuple[SongFeatures, DanceRequest]]], Sequence[Clip]]
"""Makes a dance for each request; the first frame is at the request's start."""

# Slower changes of the height are not movements of the bar.
_SLOWEST_HZ = 0.15
# Bars of a dance per bar of its song that are looked for.
_RATES = np.exp(np.arange(np.log(0.68), np.log(1.47), 0.004))
# Songs whose bars are as long, to this share, and largest delay of the other song.
_SAME_TEMPO, _LATER_S = 0.02, 20.0
# Songs begin with silence or with an introduction at times.
_START_S = 2.0
_FEWEST_BARS = 6


def height_phases(dance: DanceMeasures, downbeats: Array) -> BarPhases:
    """The place of a dance in the bars, its height without changes slower than .15 Hz.

    Parameters
    ----------
    downbeats : (bars,)
        Seconds of the first beats of bars, from the dance's first frame on.
    """
    height = dance.height.astype(np.float64)
    height = height - low_passed(height, _SLOWEST_HZ, dance.fps)
    return bar_phases(dance.speed, height, dance.fps, downbeats)


def bars_per_bar(dance: DanceMeasures, downbeats: Array) -> float | None:
    """Bars of a dance per bar of a song: 1 where the dance has the song's period.

    The period of the dance is that of the sinusoid, between .68 and 1.47 of the song's bars, that
    explains most of the height of the hips. None where fewer than six bars are danced.
    """
    times = np.arange(len(dance.height)) / dance.fps
    bars = np.interp(times, downbeats, np.arange(len(downbeats)), left=np.nan, right=np.nan)
    inside = np.isfinite(bars)
    if not inside.any() or np.ptp(bars[inside]) < _FEWEST_BARS:
        return None
    height = dance.height.astype(np.float64)
    height = (height - low_passed(height, _SLOWEST_HZ, dance.fps))[inside]
    centred = (height - height.mean()) * np.hanning(len(height) + 2)[1:-1]
    power = np.abs(np.exp(2j * np.pi * np.outer(_RATES, bars[inside])) @ centred)
    return float(_RATES[int(np.argmax(power))])


@dataclass(frozen=True, eq=False)
class SongResponse:
    """Measures of dances to songs, and of their controls.

    Parameters
    ----------
    songs
        Names of the songs, those in which bars were found.
    place, explained
        (songs, seeds) the height's place in the bar, sqrt(R2) cos(phase - mean phase of recorded
        dances), and R2, the share of the height that the bar explains.
    deaf_place, deaf_explained
        (songs, seeds) the same of dances made to silence.
    other_place
        (songs,) place of the dances against another song of the same tempo, from a random time on;
        NaN for songs without such a song.
    rates
        (songs, factors, seeds) bars of the dance per bar of the song played at
        `STRETCH_FACTORS`; NaN where it is too short.
    recorded_place, recorded_explained
        Of the recorded dances in these metres.
    dances
        Measures of the dances to the songs, the seeds of each song in a row.
    """

    songs: tuple[str, ...]
    place: Array
    explained: Array
    deaf_place: Array
    deaf_explained: Array
    other_place: Array
    rates: Array
    recorded_place: float
    recorded_explained: float
    dances: tuple[DanceMeasures, ...]

    @property
    def follows(self) -> float:
        """Share of the dances to songs at other tempi that have the song's period within 3 %."""
        known = self.rates[np.isfinite(self.rates)]
        return float((np.abs(known - 1.0) <= FOLLOWS).mean()) if len(known) else float("nan")

    def values(self) -> dict[str, float]:
        """The means, by the names that reports use."""
        by_seed = self.place.mean(axis=0)
        found = {
            "place": float(self.place.mean()),
            "place_lowest_seed": float(by_seed.min()),
            "place_highest_seed": float(by_seed.max()),
            "bar_explained": float(self.explained.mean()),
            "silence_place": float(self.deaf_place.mean()),
            "silence_explained": float(self.deaf_explained.mean()),
            "tempo_followed": self.follows,
            "recorded_place": self.recorded_place,
            "recorded_bar_explained": self.recorded_explained,
        }
        if np.isfinite(self.other_place).any():
            found["other_song_place"] = float(np.nanmean(self.other_place))
        return {name: value for name, value in found.items() if np.isfinite(value)}


def recorded_directions(
    recorded: Sequence[tuple[DanceMeasures, int, Array]],
) -> dict[int, BarDirection]:
    """Metre -> mean place of recorded dances in the bar, for metres that dances show.

    A metre is left out if its bar explains less than `SHOWN` of the height of recorded dances:
    other dances are not expected to show it either.

    Parameters
    ----------
    recorded
        Of each dance its measures, its song's beats per bar, and the downbeats in seconds from
        its first frame on.
    """
    found: dict[int, list[BarPhases]] = {}
    for dance, metre, downbeats in recorded:
        phases = height_phases(dance, downbeats)
        if len(phases):
            found.setdefault(metre, []).append(phases)
    return {
        metre: BarDirection.of(phases)
        for metre, phases in found.items()
        if np.mean([(np.abs(each.height) ** 2).mean() for each in phases]) > SHOWN
    }


def song_response(
    make: Make,
    songs: Sequence[SongFeatures],
    recorded: Sequence[tuple[DanceMeasures, int, Array]],
    *,
    seeds: int = 8,
    stretched_seeds: int = 2,
    seconds: float = 30.0,
    most_songs: int | None = None,
    progress: Progress | None = None,
) -> SongResponse | None:
    """Let dances be made to songs and to their controls, and measure how they respond.

    Parameters
    ----------
    make
        Makes dances.
    songs
        Songs that the maker does not know; those without bars, or in a metre that recorded dances
        do not show, are left out.
    recorded
        Recorded dances, see `recorded_directions`.
    seeds, stretched_seeds
        Number of dances to each song, and to each song at each other tempo.
    seconds
        Largest length of each dance.
    most_songs
        The first so many of the songs that can be used; all if not given.
    progress
        Called with the number of trials done, of four.

    Returns
    -------
    None where no song can be used.

    Raises
    ------
    ParameterError
        If a number of seeds is not positive.
    """
    if seeds < 1 or stretched_seeds < 1:
        raise ParameterError("a trial needs at least one seed")
    directions = recorded_directions(recorded)
    used = [
        song
        for song in songs
        if song.beats_per_bar in directions
        and song.downbeats_s is not None
        and len(song.downbeats_s) > _FEWEST_BARS
    ][:most_songs]
    if not used:
        return None

    def report(done: int, words: str) -> None:
        if progress is not None:
            progress("measuring dances", done, 3, words)

    def request(song: SongFeatures, seed: int) -> tuple[SongFeatures, DanceRequest]:
        start = min(_START_S, 0.25 * song.duration_s)
        return song, DanceRequest(start, seconds, seed)

    def measured(requests: list[tuple[SongFeatures, DanceRequest]]) -> list[DanceMeasures]:
        return [measure_dance(clip) for clip in make(requests)]

    report(0, "to songs")
    own = measured([request(song, seed) for song in used for seed in range(seeds)])
    report(1, "to silence")
    quiet = silent_song(seconds + 2.0 * _START_S)
    deaf = measured([request(quiet, seed) for seed in range(seeds)])
    report(2, "to songs at other tempi")
    faster = [stretched(song, factor) for song in used for factor in STRETCH_FACTORS]
    slow = measured([request(song, seed) for song in faster for seed in range(stretched_seeds)])
    report(3, "")
    place, explained = np.zeros((2, len(used), seeds))
    deaf_place, deaf_explained = np.zeros((2, len(used), seeds))
    rates = np.full((len(used), len(STRETCH_FACTORS), stretched_seeds), np.nan)
    for number, song in enumerate(used):
        direction = directions[_metre(song)]
        downs = _downbeats(song)
        for seed in range(seeds):
            dance = own[number * seeds + seed]
            place[number, seed], explained[number, seed] = _along(direction, dance, downs)
            deaf_place[number, seed], deaf_explained[number, seed] = _along(
                direction, deaf[seed], downs
            )
        for index in range(len(STRETCH_FACTORS)):
            which = number * len(STRETCH_FACTORS) + index
            for seed in range(stretched_seeds):
                rate = bars_per_bar(slow[which * stretched_seeds + seed], _downbeats(faster[which]))
                rates[number, index, seed] = np.nan if rate is None else rate
    metres = {_metre(song) for song in used}
    known = [
        _along(directions[metre], dance, downs)
        for dance, metre, downs in recorded
        if metre in metres
    ]
    mean = np.mean(known, axis=0)
    return SongResponse(
        tuple(song.name for song in used),
        place,
        explained,
        deaf_place,
        deaf_explained,
        _other_places(used, own, directions, seeds),
        rates,
        float(mean[0]),
        float(mean[1]),
        tuple(own),
    )


def _other_places(
    songs: Sequence[SongFeatures],
    dances: Sequence[DanceMeasures],
    directions: Mapping[int, BarDirection],
    seeds: int,
) -> Array:
    """`SongResponse.other_place`."""
    found = np.full(len(songs), np.nan)
    for number, song in enumerate(songs):
        bar_s = np.median(np.diff(_downbeats(song)))
        generator = np.random.default_rng(number)
        values = []
        for other in songs:
            downs = _downbeats(other)
            same = abs(np.median(np.diff(downs)) / bar_s - 1.0) < _SAME_TEMPO
            if other is song or not same or _metre(other) != _metre(song):
                continue
            for seed in range(seeds):
                later = downs - generator.uniform(0.0, min(_LATER_S, 0.4 * other.duration_s))
                dance = dances[number * seeds + seed]
                values.append(_along(directions[_metre(song)], dance, later)[0])
        if values:
            found[number] = np.mean(values)
    return found


def _along(direction: BarDirection, dance: DanceMeasures, downbeats: Array) -> tuple[float, float]:
    """Place of the height, and the share of it that the bar explains: means over windows."""
    phases = height_phases(dance, downbeats)
    if not len(phases):
        return 0.0, 0.0
    return (
        float(direction.along(phases)[1].mean()),
        float((np.abs(phases.height) ** 2).mean()),
    )


def _metre(song: SongFeatures) -> int:
    assert song.beats_per_bar is not None
    return song.beats_per_bar


def _downbeats(song: SongFeatures) -> Array:
    """Seconds of the first beats of bars, from the first frame of a dance on."""
    assert song.downbeats_s is not None
    return np.asarray(song.downbeats_s) - min(_START_S, 0.25 * song.duration_s)
