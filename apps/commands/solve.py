"""`deepphase solve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deepphase.apps import terminal
from deepphase.apps.input_checks import claimed
from deepphase.apps.options import FileOptions
from deepphase.arrays import counted
from deepphase.corpus.motion_files import clip_targets, find_motion_files
from deepphase.formats.reading import checked_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepphase.corpus.solved_files import SolvedFile


def command(
    points: list[Path],
    output: Path,
    reading: FileOptions = FileOptions(),  # noqa: B008 (frozen)
) -> None:
    """Solve for a skeleton and its joint rotations from point tracks.

    Bone lengths are constant, feet are held while they are in contact, and a floor whose height
    drifts is levelled. Files of one set share one skeleton of median lengths; people of other
    sizes are scaled as a whole. Prints the residual: the distance of
    the points from their places on the skeleton.

    Parameters
    ----------
    points
        Point tracks (.npz), or folders of them.
    output
        Clip to write (.bvh, .glb or .npz); a folder of .bvh if there are several files, with links
        to the sound files beside the tracks.
    """
    from deepphase.corpus.clips import agreed_point_sets, files_of_bodies
    from deepphase.corpus.solved_files import solve_files

    checked_options(reading.unit, reading.up, reading.file_fps)
    files = files_of_bodies(find_motion_files(points))
    names, paths = [file.name for file in files], [file.path for file in files]
    targets = claimed(clip_targets(names, paths, output, "bvh"))
    with terminal.progress() as shown:
        point_sets = agreed_point_sets(files, reading.description, **reading.reader)
        results = list(
            solve_files(files, targets, point_sets, reader=reading.reader, progress=shown)
        )
    refused = [result.error for result in results if result.error is not None]
    solved = [result for result in results if result.error is None]
    terminal.list_or_refuse(refused, len(results), "files", "solved")
    for points_of_set, text in point_sets.notes:
        terminal.warn(f"{points_of_set}: {text}")
    if solved:
        _show(solved)
    minutes, joints = sum(file.seconds for file in solved) / 60.0, [file.joints for file in solved]
    clips = f"{counted(len(solved), 'clip')}, {minutes:.1f} minutes"
    terminal.note(f"{clips}, {max(joints, default=0)} joints -> {output}")
    terminal.refuse_unwritten(refused)
    terminal.next_step("prepare", output, "-o", "mocap.store")


def _show(solved: Sequence[SolvedFile]) -> None:
    """Print the residuals of points and clips, and what holding feet changed."""
    first = solved[0]
    frames = [file.frames for file in solved if file.points == first.points]
    of_points = [file.residuals for file in solved if file.points == first.points]
    sizes = 100.0 * np.average(of_points, axis=0, weights=frames)[1:]
    of_each = zip(first.points, first.carriers, sizes, strict=True)
    rows = [(point, joint, f"{mean:.2f}", f"{high:.2f}") for point, joint, (mean, high) in of_each]
    terminal.table(("point", "fixed to", "mean cm", "95 % cm"), rows)
    if len(solved) > 1:
        of_clips = [
            (file.name, *(f"{100.0 * size:.2f}" for size in file.residuals[0]), f"{file.scale:.2f}")
            for file in solved
        ]
        terminal.table(("clip", "mean cm", "95 % cm", "size"), of_clips, more="clips")
    for text in first.notes:
        terminal.note(text)
    frames = [file.frames for file in solved]
    mean, high = 100.0 * np.average([file.residuals[0] for file in solved], axis=0, weights=frames)
    terminal.note(f"residual {mean:.2f} cm on average, {high:.2f} cm at the 95th percentile")
    feet = np.array([file.feet for file in solved])
    if feet[:, 0].any():
        _, before, after, mean, high = 100.0 * np.average(feet, axis=0, weights=feet[:, 0])
        slid = f"feet in contact slid at {before:.1f} cm/s and now at {after:.1f}"
        moved = f"moved by {mean:.1f} cm on average, {high:.1f} at the 95th percentile"
        terminal.note(f"{slid}; for that they were {moved}")
