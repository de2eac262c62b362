"""`deepphase edit`: what an editor makes of clips, of paths, and of hands and feet."""

from __future__ import annotations

from pathlib import Path

import deepphase as dp
from deepphase.apps import edit_files
from deepphase.apps.options import complete_goals, parse_names, parse_stretches, read_goals
from deepphase.apps.terminal import note, warn, working
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip

_EDIT = edit_files.EditOptions()


def repair_command(
    clip: Path,
    output: Path | None = None,
    joints: str | None = None,
    frames: str | None = None,
    ground: bool = False,
    uneven: bool = False,
    edit: edit_files.EditOptions = _EDIT,
) -> None:
    """Repair a clip: what is damaged is restored, all else stays as it is.

    Without joints and frames, damage is found: dropped frames and missing joints, and with an
    editor of your own clips also jumps, noise and stepped keys. What changes, and by how much, is
    printed first. Without an editor, one that comes with the package restores bodies on two legs;
    gaps of others are interpolated.

    Parameters
    ----------
    output
        Clip to write (.bvh, .glb or .npz); if not given, what would change is only printed.
    joints
        Names of the broken joints, separated by commas. All joints if only frames are named.
    frames
        Broken frames, counted from 0: stretches separated by commas, as in 40-65,90. All frames if
        only joints are named.
    ground
        Level a drifting or tilted floor, and hold sliding feet where they stand, in all frames.
    uneven
        With --ground, leave the floor as it is, for stairs and slopes.
    """
    from deepphase.edit.motion_rows import MotionSpace
    from deepphase.edit.repair import change_between

    names, stretches = parse_names(joints), parse_stretches(frames)
    # Bodies of other kinds have smooth curves in their gaps.
    (given,), editor = edit_files.open_clips([clip], output, edit, without="biped")
    is_named = joints is not None or frames is not None
    # Without names and an editor, notes say what else can be done.
    tells = edit.editor is None and not is_named
    space = MotionSpace.from_clip(given, given.fps) if editor is None else editor.space
    with working("repairing", clip.name):
        if is_named:
            damage = dp.edit.Damage.stated(
                len(given), space.joints, joints=names, stretches=stretches
            )
        else:
            damage = dp.edit.find_damage(given, editor)
        made = dp.edit.repaired(given, editor, damage)
        held = dp.edit.grounded(made, space, level=not uneven) if ground or tells else None
    change = f"repair: {change_between(given, made)}" if damage.any else ""
    for text in (*damage.findings, change or "no damage was found: the repair changes nothing"):
        note(text)
    if held is not None and ground:
        made = held.clip
        for finding in held.findings:
            note(finding)
        if held.drift or held.tilt:
            note("stairs and slopes stay with --uneven")
    elif held is not None:
        note(f"--ground, which is not given, would do this: {'; '.join(held.findings)}")
    if tells:
        note("an editor of your own clips (--editor) also restores joints that jump or are noisy")
    if output is None:
        note("nothing is written: give -o FILE")
        return
    edit_files.write_edited(made, output, edit.player, before=given)


def inbetween_command(
    clips: list[Path],
    output: Path,
    seconds: float | None = None,
    keys: Path | None = None,
    follow: bool = False,
    edit: edit_files.EditOptions = _EDIT,
) -> None:
    """Make the motion between two clips, or between the keys of one clip.

    Parameters
    ----------
    clips
        Two motion files, of which the second follows the first; with --keys, one.
    seconds
        Duration from the last frame of the first clip to the first frame of the second.
    keys
        CSV file with a column frame, the key frames of the clip, and optionally the column time,
        the seconds at which they stand in the result.
    follow
        Turn and move the second clip to where the path of the first leads. It stays at its place
        otherwise.
    """
    from deepphase.edit.targets import read_keys

    wanted = 2 if keys is None else 1
    if len(clips) != wanted:
        raise ParameterError(
            f"this needs {wanted} clip{'s' * (wanted - 1)}, but {len(clips)} are given",
            hint="give two clips with --seconds, or one clip with --keys",
        )
    if (keys is None) == (seconds is None):
        raise ParameterError(
            "give --seconds for two clips, or --keys for one",
            hint="times of keys are in the column time of --keys",
        )
    named = None if keys is None else read_keys(keys)

    from deepphase.edit.inbetween import way_speed
    from deepphase.motion.glitches import find_glitches, without_stray_ends

    given, editor = edit_files.open_clips(clips, output, edit, without="shipped")
    assert editor is not None
    for at, path in enumerate(clips if named is None else ()):
        given[at], _, notes = without_stray_ends(given[at], find_glitches(given[at]))
        for each in notes:
            warn(f"{path.name}: {each}")
    with working("making", output.name):
        if named is not None:
            made = dp.edit.between_keys(given[0], named.frames, editor, times=named.times)
        else:
            assert seconds is not None
            needed, fast = (0.0, 0.0) if follow else way_speed(given[0], given[1], seconds, editor)
            if needed > fast:
                warn(
                    f"the way between the clips takes {needed:.1f} m/s, and the training clips "
                    f"move at {fast:.1f} m/s at most: give more --seconds, or --follow"
                )
            made = dp.edit.in_between(given[0], given[1], seconds, editor, follow=follow)
    edit_files.write_edited(made, output, edit.player, before=given[0])


