"""Split of samples into training and held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.phase.windows import held_out_sources


@dataclass(frozen=True, eq=False)
class SampleSplit:
    """Training rows and held-out rows of samples.

    Parameters
    ----------
    train, held_out
        (rows,) each. If all samples come from one file, the last part of each run is held out,
        after a gap as long as the reach of the inputs.
    """

    train: Array
    held_out: Array
    sources: frozenset[str]

    @classmethod
    def of_samples(
        cls,
        samples: ControllerSamples,
        share: float,
        kinds: Callable[[str], Array] | None = None,
    ) -> SampleSplit:
        """Hold out about this share of the samples, file by file.

        With `kinds`, the training keeps files of all kinds of moments that are held out; see
        :func:`deepphase.phase.windows.held_out_sources`.
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
