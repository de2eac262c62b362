"""`deepphase evaluate dances`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import StoreOptions
from apps.terminal import next_step, note, progress, table, warn
from deepphase.errors import ParameterError


def command(
    folders: list[Path],
    output: Path,
    beats_per_bar: int | None = None,
    labels: str | None = None,
    by: str | None = None,
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
            warn=warn,
            progress=shown,
            **reading.corpus,
        )
    table(report.columns, report.rows)
    note(f"report: {report.page}")
    next_step("play", folders[-1], "-o", "dances.html")
