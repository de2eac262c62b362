"""`deepphase match query`."""

from __future__ import annotations

from pathlib import Path

from deepphase.apps.commands.match_build import next_of_database
from deepphase.apps.options import claim_folder, parse_labels
from deepphase.apps.terminal import Outcome, note, progress, table, warn
from deepphase.errors import ParameterError

# Seconds between two matches in one clip.
_APART_S = 0.5


def command(
    database: Path,
    clip: str,
    output: Path,
    frame: int = 0,
    k: int = 10,
    model: Path | None = None,
    labels: str | None = None,
) -> Outcome:
    """Find the frames of a database that are nearest to a frame of a clip.

    Writes matches.csv, a motion file for each match, and a page that plays the query and its
    matches side by side, aligned at the matched frame.

    Parameters
    ----------
    database
        Motion database of `deepphase match build`.
    clip
        Name of a clip in the database, or a motion file.
    output
        Folder for the table, the motion files and the page.
    frame
        Frame of the clip, counted from 0 at the frame rate of the database.
    k
        Number of matches.
    model
        Phase model of the database, needed if the clip is a motion file.
    """
    from deepphase.apps.reports.matches_page import save_matches
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.search.moments import nearest_moments, query_moment
    from deepphase.matching.search.searcher import open_searcher

    opened = MotionDatabase.load(database)
    claim_folder(output)
    query = query_moment(opened, clip, frame, model=model)
    with progress() as shown:
        searcher = open_searcher(opened, progress=shown, note=warn)
    allowed = None if labels is None else opened.rows_with(parse_labels(labels))
    # The second around the query in its own clip is left out.
    own = None if query.row is None else opened.neighbourhood(query.row, 1.0)
    found = nearest_moments(
        opened, searcher, query.query, k, apart_s=_APART_S, allowed=allowed, excluded=own
    )
    if not found:
        raise ParameterError("no frame matches all conditions", hint="relax --labels")
    if len(found) < k:
        warn(f"{len(found)} matches instead of {k}: no more are {_APART_S:g} s apart")
    page, terms = save_matches(opened, query, found, output)
    rows = [
        (
            *(str(rank), each.clip, str(each.frame), f"{each.time_s:.2f}", f"{each.distance:.4f}"),
            ", ".join(f"{name}={value}" for name, value in each.labels.items()),
        )
        for rank, each in enumerate(found, start=1)
    ]
    table(("rank", "clip", "frame", "s", "distance", "labels"), rows)
    note(f"index: {searcher.words()}")
    note(f"page: {page}")
    next_of_database(opened, database)
    matches = [
        {"rank": rank, "clip": each.clip, "frame": int(each.frame), "time_s": float(each.time_s)}
        | {"distance": float(each.distance), "labels": dict(each.labels)}
        | {"squared_distances": dict(zip(opened.layout.slices, own.tolist(), strict=True))}
        for rank, (each, own) in enumerate(zip(found, terms, strict=True), start=1)
    ]
    return Outcome(
        {
            "database": str(database),
            "clip": clip,
            "frame": frame,
            "index": searcher.name,
            "page": str(page),
            "matches": matches,
        }
    )