def constrain_command(
    clip: Path,
    output: Path,
    targets: Path | None = None,
    path: Path | None = None,
    feet: bool = False,
    edit: edit_files.EditOptions = _EDIT,
) -> None:
    """Move a clip so that hands and feet are at targets, and the body follows a path.

    Feet in contact stay where they are, bones keep their lengths. Without an editor, one that comes
    with the package moves bodies on two legs; of others, arms and legs alone move.

    Parameters
    ----------
    targets
        CSV file with the columns joint, frame, x, y, z (metres in the clip's world) and optionally
        last: where a hand, a foot or a joint below them is, at a frame or from it to the last.
    path
        CSV file with the columns t, x, z (seconds of the clip, metres) and optionally facing
        (radians): where the root is.
    feet
        Hold feet still in contacts, also where they slide in the clip. On a path they are held.
    """
    if targets is None and path is None and not feet:
        raise ParameterError(
            "no constraint is given", hint="give --targets FILE, --path FILE or --feet"
        )
    wanted = [] if targets is None else dp.edit.read_targets(targets)
    way = None if path is None else dp.steering.read_path(path)

    # Feet alone need no editor, and bodies of other kinds have none.
    without: edit_files.Without = "biped" if wanted or way is not None else "none"
    (given,), editor = edit_files.open_clips([clip], output, edit, without=without)
    with working("searching", output.name):
        made = dp.edit.constrained(given, editor, wanted, path=way, feet=feet)
    for target, distance in zip(wanted, made.distances, strict=True):
        frames = f"frames {target.first}-{target.last}"
        if target.first == target.last:
            frames = f"frame {target.first}"
        missed = f"{target.joint} is {100 * distance:.1f} cm from its target at {frames}"
        edit_files.report_reached(distance, f"{target.joint} is at its target at {frames}", missed)
    edit_files.write_edited(made.clip, output, edit.player, before=given)


def path_command(
    editor: Path,
    path: str,
    output: Path,
    seconds: float | None = None,
    speed: float | None = None,
    joints: str | None = None,
    root: Path | None = None,
    player: Path | None = None,
) -> None:
    """Make motion along a path on the ground, or of a whole body from paths of hands and feet.

    All frames are made at once.

    Parameters
    ----------
    editor
        Editor with path networks, of `deepphase train path`.
    path
        CSV file (t, x, z and, optionally, facing), or wave, square or circle. Of hands and feet a
        CSV file of places through which they go (t, joint, x, y, z: seconds, name, metres), or a
        motion file of the editor's skeleton whose hands and feet are followed.
    seconds
        Length of wave, square and circle in seconds; 20 if not given.
    speed
        Speed in m/s along the path. If not given, a path file is followed by its times, and made
        paths at the median speed of the editor's clips.
    joints
        Hands and feet of a motion file that are followed, separated by commas; all if not given.
    root
        CSV file (t, x, z and, optionally, facing) of the root for a CSV file of hands and feet.
        Without it the body stands at the origin and faces +Z.
    player
        Page to write (.html) that plays the result; with a motion file, beside it.
    """
    file = Path(path)
    of_effectors, is_table = file.is_file() and _has_joints(file), file.suffix.lower() == ".csv"
    if of_effectors and (seconds is not None or speed is not None):
        raise ParameterError(
            "--seconds and --speed are of paths on the ground",
            hint="leave them out: hands and feet have times of their own",
        )
    if joints is not None and (is_table or not of_effectors):
        raise ParameterError(
            "--joints needs a motion file", hint="leave rows out of the CSV file instead"
        )
    if root is not None and not (is_table and of_effectors):
        raise ParameterError(
            "--root is for a CSV file of hands and feet; a motion file has a root of its own",
            hint="leave --root out",
        )
    edit_files.check_output(file if of_effectors else None, output, player)
    edit_files.check_networks(editor, "effectors" if of_effectors else "path")
    trained = edit_files.load_editor(editor)
    if of_effectors:
        made, before = _on_effectors(trained, file, parse_names(joints), root)
        title = "From hands and feet" if before is None else "Before and after"
        edit_files.write_edited(made, output, player, before=before, title=title)
    else:
        made, name = _on_path(trained, path, seconds, speed)
        edit_files.write_edited(made, output, player, title=f"Along {name}")


