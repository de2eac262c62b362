"""`deepphase edit effectors`."""

from __future__ import annotations

from pathlib import Path

from apps.options.groups import ClipOptions
from apps.terminal import next_step, progress, warn


def command(
    editor: Path,
    paths: Path,
    output: Path,
    joints: str | None = None,
    path: Path | None = None,
    slide: bool = False,
    player: Path | None = None,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Make the motion of a whole body from the paths of its hands and feet.

    Parameters
    ----------
    editor
        Editor with networks for hands and feet, of `deepphase train path --effectors`.
    paths
        CSV file (t, joint, x, y, z: seconds, name, metres) of places through which hands and feet
        go, or a motion file of the editor's skeleton whose hands and feet are followed.
    output
        Clip to write (.bvh, .glb or .npz).
    joints
        Hands and feet of the motion file that are followed, separated by commas; all if not given.
    path
        CSV file (t, x, z and, optionally, facing) of the root. Without it the body stands at the
        origin and faces +Z, or follows the root of the motion file.
    slide
        Leave hands and feet where the network puts them; they are moved onto their paths by inverse
        kinematics otherwise.
    player
        Page to write (.html) that plays the result; with a motion file, beside it.
    """
    from apps.edit_files import (
        check_output,
        load_editor,
        read_clip,
        report_reached,
        save_before_and_after,
        save_edited,
        save_page,
    )
    from deepphase.editing.effector_motion import (
        EffectorPaths,
        effector_networks,
        motion_of_effectors,
        read_effector_paths,
    )
    from deepphase.errors import ParameterError
    from deepphase.steering.path import read_path

    check_output(paths, output, player)
    is_table = paths.suffix.lower() == ".csv"
    if is_table and joints is not None:
        raise ParameterError(
            "--joints needs a motion file", hint="leave rows out of the CSV file instead"
        )
    if not is_table and path is not None:
        raise ParameterError(
            "--path is for a CSV file; a motion file has a root of its own",
            hint="leave --path out",
        )
    trained = load_editor(editor)
    effector_networks(trained)
    clip = None if is_table else trained.space.on_hips(read_clip(paths, trained, reading))
    with progress() as report_progress:
        report_progress("making", 0, 1, paths.name)
        if clip is None:
            way = None if path is None else read_path(path)
            given = read_effector_paths(paths, trained, way)
        else:
            names = [name.strip() for name in (joints or "").split(",") if name.strip()]
            given = EffectorPaths.of_clip(clip, trained, names)
        made = motion_of_effectors(given, trained, exact=not slide)
        report_progress("making", 1, 1, paths.name)
    for finding in made.findings:
        warn(finding)
    for name, distance in zip(given.joints, made.distances, strict=True):
        report_reached(
            distance,
            f"{name} is on its path",
            f"{name} is up to {100 * distance:.1f} cm from its path",
        )
    save_edited(made.clip, output)
    if player is not None and clip is None:
        save_page([made.clip], player, title="From hands and feet")
    elif player is not None:
        assert clip is not None
        save_before_and_after(clip, made.clip, player)
    next_step("play", output)
