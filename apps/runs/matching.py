"""Runs of a motion database: comparison of features, and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from deepphase.apps.options.groups import parse_labels
from deepphase.apps.reports.measure_table import MeasuredReport
from deepphase.apps.runs.decisions import run_costs
from deepphase.apps.runs.report import RunSubject, run_report
from deepphase.apps.runs.request import Goal, RunRequest
from deepphase.apps.runs.sections import Section
from deepphase.features.moment_kinds import KINDS
from deepphase.matching.database.pose_baselines import pose_databases
from deepphase.matching.player.moment_filter import MomentFilter, moments_line
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.search.searcher import open_searcher
from deepphase.progress import Progress
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Runner, RunnerSource

_NOTHING: Mapping[str, RunnerSource[Runner]] = {}


def matching_report(
    source: PlayerSource,
    goals: Mapping[str, Goal],
    request: RunRequest,
    folder: Path,
    *,
    file: str = "a motion database",
    beside: Mapping[str, RunnerSource[Runner]] = _NOTHING,
    compare: bool = False,
    index: str = "auto",
    progress: Progress | None = None,
    note: Callable[[str], None] | None = None,
) -> MeasuredReport:
    """Run a database along every goal, write all files into a folder, and measure.

    Parameters
    ----------
    file
        Name of what is run, for the title.
    beside
        Name -> others that follow the same goals, which are measured and shown beside it.
    compare
        Whether to run pose features in place of the phases as well.
    index
        Kind of search index for those; see `open_searcher`.
    note
        Called with the reason if an index was not used.

    Raises
    ------
    ParameterError, FormatError
        If a goal or a setting is invalid.
    """
    database = source.database
    sources = {"as built": source}
    if compare:
        own = "phases" if database.layout.of_kind("phase_manifold") else "as built"
        sources = {own: source}
        for name, rival in pose_databases(database, progress):
            searcher = open_searcher(rival, index, progress=progress, note=note)
            sources[name] = replace(source, database=rival, searcher=searcher)
    counts = {"clips": len(database.clip_names), "rows": len(database), "fps": database.fps}
    subjects = [
        RunSubject(
            each,
            f"Runs of {file}",
            "New motion along the goals, from captured motion.",
            database.made_with,
            counts,
            note=moments_line(each.database, each.played),
            features=name,
            costs=partial(run_costs, each),
        )
        for name, each in sources.items()
    ]
    if beside and not compare:
        subjects[0] = replace(subjects[0], features=file)
    subjects += [RunSubject(each, file, "", {}, {}, features=name) for name, each in beside.items()]
    sections = [_features(sources)]
    return run_report(subjects, goals, request, folder, sections=sections, progress=progress)


def _features(sources: Mapping[str, PlayerSource]) -> Section:
    """Dimensions and memory of the feature rows."""
    texts = {"dimensions": "values in a feature row", "memory": "of all feature rows"}
    databases = {name: source.database for name, source in sources.items()}
    entries: list[dict[str, Any]] = [
        {
            "name": key,
            "definition": texts[key],
            "value": value,
            "unit": unit,
            "n": len(database),
            "by": {"features": name},
        }
        for name, database in databases.items()
        for key, value, unit in (
            ("dimensions", database.dims, ""),
            ("memory", database.features.nbytes, "bytes"),
        )
    ]
    rows: Sequence[Sequence[object]] = [
        (name, database.dims, f"{database.features.nbytes / 1e6:.1f} MB")
        for name, database in databases.items()
    ]
    text = "Feature rows that searches compare: values per row, and memory of all rows."
    return Section("Features", text, ("Features", "Dimensions", "Memory"), rows, entries)


def played_moments(include: str | None) -> MomentFilter:
    """The moments that a run plays: idle and locomotion, and what is included by an option.

    Parameters
    ----------
    include
        "action", or labels of clips as in "action=bow+kick".

    Raises
    ------
    ParameterError
        If it is neither.
    """
    if include is None:
        return MomentFilter()
    if include in KINDS:
        return MomentFilter(tuple(dict.fromkeys((*MomentFilter().kinds, include))))
    return MomentFilter(clips=parse_labels(include))


def unknown_labels(goals: Mapping[str, Goal], source: PlayerSource) -> list[str]:
    """Warnings about labels of goals that the database does not have.

    Raises ParameterError if it has the label but not the value, or none of its moments is played.
    """
    known = source.label_names
    notes = []
    for name, goal in goals.items():
        labels = goal.labels if isinstance(goal, GroundPath) else goal.buttons
        for column, values in labels.items():
            if column not in known:
                notes.append(f"{name}: its motion has no label {column!r}, which is ignored")
                continue
            for value in dict.fromkeys(filter(None, values)):
                source.check_labels({column: value})
    return notes
