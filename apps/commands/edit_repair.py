"""`deepphase edit repair`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.groups import ClipOptions
from apps.terminal import note
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.editing.editor import MotionEditor
    from deepphase.motion.clip import Clip


def command(
    clip: Path,
    output: Path,
    editor: Path | None = None,
    joints: str | None = None,
    frames: str | None = None,
    all: bool = False,
    slide: bool = False,
    player: Path | None = None,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Repair a clip: missing joints, dropped frames, jumps, noise and stepped keys.

    What is broken is found, unless joints or frames are named. What is whole stays as it is.

    Parameters
    ----------
    clip
        Motion file.
    output
        Clip to write (.bvh, .glb or .npz).
    editor
        Editor of `deepphase train editor`, of the clip's skeleton.
    joints
        Names of the broken joints, separated by commas. All joints if only frames are named.
    frames
        Broken frames, counted from 0: stretches separated by commas, as in 40-65,90. All frames if
        only joints are named.
    all
        Project the whole clip onto what the editor knows, also what is not broken.
    slide
        Leave the feet as the network makes them; in repaired frames they are held in contacts
        otherwise.
    player
        Page to write (.html) that plays the clip before and after.
    """
    from apps.edit_files import edited, write_edited
    from deepphase.editing.damage import Damage, find_damage
    from deepphase.editing.repair import repaired

    names = [] if joints is None else [name.strip() for name in joints.split(",")]
    stretches = _stretches(frames)

    def make(given: list[Clip], trained: MotionEditor) -> tuple[Clip, Damage]:
        if joints is None and frames is None:
            damage = find_damage(given[0], trained)
        else:
            damage = Damage.stated(
                len(given[0]), trained.space.joints, joints=names, stretches=stretches
            )
        return repaired(given[0], trained, damage, whole=all, feet=not slide), damage

    (given,), (made, damage) = edited([clip], output, editor, player, reading, "repairing", make)
    for finding in damage.findings:
        note(finding)
    if not damage.any and not all:
        note("nothing broken was found: the clip is written as it is")
    elif not all:
        note(f"{damage.frames.sum()} of {len(given)} frames were repaired")
    write_edited(given, made, output, player)


def _stretches(text: str | None) -> list[tuple[int, int]]:
    """First and last frames of a list such as 40-65,90. Raises ParameterError."""
    stretches = []
    for part in [] if text is None else text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ParameterError(
                f"--frames {text}: {part.strip()!r} is not a stretch of frames",
                hint="give stretches separated by commas, as in 40-65,90",
            )
        stretches.append((int(first), int(last or first)))
    return stretches
