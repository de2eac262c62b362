"""`deepphase edit repair`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ClipOptions
from apps.terminal import next_step, note, progress
from deepphase.errors import ParameterError


def command(
    clip: Path,
    output: Path,
    editor: Path | None = None,
    joints: str | None = None,
    frames: str | None = None,
    all: bool = False,
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
    from deepphase.editing.damage import Damage, find_damage
    from deepphase.editing.repair import repaired

    check_output(clip, output, player)
    trained = load_editor(editor)
    with progress() as report_progress:
        report_progress("reading", 0, 2, clip.name)
        given = trained.space.on_hips(read_clip(clip, trained, reading))
        report_progress("repairing", 1, 2, clip.name)
        if joints is None and frames is None:
            damage = find_damage(given, trained)
        else:
            names = [] if joints is None else [name.strip() for name in joints.split(",")]
            damage = Damage.stated(
                len(given), trained.space.joints, joints=names, stretches=_stretches(frames)
            )
        made = repaired(given, trained, damage, whole=all)
        report_progress("repairing", 2, 2, clip.name)
    for finding in damage.findings:
        note(finding)
    if not damage.any and not all:
        note("nothing broken was found: the clip is written as it is")
    elif not all:
        note(f"{damage.frames.sum()} of {len(given)} frames were repaired")
    save_edited(made, output)
    if player is not None:
        save_before_and_after(given, made, player)
    next_step("play", output)


def _stretches(text: str | None) -> list[tuple[int, int]]:
    """First and last frames of a list such as 40-65,90. Raises ParameterError."""
    stretches = []
    for part in [] if text is None else text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise ParameterError(
                f"--frames {text}: {part.strip()!r} is no stretch of frames",
                hint="give stretches separated by commas, as in 40-65,90",
            )
        stretches.append((int(first), int(last or first)))
    return stretches
