"""Footsteps: contacts of feet as square waves of a phase that grows along a path."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from deepphase.arrays import Array, true_runs

# A longer step cycle, in seconds, is standing.
_LONGEST_CYCLE_S = 2.5
# Share of the time on the floor above which a foot without a cycle stands.
_STANDING_SHARE = 0.8
# Duties beyond these make a foot that never leaves the floor, or never comes down.
_DUTIES = (0.1, 0.97)


@dataclass(frozen=True, eq=False)
class Footsteps:
    """When feet are on the floor, as a rate of steps and a duty.

    References
    ----------
    Holden 2017 (thesis), equations 5.6 to 5.9. There the rate is pi / L, which makes half of the
    steps where L is measured at one foot; offsets are 0 and pi.
    """

    # (frames,) rad/s: how fast the phase of the steps grows, 2 pi / L for a cycle of L seconds from
    # a foot's touch-down to its next one; 0 while standing
    rates: Array
    # (frames, feet) share of a cycle in which each foot is on the floor
    duties: Array
    # (frames, feet) radians: how far each foot's phase is ahead of that of the first
    offsets: Array
    # (frames,) bool: whether the contacts determine these; a foot in the air has no cycle
    known: Array

    @classmethod
    def of_contacts(cls, contacts: Array, fps: float) -> Footsteps:
        """Footsteps of contacts (frames, feet) bool.

        The phase of a foot is pi / 2 in the middle of its contact. Before the first and after the
        last whole cycle of a foot its rate and duty go on.
        """
        frames, feet = contacts.shape
        phases = np.full((frames, feet), np.nan)
        rates, duties = np.full((frames, feet), np.nan), np.full((frames, feet), np.nan)
        for foot in range(feet):
            on = contacts[:, foot]
            if on.mean() > _STANDING_SHARE:
                rates[:, foot], duties[:, foot] = 0.0, 1.0
            downs = [start for start, _ in true_runs(on) if start > 0]
            for first, last in pairwise(downs):
                here, cycle = slice(first, last), (last - first) / fps
                duty = float(on[here].mean())
                if cycle > _LONGEST_CYCLE_S:
                    rates[here, foot], duties[here, foot] = 0.0, 1.0
                    continue
                rates[here, foot], duties[here, foot] = 2.0 * np.pi / cycle, duty
                along = np.arange(last - first) / (last - first)
                phases[here, foot] = 2.0 * np.pi * along + np.pi * (0.5 - duty)
            _continued(phases[:, foot], rates[:, foot], duties[:, foot], fps)
        known = np.isfinite(rates).all(axis=1)
        offsets = phases - phases[:, :1]
        usual = np.angle(np.nan_to_num(np.exp(1j * offsets)).sum(axis=0))
        return cls(
            np.where(known, rates.mean(axis=1), 0.0),
            np.where(known[:, None], duties, 1.0),
            np.where(np.isnan(offsets), usual, offsets),
            known,
        )

    def array(self) -> Array:
        """(frames, 1 + feet + 2 (feet - 1)): rates, duties, cosines and sines of the offsets."""
        ahead = self.offsets[:, 1:]
        return np.column_stack([self.rates, self.duties, np.cos(ahead), np.sin(ahead)])

    @classmethod
    def from_array(cls, values: Array, feet: int) -> Footsteps:
        """From what `array` returns."""
        cosines, sines = values[:, 1 + feet : 2 * feet], values[:, 2 * feet :]
        offsets = np.column_stack([np.zeros(len(values)), np.arctan2(sines, cosines)])
        rates = np.maximum(values[:, 0], 0.0)
        return cls(rates, values[:, 1 : 1 + feet], offsets, np.ones(len(values), bool))

    def contacts(self, fps: float, start: float = 0.0) -> Array:
        """(frames, feet) bool: the square waves, from a phase of the first foot on in radians."""
        grown = np.cumsum(self.rates) / fps
        phases = (start + grown - grown[:1])[:, None] + self.offsets
        duties = np.clip(self.duties, *_DUTIES)
        return np.asarray(np.sin(phases) > np.cos(np.pi * duties))


def _continued(phases: Array, rates: Array, duties: Array, fps: float) -> None:
    """Continue one foot's cycles (frames,) before the first and after the last, in place."""
    has = np.flatnonzero(np.isfinite(rates))
    if not has.size:
        return
    first, last = int(has[0]), int(has[-1])
    for edge, outside in ((first, slice(0, first)), (last, slice(last + 1, len(rates)))):
        rates[outside], duties[outside] = rates[edge], duties[edge]
        steps = np.arange(len(rates))[outside] - edge
        phases[outside] = phases[edge] + steps * rates[edge] / fps
