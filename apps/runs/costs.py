"""Costs of the searches of motion matching, for the player's page."""

from __future__ import annotations

from typing import Any

from deepphase.matching.player.decisions import decisions
from deepphase.matching.player.player import Player
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.search.moments import moment
from deepphase.viewer.costs import ComparedCosts, CostComparison, CostOption


def run_costs(source: Any, runner: Any) -> CostComparison | None:
    """The searches of the first character; None for runners that do not search."""
    if not isinstance(source, PlayerSource) or not isinstance(runner, Player):
        return None
    database, log = source.database, runner.log
    if log is None:
        return None
    searches = []
    for decision in decisions(log, database, source.searcher):
        moments = [moment(database, row) for row in decision.rows.tolist()]
        options = [
            CostOption(f"{at.clip} at {at.time_s:.2f} s", terms, mark)
            for at, terms, mark in zip(moments, decision.terms, decision.marks, strict=True)
        ]
        searches.append(ComparedCosts(decision.frame / database.fps, decision.reason, options))
    return CostComparison(tuple(database.layout.slices), searches) if searches else None
