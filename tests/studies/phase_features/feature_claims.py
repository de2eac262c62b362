"""Differences between a phase model and other features, and DeepPhase's claims about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from deepphase.arrays import Array
from deepphase.phase.matches import interval_95
from tests.studies.phase_features.feature_measures import KIND_OF_KEY, plain_number

Outcome = Literal["better", "worse", "level"]

LEAST_CLIPS = 3
"""Fewer clips decide nothing: resampling them gives an interval without width, or next to it."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Values of a measure.

    Parameters
    ----------
    values
        (n,) one for each query, start or clip.
    clips, numbers
        (n,) the clip of each, and its number among all queries, starts or clips: a measure may be
        unknown for some.
    """

    values: Array
    clips: Array
    numbers: Array

    @property
    def mean(self) -> float:
        """Mean of all values."""
        return float(self.values.mean())

    @cached_property
    def interval(self) -> list[float]:
        """95 % interval of the mean, by clips."""
        return interval_95(self.values, self.clips)


@dataclass(frozen=True)
class Difference:
    """Difference between the model and another feature in one measure.

    Parameters
    ----------
    key
        Of the measure.
    rival
        Name of the other feature.
    value, interval_95
        The model's value minus the other's, mean over the queries, starts or clips that both have,
        and its interval by clips.
    outcome
        "level" if the interval includes 0 or there are fewer than `LEAST_CLIPS`, otherwise whether
        the model is better or worse.
    """

    key: str
    rival: str
    value: float
    interval_95: list[float]
    outcome: Outcome


@dataclass(frozen=True)
class Claim:
    """A claim of DeepPhase's evaluation, and what these clips say about it."""

    words: str  # The claim
    source: str  # Table or figure
    verdict: str  # "holds", "does not hold", "partly" or "undecided"
    reason: str  # The values that decide


_PHASES, _POSES = ("contact", "pca"), ("velocity", "pose", "full_pose")
# Claim, keys of its measures, features that it is about.
_CLAIMS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Learnt phases match more similar poses than phases of contacts or of the PCA heuristic.",
        ("alignment",),
        _PHASES,
    ),
    ("Phases index the next frame lower than velocities or poses do.", ("next",), _POSES),
    (
        "Phases that are advanced by one frame index the next frame lower.",
        ("next_advanced",),
        _POSES,
    ),
    ("Phases that are advanced index future frames lower.", ("future",), _POSES),
    (
        "A search by phases goes on; one by velocities or poses gets stuck.",
        ("distinct", "forward"),
        _POSES,
    ),
    (
        "By phases, frames are similar in the direction of time alone.",
        ("one_way",),
        _POSES,
    ),
    (
        "On the phase manifold clips run around rings in even steps; velocities do not.",
        ("winding", "uneven"),
        ("velocity",),
    ),
    (
        "The rings of learnt phases are cleaner than those of the PCA heuristic. (Not claimed in "
        "the paper, whose figure shows no heuristic.)",
        ("winding", "uneven"),
        ("pca",),
    ),
    ("A channel follows the tail better than the phase of any limb.", ("tail",), _PHASES),
)


_THAN: dict[Outcome, str] = {
    "better": "better than",
    "worse": "worse than",
    "level": "level with",
}


def difference(key: str, own: Measured, rival: str, other: Measured) -> Difference | None:
    """Difference of a measure to that of another feature; None if no query or clip has both."""
    numbers, first, second = np.intersect1d(
        own.numbers, other.numbers, assume_unique=True, return_indices=True
    )
    if not numbers.size:
        return None
    # The same queries: differences vary less than means.
    apart = Measured(own.values[first] - other.values[second], own.clips[first], numbers)
    low, high = interval = apart.interval
    outcome: Outcome = "level"
    if len(np.unique(apart.clips)) >= LEAST_CLIPS and (low > 0 or high < 0):
        outcome = "better" if (high < 0) == KIND_OF_KEY[key].lower else "worse"
    return Difference(key, rival, apart.mean, interval, outcome)


def claims_about(
    differences: Sequence[Difference],
    own: Mapping[str, Measured],
    rivals: Mapping[str, Mapping[str, Measured]],
) -> list[Claim]:
    """DeepPhase's claims about features that were compared.

    Parameters
    ----------
    differences
        The model against each other feature in each measure.
    own, rivals
        Measures of the model, and of each other feature.
    """
    found = {(each.key, each.rival): each for each in differences}
    made = []
    for words, keys, names in _CLAIMS:
        decided = [
            found[key, name]
            for key in keys
            for name in rivals
            if name in names and (key, name) in found
        ]
        if decided:
            source = KIND_OF_KEY[keys[0]].source
            made.append(Claim(words, source, _verdict(decided), _reason(decided, own, rivals)))
    return made


def _reason(
    decided: Sequence[Difference],
    own: Mapping[str, Measured],
    rivals: Mapping[str, Mapping[str, Measured]],
) -> str:
    parts = []
    for key in dict.fromkeys(each.key for each in decided):
        others = [
            f"{_THAN[each.outcome]} {each.rival} ({plain_number(rivals[each.rival][key].mean)})"
            for each in decided
            if each.key == key
        ]
        parts.append(f"{KIND_OF_KEY[key].name} {plain_number(own[key].mean)}: {', '.join(others)}")
    return "; ".join(parts)


def _verdict(decided: Sequence[Difference]) -> str:
    outcomes = {each.outcome for each in decided}
    if outcomes == {"better"}:
        return "holds"
    if "better" in outcomes:
        return "partly"
    return "does not hold" if "worse" in outcomes else "undecided"
