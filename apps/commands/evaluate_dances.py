"""`deepphase evaluate dances`."""

from __future__ import annotations

from pathlib import Path

from apps.options import told_skeleton
from apps.terminal import note, progress, table, warn
from deepphase.errors import ParameterError


def command(
    folders: list[Path],
    output: Path,
    beats_per_bar: int | None = None,
    labels: str | None = None,
    by: str | None = None,
    unit: str | None = None,
    up: str | None = None,
    skeleton: str | None = None,
    skeleton_description: str | None = None,
) -> None:
    """Measure dances against their songs, sets of them beside each other: a page and one JSON file.

    Parameters
    ----------
    folders
        Folders of motion files (clips or point tracks), each beside its song of the same name
        (.wav, .flac, .ogg, .mp3). The first holds the recorded dances: the scale for the others,
        and where in the bar one moves.
    output
        Folder for index.html and report.json.
    beats_per_bar
        Of all songs; without it bars of 3 and of 4 are both asked for.
    labels
        A pattern that reads labels out of file names, as in 'DANCE_{dance}_{_take}'.
    by
        A label whose values get columns of their own.
    unit, up
        Unit and up axis of the files, inferred if not given.
    skeleton
        Which skeleton group, where a folder holds several.
    skeleton_description
        A YAML file that says which point is which, for point tracks.
    """
    from apps.reports.dances_report import dances_report
    from deepphase.replacing import check_writable

    if by is not None and labels is None:
        raise ParameterError(
            "--by names a label, and no labels are read",
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
            unit=unit,
            up=up,
            skeleton=skeleton,
            description=told_skeleton(skeleton_description),
            warn=warn,
            progress=shown,
        )
    table(report.columns, report.rows)
    note(f"report: {report.page}")
