"""`deepphase prepare`."""

from __future__ import annotations

from pathlib import Path

from apps.options import told_skeleton
from apps.terminal import note, progress, table, warn
from deepphase.corpus.prepare import prepare

_SHOWN = 20


def command(
    folder: list[Path],
    output: Path,
    fps: float = 60.0,
    unit: str | None = None,
    up: str | None = None,
    file_fps: float | None = None,
    mirror: bool = False,
    labels: str | None = None,
    labels_csv: Path | None = None,
    skeleton_description: str | None = None,
    min_seconds: float = 0.0,
    allow_truncated: bool = False,
    workers: int | None = None,
) -> None:
    """Read, check and resample motion files into one store; bad files are listed.

    Parameters
    ----------
    folder
        Folders of motion files, searched to their depth, or files.
    output
        The store to write.
    fps
        Frames a second of the store.
    unit
        Unit of the files (m, cm, mm, inch, foot or metres as a number); inferred if not given.
    up
        Up axis of the files (x, y, z, -x, -y, -z); inferred if not given.
    file_fps
        Frames a second of the files, where theirs is wrong.
    mirror
        Add the mirror image of every clip.
    labels
        How file names are made, as in '{set}_{action}_{style}_{take}'.
    labels_csv
        A table with a column file, label columns and, if wished, start_s and stop_s.
    skeleton_description
        A YAML file that says which joint is which, where names and structure do not tell.
    min_seconds
        Leave out shorter clips.
    allow_truncated
        Take the readable frames of files that end too early.
    workers
        Processes; as many as the cores allow if not given.
    """
    description = told_skeleton(skeleton_description)
    with progress() as report:
        done = prepare(
            folder,
            output,
            fps=fps,
            unit=unit,
            up=up,
            file_fps=file_fps,
            mirror=mirror,
            labels=labels,
            labels_csv=labels_csv,
            description=description,
            min_seconds=min_seconds,
            allow_truncated=allow_truncated,
            workers=workers,
            progress=report,
        )
    for file, text in done.notes[:_SHOWN]:
        note(f"{file}: {text}")
    if len(done.notes) > _SHOWN:
        note(f"... and {len(done.notes) - _SHOWN} more notes, in the store's header")
    if done.glitches:
        files = {file for file, _ in done.glitches}
        note(f"{len(done.glitches)} places in {len(files)} files look wrong; they were kept:")
        for file, glitch in done.glitches[:_SHOWN]:
            note(f"  {file}: {glitch.sentence}")
        if len(done.glitches) > _SHOWN:
            note(f"  ... and {len(done.glitches) - _SHOWN} more: `deepphase inspect` lists them")
    for left_out in done.left_out:
        warn(f"left out: {left_out}")
    rows = [(g.name, str(len(g.joints)), str(g.clips), f"{g.minutes:.1f}") for g in done.groups]
    table(("skeleton", "joints", "clips", "minutes"), rows)
    if len(done.groups) > 1:
        note("commands that learn take one of these: --skeleton NAME")
    note(f"{done.clips} clips of {done.files} files at {fps:g} fps -> {done.path}")
