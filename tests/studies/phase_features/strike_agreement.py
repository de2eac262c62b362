"""Agreement of phases with foot strikes: a phase that times steps is the same at each of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.arrays import Array, wrapped

# Fewer strikes of a foot do not show whether a phase repeats.
_MIN_STRIKES = 3
# Deviation of phases that have nothing to do with strikes, cycles.
_CHANCE = 0.25
# A phase that times strikes goes round once between them; one that stands still does not.
_LEAST_TURN = 0.5


def strike_deviations(phases: Sequence[Array], strikes: Sequence[Sequence[Array]]) -> Array:
    """Deviation of the phase at a foot's strikes from that at its other strikes in the clip.

    Each foot has the channel whose deviation is the smallest. It is chosen on the clips of one
    half, every second one, and measured on those of the other.

    Parameters
    ----------
    phases
        (frames, channels) cycles, of each clip.
    strikes
        Frames at which each foot strikes, of each clip.

    Returns
    -------
    (clips,) mean over strikes and feet, cycles: 0 where the phase is the same at all strikes of a
    foot, .25 where it has nothing to do with them, or does not go round between them. NaN
    for clips in which no foot strikes three times.
    """
    feet = max((len(each) for each in strikes), default=0)
    channels = phases[0].shape[1] if phases else 0
    sums = np.zeros((len(phases), feet, channels))
    counts = np.zeros((len(phases), feet))
    for clip, (phase, of_clip) in enumerate(zip(phases, strikes, strict=True)):
        for foot, at in enumerate(of_clip):
            if len(at) >= _MIN_STRIKES:
                going = _goes_round(phase[at[0] : at[-1] + 1], len(at) - 1)
                sums[clip, foot] = np.where(going, _deviations(phase[at]).sum(0), len(at) * _CHANCE)
                counts[clip, foot] = len(at)
    if not feet or not channels:
        return np.full(len(phases), np.nan)
    halves = np.arange(len(phases)) % 2
    total, number = np.zeros(len(phases)), np.zeros(len(phases))
    for half in (0, 1):
        own, others = np.flatnonzero(halves == half), halves != half
        chosen = sums[others].sum(0).argmin(1)
        # Feet without strikes in the other half have no channel.
        known = counts[others].sum(0) > 0
        total[own] = (sums[own[:, None], np.arange(feet), chosen] * known).sum(1)
        number[own] = (counts[own] * known).sum(1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _goes_round(phase: Array, intervals: int) -> Array:
    """(channels,) whether (frames, channels) phases go round in so many intervals of strikes."""
    turned = wrapped(np.diff(phase.astype(np.float64), axis=0)).sum(0)
    return np.abs(turned) >= _LEAST_TURN * intervals


def _deviations(phase: Array) -> Array:
    """(strikes, channels) cycles: distance of each phase from the mean direction of the others."""
    turned = np.exp(2j * np.pi * phase.astype(np.float64))
    others = np.angle(turned.sum(0) - turned) / (2.0 * np.pi)
    return np.abs(wrapped(phase - others))
