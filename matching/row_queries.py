"""What to search for: the features of rows, with what a user wishes put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from deepphase.errors import ParameterError
from deepphase.features.layout import FeatureLayout, checked_block
from deepphase.features.normalisation import Normalisation
from deepphase.phase.parameters import PhaseParameters
from matching.clip_rows import ClipRows

Array = np.ndarray


class RowQueries(ClipRows):
    """Rows of normalised features, and queries made of them."""

    layout: FeatureLayout
    features: Array
    normalisation: Normalisation
    phases: PhaseParameters | None

    @property
    def dims(self) -> int:
        """Values in a row."""
        return self.features.shape[1]

    def normalised(self, raw: Array) -> Array:
        """(..., dims) raw features as the rows are: normalised and weighted.

        Raises ParameterError where the width is another or a value is not finite.
        """
        raw = np.asarray(raw, np.float32)
        if raw.shape[-1:] != (self.dims,) or not np.isfinite(raw).all():
            raise ParameterError(
                f"features {raw.shape}, expected (..., {self.dims}) finite values",
                hint=f"the database's layout:\n    {self.layout}",
            )
        return self.normalisation(raw)

    def query(
        self,
        rows: Array,
        replace: Mapping[str, Array] | None = None,
        advance_s: float | Array = 0.0,
    ) -> Array:
        """(q, dims) float32 what to search for when the body is in the state of some rows.

        Parameters
        ----------
        rows
            (q,) rows whose features are taken.
        replace
            Feature name -> (q, feature dims) raw values that stand in for the rows' own, as in
            the trajectory that a user wishes.
        advance_s
            Seconds, or (q,): the phases of so much later, each channel turned by its frequency;
            other features stay.

        Raises
        ------
        ParameterError
            Where a feature is unknown or its values do not fit it.
        """
        rows = np.asarray(rows)
        query = np.array(self.features[rows], np.float32)
        slices = self.layout.slices
        if np.any(advance_s):
            for feature in self.layout.of_kind("phase_manifold"):
                block = slices[feature.name]
                raw = self._advanced_manifold(rows, feature.offsets_s, np.asarray(advance_s))
                query[:, block] = self.normalisation.of_block(raw, block)
        for name, values in (replace or {}).items():
            raw, block = checked_block(self.layout[name], values), slices[name]
            query[:, block] = self.normalisation.of_block(raw, block)
        return query

    def _advanced_manifold(self, rows: Array, offsets_s: Sequence[float], seconds: Array) -> Array:
        if self.phases is None:
            raise ParameterError("this database has no phases to advance")
        steps = np.round(np.asarray(offsets_s) * self.fps).astype(np.int64)
        clips = self.clip_of(rows)[:, None]
        frames = np.clip(
            rows[:, None] + steps, self.range_starts[clips], self.range_stops[clips] - 1
        )
        later = self.phases[frames].advanced(seconds.reshape(-1, 1, 1))
        return later.manifold().reshape(len(rows), -1)
