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
from deepphase.evaluation.dance_bars import BarDirection, BarPhases, bar_phases
from deepphase.evaluation.dance_beats import mean_joint_speed
from deepphase.evaluation.dance_body import body_points
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import at_frames, low_passed
from deepphase.motion.roles import find_roles
from deepphase.music.features import SongFeatures
from deepphase.progress import Progress

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

    Parameters
    ----------
    rate
        Bars of the dance per bar of the song: above 1 the dance runs ahead.
    offset_s
        Seconds of the song between its own first frame and the place in the bars that the dance's
        first frame has, to the nearest bar.
    explained, by_chance
        Share of the variance of the hips' height that the bar explains at this rate, and the
        largest share at rates of other songs.
    clear
        Whether both numbers can be relied on.
    """

    rate: float
    offset_s: float
    explained: float
    by_chance: float
    clear: bool


@dataclass(frozen=True, eq=False)
class DanceInBars:
    """What the clock of a dance is found by.

    Parameters
    ----------
    speed, height
        (frames,) as for :func:`deepphase.evaluation.dance_bars.bar_phases`.
    fps
        Frames a second.
    downbeats
        (bars,) seconds of the first beats of the song's bars, from the dance's first frame on.
    beats_per_bar
        Dances to songs in one metre share a place in the bar.
    """

    speed: Array
    height: Array
    fps: float
    downbeats: Array
    beats_per_bar: int


def dance_clocks(dances: Sequence[DanceInBars]) -> list[DanceClock]:
    """The clock of each of some dances.

    A sinusoid of the bar is fitted to the height of the hips at rates up to 8 % beside the song's.
    The offset moves the phase of that sinusoid to the mean phase of the dances in that metre whose
    clock is clear; a single one keeps its own, in its middle.
    """
    found = [_Fit.of(each) for each in dances]
    clocks = [DanceClock(1.0, 0.0, each.explained, each.by_chance, False) for each in found]
    for metre in {each.beats_per_bar for each in dances}:
        members = [
            i for i, each in enumerate(dances) if each.beats_per_bar == metre and found[i].clear
        ]
        phases = [_phases(dances[i]) for i in members]
        if not any(map(len, phases)):
            continue
        place = np.angle(BarDirection.of(phases).height) / (2.0 * np.pi)
        for index in members:
            clocks[index] = found[index].clock(dances[index], place)
    return clocks


@dataclass(frozen=True, eq=False)
class _Fit:
    """Best sinusoid of the bar: its rate and phase, in cycles, and what it explains."""

    rate: float
    phase: float
    explained: float
    by_chance: float
    clear: bool

    @classmethod
    def of(cls, dance: DanceInBars) -> _Fit:
        bars = _bars_at(dance, np.arange(len(dance.height)) / dance.fps)
        if not len(bars) or np.ptp(bars) < _FEWEST_BARS:
            return cls(1.0, 0.0, 0.0, 0.0, False)
        height = dance.height.astype(np.float64)
        height = height - low_passed(height, _SLOWEST_HZ, dance.fps)
        # Frames beyond the outermost bars tell nothing about them.
        inside = (bars >= 0) & (bars <= len(dance.downbeats) - 1)
        height, bars = height[inside], bars[inside]
        if len(bars) < 2 or np.ptp(bars) < _FEWEST_BARS:
            return cls(1.0, 0.0, 0.0, 0.0, False)
        step = _STEP_CYCLES / np.ptp(bars)
        near = np.arange(-_MAX_CHANGE, _MAX_CHANGE + step, step)
        rates = 1.0 + near
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
        return cls(float(rates[best]), phase, explained, chance, bool(clear))

    def clock(self, dance: DanceInBars, place: float) -> DanceClock:
        """The clock that brings the highest point to a place in the bar, in cycles."""
        times = np.arange(len(dance.height)) / dance.fps
        bars = _bars_at(dance, times)
        desired = self.rate * bars - self.phase + place
        desired -= np.round(np.mean(desired - bars))
        # One rate and one offset: a straight line through the seconds of the desired places.
        seconds = _seconds_at(dance, desired)
        slope, offset = np.polyfit(times, seconds, 1)
        return DanceClock(float(slope), float(offset), self.explained, self.by_chance, True)


def _amplitudes(height: Array, bars: Array, rates: Array) -> Array:
    """(rates,) complex: of each rate the amplitude of its sinusoid, over the whole height's.

    Its squared size is the share of the variance that the sinusoid explains, its angle where in
    the cycle the height is largest.
    """
    centred = height - height.mean()
    power = float(centred @ centred)
    if not power > 0:
        return np.zeros(len(rates), complex)
    waves = np.exp(2j * np.pi * np.outer(rates, bars))
    return np.asarray(waves @ centred * np.sqrt(2.0 / (len(bars) * power)))


def _phases(dance: DanceInBars) -> BarPhases:
    return bar_phases(dance.speed, dance.height, dance.fps, dance.downbeats)


def _bars_at(dance: DanceInBars, seconds: Array) -> Array:
    """Bars since the first downbeat, linear between downbeats and beyond them."""
    downbeats = np.asarray(dance.downbeats, np.float64)
    if len(downbeats) < 2:
        return np.zeros(0)
    from deepphase.music.beats import beat_position

    return beat_position(downbeats, seconds)


def _seconds_at(dance: DanceInBars, bars: Array) -> Array:
    """Seconds of places in bars, the inverse of `_bars_at`."""
    downbeats = np.asarray(dance.downbeats, np.float64)
    last, bar_s = len(downbeats) - 1, float(np.median(np.diff(downbeats)))
    inside = np.interp(bars, np.arange(last + 1), downbeats)
    before, after = downbeats[0] + bars * bar_s, downbeats[-1] + (bars - last) * bar_s
    return np.where(bars < 0, before, np.where(bars > last, after, inside))


@dataclass(frozen=True, eq=False)
class DanceClocks:
    """Clocks of some dances against the bars of their songs.

    Parameters
    ----------
    clocks
        Clip -> its clock; without clips whose songs have no bars.
    dances
        Number of dances, those without bars included.
    """

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
        moved = [each for each in self.clocks.values() if each.clear]
        left = self.dances - len(moved)
        if not moved:
            return [f"no dance is re-timed: {_UNKNOWN}"]
        longer = 100.0 * (np.array([each.rate for each in moved]) - 1.0)
        offsets = np.abs([each.offset_s for each in moved])
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
    """The clock of each dance against the bars of its song, see :func:`dance_clocks`.

    Parameters
    ----------
    clips
        Dances with their songs.
    progress
        Called with the number of clips done.

    Raises
    ------
    SkeletonError
        If a body lacks legs or arms.
    """
    found: dict[str, DanceInBars] = {}
    for number, clip in enumerate(clips.store, start=1):
        song = clips.songs[clip.source.song]
        if song.downbeats_s is not None and song.beats_per_bar is not None and len(clip) > 2:
            found[clip.name] = _in_bars(clip, song)
        if progress is not None:
            progress("comparing dances with bars", number, len(clips.store), clip.name)
    clocks = dict(zip(found, dance_clocks(list(found.values())), strict=True))
    return DanceClocks(clocks, len(clips.store))


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


def _in_bars(clip: Clip, song: SongFeatures) -> DanceInBars:
    points = body_points(joint_positions(clip), find_roles(clip.skeleton, clip=clip))
    body = np.stack([points[name] for name in sorted(points)], axis=1)
    assert song.downbeats_s is not None
    assert song.beats_per_bar is not None
    return DanceInBars(
        mean_joint_speed(body, clip.fps),
        points["root"][:, 1],
        clip.fps,
        np.asarray(song.downbeats_s) - clip.source.song_start_s,
        song.beats_per_bar,
    )
