"""Features of frames that are compared with each other: phases, velocities, poses."""

from __future__ import annotations

from dataclasses import dataclass

from deepphase.arrays import Array
from deepphase.phase.parameters import PhaseParameters


@dataclass(frozen=True, eq=False)
class FrameFeatures:
    """A vector for each frame; phases can also be advanced to a later moment.

    Parameters
    ----------
    name
        Name, as in "velocity".
    values
        (frames, dimensions), compared by Euclidean distance; of phases their manifold.
    parameters
        (frames, channels) each, of phases.
    """

    name: str
    values: Array
    parameters: PhaseParameters | None = None

    @classmethod
    def of_phases(cls, name: str, parameters: PhaseParameters) -> FrameFeatures:
        """Features of a phase model or baseline."""
        return cls(name, parameters.manifold(), parameters)

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
        return self.parameters[chosen].advanced(seconds).manifold()
