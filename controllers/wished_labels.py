"""Which label characters shall have: by name from a follower, as numbers for the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from controllers.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.steering.springs import damping_share

Array = np.ndarray


class WishedLabels:
    """The label of each character, which follows what is wished.

    Parameters
    ----------
    schema
        Whose label and values.
    begun
        (characters, values) the label of the starts; no values where the schema has no label.
    halflife_s
        Seconds in which half of a change is made; 0 for at once.
    """

    def __init__(self, schema: ControllerSchema, begun: Array, halflife_s: float) -> None:
        self._name, self._values = schema.config.label, schema.label_values
        self._share = 1.0
        if halflife_s > 0:
            self._share = damping_share(halflife_s, 1.0 / schema.fps)
        self.now = np.array(begun, np.float32)
        self._goal = self.now.copy()
        self._last: list[Mapping[str, str]] | None = None

    def wish(self, labels: Sequence[Mapping[str, str]]) -> None:
        """Labels that each character shall have; who wishes none keeps its own.

        Raises
        ------
        ParameterError
            Where the controller does not know a label or a value.
        """
        if labels == self._last:
            return
        self._last = list(labels)
        for character, wished in enumerate(labels):
            for name, value in wished.items():
                if name != self._name:
                    raise ParameterError(
                        f"the wish has the label {name!r}, the controller "
                        + (f"{self._name!r}" if self._name else "none"),
                        hint="wish what the controller was trained with, or nothing",
                    )
                if value not in self._values:
                    raise ParameterError(
                        f"{name} {value!r}: the controller does not know it",
                        hint=f"known: {', '.join(self._values)}",
                    )
                self._goal[character] = 0.0
                self._goal[character, self._values.index(value)] = 1.0

    def advance(self) -> None:
        """Go on by one frame towards what is wished."""
        self.now = self.now + np.float32(self._share) * (self._goal - self.now)


def labels_of_each(labels: Mapping[str, str | Sequence[str]], count: int) -> list[dict[str, str]]:
    """Label -> value, or a value for each character -> the labels of each.

    Raises ParameterError where there are not as many values as characters.
    """
    for name, value in labels.items():
        if not isinstance(value, str) and len(value) != count:
            raise ParameterError(f"{len(value)} values of {name} for {count} characters")
    return [
        {name: value if isinstance(value, str) else value[i] for name, value in labels.items()}
        for i in range(count)
    ]
