"""`deepphase match run`."""

from __future__ import annotations

from pathlib import Path

from apps.label_filter import labels_told
from apps.terminal import note, progress, table, warn


def command(
    database: Path,
    output: Path,
    path: str | None = None,
    stick: Path | None = None,
    seconds: float | None = None,
    speed: float | None = None,
    size: float | None = None,
    characters: int = 1,
    labels: str | None = None,
    compare: bool = False,
    index: str = "auto",
    search_seconds: float = 0.1,
    transition_halflife: float = 0.12,
    adjust_share: float = 0.15,
    no_foot_lock: bool = False,
    seed: int = 0,
    store: Path | None = None,
) -> None:
    """A new motion along a path or under a stick, out of a motion database.

    Parameters
    ----------
    database
        A motion database, as `deepphase match build` wrote it.
    output
        Folder for index.html, player.html, report.json, and of every run .bvh, .glb and a table
        of its frames.
    path
        A CSV (t, x, z, if wanted facing and labels), or wave, square or circle; several with
        commas between them. wave if neither path nor stick is given.
    stick
        A CSV (t, move_x, move_z, if wanted look_x, look_z and buttons).
    seconds
        How long; of a made path 20, else until the path or stick ends.
    speed
        m/s along the path, or of the stick at its end. Made paths and sticks take the median
        speed of the database's motion that travels, path files their own times.
    size
        Metres of a made path: a square's side, a circle's diameter, from crest to crest.
    characters
        How many, side by side.
    labels
        Only clips with these, as in style=normal,action=walk+run.
    compare
        Also run features of the pose in place of the phases, and put all in one table.
    index
        What searches: auto, exact, flat, ivf, hnsw, ivfpq.
    search_seconds
        Seconds between two searches.
    transition_halflife
        Seconds in which the difference from the motion before a jump is halved.
    adjust_share
        The root is drawn to the wish with this share of the motion's own speed at most.
    no_foot_lock
        Leave feet as the motion has them, where they would be held while they stand.
    seed
        Of the beginnings of all characters but the first.
    store
        The store of the database's clips, where it has moved.
    """
    from apps.runs.matching import matching_report, unknown_labels
    from apps.runs.request import RunRequest, goal_names, goals_of, read_goals
    from deepphase.corpus.store import open_store
    from deepphase.replacing import check_writable
    from matching.database import MotionDatabase
    from matching.playback import Playback
    from matching.player import PlayerSettings
    from matching.search import open_searcher
    from matching.start import PlayerSource, database_measures

    paths = goal_names(path, stick)
    request = RunRequest(seconds, speed, size, characters)
    settings = PlayerSettings(
        search_s=search_seconds,
        transition_halflife_s=transition_halflife,
        adjust_share=adjust_share,
        foot_lock=not no_foot_lock,
    )
    wanted = labels_told(labels) if labels else {}
    check_writable(output / "index.html")
    with progress() as shown:
        opened = MotionDatabase.load(database, store=None if store is None else open_store(store))
        read = read_goals(paths, stick)
        playback = Playback.of_database(opened, shown)
        goals = goals_of(paths, read, request, playback.travelling_speed)
        notes = unknown_labels(goals, opened)
        searcher = open_searcher(opened, index, progress=shown, note=warn)
        data = database_measures(opened, playback)
        source = PlayerSource(opened, playback, searcher, wanted, settings, seed, data)
        report = matching_report(
            source,
            goals,
            request,
            output,
            compare=compare,
            index=index,
            progress=shown,
            note=warn,
        )
    for text in notes:
        warn(text)
    table(report.columns, report.rows)
    note(f"report: {report.page}")
