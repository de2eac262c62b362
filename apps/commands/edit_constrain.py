"""`deepphase edit constrain`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ClipOptions
from deepphase.errors import ParameterError


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
    from apps.edit_files import edited, report_reached, write_edited
    from deepphase.editing.constrain import constrained
    from deepphase.editing.targets import read_targets
    from deepphase.steering.path import read_path

    if targets is None and path is None and not feet:
        raise ParameterError(
            "no constraint is given", hint="give --targets FILE, --path FILE or --feet"
        )
    wanted = [] if targets is None else read_targets(targets)
    way = None if path is None else read_path(path)

    (given,), made = edited(
        [clip], output, editor, player, reading, "searching",
        lambda clips, trained: constrained(clips[0], trained, wanted, path=way, feet=feet),
    )  # fmt: skip
    for target, distance in zip(wanted, made.distances, strict=True):
        frames = f"frames {target.first}-{target.last}"
        if target.first == target.last:
            frames = f"frame {target.first}"
        report_reached(
            distance,
            f"{target.joint} is at its target at {frames}",
            f"{target.joint} is {100 * distance:.1f} cm from its target at {frames}",
        )
    write_edited(given, made.clip, output, player)
