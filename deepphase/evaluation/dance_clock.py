"""Clock of recorded dances: how fast a dance runs against the bars of its song, and where in them.

Recordings of dances often run a little faster or slower than the sound that belongs to them, and
begin a little early or late. Over a minute, one percent is a whole beat of a waltz. The height of
the hips rises and falls with the bar in many dances, which shows both numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.songs import ClipSongs
from deepphase.evaluation.dance import body_of_clip, cycle_fit, cycle_windows, cycles_at
from deepphase.motion.clip import Clip
from deepphase.motion.resample import at_frames, low_passed
from deepphase.music.beats import beat_position
from deepphase.music.features import SongFeatures
from deepphase.work import Progress, reported

# Largest difference of both rates, and how many cycles the search steps over a whole clip.
_MAX_CHANGE, _STEP_CYCLES = 0.08, 0.1
# Bars of other songs: rates around these, searched as widely, show what chance explains.
_CHANCE_RATES = (0.72, 0.83, 1.19, 1.33)
# A clock is clear if its bar explains this share of the height, and this many times chance.
_MIN_EXPLAINED, _OVER_CHANCE = 0.15, 2.0
# Of what sinusoids of the same rate explain in each part of a dance, with a phase of its own, one
# sinusoid explains this share: a dance that slips in the middle has no one rate.
_PARTS, _OF_PARTS = 4, 0.7
_FEWEST_BARS = 6
# Slow changes of the height, as of crouching figures, are not movements of the bar.
_SLOWEST_HZ = 0.15
_UNKNOWN = "bars are unknown, or the hips do not rise and fall by them"


@dataclass(frozen=True)
class DanceClock:
    """The clock of one dance against the bars of its song.

    `explained`, `by_chance`: share of the variance of the hips' height that the bar explains at
    this rate, and the largest share at rates of other songs.
    """

    rate: float
    offset_s: float
    explained: float
    by_chance: float
    clear: bool


@dataclass(frozen=True, eq=False)
class DanceInBars:
    """Height of the hips in a dance (frames,), metres, and the bars of its song.

    `downbeats` (bars,) are seconds of the bars' first beats, from the dance's first frame on.
    """

    height: Array
    fps: float
    downbeats: Array
    beats_per_bar: int

    @classmethod
    def from_clip(cls, clip: Clip, song: SongFeatures, start_s: float) -> DanceInBars:
        """A dance whose first frame is at `start_s` of a song with bars."""
        assert song.downbeats_s is not None
        assert song.beats_per_bar is not None
        downbeats = np.asarray(song.downbeats_s, np.float64) - start_s
        height = body_of_clip(clip)[0]["root"][:, 1]
        return cls(height, clip.fps, downbeats, song.beats_per_bar)

    def without_slow_changes(self) -> DanceInBars:
        """The same without changes of the height that are slower than the bar."""
        height = self.height.astype(np.float64)
        return replace(self, height=height - low_passed(height, _SLOWEST_HZ, self.fps))

    def places(self) -> Array:
        """(windows,) complex: how far the height keeps to the bar, and where it is highest."""
        bars = cycles_at(self.downbeats, np.arange(len(self.height)) / self.fps)
        windows = cycle_windows(bars, self.fps)
        return np.array([cycle_fit(self.height[some], bars[some])[0] for some in windows], complex)


def mean_place(places: Sequence[Array]) -> complex:
    """Direction, of size 1, of the mean over dances of `DanceInBars.places`; 0 without windows."""
    means = [values.mean() for values in places if len(values)]
    mean = complex(np.mean(means)) if means else 0j
    return mean / abs(mean) if abs(mean) > 1e-12 else 0j


def dance_clocks(dances: Sequence[DanceInBars]) -> list[DanceClock]:
    """The clock of each dance: the best sinusoid of a bar at rates up to 8 % beside the song's."""
    fits = [_fit(dance) for dance in dances]
    clocks = [replace(fit, rate=1.0, clear=False) for fit, _ in fits]
    for metre in {dance.beats_per_bar for dance in dances}:
        members = [
            i for i, each in enumerate(dances) if each.beats_per_bar == metre and fits[i][0].clear
        ]
        places = [dances[i].places() for i in members]
        if any(map(len, places)):
            place = float(np.angle(mean_place(places)) / (2.0 * np.pi))
            for index in members:
                clocks[index] = _clock(dances[index], *fits[index], place)
    return clocks


def _fit(dance: DanceInBars) -> tuple[DanceClock, float]:
    """Best sinusoid of the bar: its rate and what it explains, and its phase in cycles."""
    unknown = DanceClock(1.0, 0.0, 0.0, 0.0, False), 0.0
    if len(dance.downbeats) < 2:
        return unknown
    bars = beat_position(dance.downbeats, np.arange(len(dance.height)) / dance.fps)
    # Frames beyond the outermost bars tell nothing about them.
    inside = (bars >= 0) & (bars <= len(dance.downbeats) - 1)
    height, bars = dance.without_slow_changes().height[inside], bars[inside]
    if len(bars) < 2 or np.ptp(bars) < _FEWEST_BARS:
        return unknown
    step = _STEP_CYCLES / np.ptp(bars)
    rates = 1.0 + np.arange(-_MAX_CHANGE, _MAX_CHANGE + step, step)
    values = _amplitudes(height, bars, rates)
    best = int(np.argmax(np.abs(values)))
    explained = float(np.abs(values[best]) ** 2)
    chance = max(
        float(np.abs(_amplitudes(height, bars, other * rates)).max() ** 2)
        for other in _CHANCE_RATES
    )
    parts = np.array_split(np.arange(len(bars)), _PARTS)
    apart = np.mean(
        [np.abs(_amplitudes(height[some], bars[some], rates[[best]])[0]) ** 2 for some in parts]
    )
    clear = (
        explained > max(_MIN_EXPLAINED, _OVER_CHANCE * chance)
        and explained > _OF_PARTS * apart
        # The best rate at the edge of the search is not a maximum.
        and 0 < best < len(rates) - 1
    )
    phase = float(np.angle(values[best]) / (2.0 * np.pi))
    return DanceClock(float(rates[best]), 0.0, explained, chance, bool(clear)), phase


