"""Decisions of a player: the moments that a search compared, their costs, and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.trajectory_search import JumpRequest, TrajectorySearch
from deepphase.matching.search.cost_terms import cost_terms
from deepphase.matching.search.searcher import Searcher

# Rejected moments of a decision, seconds between two of one clip, and rows that are searched for
# them: most of the nearest rows are neighbours of each other. Where these hold too few moments,
# more are searched.
_REJECTED, _APART_S, _ROWS, _MORE = 10, 0.3, 256, 4
_PLAYING, _CHOSEN, _NOT_SMOOTH = "playing", "chosen", "not smooth"


@dataclass(frozen=True, eq=False)
class _Search:
    """One search of a character, as it happened."""

    frame: int
    row: int
    query: Array
    labels: Mapping[str, str]
    kept: Mapping[str, str]
    min_improvement: float
    must_jump: bool
    target: int
    smooth: bool
    jumped: bool


class DecisionLog:
    """Record of the searches of one character, which a `Player` fills.

    Parameters
    ----------
    policy
        The player's search policy.
    character
        The character.
    """

    def __init__(self, policy: TrajectorySearch, character: int = 0) -> None:
        self.policy, self.character = policy, character
        self.searches: list[_Search] = []

    def add(
        self,
        frame: int,
        request: JumpRequest,
        index: int,
        goals: Any,
        target: int,
        smooth: bool,
        jumped: bool,
    ) -> None:
        """Record a search of the character.

        Parameters
        ----------
        frame
            Number of the frame that it was made for.
        request, index
            Of `TrajectorySearch.search`, and the character's index in it.
        goals
            As of `TrajectorySearch.search`, for the character alone.
        target, smooth
            Its results.
        jumped
            Whether the character jumps to the target.
        """
        rows, labels = request.rows[[index]], request.labels[index]
        must_jump = self.policy.must_jump(rows, request.leaving[[index]], labels)
        self.searches.append(
            _Search(
                frame,
                int(rows[0]),
                self.policy.queries(rows, goals)[0],
                dict(labels),
                {name: each for name, each in request.kept[index].items() if name not in labels},
                float(request.min_improvements[index]),
                bool(must_jump[0]),
                target,
                smooth,
                jumped,
            )
        )


@dataclass(frozen=True, eq=False)
class Decision:
    """The moments that a search compared, and what came of it.

    Parameters
    ----------
    frame
        Number of the frame that it was made for.
    rows
        (moments,) rows: the one that plays, the one that is jumped to if there is one, and the
        nearest others, whose cost rises.
    terms
        (moments, features) squared distances to the query, which add up to the square of the cost.
    marks
        (moments,) "playing", "chosen" or "not smooth" and, for those not taken, "".
    reason
        A sentence.
    """

    frame: int
    rows: Array
    terms: Array
    marks: tuple[str, ...]
    reason: str

    @property
    def costs(self) -> Array:
        """(moments,) distances to the query."""
        costs: Array = np.sqrt(self.terms.sum(axis=1))
        return costs


def decisions(log: DecisionLog, database: MotionDatabase, searcher: Searcher) -> list[Decision]:
    """The decisions of a log, each with the ten nearest moments that were not taken.

    Rejected moments lie apart by 0.3 seconds where they are of one clip.
    """
    groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for number, each in enumerate(log.searches):
        groups.setdefault(tuple(sorted(each.labels.items())), []).append(number)
    found: dict[int, Decision] = {}
    for labels, members in groups.items():
        allowed, count = log.policy.target_rows(dict(labels)), _ROWS
        while members:
            searches = [log.searches[number] for number in members]
            queries = np.stack([each.query for each in searches])
            _, nearest = searcher.search(queries, count, allowed=allowed)
            few = []
            for number, each, rows in zip(members, searches, nearest, strict=True):
                found[number] = _decision(log.policy, database, each, rows[rows >= 0])
                if rows[-1] >= 0 and found[number].marks.count("") < _REJECTED:
                    few.append(number)
            members, count = few, _MORE * count
    return [found[number] for number in range(len(log.searches))]


def _decision(
    policy: TrajectorySearch, database: MotionDatabase, search: _Search, nearest: Array
) -> Decision:
    rows, marks = [search.row], [_PLAYING]
    if search.target >= 0:
        rows.append(search.target)
        marks.append(_CHOSEN if search.jumped else _NOT_SMOOTH)
    kept = len(rows)
    apart = round(_APART_S * database.fps)
    clips = database.clip_of(nearest)
    taken = [(int(database.clip_of(row)), row) for row in rows]
    for row, clip in zip(nearest.tolist(), clips.tolist(), strict=True):
        if len(rows) - kept == _REJECTED:
            break
        if all(clip != other or abs(row - near) > apart for other, near in taken):
            rows.append(row)
            marks.append("")
            taken.append((clip, row))
    terms = cost_terms(database.layout, search.query, database.features[np.array(rows)])
    costs = np.sqrt(terms.sum(axis=1))
    bound = float(policy.improved(costs[0], search.min_improvement))
    reason = _reason(search, costs, bound, search.target >= 0)
    if search.target < 0 and len(rows) > 1 and not policy.keeps(rows[1], search.kept):
        labels = ", ".join(f"{name}={label}" for name, label in search.kept.items())
        bound = float(policy.without_kept(np.array(bound)))
        reason += f" It has not {labels}, so it would need less than {bound:.2f}."
    return Decision(search.frame, np.array(rows), terms, tuple(marks), reason)


def _reason(search: _Search, costs: Sequence[float], bound: float, has_target: bool) -> str:
    """A sentence on the decision; `costs` begins with the row that plays and the target."""
    share = f"{bound / max(costs[0], 1e-9):.0%} of the first"
    limit = f"a jump needs less than {bound:.2f}, {share}"
    if has_target:
        costing = f"continuing costs {costs[0]:.2f}, the chosen moment {costs[1]:.2f}"
        if search.jumped and search.must_jump:
            return f"It jumps, for what may be played of the clip ends: {costing}."
        if search.jumped:
            return f"It jumps: {costing}; {limit}."
        return f"It continues, for the transition is not smooth: {costing}. It searches again soon."
    if len(costs) < 2:
        return f"It continues: continuing costs {costs[0]:.2f}, and no other moment may be played."
    costing = f"continuing costs {costs[0]:.2f}, the best other moment {costs[1]:.2f}"
    return f"It continues: {costing}; {limit}."
