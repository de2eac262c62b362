"""What the colour of a point says: a number with its unit, or a category."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.figures.theme import NEUTRAL, channel_style, label

# Categories that get a colour of their own; those beyond it share one.
_CATEGORIES = 12
# Behind all other entries of a legend, which plotly ranks 1000.
_LAST = 2000


@dataclass(frozen=True, eq=False)
class Colouring:
    """What the colour of a point says.

    Parameters
    ----------
    name
        As in "frequency", "clip" or "style".
    values
        (points,) numbers, or texts: then each different text is a category.
    unit
        Of the numbers.
    cyclic
        The numbers are cycles in [-0.5, 0.5): both ends of the scale are the same colour.
    spread
        Of too many categories, some that are spread over their order get a colour of their own;
        otherwise the most frequent ones.
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
        """Of every `step`-th point."""
        return replace(self, values=np.asarray(self.values)[::step])

    def categories(self) -> Iterator[tuple[Array, dict[str, Any]]]:
        """Points and look of each category, in order of appearance; those beyond share one.

        That one comes first, so that it is drawn behind all others.
        """
        names, first, which, counts = np.unique(
            np.asarray(self.values).astype(str),
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        kept = np.argsort(first if self.spread else -counts, kind="stable")
        if self.spread and len(names) > _CATEGORIES:
            kept = kept[np.linspace(0, len(names) - 1, _CATEGORIES).round().astype(int)]
        kept = kept[:_CATEGORIES]
        if len(names) > _CATEGORIES:
            yield (
                np.flatnonzero(~np.isin(which, kept)),
                {
                    "name": f"{len(names) - _CATEGORIES} others",
                    "legendrank": _LAST,
                    "marker": {"color": NEUTRAL, "opacity": 0.4},
                    "line": {"color": NEUTRAL, "width": 1},
                },
            )
        for index, category in enumerate(sorted(kept, key=lambda item: first[item])):
            style = channel_style(index)
            yield (
                np.flatnonzero(which == category),
                {
                    "name": label(names[category], 28),
                    "marker": {"color": style.colour, "symbol": style.symbol, "opacity": 0.85},
                    "line": {"color": style.colour, "width": 1},
                },
            )
