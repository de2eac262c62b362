"""Files of the edit commands: clips in, edited clips and pages out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import deepphase as dp
from deepphase.apps.input_checks import claim_file, no_rotations
from deepphase.apps.options import OptionGroup, folder_reader
from deepphase.apps.terminal import next_step, note, note_shipped, warn
from deepphase.formats.array_file import read_header
from deepphase.formats.load import MOTION_FORMATS, load, save
from deepphase.shipped import SHIPPED

Without = Literal["shipped", "biped", "none"]


@dataclass(frozen=True)
class EditOptions(OptionGroup):
    """Editing.

    Parameters
    ----------
    editor
        Editor of `deepphase train editor`, of the clips' skeleton. Without one, one that comes with
        the package is used, for any body on two legs.
    player
        Page to write (.html) that plays the clip before and after.
    """

    editor: Path | None = None
    player: Path | None = None


# Metres: a joint farther from its target or path has not reached it.
_NEAR_M = 0.01


def open_clips(
    clips: Sequence[Path], output: Path | None, options: EditOptions, *, without: Without
) -> tuple[list[dp.Clip], dp.edit.MotionEditor | None]:
    """Clips of a command and its editor, else the shipped one, for the bodies of `without`."""
    for path in clips:
        check_output(path, output, options.player)
    if options.editor is not None:
        editor = load_editor(options.editor)
        read = [read_clip(path, editor) for path in clips]
    else:
        read = [read_body(path) for path in clips]
        kind = dp.motion.find_roles(read[0].skeleton, clip=read[0]).kind
        if without == "none" or (without == "biped" and kind != "biped"):
            return read, None
        if kind != "biped":
            raise dp.SkeletonError(
                f"the editor that comes with the package is for bodies on two legs, not a {kind}",
                hint="train one: `deepphase train editor STORE -o EDITOR`, and give --editor",
                path=clips[0],
            )
        editor = shipped_editor(read[0])
        note_shipped(SHIPPED["editor"], "the editor is one ")
    seconds = sum(len(clip) / clip.fps for clip in read)
    window = editor.config.network.window / editor.fps
    if seconds < window:
        warn(
            f"{seconds:.2f} s, shorter than the editor's windows of {window:.1f} s: what is made "
            "is less certain; give more of the motion"
        )
    return read, editor


def write_edited(
    made: dp.Clip,
    output: Path,
    player: Path | None,
    *,
    before: dp.Clip | None = None,
    title: str = "Before and after",
) -> None:
    """Write an edited clip, and a page that plays it, with the clip before if there is one."""
    save(made, output)
    note(f"{made.duration:.2f} s: {output}")
    if player is not None:
        take = dp.viewer.Take.from_motions(made)
        if before is not None:
            bodies = {"before": before, "after": made}
            take = dp.viewer.Take.from_motions(bodies, before.name, ghost=True)
        note(f"open {dp.save_player(player, [take], title=title)}")
    next_step("play", output)


def report_reached(distance: float, reached: str, missed: str) -> None:
    """Print a note for a joint that is within 1 cm of where it should be, else a warning."""
    (warn if distance > _NEAR_M else note)(missed if distance > _NEAR_M else reached)


def check_output(
    clip: Path | None, output: Path | None, player: Path | None, *, also: Sequence[str] = ()
) -> None:
    """Refuse outputs that cannot be written or took work, before long work."""
    if clip and output and os.path.realpath(output) == os.path.realpath(clip):
        fact = "the clip would be written over its own file"
        raise dp.ParameterError(fact, hint="choose another -o", path=output)
    known = [*also, *MOTION_FORMATS]
    if output is not None and output.suffix.lower() not in known:
        raise dp.FormatError(
            f"{'controls' if also else 'clips'} cannot be written as "
            f"{output.suffix or 'a file without a suffix'}",
            hint=f"known suffixes: {', '.join(known)}",
            path=output,
        )
    for path in filter(None, (output, player)):
        claim_file(path)


def check_networks(editor: Path, part: Literal["path", "effectors"]) -> None:
    """Refuse an editor without the networks of a part, by its header alone."""
    from deepphase.edit.config import no_networks

    if read_header(editor, "deepphase.editor").get(part) is None:
        raise no_networks(part)


def load_editor(path: Path | None) -> dp.edit.MotionEditor:
    """The editor of a file. Raises ParameterError where none is given."""
    if path is None:
        hint = "give --editor: the file of `deepphase train editor`"
        raise dp.ParameterError("no editor is given", hint=hint)

    return dp.edit.MotionEditor.load(path)


def shipped_editor(clip: dp.Clip) -> dp.edit.MotionEditor:
    """The shipped editor for the body of a clip. Raises SkeletonError without two legs."""
    from deepphase.edit.bound_editor import bound_editor

    return bound_editor(load_editor(SHIPPED["editor"].path), clip)


def read_body(path: Path) -> dp.Clip:
    """The clip of a file. Raises SkeletonError where it has no rotations or no legs."""
    from deepphase.edit.grounding import standing_limbs

    clip = load(path, **folder_reader(path))
    if not isinstance(clip, dp.Clip) or not clip.has_rotations:
        raise no_rotations(path)
    standing_limbs(clip, dp.motion.find_roles(clip.skeleton, clip=clip))
    return clip


def read_clip(path: Path, editor: dp.edit.MotionEditor) -> dp.Clip:
    """The clip of a file. Raises SkeletonError where it is not of the editor's skeleton."""
    from deepphase.corpus.groups import check_fits_body

    clip = load(path, **folder_reader(path))
    # Refused here, before anything is computed.
    try:
        editor.space.skeleton.order_of(clip.skeleton)
    except dp.SkeletonError as error:
        raise dp.SkeletonError(
            "the clip has another skeleton than the editor",
            hint="bring it onto the editor's with deepphase convert --to, or train an editor on "
            f"clips of its own; {error.hint}",
            path=path,
        ) from None
    check_fits_body(clip, editor.space.skeleton, "the editor's body")
    return clip
