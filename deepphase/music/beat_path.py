"""Beats along a tempo by dynamic programming, as librosa.beat.beat_track lays them.

The arithmetic is librosa's, in NumPy: librosa compiles its own in every process that lays beats.
"""

from __future__ import annotations

import numpy as np

from deepphase.arrays import Array

# Widths of the onsets' filter in a beat.
_WIDTHS = 32.0
# Share of the best onset that the first beat has at least.
_FIRST = 0.01


def beat_path(onset_strength: Array, tempo_bpm: Array, fps: float, tightness: float) -> Array:
    """The path of beats with the strongest onsets and the steadiest steps.

    Parameters
    ----------
    onset_strength : (frames,)
        Onset strength, not negative; that of the first frame is not read.
    tempo_bpm : (frames,)
        Beats a minute.
    fps
        Frames a second.
    tightness
        Cost of a step that is not the tempo's: this times the squared logarithm of their ratio.

    Returns
    -------
    (beats,) frames of the beats, rising; none where no onset has strength.

    References
    ----------
    Ellis 2007, "Beat tracking by dynamic programming".
    """
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
    """(frames,) each: the frame of the beat before, or -1; and the best sum of scores and costs.

    A beat lies half a period to two periods behind the one before. So no frame depends on those
    of the last half period, and as many are computed at once.
    """
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
