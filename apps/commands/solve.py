"""`deepphase solve`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deepphase.apps.options import FileOptions
from deepphase.apps.terminal import (
    list_or_refuse,
    next_step,
    note,
    progress,
    refuse_unwritten,
    table,
    warn,
)
from deepphase.errors import DeepPhaseError
from deepphase.short_repr import counted

if TYPE_CHECKING:
    from deepphase.corpus.solved_files import SolvedFile
    from deepphase.solving.solve import DistanceSpread

# Number of files whose residuals are listed.
_MAX_LISTED = 60


def command(
    points: list[Path],
    output: Path,
    own_lengths: bool = False,
    reading: FileOptions = FileOptions(),  # noqa: B008 (frozen)
) -> None:
    """Solve for a skeleton and its joint rotations from point tracks.

    Bone lengths are constant, feet are held while they are in contact, and a floor whose height
    drifts is levelled. Files of one set share one skeleton. Prints the residual: the distance of
    the points from their places on the skeleton.

    Parameters
    ----------
    points
        Point tracks (.npz), or folders of them.
    output
        Clip to write (.bvh, .glb or .npz); a folder of .bvh if there are several files, with links
        to the sound files beside the tracks.
    own_lengths
        Solve for the bone lengths of each file separately. If not given, all files share the
        median lengths, and people of other sizes are scaled as a whole.
    """
    from deepphase.corpus.clips import agreed_point_sets, files_of_bodies
    from deepphase.corpus.motion_files import clip_targets, find_motion_files
    from deepphase.corpus.solved_files import solve_files
    from deepphase.formats.reading import checked_options

    checked_options(reading.unit, reading.up, reading.file_fps)
    files = files_of_bodies(find_motion_files(points))
    targets = clip_targets(
        [file.name for file in files], [file.path for file in files], output, "bvh"
    )
    refused: list[DeepPhaseError] = []
    done = _Residuals()
    with progress() as shown:
        point_sets = agreed_point_sets(files, reading.description, **reading.reader)
        for result in solve_files(
            files,
            targets,
            point_sets,
            own_lengths=own_lengths,
            reader=reading.reader,
            progress=shown,
        ):
            if result.error is None:
                done.add(result)
            else:
                refused.append(result.error)
    list_or_refuse(refused, len(refused) + done.clips, "files", "solved")
    for points_of_set, text in point_sets.notes:
        warn(f"{points_of_set}: {text}")
    if done.clips:
        done.report()
    clips, minutes = counted(done.clips, "clip"), done.seconds / 60.0
    note(f"{clips}, {minutes:.1f} minutes, {done.joints} joints -> {output}")
    refuse_unwritten(refused)
    next_step("prepare", output, "-o", "mocap.store")


class _Residuals:
    """Residuals and feet of all files, without their frames."""

    def __init__(self) -> None:
        from deepphase.solving.solve import DistanceSpread

        self.clips, self.joints, self.seconds = 0, 0, 0.0
        self._all, self._moved = DistanceSpread(), DistanceSpread()
        self._points: tuple[str, ...] = ()
        self._carriers: tuple[str, ...] = ()
        self._of_points = DistanceSpread()
        self._listed: list[tuple[str, ...]] = []
        self._notes: dict[str, None] = {}
        # Frames in contact, and their number times the speed before and after.
        self._sliding = np.zeros(3)

    def add(self, file: SolvedFile) -> None:
        """Add a file that was solved."""
        from deepphase.solving.solve import DistanceSpread

        if not self.clips:
            self._points, self._carriers = tuple(file.points), tuple(file.carriers)
            self._of_points, self.joints = DistanceSpread(len(file.points)), file.joints
            self._notes = dict.fromkeys(file.notes)
        self.clips += 1
        self.seconds += file.seconds
        self._all.add(file.residuals.reshape(-1, 1))
        if tuple(file.points) == self._points:
            self._of_points.add(file.residuals)
        if len(self._listed) < _MAX_LISTED:
            own = DistanceSpread()
            own.add(file.residuals.reshape(-1, 1))
            self._listed.append((file.name, *_mean_and_high(own), f"{file.scale:.2f}"))
        feet = file.feet
        if feet is not None and feet.contacts.any():
            weight = float(feet.contacts.sum())
            self._sliding += weight * np.array([1.0, feet.sliding_before, feet.sliding_after])
            self._moved.add(feet.moved.reshape(-1, 1))

    def report(self) -> None:
        """Print the tables."""
        pairs = zip(self._points, self._carriers, strict=True)
        table(
            ("point", "fixed to", "mean cm", "95 % cm"),
            [(*pair, *_mean_and_high(self._of_points, at)) for at, pair in enumerate(pairs)],
        )
        if self.clips > 1:
            table(("clip", "mean cm", "95 % cm", "size"), self._listed)
        for text in self._notes:
            note(text)
        mean, high = _mean_and_high(self._all)
        note(f"residual {mean} cm on average, {high} cm at the 95th percentile")
        if self._sliding[0]:
            before, after = 100.0 * self._sliding[1:] / self._sliding[0]
            mean, high = (
                f"{100.0 * size:.1f}" for size in (self._moved.mean(), self._moved.percentile(95))
            )
            note(
                f"feet in contact slid at {before:.1f} cm/s and now at {after:.1f}; for that they "
                f"were moved by {mean} cm on average, {high} at the 95th percentile"
            )


def _mean_and_high(spread: DistanceSpread, column: int = 0) -> tuple[str, str]:
    """Mean and 95th percentile in cm."""
    return (
        f"{100.0 * spread.mean(column):.2f}",
        f"{100.0 * spread.percentile(95, column):.2f}",
    )
