"""Which samples are learnt from, and which are held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from controllers.data.samples import ControllerSamples
from deepphase.arrays import Array
from deepphase.phase.windows import held_out_sources


@dataclass(frozen=True, eq=False)
class SampleSplit:
    """Rows of samples by the side that they are on.

    Parameters
    ----------
    train, held_out
        (rows,) each. With one file alone the last part of each of its runs is held out, behind a
        gap of as many frames as inputs reach.
    sources
        The files that are held out; empty where it is one file alone.
    """

    train: Array
    held_out: Array
    sources: frozenset[str]

    @classmethod
    def of_samples(cls, samples: ControllerSamples, share: float, seed: int) -> SampleSplit:
        """Hold out about a share of the samples, by file."""
        lengths = samples.run_stops - samples.run_starts
        frames: dict[str, int] = {}
        for source, length in zip(samples.sources, lengths.tolist(), strict=True):
            frames[source] = frames.get(source, 0) + length
        if len(frames) > 1:
            kept = held_out_sources(frames, share, seed)
            held = np.array([source in kept for source in samples.sources])
            return cls(samples.rows_of_runs(~held), samples.rows_of_runs(held), frozenset(kept))
        reach = max(map(abs, samples.schema.config.offsets_s))
        gap = round(reach * samples.schema.fps)
        train, held_rows = [], []
        for start, stop in zip(samples.run_starts, samples.run_stops, strict=True):
            tail = max(round(share * (stop - start)), 1)
            train.append(np.arange(start, max(stop - tail - gap, start)))
            held_rows.append(np.arange(stop - tail, stop))
        rows = np.concatenate(train)
        if not len(rows):
            # Nothing can be spared: measures are then those of the training itself.
            rows = np.arange(len(samples))
        return cls(rows, np.concatenate(held_rows), frozenset())
