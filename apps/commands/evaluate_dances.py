"""`deepphase evaluate dances`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.groups import StoreOptions
from apps.terminal import next_step, note, progress, table, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from apps.dances.response_rows import TriedMaker


def command(
    folders: list[Path],
    output: Path,
    beats_per_bar: int | None = None,
    labels: str | None = None,
    by: str | None = None,
    dancers: list[Path] | None = None,
    databases: list[Path] | None = None,
    seeds: int = 8,
    seconds: float = 30.0,
    reading: StoreOptions = StoreOptions(),  # noqa: B008 (frozen)
) -> None:
    """Measure sets of dances against their songs, and write an HTML page and a JSON file.

    Parameters
    ----------
    folders
        Folders of clips or point tracks, each file beside a song of the same name (.wav, .flac,
        .ogg, .mp3). The first folder holds the recorded dances that the others are compared with.
    output
        Folder for index.html and report.json.
    beats_per_bar
        Beats in a bar of all songs. If not given, bars of 3 and of 4 are both measured.
    labels
        Pattern that reads labels from file names, as in 'DANCE_{dance}_{_take}'.
    by
        Label whose values are reported separately.
    dancers
        Trained dancers that dance to songs of the first folder which they were not trained on:
        to the songs, to silence, and to the songs at other tempi.
    databases
        Motion databases that do the same.
    seeds
        Number of dances to each song, by dancers and databases.
    seconds
        Largest length of each of these dances.
    """
    from apps.dances.evaluation import dances_report
    from deepphase.atomic_write import check_writable

    if by is not None and labels is None:
        raise ParameterError(
            "--by names a label, but no labels are read from the file names",
            hint="add a pattern, as in --labels 'DANCE_{dance}_{_take}'",
        )
    check_writable(output / "index.html")
    with progress() as shown:
        report = dances_report(
            folders,
            output,
            beats_per_bar=beats_per_bar,
            by=by,
            labels=labels,
            makers=_makers(dancers or [], databases or []),
            seeds=seeds,
            seconds=seconds,
            warn=warn,
            progress=shown,
            **reading.corpus,
        )
    table(report.columns, report.rows)
    for line in report.findings:
        note(line)
    note(f"report: {report.page}")
    next_step("play", folders[-1], "-o", "dances.html")


def _makers(dancers: list[Path], databases: list[Path]) -> list[TriedMaker]:
    from apps.dances.databases import known_songs
    from apps.dances.makers import DatabaseDanceMaker, NetworkDanceMaker
    from apps.dances.response_rows import TriedMaker
    from controllers.dance.dancer import Dancer
    from matching.database.database import MotionDatabase

    found = []
    for path in dancers:
        dancer = Dancer.load(path)
        known = [*dancer.controller.provenance.get("songs", ())]
        found.append(TriedMaker(path.name, NetworkDanceMaker(dancer, path.name), known))
    for path in databases:
        database = MotionDatabase.load(path)
        maker = DatabaseDanceMaker(database, path.name, warn)
        found.append(TriedMaker(path.name, maker, known_songs(database)))
    return found
