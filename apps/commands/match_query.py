"""`deepphase match query`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from apps.label_filter import labels_told
from apps.terminal import note, table, warn
from deepphase.errors import ParameterError


def command(
    database: Path,
    clip: str,
    output: Path,
    frame: int = 0,
    k: int = 10,
    model: Path | None = None,
    index: str = "auto",
    labels: str | None = None,
    advance_s: float = 0.0,
    apart_s: float = 0.5,
    exclude_s: float = 1.0,
    seconds: float = 2.0,
    format: Literal["bvh", "glb"] = "bvh",
    store: Path | None = None,
) -> None:
    """Find the k moments of a database that are nearest to a moment of a clip.

    Writes matches.csv, what follows each of them as a motion file, and a page that plays the
    query and its matches side by side, aligned at the moment that was matched.

    Parameters
    ----------
    database
        A motion database, as `deepphase match build` wrote it.
    clip
        The name of a clip in the database, or a motion file.
    output
        Folder for the table, the motion files and the page.
    frame
        The frame of the clip, from 0, at the database's rate.
    k
        How many moments.
    model
        The phase model of the database, where the clip is a file.
    index
        exact, flat, ivf, hnsw, ivfpq or auto.
    labels
        Only matches of clips with these labels, as in style=old+happy,action=walk.
    advance_s
        Search for the moment so many seconds later: phases go on by their frequency.
    apart_s
        No two matches of one clip nearer than this; 0 takes neighbouring frames, too.
    exclude_s
        No match within so many seconds of the query in its own clip.
    seconds
        How much of each match is written and shown.
    format
        Of the motion files: bvh or glb.
    store
        The store of the database's clips, where it has moved.
    """
    from apps.reports.matches_page import save_matches
    from deepphase.corpus.store import open_store
    from matching.database import MotionDatabase
    from matching.moments import nearest_moments
    from matching.queried import queried_moment
    from matching.search import open_searcher

    if not seconds > 0:
        raise ParameterError(f"--seconds must be positive, not {seconds:g}")
    opened = MotionDatabase.load(database, store=None if store is None else open_store(store))
    asked = queried_moment(opened, clip, frame, model=model, advance_s=advance_s)
    searcher = open_searcher(opened, index, note=warn)
    allowed = None if labels is None else opened.rows_with(labels_told(labels))
    own = None if asked.row is None else opened.neighbourhood(asked.row, exclude_s)
    found = nearest_moments(
        opened, searcher, asked.query, k, apart_s=apart_s, allowed=allowed, excluded=own
    )
    if not found:
        raise ParameterError(
            "no moment is left to be found", hint="loosen --labels, --exclude_s or --apart_s"
        )
    if len(found) < k:
        warn(f"{len(found)} moments, not {k}: there are no more so far apart")
    page = save_matches(opened, asked, found, output, seconds=seconds, format=format)
    rows = [
        (
            str(rank),
            each.clip,
            str(each.frame),
            f"{each.time_s:.2f}",
            f"{each.distance:.4f}",
            ", ".join(f"{name}={value}" for name, value in each.labels.items()),
        )
        for rank, each in enumerate(found, start=1)
    ]
    table(("rank", "clip", "frame", "s", "distance", "labels"), rows)
    note(f"page: {page}")
