"""`deepphase solve`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from apps.options.groups import FileOptions
from apps.terminal import list_left_out, next_step, note, progress, table, warn
from deepphase.errors import (
    CheckpointError,
    DeepPhaseError,
    FormatError,
    ParameterError,
    SkeletonError,
)

if TYPE_CHECKING:
    from deepphase.corpus.motion_files import MotionFile
    from deepphase.motion.point_track import PointTrack
    from deepphase.solving.body import BodyModel
    from deepphase.solving.solve import SolvedMotion

# Number of files whose residuals are listed.
_MAX_LISTED = 60


def command(
    points: list[Path],
    output: Path,
    own_lengths: bool = False,
    skeleton_of: Path | None = None,
    smoothing_hz: float = 6.0,
    keep_feet: bool = False,
    keep_floor: bool = False,
    format: Literal["bvh", "glb", "npz"] = "bvh",
    songs: Literal["link", "copy", "leave"] = "link",
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
        Clip to write (.bvh, .glb or .npz); a folder if there are several files.
    own_lengths
        Solve for the bone lengths of each file separately. If not given, all files share the
        median lengths, and people of other sizes are scaled as a whole.
    skeleton_of
        Point track whose bone lengths all files take.
    smoothing_hz
        Cutoff frequency of the low-pass filter in Hz; 0 for no filter.
    keep_feet
        Leave feet where the points have them, without holding them during contacts.
    keep_floor
        Leave the floor as it is, without levelling its drift.
    format
        File format of the clips in an output folder.
    songs
        Handling of the sound file beside a track: link it beside the clip, copy it, or leave it.
    """
    from deepphase.corpus.motion_files import check_file_options, find_motion_files
    from deepphase.corpus.point_sets import agreed_point_sets
    from deepphase.formats.load import save
    from deepphase.solving.solve import SolveSettings, solve_points

    if own_lengths and skeleton_of is not None:
        raise ParameterError(
            "--own-lengths and --skeleton-of exclude each other", hint="give one of them"
        )
    settings = SolveSettings(smoothing_hz, hold_feet=not keep_feet, level_floor=not keep_floor)
    check_file_options(reading.unit, reading.up, reading.file_fps)
    description, reader = reading.description, reading.reader
    files = find_motion_files(points)
    targets = _targets(files, points, output, format)
    refused: list[DeepPhaseError] = []
    done: list[tuple[str, SolvedMotion]] = []
    with progress() as shown:
        point_sets = agreed_point_sets(files, description, **reader)
        tracks: dict[int, PointTrack] = {}
        for index, each in enumerate(files):
            try:
                tracks[index] = replace(_track(each.path, reader), name=each.name)
            except DeepPhaseError as error:
                refused.append(error)
            shown("reading", index + 1, len(files), "")
        bodies: dict[tuple[str, ...], BodyModel | DeepPhaseError] = {}
        if tracks and not own_lengths:
            bodies = _bodies(
                list(tracks.values()), point_sets.structures, description, skeleton_of, reader
            )
        for count, (index, track) in enumerate(tracks.items(), start=1):
            try:
                body = bodies.get(track.names)
                if isinstance(body, DeepPhaseError):
                    raise body
                structure = point_sets.structures.get(track.names)
                result = solve_points(
                    track, body, description=description, structure=structure, settings=settings
                )
                save(result.clip, targets[index])
                _bring_song(files[index].path, targets[index], songs)
                done.append((track.name, result))
            except CheckpointError:
                # Where one clip cannot be written, no other can.
                raise
            except DeepPhaseError as error:
                refused.append(error)
            shown("solving", count, len(tracks), "")
    if len(files) == len(refused) == 1:
        raise refused[0]
    list_left_out("left out", refused)
    for points_of_set, text in point_sets.notes:
        warn(f"{points_of_set}: {text}")
    if not done:
        raise FormatError(
            f"none of {len(refused)} files could be solved", hint="the reasons are listed above"
        )
    _report(done, output)
    next_step("prepare", output, "-o", "mocap.store")


def _targets(files: list[MotionFile], points: list[Path], output: Path, format: str) -> list[Path]:
    """The output file of each track, checked before the work begins."""
    from deepphase.atomic_write import check_writable
    from deepphase.formats.load import MOTION_FORMATS

    one = len(files) == 1 and not points[0].is_dir()
    if output.suffix.lower() in MOTION_FORMATS and not output.is_dir():
        if not one:
            raise ParameterError(
                f"-o names one file, but there are {len(files)} to write",
                hint="name a folder",
                path=output,
            )
        targets = [output]
    else:
        targets = [output / f"{each.name}.{format}" for each in files]
    for target, each in zip(targets, files, strict=True):
        if target.resolve() == each.path.resolve():
            raise ParameterError(
                "the clip would overwrite its point track",
                hint="choose another folder",
                path=target,
            )
    check_writable(targets[0])
    return targets


