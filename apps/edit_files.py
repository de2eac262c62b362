"""Files of the edit commands: clips in, edited clips and pages out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.groups import ClipOptions
from apps.terminal import note
from deepphase.errors import FormatError, ParameterError

if TYPE_CHECKING:
    from deepphase.editing.editor import MotionEditor
    from deepphase.motion.clip import Clip


def check_output(clip: Path, output: Path, player: Path | None) -> None:
    """Refuse outputs that cannot be written, before long work.

    Raises
    ------
    ParameterError
        If the clip would be overwritten.
    FormatError
        If clips of that kind cannot be written.
    """
    from deepphase.atomic_write import check_writable
    from deepphase.formats.load import MOTION_FORMATS

    if output.resolve() == clip.resolve():
        raise ParameterError(
            "the clip would overwrite its own file", hint="choose another -o", path=output
        )
    if output.suffix.lower() not in MOTION_FORMATS:
        raise FormatError(
            f"clips cannot be written as {output.suffix or 'a file without a suffix'}",
            hint=f"known suffixes: {', '.join(MOTION_FORMATS)}",
            path=output,
        )
    check_writable(output)
    if player is not None:
        check_writable(player)


def load_editor(path: Path | None) -> MotionEditor:
    """The editor of a file. Raises ParameterError where none is given."""
    from deepphase.editing.editor import MotionEditor

    if path is None:
        raise ParameterError(
            "no editor is given", hint="give --editor: the file of `deepphase train editor`"
        )
    return MotionEditor.load(path)


def read_clip(path: Path, editor: MotionEditor, reading: ClipOptions) -> Clip:
    """The clip of a file. Raises SkeletonError where it is not of the editor's skeleton."""
    from deepphase.formats.load import load

    clip = load(path, **reading.reader)
    # Refused here with both lists of joints, before anything is computed.
    editor.space.skeleton.order_of(clip.skeleton)
    return clip


def save_edited(clip: Clip, output: Path) -> None:
    """Write an edited clip and say so."""
    from deepphase.formats.load import save

    save(clip, output)
    note(f"{clip.duration:.2f} s: {output}")


def save_before_and_after(before: Clip, after: Clip, path: Path) -> None:
    """Write a page in which both clips play in one place."""
    from dataclasses import replace

    from deepphase.figures.player.actor import Actor
    from deepphase.figures.player.page import save_player
    from deepphase.figures.player.take import Take

    actors = [
        Actor.of_clip(replace(clip, name=name))
        for clip, name in ((before, "before"), (after, "after"))
    ]
    note(f"open {save_player(path, [Take(before.name, actors)], title='Before and after')}")
