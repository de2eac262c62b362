"""Which samples are trained on: those of files not held out, balanced over speed and direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.features.feature import TRAJECTORY_POSITION, complex_of
from deepphase.phase.signal_corpus import held_out_sources

STANDING_M_S = 0.15
"""Slower roots stand, in no direction."""

# Bounds of the speeds of one cell, m/s, and number of directions relative to the facing.
_SPEEDS = np.array([STANDING_M_S, 0.3, 0.45, 0.6, 1.1, 1.7, 2.5])
_DIRECTIONS = 8
# A sample is repeated at most so many times.
_MOST = 12.0
# A motion changes where the velocity ahead differs from that now by more than half of the larger
# one, within these bounds in m/s: a start to a slow gait counts, swaying does not. These samples
# are few, and have this multiple of the balance.
_CHANGE, _CHANGE_M_S, _CHANGES = 0.5, (0.12, 0.4), 2.5


def root_travel(samples: ControllerSamples, rows: Array) -> tuple[Array, Array]:
    """Speeds (rows,) m/s of the roots, and directions (rows,), radians from ahead to the left."""
    block = samples.schema.outputs.slices["root_velocity"]
    velocity = complex_of(np.asarray(samples.outputs[rows, block]))[:, 0]
    return np.abs(velocity), np.arctan2(velocity.real, velocity.imag)


def balanced_rows(samples: ControllerSamples, rows: Array, balance: float, seed: int) -> Array:
    """Rows (n,), of which those in rare cells of speed and direction are repeated.

    Starts, stops and turns have cells of their own, by the velocity at the end of the trajectory.
    Stops are one cell, which is not repeated: as frequent as starts, they keep bodies at rest that
    are to go slowly or backward.

    `rows` (rows,) samples.
    """
    if not balance:
        return rows
    schema = samples.schema
    block = schema.inputs.slices[TRAJECTORY_POSITION]
    places = complex_of(np.asarray(samples.inputs[rows, block]))
    # From the first sample of the trajectory to the last: a body that starts has no slow travel.
    offsets = np.array(schema.config.offsets_s)
    travel = (places[:, -1] - places[:, 0]) / (offsets[-1] - offsets[0])
    cells = _cells(travel)
    speeds = np.diff(places, axis=1) / np.diff(offsets)
    now = int(np.flatnonzero(offsets == 0.0)[0])
    first, last = speeds[:, max(now - 1, 0)], speeds[:, -1]
    fastest = np.maximum(np.abs(first), np.abs(last))
    change = np.abs(last - first) > np.clip(_CHANGE * fastest, *_CHANGE_M_S)
    cells[change] = cells.max() + 1 + _cells(speeds[change, -1])
    wanted = np.minimum(_rarity(cells, np.where(change, _CHANGES, 1.0) * balance), _MOST)
    whole = np.floor(wanted + np.random.default_rng(seed).random(len(rows)))
    return np.repeat(rows, whole.astype(np.int64))


def rarity(travel: Array, balance: float) -> Array:
    """(n,) how many times rarer each cell is than the most frequent one, to the power `balance`."""
    return _rarity(_cells(travel), balance)


def _rarity(cells: Array, balance: Array | float) -> Array:
    """(n,) rarity of each cell, to the power `balance`."""
    sizes = np.bincount(cells)
    return np.asarray((sizes.max() / np.maximum(sizes, 1))[cells] ** balance)


def _cells(travel: Array) -> Array:
    """(n,) the cell of speed and direction of each velocity (n,), complex m/s."""
    speeds, ways = np.abs(travel), np.arctan2(travel.real, travel.imag)
    sector = np.round(ways * (_DIRECTIONS / (2.0 * np.pi))).astype(np.int64) % _DIRECTIONS
    bands = np.searchsorted(_SPEEDS, speeds) * _DIRECTIONS + sector
    return np.where(speeds < STANDING_M_S, 0, 1 + bands)


@dataclass(frozen=True, eq=False)
class SampleSplit:
    """Training rows and held-out rows of samples."""

    # train, held_out: (rows,) each. If all samples come from one file, the last part of each run is
    # held out, after a gap as long as the reach of the inputs.
    train: Array
    held_out: Array
    sources: frozenset[str]

    @classmethod
    def from_samples(
        cls, samples: ControllerSamples, share: float, kinds: Callable[[str], Array] | None = None
    ) -> SampleSplit:
        """Hold out about this share of the samples, file by file.

        With `kinds`, the training keeps files of all kinds of moments that are held out; see
        :func:`deepphase.phase.signal_corpus.held_out_sources`.
        """
        lengths = samples.run_stops - samples.run_starts
        frames: dict[str, int] = {}
        for source, length in zip(samples.sources, lengths.tolist(), strict=True):
            frames[source] = frames.get(source, 0) + length
        if len(frames) > 1:
            chosen = held_out_sources(frames, share, 0, kinds)
            held = np.array([source in chosen for source in samples.sources])
            return cls(samples.rows_of_runs(~held), samples.rows_of_runs(held), frozenset(chosen))
        reach = max(map(abs, samples.schema.config.offsets_s))
        gap = round(reach * samples.schema.fps)
        train, held_rows = [], []
        for start, stop in zip(samples.run_starts, samples.run_stops, strict=True):
            tail = max(round(share * (stop - start)), 1)
            train.append(np.arange(start, max(stop - tail - gap, start)))
            held_rows.append(np.arange(stop - tail, stop))
        rows = np.concatenate(train)
        if not len(rows):
            # Too short to hold out frames: they are trained on as well.
            rows = np.arange(len(samples))
        return cls(rows, np.concatenate(held_rows), frozenset())
