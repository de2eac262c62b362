"""Features of frames that are compared with each other: phases, velocities, poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.parameters import PhaseParameters


@dataclass(frozen=True, eq=False)
class FrameFeatures:
    """A vector for each frame; phases can also be advanced to a later moment."""

    name: str  # Name, as in "velocity"
    values: Array  # (frames, dimensions), compared by Euclidean distance; of phases their manifold
    parameters: PhaseParameters | None = None  # (frames, channels) each, of phases
    # (frames, others): the last of `values`, which stay as they are when phases advance.
    beside: Array | None = None

    @classmethod
    def of_phases(
        cls, name: str, parameters: PhaseParameters, beside: Array | None = None
    ) -> FrameFeatures:
        """Features of a phase model or baseline, with others (frames, others) beside them."""
        return cls(name, _joined(parameters.manifold(), beside), parameters, beside)

    @property
    def advances(self) -> bool:
        """Whether there are frequencies by which the features can be advanced."""
        return self.parameters is not None and bool(self.parameters.frequency.any())

    def advanced(self, chosen: Array, seconds: float) -> Array:
        """(queries, dimensions): the features of frames, as they are expected some time later.

        Without a frequency they are those of the frames themselves (Starke et al. 2022, section
        5.3, compare poses and velocities so).
        """
        if self.parameters is None or not self.advances:
            return self.values[chosen]
        manifold = self.parameters[chosen].advanced(seconds).manifold()
        return _joined(manifold, None if self.beside is None else self.beside[chosen])


def _joined(manifold: Array, beside: Array | None) -> Array:
    return manifold if beside is None else np.concatenate([manifold, beside], axis=1)
