"""Costs of moments that searches compared, feature by feature, on the time axis of a take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError


@dataclass(frozen=True, eq=False)
class CostOption:
    """A moment that a search compared.

    Parameters
    ----------
    name
        As in "walk_01 at 2.50 s".
    terms
        (features,) squared distances, which add up to the square of the cost.
    mark
        A word for what became of it, as "playing"; empty for most.
    actor
        Name of the take's body that plays it; empty if none does.
    """

    name: str
    terms: Array
    mark: str = ""
    actor: str = ""


@dataclass(frozen=True, eq=False)
class ComparedCosts:
    """The moments that one search compared.

    Parameters
    ----------
    time_s
        Time of the take.
    text
        A sentence on what was decided, and why.
    options
        The moments; at least one.
    """

    time_s: float
    text: str
    options: Sequence[CostOption]


@dataclass(frozen=True, eq=False)
class CostComparison:
    """Searches over a take.

    Parameters
    ----------
    features
        (features,) names of the terms.
    searches
        In rising order of time; at least one.
    unit
        Unit of the costs, as "cm"; empty for features without one.
    """

    features: tuple[str, ...]
    searches: Sequence[ComparedCosts]
    unit: str = ""

    def __post_init__(self) -> None:
        times = [search.time_s for search in self.searches]
        if not times or not np.isfinite(times).all() or np.any(np.diff(times) < 0):
            raise ParameterError("searches need finite times in rising order, and at least one")
        for search in self.searches:
            if not search.options:
                raise ParameterError(
                    f"the search at {search.time_s:g} s has no moments to compare",
                    hint="give each search at least one moment",
                )
            for option in search.options:
                terms = np.asarray(option.terms)
                if terms.shape != (len(self.features),):
                    raise ParameterError(
                        f"{option.name} has {terms.shape} terms of {len(self.features)} features",
                        hint="give one term for each feature",
                    )
                if not (np.isfinite(terms).all() and (terms >= 0).all()):
                    raise ParameterError(f"{option.name}: terms must be finite and 0 or more")
