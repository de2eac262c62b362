"""`deepphase prepare`."""

from __future__ import annotations

from pathlib import Path

import deepphase as dp
from deepphase.apps import terminal
from deepphase.apps.input_checks import claim
from deepphase.apps.options import FileOptions
from deepphase.arrays import counted
from deepphase.formats.reading import is_warning


def command(
    folder: list[Path],
    output: Path,
    fps: float = 60.0,
    mirror: bool = False,
    retarget: str | None = None,
    labels: str | None = None,
    labels_csv: Path | None = None,
    allow_truncated: bool = False,
    workers: int | None = None,
    reading: FileOptions = FileOptions(),  # noqa: B008 (frozen)
) -> None:
    """Read, check and resample motion files into one store; files that fail are listed.

    Parameters
    ----------
    folder
        Motion files, or folders that are searched for them recursively.
    output
        Store to write.
    fps
        Frame rate of the store in frames per second.
    mirror
        Add the mirror image of every clip.
    retarget
        Name of a skeleton group (Hips-22) on whose body the clips of all others are put. Without
        it, people with the same joints and other rest frames are groups of their own.
    labels
        Where labels are: names, the default without a table, finds them in the names of files and
        folders; none reads none; a pattern as in '{set}_{action}_{style}_{take}' says which parts.
    labels_csv
        CSV or Parquet table of labels: a column `file`, one column per label and, optionally,
        start_s and stop_s to cut clips out.
    """
    claim(output)
    with terminal.progress() as report:
        done = dp.prepare(
            folder,
            output,
            fps=fps,
            mirror=mirror,
            retarget=retarget,
            labels=labels,
            labels_csv=labels_csv,
            allow_truncated=allow_truncated,
            progress=report,
            workers=workers,
            unit=reading.unit,
            up=reading.up,
            file_fps=reading.file_fps,
            radians=reading.radians,
            description=reading.description,
        )
    for file, text in done.notes:
        if is_warning(text):
            terminal.warn(f"{file}: {text}")
    notes = [f"{file}: {text}" for file, text in done.notes if not is_warning(text)]
    terminal.note_some(notes, "notes, in the store's header")
    if done.glitches:
        files = {file for file, _ in done.glitches}
        terminal.note(
            f"{len(done.glitches)} places in {len(files)} files look wrong; they were kept:"
        )
        places = [f"  {file}: {glitch.sentence}" for file, glitch in done.glitches]
        terminal.note_some(places, "places: `deepphase inspect` lists them")
    for left_out in done.left_out:
        terminal.warn(f"left out: {left_out}")
    terminal.note_groups(done.groups)
    if done.name_labels is not None and done.files > 1:
        terminal.note_name_labels(done.name_labels)
    for each in done.groups:
        about = f"{each.name}: " if len(done.groups) > 1 else ""
        store = dp.corpus.open_store(output, each.name, verify=False)
        terminal.note_store_kinds(store, about)
    if len(done.groups) > 1:
        terminal.note(
            "training takes one of these: --skeleton NAME; --retarget NAME puts all on one body"
        )
    clips = f"{counted(done.clips, 'clip')} of {counted(done.files, 'file')}"
    terminal.note(f"{clips} at {fps:g} fps -> {done.path}")
    terminal.next_step(
        "train", "phase", output, "-o", "walk.model", *terminal.skeleton_words(done.groups)
    )
