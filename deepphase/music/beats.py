"""Beat tracking: the tempo of a song and beats at that tempo."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError

# Beats a minute that are looked for, on a grid of 1.5 %; and what people tap to most
# (a log-normal prior, as in Ellis 2007).
_SLOWEST_BPM, _FASTEST_BPM = 45.0, 220.0
_USUAL_BPM, _USUAL_OCTAVES = 118.0, 0.85
# Share of what returns after half a beat that speaks for the faster tempo, not for this one.
_HALVES = 0.15
# What the bass has to say about the tempo, against all bands: hats play halves and thirds of beats.
_BASS = 2.0
_GRID = 1.015
# Octaves by which a tempo lies from one that is given.
_HINT_OCTAVES = 0.06
# After so many beats a song is looked at again, and how much less may return after one of them.
_MULTIPLES = (1, 2, 3, 4)
_ALONE = 0.25
# Seconds of the windows that a tempo is found in, and between them.
_WINDOW_S, _STEP_S = 10.0, 1.0
# What a change by one step of the grid costs from one window to the next.
_CHANGE = 0.35
# How much a step that is not the tempo's costs the tracker, as in Ellis 2007.
_TIGHTNESS = 100.0
# Beats that lie this near to an even grid, in seconds, are one that the tracker's frames blur.
_EVEN_S = 0.03
# Onsets below this share of the strong ones are silence, and fewer peaks than these do not
# make a beat.
_AUDIBLE = 0.05
_FEWEST_SOUNDS = 3
# Sum of squared onsets of a window below which nothing in it counts.
_FAINT = 0.05


@dataclass(frozen=True, eq=False)
class Beats:
    """The beats of a song."""

    beats_s: Array  # (beats,) seconds, rising, between the first and the last sound
    tempo_bpm: float
    confidence: float  # Probability that there is a beat, and that it is counted at this tempo
    tempo_confidence: float = 1.0  # Probability of this tempo, if there is a beat
    other_tempi: tuple[float, ...] = ()  # Beats a minute that fit nearly as well


NO_BEATS = Beats(np.zeros(0), 0.0, 0.0)
"""The beats of silence."""


@dataclass(frozen=True, eq=False)
class OnsetReturns:
    """Autocorrelation of a song's onsets."""

    # windows, bass_windows: (windows, lags) of windows of ten seconds, a second apart, of the
    # onsets in all bands and in the bass; lags are frames.
    windows: Array
    bass_windows: Array

    @classmethod
    def from_onsets(
        cls, onset_strength: Array, bass_onset_strength: Array, fps: float, slowest_bpm: float
    ) -> OnsetReturns:
        """The autocorrelation of onsets (frames,) up to four beats of the slowest tempo."""
        lags = int(max(_MULTIPLES) * 60 * fps / min(slowest_bpm, _SLOWEST_BPM)) + 2
        return cls(
            _autocorrelations(onset_strength, fps, lags),
            _autocorrelations(bass_onset_strength, fps, lags),
        )

    def at(self, lags: Array) -> Array:
        """(2, lags) means over the windows at lags in frames, of all bands and of the bass."""
        return _at_lags(self._means, lags)

    @cached_property
    def _means(self) -> Array:
        return np.stack([self.windows.mean(axis=0), self.bass_windows.mean(axis=0)])


def lay_beats(onset_strength: Array, tempo_bpm: Array, fps: float) -> Array:
    """(beats,) seconds of beats at a tempo (frames,), from the first sound to the last."""
    frames = beat_path(np.minimum(onset_strength, 1.5), tempo_bpm, fps, _TIGHTNESS)
    audible_frames = np.flatnonzero(onset_strength > _AUDIBLE)
    if len(frames) < 2 or not len(audible_frames):
        return NO_BEATS.beats_s
    times = _smoothed(_between_frames(onset_strength, frames) / fps)
    times = _completed(
        times, audible_frames[0] / fps, audible_frames[-1] / fps, len(onset_strength) / fps
    )
    return times if len(times) > 1 else NO_BEATS.beats_s


