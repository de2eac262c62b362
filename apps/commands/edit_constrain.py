"""`deepphase edit constrain`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.groups import ClipOptions
from apps.terminal import note, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.editing.constrain import ConstrainedMotion
    from deepphase.editing.editor import MotionEditor
    from deepphase.motion.clip import Clip

# Farther from its target, a joint has not reached it.
_NEAR_M = 0.01


def command(
    clip: Path,
    output: Path,
    editor: Path | None = None,
    targets: Path | None = None,
    path: Path | None = None,
    feet: bool = False,
    player: Path | None = None,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Move a clip so that hands and feet are at targets, and the body follows a path.

    Feet in contact stay where they are, bones keep their lengths.

    Parameters
    ----------
    clip
        Motion file.
    output
        Clip to write (.bvh, .glb or .npz).
    editor
        Editor of `deepphase train editor`, of the clip's skeleton.
    targets
        CSV file with the columns joint, frame, x, y, z (metres in the clip's world) and optionally
        last: where a hand, a foot or a joint below them is, at a frame or from it to the last.
    path
        CSV file with the columns t, x, z (seconds of the clip, metres) and optionally facing
        (radians): where the root is.
    feet
        Hold feet still in contacts, also where they slide in the clip. On a path they are held.
    player
        Page to write (.html) that plays the clip before and after.
    """
    from apps.edit_files import edited, write_edited
    from deepphase.editing.constrain import constrained
    from deepphase.editing.targets import read_targets
    from deepphase.steering.path import read_path

    if targets is None and path is None and not feet:
        raise ParameterError(
            "no constraint is given", hint="give --targets FILE, --path FILE or --feet"
        )
    wanted = [] if targets is None else read_targets(targets)
    way = None if path is None else read_path(path)

    def make(given: list[Clip], trained: MotionEditor) -> ConstrainedMotion:
        return constrained(given[0], trained, wanted, path=way, feet=feet)

    (given,), made = edited([clip], output, editor, player, reading, "searching", make)
    for target, distance in zip(wanted, made.distances, strict=True):
        frames = f"frames {target.first}-{target.last}"
        if target.first == target.last:
            frames = f"frame {target.first}"
        if distance > _NEAR_M:
            warn(f"{target.joint} is {100 * distance:.1f} cm from its target at {frames}")
        else:
            note(f"{target.joint} is at its target at {frames}")
    write_edited(given, made.clip, output, player)
