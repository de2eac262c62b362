"""`deepphase edit constrain`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ClipOptions
from apps.terminal import next_step, note, progress, warn
from deepphase.errors import ParameterError

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
    from apps.edit_files import (
        check_output,
        load_editor,
        read_clip,
        save_before_and_after,
        save_edited,
    )
    from deepphase.editing.constrain import constrained
    from deepphase.editing.targets import read_targets
    from deepphase.steering.path import read_path

    if targets is None and path is None and not feet:
        raise ParameterError(
            "no constraint is given", hint="give --targets FILE, --path FILE or --feet"
        )
    check_output(clip, output, player)
    wanted = [] if targets is None else read_targets(targets)
    way = None if path is None else read_path(path)
    trained = load_editor(editor)
    with progress() as report_progress:
        report_progress("reading", 0, 2, clip.name)
        given = read_clip(clip, trained, reading)
        report_progress("searching", 1, 2, clip.name)
        made = constrained(given, trained, wanted, path=way, feet=feet)
        report_progress("searching", 2, 2, clip.name)
    for target, distance in zip(wanted, made.distances, strict=True):
        frames = f"frames {target.first}-{target.last}"
        if target.first == target.last:
            frames = f"frame {target.first}"
        if distance > _NEAR_M:
            warn(f"{target.joint} is {100 * distance:.1f} cm from its target at {frames}")
        else:
            note(f"{target.joint} is at its target at {frames}")
    save_edited(made.clip, output)
    if player is not None:
        save_before_and_after(given, made.clip, player)
    next_step("play", output)
