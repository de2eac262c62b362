"""Motion databases of commands: what is played, and lines about them."""

from __future__ import annotations

from collections import Counter

from deepphase.apps.options.groups import parse_labels
from deepphase.apps.terminal import note, table
from deepphase.features.moment_kinds import KINDS, kind_shares_text
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.settings import MomentFilter
from deepphase.matching.search.searcher import Searcher


def played_moments(include: str | None) -> MomentFilter:
    """The moments that a run plays: idle and locomotion, and what is included by an option."""
    if include is None:
        return MomentFilter()
    if include in KINDS:
        return MomentFilter(tuple(dict.fromkeys((*MomentFilter().kinds, include))))
    return MomentFilter(clips=parse_labels(include))


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
