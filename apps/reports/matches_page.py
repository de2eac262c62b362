"""Report of a search: a table of the matches, motion files, and a page that plays them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.apps.reports.page import Page, write_table
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
    """An actor that plays a clip around a frame, at which its root is at `place` and faces +Z."""
    start = max(frame - round(before_s * clip.fps), 0)
    stop = min(frame + round(seconds * clip.fps) + 1, len(clip))
    moved = placed(clip.sliced(start, stop), root_position, root_angle, place, 0.0)
    return Actor.from_clip(
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


# Metres between matches, and seconds that the page plays before the matched frame and after it.
_APART_M, _BEFORE_S, _MATCH_S = 1.5, 0.5, 2.0
# Matches that the page plays beside the query.
_MAX_ACTORS = 10


def save_matches(
    database: MotionDatabase, query: QueryMoment, found: Sequence[Moment], folder: Path
) -> Path:
    """Write matches.csv, query and matches as BVH files from the matched moment, and index.html."""
    labels = list(dict.fromkeys(name for each in found for name in each.labels))
    features = list(database.layout.slices)
    terms = cost_terms(
        database.layout, query.query, database.features[np.array([each.row for each in found])]
    )
    columns = ["rank", "clip", "frame", "time_s", "distance", *labels]
    columns += [f"squared_{name}" for name in features]
    rows: list[list[object]] = []
    stop = min(query.frame + round(_MATCH_S * database.fps) + 1, len(query.clip))
    save(query.clip.sliced(query.frame, stop), folder / "query.bvh")
    for rank, (each, own) in enumerate(zip(found, terms, strict=True), start=1):
        save(following(database, each.row, _MATCH_S), folder / f"match_{rank:02d}.bvh")
        row = [rank, each.clip, each.frame, f"{each.time_s:.4f}", f"{each.distance:.6g}"]
        row += [each.labels.get(name, "") for name in labels]
        rows.append([*row, *(f"{term:.6g}" for term in own)])
    write_table(folder / "matches.csv", columns, rows)
    page = Page(f"Moments like {query.clip.name}, frame {query.frame}")
    page.add_takes([_take(database, query, found[:_MAX_ACTORS], terms)])
    page.add_table(columns, rows, heading="Matches")
    return page.write(folder / "index.html")


def _take(
    database: MotionDatabase, query: QueryMoment, found: Sequence[Moment], terms: Array
) -> Take:
    """The query with its matches side by side."""
    shown: dict[str, Any] = {"before_s": _BEFORE_S, "seconds": _MATCH_S}
    root, angle = query.root_position, query.root_angle
    middle = moment_actor(
        query.clip, query.frame, root, angle, place=np.zeros(3), name="query", **shown
    )
    actors, options, words = [middle], [], []
    for rank, (each, own) in enumerate(zip(found, terms, strict=False), start=1):
        place = np.array([_APART_M * (-1) ** rank * ((rank + 1) // 2), 0, 0])
        actors.append(row_actor(database, each.row, place=place, name=f"{rank}", **shown))
        at = f"{each.clip} at {each.time_s:.2f} s"
        options.append(CostOption(f"{at} ({rank})", own))
        words.append(f"{rank}: {at}, distance {each.distance:.3f}")
    text = "Squared distances between the query and its matches."
    return Take.from_motions(
        actors,
        f"{query.clip.name}, frame {query.frame}",
        markers=[Marker("matched moment", _BEFORE_S, _BEFORE_S)],
        note="The query (in the middle) and its matches, side by side at the matched moment: "
        + "; ".join(words),
        costs=CostComparison(tuple(database.layout.slices), [ComparedCosts(0.0, text, options)]),
    )
