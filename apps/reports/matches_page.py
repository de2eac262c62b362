"""Report of a search: a table of the matches, motion files, and a page that plays them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.apps.reports.page import Page
from deepphase.apps.runs.files import write_table
from deepphase.arrays import Array
from deepphase.formats.load import save
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.moments import Moment, QueryMoment, following, placed
from deepphase.matching.search.request import cost_terms
from deepphase.motion.clip import Clip
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import ComparedCosts, CostComparison, CostOption, Marker, Take


def moment_actor(
    clip: Clip,
    frame: int,
    root_position: Array,
    root_angle: float,
    *,
    before_s: float,
    seconds: float,
    place: Array,
    name: str,
    colour: str = "",
) -> Actor:
    """An actor that plays a clip around a frame, from `before_s` before it.

    At that frame its root, at a position (3,) and an angle in the clip, is moved to `place` (3,)
    and faces +Z.
    """
    start = max(frame - round(before_s * clip.fps), 0)
    stop = min(frame + round(seconds * clip.fps) + 1, len(clip))
    moved = placed(clip.sliced(start, stop), root_position, root_angle, place, 0.0)
    return Actor.of_clip(
        moved, name=name, start_s=before_s - (frame - start) / clip.fps, colour=colour
    )


def row_actor(database: MotionDatabase, row: int, **options: Any) -> Actor:
    """`moment_actor` of a row of a database."""
    return moment_actor(
        database.clip(int(database.clip_of(row))),
        int(database.frame_of(row)),
        database.root_positions[row],
        float(database.root_angles[row]),
        **options,
    )


_APART_M = 1.5
_BEFORE_S = 0.5
# Matches that the page plays beside the query.
_MAX_ACTORS = 10


def save_matches(
    database: MotionDatabase,
    query: QueryMoment,
    found: Sequence[Moment],
    folder: Path,
    *,
    seconds: float,
    format: str,
) -> Path:
    """Write matches.csv, query and matches as motion files, and index.html; return its path.

    Every motion file begins at the matched moment. The page begins half a second before it. Table
    and page have the squared distances of every feature, which add up to the square of the cost.
    """
    terms = match_terms(database, query, found)
    columns, rows = _table(found, list(database.layout.slices), terms)
    write_table(folder / "matches.csv", columns, rows)
    stop = min(query.frame + round(seconds * database.fps) + 1, len(query.clip))
    save(query.clip.sliced(query.frame, stop), folder / f"query.{format}")
    for rank, each in enumerate(found, start=1):
        clip = following(database, each.row, seconds)
        save(clip, folder / f"match_{rank:02d}.{format}")
    page = Page(f"Moments like {query.clip.name}, frame {query.frame}")
    page.add_takes([matches_take(database, query, found[:_MAX_ACTORS], terms, seconds)])
    page.add_table(columns, rows, heading="Matches")
    return page.write(folder / "index.html")


def match_terms(database: MotionDatabase, query: QueryMoment, found: Sequence[Moment]) -> Array:
    """(matches, features) squared distances, as of `cost_terms`."""
    rows = database.features[np.array([each.row for each in found])]
    return cost_terms(database.layout, query.query, rows)


def _table(
    found: Sequence[Moment], features: Sequence[str], terms: Array
) -> tuple[list[str], list[list[object]]]:
    """Columns and rows of the table of matches."""
    labels = list(dict.fromkeys(name for each in found for name in each.labels))
    columns = ["rank", "clip", "frame", "time_s", "distance", *labels]
    columns += [f"squared_{name}" for name in features]
    rows: list[list[object]] = [
        [
            *(rank, each.clip, each.frame, f"{each.time_s:.4f}", f"{each.distance:.6g}"),
            *(each.labels.get(name, "") for name in labels),
            *(f"{term:.6g}" for term in own),
        ]
        for rank, (each, own) in enumerate(zip(found, terms, strict=True), start=1)
    ]
    return columns, rows


def matches_take(
    database: MotionDatabase,
    query: QueryMoment,
    found: Sequence[Moment],
    terms: Array,
    seconds: float,
) -> Take:
    """A take of the query with its matches side by side; arguments as of `save_matches`."""
    actors = [
        moment_actor(
            query.clip,
            query.frame,
            query.root_position,
            query.root_angle,
            place=np.zeros(3),
            name="query",
            before_s=_BEFORE_S,
            seconds=seconds,
        )
    ]
    for rank, each in enumerate(found, start=1):
        beside = _APART_M * (-1) ** rank * ((rank + 1) // 2)
        actors.append(
            row_actor(
                database,
                each.row,
                place=np.array([beside, 0, 0]),
                name=f"{rank}",
                before_s=_BEFORE_S,
                seconds=seconds,
            )
        )
    compared = ComparedCosts(
        0.0,
        "Squared distances between the query and its matches.",
        [
            CostOption(f"{each.clip} at {each.time_s:.2f} s ({rank})", own)
            for rank, (each, own) in enumerate(zip(found, terms, strict=False), start=1)
        ],
    )
    return Take.of(
        actors,
        f"{query.clip.name}, frame {query.frame}",
        markers=[Marker("matched moment", _BEFORE_S, _BEFORE_S)],
        note="The query (in the middle) and its matches, side by side at the matched moment: "
        + "; ".join(
            f"{rank}: {each.clip} at {each.time_s:.2f} s, distance {each.distance:.3f}"
            for rank, each in enumerate(found, start=1)
        ),
        costs=CostComparison(tuple(database.layout.slices), [compared]),
    )