def _clock(dance: DanceInBars, fit: DanceClock, phase: float, place: float) -> DanceClock:
    """The clock that brings the highest point to a place in the bar, in cycles."""
    times = np.arange(len(dance.height)) / dance.fps
    bars = beat_position(dance.downbeats, times)
    desired = fit.rate * bars - phase + place
    desired -= np.round(np.mean(desired - bars))
    # One rate and one offset: a straight line through the seconds of the desired places.
    slope, offset = np.polyfit(times, _seconds_at(dance.downbeats, desired), 1)
    return replace(fit, rate=float(slope), offset_s=float(offset))


def _amplitudes(height: Array, bars: Array, rates: Array) -> Array:
    """(rates,) complex: of each rate the amplitude of its sinusoid, over the whole height's."""
    centred = height - height.mean()
    power = float(centred @ centred)
    if not power > 0:
        return np.zeros(len(rates), complex)
    waves = np.exp(2j * np.pi * np.outer(rates, bars))
    return np.asarray(waves @ centred * np.sqrt(2.0 / (len(bars) * power)))


def _seconds_at(downbeats: Array, bars: Array) -> Array:
    """Seconds of places in bars, the inverse of `beat_position`."""
    last, bar_s = len(downbeats) - 1, float(np.median(np.diff(downbeats)))
    inside = np.interp(bars, np.arange(last + 1), downbeats)
    before, after = downbeats[0] + bars * bar_s, downbeats[-1] + (bars - last) * bar_s
    return np.where(bars < 0, before, np.where(bars > last, after, inside))


@dataclass(frozen=True, eq=False)
class DanceClocks:
    """Clocks of some dances against the bars of their songs."""

    clocks: Mapping[str, DanceClock]
    dances: int

    def retimed(self, clips: Iterable[Clip]) -> list[Clip]:
        """The dances at the rate and offset of their clocks; as they are where it is not clear."""
        return [
            retimed(clip, self.clocks[clip.name]) if self.is_clear(clip.name) else clip
            for clip in clips
        ]

    def is_clear(self, name: str) -> bool:
        """Whether the clock of a clip can be relied on."""
        return name in self.clocks and self.clocks[name].clear

    def words(self) -> list[str]:
        """What the clocks are, and which dances are re-timed, as lines of text."""
        moved = [clock for clock in self.clocks.values() if clock.clear]
        left = self.dances - len(moved)
        if not moved:
            return [f"no dance is re-timed: {_UNKNOWN}"]
        longer = 100.0 * (np.array([clock.rate for clock in moved]) - 1.0)
        offsets = np.abs([clock.offset_s for clock in moved])
        lines = [
            f"{len(moved)} of {self.dances} dances are re-timed to the bars of their songs: "
            f"{np.median(longer):+.1f} % longer in the median ({longer.min():+.1f} to "
            f"{longer.max():+.1f} %), moved by {np.median(offsets):.2f} s in the median"
        ]
        if left:
            lines.append(f"{left} dances stay as they are: {_UNKNOWN}")
        return lines

    def as_mapping(self) -> dict[str, Any]:
        """Clip -> rate, offset_s, explained, by_chance and whether it is re-timed (clear)."""
        return {name: asdict(each) for name, each in self.clocks.items()}


def clocks_of_clips(clips: ClipSongs, progress: Progress | None = None) -> DanceClocks:
    """The clock of each dance against the bars of its song, see :func:`dance_clocks`."""
    found: dict[str, DanceInBars] = {}
    store = clips.store
    for clip in reported(progress, "comparing dances with bars", store, len(store)):
        song = clips.songs[clip.source.song]
        if song.downbeats_s is not None and song.beats_per_bar is not None and len(clip) > 2:
            found[clip.name] = DanceInBars.from_clip(clip, song, clip.source.song_start_s)
    clocks = dict(zip(found, dance_clocks(list(found.values())), strict=True))
    return DanceClocks(clocks, len(store))


def retimed(clip: Clip, clock: DanceClock) -> Clip:
    """A dance played at the rate of its clock, and moved by its offset along the song."""
    count = int(np.floor((len(clip) - 1) * clock.rate)) + 1
    note = (
        f"re-timed to the bars of its song: {100.0 * (clock.rate - 1.0):+.2f} % longer, "
        f"{clock.offset_s:+.2f} s later"
    )
    source = replace(
        clip.source,
        song_start_s=clip.source.song_start_s + clock.offset_s,
        notes=(*clip.source.notes, note),
    )
    return replace(at_frames(clip, np.arange(count) / clock.rate), source=source)