def has_sounds(onset_strength: Array) -> bool:
    """Whether there are as many audible onsets as a beat needs."""
    inner = onset_strength[1:-1]
    peaks = (inner > _AUDIBLE) & (inner >= onset_strength[:-2]) & (inner > onset_strength[2:])
    return bool(np.count_nonzero(peaks) >= _FEWEST_SOUNDS)


def beat_position(beats_s: Array, seconds: Array) -> Array:
    """Beats since the first at times in seconds (...,), linear between and beyond (beats,)."""
    seconds = np.asarray(seconds, np.float64)
    last = len(beats_s) - 1
    inside = np.interp(seconds, beats_s, np.arange(last + 1))
    first_s, last_s = _edge_periods(beats_s)
    before = (seconds - beats_s[0]) / first_s
    after = last + (seconds - beats_s[-1]) / last_s
    return np.where(seconds < beats_s[0], before, np.where(seconds > beats_s[-1], after, inside))


def local_tempo_bpm(beats_s: Array, seconds: Array) -> Array:
    """Beats a minute around times in seconds, the median over five beats."""
    periods = np.diff(beats_s)
    near = np.lib.stride_tricks.sliding_window_view(np.pad(periods, 2, mode="edge"), 5)
    middles = 0.5 * (beats_s[1:] + beats_s[:-1])
    return 60 / np.interp(seconds, middles, np.median(near, axis=1))


def _edge_periods(beats_s: Array) -> tuple[float, float]:
    periods = np.diff(beats_s)
    return float(np.median(periods[:8])), float(np.median(periods[-8:]))