def _track(path: Path, reader: dict[str, Any]) -> PointTrack:
    from deepphase.formats.load import load
    from deepphase.formats.points import holds_points, load_points
    from deepphase.solving.solve import track_of

    if holds_points(path):
        return load_points(path, **reader)
    # The reader of another format reports what is wrong with its file.
    return track_of(load(path, **reader))


def _bodies(
    tracks: list[PointTrack],
    structures: Any,
    description: dict[str, Any] | None,
    skeleton_of: Path | None,
    reader: dict[str, Any],
) -> dict[tuple[str, ...], BodyModel | DeepPhaseError]:
    """Point names -> the body that tracks of these points share, or the error of its fit."""
    from deepphase.solving.fitting import solve_body

    reference = None if skeleton_of is None else _track(skeleton_of, reader)
    bodies: dict[tuple[str, ...], BodyModel | DeepPhaseError] = {}
    for names in dict.fromkeys(track.names for track in tracks):
        of_set = [track for track in tracks if track.names == names]
        try:
            if reference is not None and len(reference.names) != len(names):
                raise SkeletonError(
                    f"{len(names)} points, but --skeleton-of has {len(reference.names)}",
                    path=of_set[0].source.path,
                )
            structure = structures.get(names)
            bodies[names] = solve_body(
                of_set if reference is None else [reference], description, structure=structure
            )
        except DeepPhaseError as error:
            bodies[names] = error
    return bodies


def _bring_song(track: Path, target: Path, how: str) -> None:
    """Link or copy the song beside a track to a file beside the clip."""
    import os
    import shutil

    from deepphase.atomic_write import atomic_write
    from deepphase.corpus.motion_files import song_beside

    name = song_beside(track)
    if not name or how == "leave" or song_beside(target):
        return
    song = track.with_name(name).resolve()
    beside = target.with_suffix(song.suffix)
    if how == "link":
        try:
            os.symlink(song, beside)
            return
        except OSError:
            # The disk has no links: copy the song.
            beside.unlink(missing_ok=True)
    with song.open("rb") as source, atomic_write(beside) as copy:
        shutil.copyfileobj(source, copy)


def _report(done: list[tuple[str, SolvedMotion]], output: Path) -> None:
    import numpy as np

    def row(name: str, metres: Any, *more: str) -> tuple[str, ...]:
        centimetres = 100.0 * np.asarray(metres)
        return (name, f"{centimetres.mean():.2f}", f"{np.percentile(centimetres, 95):.2f}", *more)

    first = done[0][1]
    alike = [result for _, result in done if result.points == first.points]
    residuals = np.concatenate([result.residuals for result in alike])
    names = first.body.skeleton.names
    table(
        ("point", "fixed to", "mean cm", "95 % cm"),
        [
            (point, names[joint], *row("", residuals[:, index])[1:])
            for index, (point, joint) in enumerate(
                zip(first.points, first.body.plan.carriers, strict=True)
            )
        ],
    )
    if len(done) > 1:
        table(
            ("clip", "mean cm", "95 % cm", "size"),
            [row(name, r.residuals, f"{r.scale:.2f}") for name, r in done[:_MAX_LISTED]],
        )
    for text in dict.fromkeys(first.clip.source.notes):
        note(text)
    if len(alike) < len(done):
        note(f"the table covers {len(alike)} of {len(done)} files; the others have other points")
    everything = np.concatenate([result.residuals.ravel() for _, result in done])
    _, mean, high = row("", everything)
    note(f"residual {mean} cm on average, {high} cm at the 95th percentile")
    held = [result.feet for _, result in done if result.feet.contacts.any()]
    if held:
        weights = [float(feet.contacts.sum()) for feet in held]
        before, after = (
            100.0 * np.average([getattr(feet, name) for feet in held], weights=weights)
            for name in ("sliding_before", "sliding_after")
        )
        moved = 100.0 * np.concatenate([feet.moved.ravel() for feet in held])
        note(
            f"feet in contact slid at {before:.1f} cm/s and now at {after:.1f}; for that they were "
            f"moved by {moved.mean():.1f} cm on average, {np.percentile(moved, 95):.1f} at the "
            "95th percentile"
        )
    minutes = sum(result.clip.duration for _, result in done) / 60.0
    note(f"{len(done)} clips, {minutes:.1f} minutes, {len(names)} joints -> {output}")
