"""Colourings of points by a number with its unit, or by category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.figures.theme import NEUTRAL, channel_style, label

# Categories with a colour of their own; all further ones share a colour.
_MAX_CATEGORIES = 12
# Rank behind all other entries of a legend, which plotly ranks 1000.
_LAST = 2000


@brief_repr
@dataclass(frozen=True, eq=False)
class Colouring:
    """Values that determine the colours of points.

    Parameters
    ----------
    name
        Name, as in "frequency", "clip" or "style".
    values
        (points,) numbers, or texts, each of which is a category.
    unit
        Unit of the numbers.
    cyclic
        The numbers are cycles in [-0.5, 0.5): both ends of the scale have the same colour.
    spread
        If there are too many categories, choose those with a colour evenly over their order; by
        default the most frequent ones.
    """

    name: str
    values: Array
    unit: str = ""
    cyclic: bool = False
    spread: bool = False

    @property
    def categorical(self) -> bool:
        """Whether the values are texts."""
        return np.asarray(self.values).dtype.kind in "USO"

    @property
    def title(self) -> str:
        """Name and unit, as in "Frequency (Hz)"."""
        name = label(self.name)
        return f"{name[:1].upper()}{name[1:]}" + (f" ({label(self.unit)})" if self.unit else "")

    def thinned(self, step: int) -> Colouring:
        """The colouring of every `step`-th point."""
        return replace(self, values=np.asarray(self.values)[::step])

    def categories(self) -> Iterator[tuple[Array, dict[str, Any]]]:
        """Points and style of each category, in order of appearance.

        Categories without a colour of their own come first, in one trace behind all others.
        """
        names, first, which, counts = np.unique(
            np.asarray(self.values).astype(str),
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        coloured = np.argsort(first if self.spread else -counts, kind="stable")
        if self.spread and len(names) > _MAX_CATEGORIES:
            coloured = coloured[np.linspace(0, len(names) - 1, _MAX_CATEGORIES).round().astype(int)]
        coloured = coloured[:_MAX_CATEGORIES]
        if len(names) > _MAX_CATEGORIES:
            yield (
                np.flatnonzero(~np.isin(which, coloured)),
                {
                    "name": f"{len(names) - _MAX_CATEGORIES} others",
                    "legendrank": _LAST,
                    "marker": {"color": NEUTRAL, "opacity": 0.4},
                    "line": {"color": NEUTRAL, "width": 1},
                },
            )
        for index, category in enumerate(sorted(coloured, key=lambda item: first[item])):
            style = channel_style(index)
            yield (
                np.flatnonzero(which == category),
                {
                    "name": label(names[category], 28),
                    "marker": {"color": style.colour, "symbol": style.symbol, "opacity": 0.85},
                    "line": {"color": style.colour, "width": 1},
                },
            )
