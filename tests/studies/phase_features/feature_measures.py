"""Measures of features by which DeepPhase's evaluation compares them."""

from __future__ import annotations

from dataclasses import dataclass

RANK_S, SEARCH_S = 1 / 4, 1.0
"""Seconds to the future frame whose rank is measured, and of a search."""


@dataclass(frozen=True)
class MeasureKind:
    """A measure of features.

    Parameters
    ----------
    key, name
        Short name, and name in reports.
    unit
        Unit; empty for shares and ranks.
    lower
        Whether lower values are better.
    source
        Table or figure of Starke et al. 2022.
    definition
        One sentence.
    """

    key: str
    name: str
    unit: str
    lower: bool
    source: str
    definition: str


KINDS = (
    MeasureKind(
        "alignment",
        "alignment error",
        "m",
        True,
        "Table 4, Fig. 16",
        "mean distance of corresponding joints between a frame and its 10 nearest ones elsewhere",
    ),
    MeasureKind(
        "next",
        "index of the next frame",
        "",
        True,
        "Fig. 15, left",
        "rank of the following frame among all others by the distance to the frame's own features",
    ),
    MeasureKind(
        "next_advanced",
        "index of the next frame, advanced",
        "",
        True,
        "Fig. 15, left",
        "the same, with phases advanced by one frame; other features stay as they are",
    ),
    MeasureKind(
        "future",
        f"index of the frame {RANK_S:g} s ahead, advanced",
        "",
        True,
        "Fig. 15, right",
        f"the same for the frame {RANK_S:g} s later",
    ),
    MeasureKind(
        "distinct",
        "different frames in a search",
        "",
        False,
        "Fig. 17",
        f"share of different frames among those that {SEARCH_S:g} s of searches find one from the "
        "other; near 0 is stuck",
    ),
    MeasureKind(
        "forward",
        "steps of a search along the motion",
        "",
        False,
        "Fig. 17",
        "share of these steps whose change of pose is along the motion",
    ),
    MeasureKind(
        "searched",
        f"pose error after {SEARCH_S:g} s of search",
        "m",
        True,
        "Fig. 17",
        "distance of corresponding joints to the frames that follow the start in its clip",
    ),
    MeasureKind(
        "one_way",
        "matches in one direction of time",
        "",
        False,
        "Fig. 18",
        "share of the 10 nearest frames around which frames are more similar in the same order of "
        "time than in the reverse one",
    ),
    MeasureKind(
        "winding",
        "turning one way",
        "",
        False,
        "Figs. 6, 7",
        "share of each clip's turning in the plane of its two principal components that goes one "
        "way, mean of the clips",
    ),
    MeasureKind(
        "uneven",
        "unevenness of steps",
        "",
        True,
        "Figs. 6, 7",
        "coefficient of variation of the distances between neighbouring frames within a second, "
        "median of each clip, mean of the clips",
    ),
    MeasureKind(
        "strikes",
        "deviation at foot strikes",
        "cycles",
        True,
        "",
        "difference between the phase at a foot's strike and at its other strikes in the clip, of "
        "the channel that fits best on other clips; chance is .25",
    ),
    MeasureKind(
        "tail",
        "tail's motion in one channel",
        "",
        False,
        "Section 5.2",
        "share of the velocities of the tail's joints that the channel which follows it best "
        "explains",
    ),
)
KIND_OF_KEY = {kind.key: kind for kind in KINDS}


def plain_number(value: float) -> str:
    """A number with three digits, and without an exponent where it is large."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