def _autocorrelations(onset_strength: Array, fps: float, lags: int) -> Array:
    """(windows, lags) of windows of the onsets, each 1 at lag 0, or all 0 where nothing sounds."""
    import scipy.fft

    length, step = round(_WINDOW_S * fps), round(_STEP_S * fps)
    # Sharp onsets that fall between frames still meet one another.
    smooth = np.convolve(onset_strength, [0.25, 0.5, 0.25], mode="same")
    count = max(-(-(len(smooth) - length) // step), 0) + 1
    padded = np.zeros((count - 1) * step + length)
    padded[: len(smooth)] = smooth
    windows = np.lib.stride_tricks.sliding_window_view(padded, length)[::step]
    filled = np.minimum(len(smooth) - step * np.arange(count), length)
    inside = np.arange(length) < filled[:, None]
    mean = windows.sum(axis=1, keepdims=True) / filled[:, None]
    centred = np.where(inside, np.minimum(windows, 1.5) - np.minimum(mean, 1.5), 0)
    size = scipy.fft.next_fast_len(length + lags, real=True)
    power = np.abs(scipy.fft.rfft(centred, size, axis=1)) ** 2
    found = scipy.fft.irfft(power, size, axis=1)[:, :lags]
    # As if every lag had as many products as lag 0, as far as there are some.
    overlap = np.maximum((filled[:, None] - np.arange(lags)) / filled[:, None], 0.25)
    return found / overlap / np.maximum(found[:, :1], _FAINT)


def check_hint(bpm: float) -> None:
    """Raise ParameterError for a tempo that no beat is looked for at."""
    if not _SLOWEST_BPM <= bpm <= _FASTEST_BPM:
        raise ParameterError(
            f"{bpm:g} beats a minute is not a tempo of a song",
            hint=f"give {_SLOWEST_BPM:g} to {_FASTEST_BPM:g}",
        )


def follow_tempo(returns: OnsetReturns, frames: int, fps: float, bpm: float | None = None) -> Array:
    """(frames,) beats a minute, near a tempo if one is given; else perhaps of another level."""
    steps = int(np.log(_FASTEST_BPM / _SLOWEST_BPM) / np.log(_GRID)) + 1
    grid = _SLOWEST_BPM * _GRID ** np.arange(steps)
    lag = 60 * fps / grid
    both = (returns.windows + _BASS * returns.bass_windows) / (1 + _BASS)
    comb = np.mean([_at_lags(both, multiple * lag) for multiple in _MULTIPLES], axis=0)
    # What returns only after several beats has a slower one.
    comb = np.minimum(comb, _at_lags(both, lag) + _ALONE)
    halves = np.maximum(_at_lags(both, 0.5 * lag), 0)
    usual, octaves = (_USUAL_BPM, _USUAL_OCTAVES) if bpm is None else (bpm, _HINT_OCTAVES)
    prior = np.exp(-0.5 * (np.log2(grid / usual) / octaves) ** 2)
    local = np.maximum(comb - _HALVES * halves, 0) * prior
    # The mean over the song helps to decide the octave of the tempo.
    score = np.log(local + 0.02) + np.log(local.mean(axis=0) + 0.02)
    path = _steady_path(score)
    moments = np.arange(len(path)) * _STEP_S + 0.5 * min(_WINDOW_S, frames / fps)
    return np.interp(np.arange(frames) / fps, moments, grid[path])


def _at_lags(returns: Array, lags: Array) -> Array:
    """(windows, states) of autocorrelations (windows, lags) at lags between the frames."""
    whole = np.arange(returns.shape[1])
    return np.stack([np.interp(lags, whole, row) for row in returns])


def _steady_path(score: Array) -> Array:
    """(windows,) the best state of each, where a change costs its size (Viterbi)."""
    windows, states = score.shape
    cost = _CHANGE * np.abs(np.subtract.outer(np.arange(states), np.arange(states)))
    total = score[0]
    came = np.zeros((windows, states), np.intp)
    for window in range(1, windows):
        through = total[:, None] - cost
        came[window] = through.argmax(axis=0)
        total = through.max(axis=0) + score[window]
    path = np.zeros(windows, np.intp)
    path[-1] = total.argmax()
    for window in range(windows - 1, 0, -1):
        path[window - 1] = came[window, path[window]]
    return path


def _between_frames(onset_strength: Array, frames: Array) -> Array:
    """Beats moved to the middle of their onset, less than a frame and a half."""
    near = np.clip(frames[:, None] + np.arange(-2, 3), 0, len(onset_strength) - 1)
    weights = onset_strength[near].astype(np.float64)
    weights = np.maximum(weights - weights.min(axis=1, keepdims=True), 0) ** 2
    mass = weights.sum(axis=1)
    shift = (weights @ np.arange(-2, 3)) / np.maximum(mass, 1e-9)
    return frames + np.where(mass > 1e-3, np.clip(shift, -1.5, 1.5), 0)


def _smoothed(times: Array) -> Array:
    """Beats without the tracker's jitter: on one even grid, or on short ones that follow it."""
    if len(times) < 4:
        return times
    index = np.arange(len(times))
    # Theil and Sen's line, by pairs half the song apart, does not mind some wrong beats.
    half = len(times) // 2
    period = np.median((times[half:] - times[: len(times) - half]) / half)
    start = np.median(times - period * index)
    away = times - (start + period * index)
    good = np.abs(away) < _EVEN_S
    if good.mean() > 0.8:
        period, start = np.polyfit(index[good], times[good], 1)
        return start + period * index
    smooth = times.copy()
    for beat in index:
        low, high = max(beat - 4, 0), min(beat + 5, len(times))
        line = np.polynomial.Polynomial.fit(index[low:high], times[low:high], 2)
        moved = float(line(beat))
        if abs(moved - times[beat]) < _EVEN_S:
            smooth[beat] = moved
    return smooth if (np.diff(smooth) > 0).all() else times


def _completed(times: Array, first_s: float, last_s: float, end_s: float) -> Array:
    """The beats from the first sound to the last: the tracker leaves some out at the ends."""
    before, after = _edge_periods(times)
    early = times[0] - before * np.arange(1, max((times[0] - first_s) / before, 0) + 1.5)
    late = times[-1] + after * np.arange(1, max((last_s - times[-1]) / after, 0) + 1.5)
    every = np.concatenate([early[::-1], times, late])
    audible = (every >= first_s - 0.25 * before) & (every <= last_s + 0.25 * after)
    return every[audible & (every >= 0) & (every < end_s)]


# `beat_path` is librosa.beat.beat_track in NumPy: librosa compiles its own in every process.
# Widths of the onsets' filter in a beat.
_WIDTHS = 32.0
# Share of the best onset that the first beat has at least.
_FIRST = 0.01


def beat_path(onset_strength: Array, tempo_bpm: Array, fps: float, tightness: float) -> Array:
    """(beats,) frames of beats with the strongest onsets and the steadiest steps (Ellis 2007)."""
    onsets = np.asarray(onset_strength, np.float64)
    periods = np.round(60.0 * fps / np.asarray(tempo_bpm, np.float64)).astype(np.intp)
    deviation = onsets.std(ddof=1) if len(onsets) > 1 else 0.0
    if not deviation > 0:
        return np.zeros(0, np.intp)
    score = _filtered(onsets / deviation, periods)
    audible = np.flatnonzero(score > 0)
    if not audible.size:
        return np.zeros(0, np.intp)
    before, total = _best_steps(score, periods, tightness)
    before[: int(np.argmax(score >= _FIRST * score.max()))] = -1
    beats = [_last_beat(total)]
    while before[beats[-1]] >= 0:
        beats.append(int(before[beats[-1]]))
    path = np.array(beats[::-1], np.intp)
    return path[(path >= audible[0]) & (path <= audible[-1])]


def _filtered(onsets: Array, periods: Array) -> Array:
    """(frames,) onsets under a Gaussian, 1/32 of a beat wide."""
    onsets = onsets.copy()
    # librosa's sum leaves the first frame out.
    onsets[0] = 0.0
    score = np.empty_like(onsets)
    for period in np.unique(periods):
        away = np.arange(-period, period + 1)
        window = np.exp(-0.5 * (away * _WIDTHS / period) ** 2)
        of_period = periods == period
        score[of_period] = np.convolve(onsets, window)[period : period + len(onsets)][of_period]
    return score


def _best_steps(score: Array, periods: Array, tightness: float) -> tuple[Array, Array]:
    """(frames,) each: the frame of the beat before, or -1; and the best sum of scores and costs."""
    # A beat lies half a period behind the one before at least: as many are computed at once.
    frames = len(score)
    # Half periods are rounded as librosa's, to even numbers.
    nearest = np.round(periods / 2).astype(np.intp)
    kinds, kind = np.unique(periods, return_inverse=True)
    first, last = int(nearest.min()), int(2 * periods.max())
    steps = np.arange(first, last + 1)
    cost = tightness * np.log(steps / kinds[:, None]) ** 2
    outside = (steps < np.round(kinds / 2)[:, None]) | (steps > 2 * kinds[:, None])
    cost[outside] = np.inf
    # -inf for frames before the song. Steps rise along a row, so that of equal ones the shortest
    # is taken; the views show what is written to `total`.
    total = np.full(last + frames, -np.inf)
    behind = np.lib.stride_tricks.sliding_window_view(total, len(steps))[:, ::-1]
    costs = cost[kind]
    step, value = np.zeros(frames, np.intp), np.empty(frames)
    rows = np.arange(first)
    for start in range(0, frames, first):
        part = slice(start, min(start + first, frames))
        candidates = behind[part] - costs[part]
        best = candidates.argmax(axis=1)
        step[part], value[part] = best, candidates[rows[: len(best)], best]
        gained = np.where(value[part] > -np.inf, value[part], 0.0)
        total[last + part.start : last + part.stop] = score[part] + gained
    before = np.where(value > -np.inf, np.arange(frames) - steps[step], -1)
    return before, total[last:]


def _last_beat(total: Array) -> int:
    """The last peak of the sums that has half of their median."""
    peaks = np.zeros(len(total), bool)
    peaks[1:-1] = (total[1:-1] > total[:-2]) & (total[1:-1] >= total[2:])
    peaks[-1] = len(total) > 1 and total[-1] > total[-2]
    if not peaks.any():
        return len(total) - 1
    high = np.flatnonzero(peaks & (total >= 0.5 * np.median(total[peaks])))
    return int(high[-1]) if high.size else len(total) - 1
