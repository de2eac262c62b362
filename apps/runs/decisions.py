"""Decisions of matching runs: a table in the run's folder, and costs beside the player."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.apps.runs.files import write_table
from deepphase.apps.runs.request import MeasuredRun
from deepphase.errors import FormatError, ParameterError
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.decisions import Decision, decisions
from deepphase.matching.player.player import Player
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.search.moments import moment
from deepphase.viewer.costs import ComparedCosts, CostComparison, CostOption

SQUARED = "squared_"
_COLUMNS = ("t", "mark", "clip", "frame", "time_s", "cost")


def run_costs(
    source: PlayerSource, measured: MeasuredRun, path: Path | None = None
) -> CostComparison | None:
    """The first character's decisions for the player's page, also written to a file if given."""
    runner, database = measured.runner, source.database
    if not isinstance(runner, Player) or runner.log is None:
        return None
    found = decisions(runner.log, database, source.searcher)
    if path is not None:
        write_decisions(path, found, database, measured.run.fps)
    return cost_comparison(found, database, measured.run.fps)


def write_decisions(
    path: Path, found: Sequence[Decision], database: MotionDatabase, fps: float
) -> None:
    """Write a table of decisions, one row for each moment; the first of each has the reason."""
    rows = []
    for decision in found:
        reason = decision.reason
        for row, mark, terms, cost in zip(
            decision.rows.tolist(), decision.marks, decision.terms, decision.costs, strict=True
        ):
            at = moment(database, row)
            rows.append(
                [
                    f"{decision.frame / fps:.4f}",
                    mark,
                    at.clip,
                    at.frame,
                    f"{at.time_s:.4f}",
                    *(f"{value:.5g}" for value in (cost, *terms)),
                    reason,
                ]
            )
            reason = ""
    squared = [f"{SQUARED}{name}" for name in database.layout.slices]
    write_table(path, [*_COLUMNS, *squared, "reason"], rows)


def cost_comparison(
    found: Sequence[Decision], database: MotionDatabase, fps: float
) -> CostComparison | None:
    """The decisions for the page of the player; None without any."""
    if not found:
        return None
    searches = []
    for decision in found:
        moments = [moment(database, row) for row in decision.rows.tolist()]
        options = [
            CostOption(f"{at.clip} at {at.time_s:.2f} s", terms, mark)
            for at, terms, mark in zip(moments, decision.terms, decision.marks, strict=True)
        ]
        searches.append(ComparedCosts(decision.frame / fps, decision.reason, options))
    return CostComparison(tuple(database.layout.slices), searches)


@dataclass(frozen=True)
class DecisionTable:
    """One decision of a table that `write_decisions` wrote.

    Parameters
    ----------
    time_s
        Seconds from the start of the run.
    reason
        A sentence.
    columns, rows
        Texts of the moments: mark, clip, seconds, cost, and squared distances by feature.
    """

    time_s: float
    reason: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def read_decision(path: Path, time_s: float) -> DecisionTable:
    """The last decision at a time of a run.

    Raises
    ------
    ParameterError
        If the run makes no decision until then.
    FormatError
        If the file is not a table of decisions.
    """
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        names = tuple(reader.fieldnames or ())
        features = tuple(name for name in names if name.startswith(SQUARED))
        if not {*_COLUMNS, "reason"} <= set(names) or not features:
            raise FormatError("the file has no table of decisions", hint="run again", path=path)
        rows = list(reader)
    try:
        times = np.array([float(row["t"]) for row in rows])
    except (TypeError, ValueError):
        raise FormatError("a time is not a number", hint="run again", path=path) from None
    # Times in the table are rounded.
    before = times[times <= time_s + 1e-3]
    if not before.size:
        first = f"the first one is at {times[0]:.2f} s" if times.size else "the table is empty"
        raise ParameterError(f"there is no decision until {time_s:g} s", hint=first, path=path)
    chosen = [row for row, time in zip(rows, times, strict=True) if time == before[-1]]
    return DecisionTable(
        float(before[-1]),
        chosen[0]["reason"],
        ("", "clip", "s", "cost", *(name.removeprefix(SQUARED) for name in features)),
        [
            (
                row["mark"],
                row["clip"],
                f"{float(row['time_s']):.2f}",
                *(f"{float(row[name]):.3f}" for name in ("cost", *features)),
            )
            for row in chosen
        ],
    )