def _has_joints(path: Path) -> bool:
    """Whether a file has paths of joints: a motion file, or CSV with a column `joint`."""
    if path.suffix.lower() != ".csv":
        return bool(path.suffix)
    with path.open(encoding="utf-8", errors="replace") as file:
        return "joint" in parse_names(file.readline())


def _on_path(
    editor: dp.edit.MotionEditor, path: str, seconds: float | None, speed: float | None
) -> tuple[Clip, str]:
    """The clip of a character along a path, and the path's name."""
    from deepphase.edit.path_motion import path_networks

    read = read_goals(path)
    if len(read) > 1:
        raise ParameterError(f"{path!r} names several paths", hint="give one of them")
    usual = path_networks(editor).limits.usual
    (goal,) = complete_goals(read, usual, seconds=seconds, speed=speed)
    assert isinstance(goal, dp.steering.GroundPath)
    with working("making", goal.name):
        made = dp.edit.motion_on_path(goal, editor)
    for finding in made.findings:
        warn(finding)
    return made.clip, goal.name


def _on_effectors(
    editor: dp.edit.MotionEditor, file: Path, joints: list[str], root: Path | None
) -> tuple[Clip, Clip | None]:
    """The clip of paths of hands and feet, and the clip that has them; None for a table."""
    from deepphase.edit.effector_motion import effector_networks

    effector_networks(editor)
    before = None if file.suffix.lower() == ".csv" else edit_files.read_clip(file, editor)
    with working("making", file.name):
        if before is None:
            given = dp.edit.read_effector_paths(
                file, editor, None if root is None else dp.steering.read_path(root)
            )
        else:
            given = dp.edit.EffectorPaths.from_clip(before, editor, joints)
        made = dp.edit.motion_of_effectors(given, editor)
    for finding in made.findings:
        warn(finding)
    for name, distance in zip(given.joints, made.distances, strict=True):
        missed = f"{name} is up to {100 * distance:.1f} cm from its path"
        edit_files.report_reached(distance, f"{name} is on its path", missed)
    return made.clip, before


def style_command(
    clip: Path,
    output: Path,
    style: str | None = None,
    amount: float = 1.0,
    edit: edit_files.EditOptions = _EDIT,
) -> None:
    """Give a clip the style of other clips; its timing and its path stay.

    Parameters
    ----------
    clip
        Motion file whose movement stays.
    style
        Motion files of one style, separated by commas; best of the same action.
    amount
        How much of the style: 0 is none, 1 all, 1.5 the most.
    """
    styles = [Path(name) for name in parse_names(style)]
    if not styles:
        raise ParameterError("no style is given", hint="give --style: one motion file or several")

    given, editor = edit_files.open_clips([clip, *styles], output, edit, without="shipped")

    assert editor is not None
    with working("styling", output.name):
        made = dp.edit.styled(given[0], given[1:], editor, amount=amount)
    before, after = made.distance_before, made.distance_after
    note(f"distance from the style (Gram matrix): {before:.2f} before, {after:.2f} after")
    edit_files.write_edited(made.clip, output, edit.player, before=given[0])
