"""Rings of a phase manifold: the plane of a cycle, and the steadiest cycle.

Starke et al. 2022 show cycles as rings in Figs. 6 and 7; here they are measured and found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.parameters import ManifoldProjection

# Channels of the plane of a ring.
_RING_CHANNELS = 8
# Seconds of a stretch that is measured, from one to the next, and within which steps are even.
STRETCH_S, _HOP_S, _EVEN_S = 4.0, 0.5, 1.0
# A cycle turns this often at least, this share of its turning goes one way, and from cycle to cycle
# it changes by this share of its variance at most. What moves less than this share of what the
# liveliest tenth of all stretches does is jitter.
_LEAST_TURNS, _LEAST_WINDING, _MOST_CHANGE, _LEAST_STRENGTH = 2.0, 0.95, 0.25, 0.3


@dataclass(frozen=True, eq=False)
class Ring:
    """A stretch that is a cycle: frames `start` to `stop` - 1 of a manifold, and its own plane."""

    manifold: int
    start: int
    stop: int
    period_s: float
    winding: float
    evenness: float
    change: float  # from cycle to cycle: 0 none, 1 as between unrelated frames
    projection: ManifoldProjection

    def __str__(self) -> str:
        return (
            f"a cycle of {self.period_s:.2f} s, winding {self.winding:.2f}, unevenness "
            f"{self.evenness:.2f}, {self.change:.0%} change from cycle to cycle"
        )


def winding(path: Array) -> float:
    """Share of a plane path's turning about its middle that goes one way: 1 is a ring; or NaN."""
    turns = _turns(path - path.mean(0))
    return float(abs(turns.sum()) / (np.abs(turns).sum() or np.nan))


def evenness(path: Array, fps: float) -> float:
    """Variation of the steps of a path within a second: 0 is even; NaN where nothing moves."""
    length = max(round(_EVEN_S * fps), 2)
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    steps = steps[: len(steps) // length * length].reshape(-1, length)
    steps = steps[steps.any(1)]
    return float(np.median(steps.std(1) / steps.mean(1))) if len(steps) else np.nan


def _turns(path: Array) -> Array:
    """(frames - 1,) cycles by which a plane path turns about 0 at each step."""
    turning = path[:, 0] + 1j * path[:, 1]
    return np.asarray(np.angle(turning[1:] * turning[:-1].conj()) / (2.0 * np.pi))


def ring_projection(manifold: Array) -> ManifoldProjection:
    """The plane of (frames, 2 * channels) in which cycles are rings, and a third axis.

    The channels are complex numbers A exp(2 pi i phase), which all turn one way. Their first
    principal component as complex numbers gathers what turns together; its real and imaginary
    parts span a plane in which that cycle is a circle, where two real components may hold two
    frequencies. The plane is of the few channels that are strongest in it, as the weak ones turn at
    other frequencies now and then. The third axis is the first real component of the rest.
    """
    values = manifold.astype(np.float64)
    mean = values.mean(0)
    values = values - mean
    turning = values[:, 1::2] + 1j * values[:, 0::2]
    products = turning.T @ turning.conj()
    strongest = np.abs(np.linalg.eigh(products)[1][:, -1]).argsort()[-_RING_CHANNELS:]
    direction = np.zeros(len(products), complex)
    inside = products[np.ix_(strongest, strongest)]
    direction[strongest] = np.linalg.eigh(inside)[1][:, -1].conj()
    # The channel of the largest share keeps its own phase.
    direction *= np.exp(-1j * np.angle(direction[np.abs(direction).argmax()]))
    axes = np.zeros((3, values.shape[1]))
    axes[0, 1::2], axes[0, 0::2] = direction.real, -direction.imag
    axes[1, 1::2], axes[1, 0::2] = direction.imag, direction.real
    if values.shape[1] > 2:
        axes[2] = ManifoldProjection.fit(values - values @ axes[:2].T @ axes[:2]).axes[0]
    explained = (values @ axes.T).var(0) / max(values.var(0).sum(), 1e-12)
    return ManifoldProjection(*(part.astype(np.float32) for part in (mean, axes, explained)))


def steadiest(manifolds: Sequence[Array], fps: float) -> Ring | None:
    """The stretch of manifolds that changes least from cycle to cycle; None without a cycle."""
    length, hop = round(STRETCH_S * fps), max(round(_HOP_S * fps), 1)
    stretches = [
        (index, start, manifold[start : start + length])
        for index, manifold in enumerate(manifolds)
        if len(manifold) > fps
        for start in range(0, max(len(manifold) - length, 0) + 1, hop)
    ]
    strengths = np.sqrt([part.var(0).sum() for *_, part in stretches])
    least = max(_LEAST_STRENGTH * np.percentile(strengths, 90), 1e-6) if stretches else 0.0
    best: Ring | None = None
    for (index, start, part), strength in zip(stretches, strengths, strict=True):
        if strength < least:
            continue
        projection = ring_projection(part)
        path = projection(part)[:, :2]
        turns, wound = abs(float(_turns(path).sum())), winding(path)
        if turns < _LEAST_TURNS or wound < _LEAST_WINDING:
            continue
        change, period = _change(part, turns)
        if change < (_MOST_CHANGE if best is None else best.change):
            even, stop = evenness(path, fps), start + len(part)
            best = Ring(index, start, stop, period / fps, wound, even, change, projection)
    return best


def _change(part: Array, turns: float) -> tuple[float, int]:
    """Change from cycle to cycle and frames of one, which is one turn of the plane or two."""
    spread = 2.0 * float(part.var(0).sum())
    found = []
    for period in (len(part) / turns, 2 * len(part) / turns):
        if len(part) >= 1.5 * period:
            for lag in range(round(0.95 * period), round(1.05 * period) + 1):
                step = part[lag:] - part[:-lag]
                found.append((float(np.square(step).sum(1).mean()) / spread, lag))
    return min(found)
