"""Protocol of the rows that a player plays: those of a database, or those of a learned one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from deepphase.arrays import Array
from deepphase.features.layout import FeatureLayout
from deepphase.features.normalisation import Normalisation


class PlayedRows(Protocol):
    """Rows of features with their ranges and labels; `MotionDatabase` documents them."""

    @property
    def fps(self) -> float: ...

    @property
    def layout(self) -> FeatureLayout: ...

    @property
    def normalisation(self) -> Normalisation: ...

    @property
    def body(self) -> Mapping[str, str]: ...

    def __len__(self) -> int: ...

    def ranges_of(self, rows: Array) -> tuple[Array, Array]:
        """First row and last row + 1 of the stretch that each row can be played in."""
        ...

    def idle(self, rows: Array) -> Array:
        """(...) bool: rows at which a body stands at rest."""
        ...

    def labels_of(self, rows: Array) -> Sequence[Mapping[str, str]]:
        """Labels of the motion of each row."""
        ...

    def query(self, rows: Array, replace: Mapping[str, Array] | None = None) -> Array:
        """(q, dims) features of rows, with the values of some features replaced."""
        ...
