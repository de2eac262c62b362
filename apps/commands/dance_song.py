"""`deepphase dance`."""

from __future__ import annotations

from pathlib import Path

from apps.terminal import note, progress, table, warn
from deepphase.errors import ParameterError


def command(
    song: Path,
    output: Path,
    dancer: Path | None = None,
    database: Path | None = None,
    seed: int = 0,
    start: float = 0.0,
    seconds: float | None = None,
    lock: float | None = None,
    store: Path | None = None,
) -> None:
    """A new dance to any song: the motion as BVH and glb, and a page that plays it with its sound.

    Parameters
    ----------
    song
        A sound file (.wav, .flac, .ogg, .mp3 ...) of any rate, with any number of channels.
    output
        Folder for index.html, player.html, report.json, .bvh, .glb and a table of phases.
    dancer
        A dancer, as `deepphase train dance` wrote it.
    database
        Instead of a dancer: a motion database of dances, as `deepphase match build --config
        dance_music` wrote it. Needs no training.
    seed
        Another seed, another dance.
    start
        The song's second that the dance starts at.
    seconds
        How long; to the song's end if not given.
    lock
        Of a database: how far playback speed follows the song's beats, from 0 (as captured) to 1
        (up to a tenth faster or slower); 1 if not given.
    store
        The store of the database's clips, where it has moved.
    """
    from apps.reports.dance_by_database import DatabaseDanceMaker
    from apps.reports.dance_by_network import NetworkDanceMaker
    from apps.reports.dance_made import DanceMaker
    from apps.reports.dance_report import dance_report
    from controllers.dancer import Dancer
    from deepphase.corpus.store import open_store
    from deepphase.music.cache import song_features
    from deepphase.music.dance_wish import DanceWish
    from deepphase.replacing import check_writable
    from matching.database import MotionDatabase

    if dancer is not None and database is not None:
        raise ParameterError("a dancer and a database", hint="give one of --dancer and --database")
    if store is not None and database is None:
        raise ParameterError("a store without a database", hint="--store goes with --database")
    if lock is not None and database is None:
        raise ParameterError(
            "a lock without a database",
            hint="--lock goes with --database: a trained dancer sets its own speed",
        )
    wish = DanceWish(start, seconds, seed, lock)
    maker: DanceMaker
    if dancer is not None:
        maker = NetworkDanceMaker(Dancer.load(dancer), dancer.name)
    elif database is not None:
        found = MotionDatabase.load(database, store=None if store is None else open_store(store))
        maker = DatabaseDanceMaker(found, database.name, warn)
    else:
        raise ParameterError(
            "nobody dances",
            hint="give --dancer (what `deepphase train dance` wrote) or --database (what "
            "`deepphase match build --config dance_music` wrote)",
        )
    heard = song_features(song)
    check_writable(output / "index.html")
    with progress() as shown:
        made = maker.dance(heard, wish, shown)
        report = dance_report(made, song, output, shown)
    for text in made.notes:
        warn(text)
    table(report.columns, report.rows)
    note(f"report: {report.page}")
