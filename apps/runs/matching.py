"""Motion databases of commands: what is played and compared, and lines about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deepphase.apps.options.groups import parse_labels
from deepphase.apps.runs.goals import Goal
from deepphase.apps.terminal import note, table
from deepphase.features.moment_kinds import KINDS, kind_shares_text
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.variants import pose_databases
from deepphase.matching.player.settings import MomentFilter
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.search.searcher import Searcher, open_searcher
from deepphase.progress import Progress
from deepphase.steering.path import GroundPath


def compared_sources(
    source: PlayerSource, progress: Progress | None = None
) -> dict[str, PlayerSource]:
    """The database, and databases of its clips with pose features in place of the phases."""
    database = source.database
    name = "phases" if database.layout.of_kind("phase_manifold") else "as built"
    sources = {name: source}
    for rival_name, rival in pose_databases(database, progress):
        searcher = open_searcher(rival, progress=progress)
        sources[rival_name] = replace(source, database=rival, searcher=searcher)
    return sources


def feature_entries(sources: Mapping[str, PlayerSource]) -> list[dict[str, Any]]:
    """Dimensions and memory of the feature rows, for report.json."""
    return [
        {
            "name": name,
            "definition": sentence,
            "value": value,
            "unit": unit,
            "n": len(source.database),
            "by": {"features": features},
        }
        for features, source in sources.items()
        for name, sentence, value, unit in (
            ("dimensions", "values in a feature row", source.database.dims, ""),
            ("memory", "of all feature rows", source.database.features.nbytes, "bytes"),
        )
    ]


def played_moments(include: str | None) -> MomentFilter:
    """The moments that a run plays: idle and locomotion, and what is included by an option."""
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


def database_report(database: MotionDatabase, searcher: Searcher) -> None:
    """Print the features of a new database, its rows and its index."""
    rows = [
        (feature.name, str(feature.dims), feature.unit, f"{feature.weight:g}")
        for feature in database.layout
    ]
    table(("feature", "values", "unit", "weight"), rows)
    short = Counter(database.clip_of(database.offered_rows).tolist())
    idle = len(database.clip_names) - len(short)
    note(
        f"{len(database.clip_names)} clips, {len(database):,} frames of {database.dims} values, "
        f"{len(database.offered_rows):,} of them can be found by searches"
    )
    if idle:
        note(f"{idle} clips are shorter than the time that the features span: searches skip them")
    if database.kinds is not None:
        note(f"moments: {kind_shares_text(database.kinds)}")
        if not database.rows_of_kinds(["idle"]).any():
            note(
                "no body of the clips stands at rest: characters that stand hold one of the "
                "quietest poses, with slow noise on it"
            )
    note(index_line(searcher))


def index_line(searcher: Searcher) -> str:
    """The index; of an approximate one also its recall."""
    recall = getattr(searcher, "recall", None)
    if recall is None:
        return f"index: {searcher.name}, exact"
    found = f"finds the nearest row of {recall:.1%} of unusual queries"
    return f"index: {searcher.name}, approximate: {found}"
