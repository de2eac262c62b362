"""Point tracks, positions over time without rotations: files of markers, and .npz.

Files of markers are read by `deepphase.formats.markers`. Of .npz:

===========  =======================  ==========================================================
positions    (frames, points, 3)      in the file's unit; or both of the next two
joints_rel   (frames, points, 3)      relative to the body's centre
center       (frames, 3)              the centre
fps          ()                       frames a second; also `framerate`, `mocap_framerate`
units        () str                   "m", "cm", "mm", "inch", "foot"; inferred if it is missing
names        (points,) str            if known; also `bone_names`, `joint_names`
edges        (edges, 2) int           pairs of connected points, if known
present      (frames, points) bool    whether a point was seen; positions in gaps are bridged
===========  =======================  ==========================================================

A .npy has positions alone, (frames, joints, 3), as programs that make motion from text write them:
the 22 joints of SMPL at 20 frames a second.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import DeepPhaseError, FormatError, within_memory
from deepphase.formats.amass import LAYOUTS, is_amass
from deepphase.formats.frame_rates import resolve_rate
from deepphase.formats.markers.c3d import read_c3d
from deepphase.formats.markers.marker_data import MAX_POINTS, MarkerData, seen_markers
from deepphase.formats.markers.tables import read_motive, read_trc
from deepphase.formats.npz.archive import NpzArchive, read_npy, read_npz, write_npz
from deepphase.formats.npz.joint_arrays import NAME_KEYS, is_joint_arrays, is_npz_motion
from deepphase.formats.reading import (
    EXPORT_AGAIN,
    LARGEST_LENGTH_M,
    METRES_PER_UNIT,
    checked_floor,
    checked_options,
    foreign_content,
    metres_per_unit,
    read_content,
)
from deepphase.formats.smpl_skeleton import smpl_skeleton
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.orientation import turn_to_y
from deepphase.motion.point_track import PointTrack, without_balls
from deepphase.solving.point_limbs import body_size, infer_points_up
from deepphase.solving.point_structure import clip_of_points, plain_names

# Metres: sizes of bodies from a cat to a horse.
_SMALLEST_BODY, _LARGEST_BODY = 0.2, 5.0
_GUESSED_UNITS = ("m", "cm", "mm", "inch")
# Frames a second of HumanML3D, whose form motion from text has.
_TEXT_TO_MOTION_FPS = 20.0
# Joints of a .npy that is taken for motion where it is not named as such.
_TEXT_TO_MOTION_JOINTS = (22, 24)
# Suffix -> reader of files of markers.
_MARKER_READERS = {".c3d": read_c3d, ".trc": read_trc, ".csv": read_motive}


def is_points(keys: Collection[str]) -> bool:
    """Whether an archive with these arrays contains a point track."""
    return "positions" in keys or {"joints_rel", "center"} <= set(keys)


def is_point_archive(path: Path) -> bool:
    """Whether an .npz is a point track; False where it cannot be read."""
    try:
        keys = within_memory(read_npz, path).keys
    except DeepPhaseError:
        return False
    # Archives of joints with rotations may contain positions as well.
    others = (is_npz_motion, is_joint_arrays, is_amass)
    return is_points(keys) and not any(holds(keys) for holds in others)


def load_points(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    floor: float | None = None,
) -> PointTrack:
    """Read a point track: metres, Y up. The suffix selects the format: .npz, .npy, .c3d, .trc
    or .csv.

    Gaps of markers are bridged by straight lines, and stated in `present` and in the notes.

    Parameters
    ----------
    unit
        "m", "cm", "mm", "inch", "foot" or metres in one unit; None takes the file's unit, else one
        that gives the points the size of a body.
    up
        The file's up axis: "x", "y", "z", "-x", "-y" or "-z"; None infers it from the motion.
    fps
        Frames per second that override the file's.
    floor
        Height in metres of the floor in the file, which becomes 0.
    """
    path, fault = Path(path), partial(FormatError, path=path)
    given_m = checked_options(unit, up, fps)
    reader = _MARKER_READERS.get(path.suffix.lower())
    edges, present = np.zeros((0, 2), np.int64), None
    if reader is not None:
        data, present = seen_markers(reader(path), path)
    elif path.suffix.lower() == ".npy":
        data, edges = _read_npy(path)
    else:
        data, edges, present = _read_npz(path)
    rate, notes = resolve_rate(data.rates, fps, path)
    if fps is None and path.suffix.lower() == ".npy":
        notes = (*notes, f"{rate:g} frames a second are assumed, as of motion from text")
    positions = data.positions
    # Prevents overflow in the checks below.
    if np.abs(positions).max() > np.finfo(np.float32).max:
        raise fault("positions beyond what float32 holds", hint=EXPORT_AGAIN)
    unit_m, note = _unit(body_size(positions), given_m, data.unit_m)
    positions = positions * positions.dtype.type(unit_m)
    if np.abs(positions).max() > LARGEST_LENGTH_M:
        raise fault(
            f"a point {np.abs(positions).max():.3g} m from the origin is too far",
            hint="the unit may be wrong: give it with --unit",
        )
    notes = (*notes, *data.notes, note)
    if up is None:
        up, note = infer_points_up(positions, edges)
        notes = (*notes, note)
    positions = _turned(positions, up)
    positions[..., 1] -= checked_floor(floor)
    return PointTrack(
        names=data.names,
        positions=positions,
        fps=rate,
        edges=edges,
        source=Source(str(path), unit_m, up, rate, notes=notes),
        name=path.stem,
        present=None if present is None or present.all() else present,
    )


def load_points_as_clip(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    description: Mapping[str, Any] | None = None,
) -> Clip:
    """Read a point track as a clip whose joints are its points; see `clip_of_points`."""
    return clip_of_points(without_balls(load_points(path, unit=unit, up=up, fps=fps)), description)


def save_points(track: PointTrack, path: str | Path) -> None:
    """Write a point track: metres, Y up."""
    arrays = {
        "positions": track.positions,
        "fps": np.float64(track.fps),
        "units": np.str_("m"),
        "names": np.array(track.names),
    }
    if track.names == plain_names(len(track.names)):
        # Default names are not stored.
        del arrays["names"]
    if len(track.edges):
        arrays["edges"] = track.edges
    if track.present is not None:
        arrays["present"] = track.present
    write_npz(path, arrays)


def is_text_to_motion(path: Path) -> bool:
    """Whether a .npy has the shape of motion from text; most such files are other arrays."""
    try:
        shape = np.load(path, mmap_mode="r", allow_pickle=False).shape
    except (OSError, ValueError, EOFError):
        return False
    return len(shape) == 3 and shape[1] in _TEXT_TO_MOTION_JOINTS and shape[2] == 3


def _read_npy(path: Path) -> tuple[MarkerData, Array]:
    """The points of a .npy, and their edges."""
    fault = partial(FormatError, path=path)
    found = foreign_content(read_content(path))
    if found and "npy" not in found:
        raise fault(f"this is not a .npy file: {found}")
    positions = read_npy(path)
    shape = positions.shape
    if len(shape) != 3 or shape[2] != 3 or positions.dtype.kind not in "fiu":
        raise fault(
            f"an array {shape} of {positions.dtype!s:.40} is not a motion",
            hint="(frames, joints, 3) positions are read",
        )
    if 0 in shape or shape[1] > MAX_POINTS or not np.isfinite(positions).all():
        raise fault(
            f"{shape[0]:,} frames of {shape[1]:,} points, or places that are not finite",
            hint=f"a frame and up to {MAX_POINTS:,} points are read",
        )
    names, edges = LAYOUTS.get(shape[1]), np.zeros((0, 2), np.int64)
    if names is not None:
        parents = smpl_skeleton(names).parents
        edges = np.stack([parents[1:], np.arange(1, len(parents))], axis=1)
    kind = positions.dtype.newbyteorder("=") if positions.dtype.kind == "f" else np.float64
    rates = {"motion from text": _TEXT_TO_MOTION_FPS}
    return MarkerData(names or plain_names(shape[1]), positions.astype(kind), rates), edges


def _read_npz(path: Path) -> tuple[MarkerData, Array, Array | None]:
    """The points, their edges, and which were seen."""
    archive = read_npz(path)
    stated, positions = archive.rates(), _positions(archive)
    points = positions.shape[1]
    present = None
    if "present" in archive:
        present = archive.array("present", positions.shape[:2], "bool")
    data = MarkerData(_names(archive, points), positions, stated, _file_unit(archive))
    return data, _edges(archive, points), present


def _positions(archive: NpzArchive) -> Array:
    key = "positions" if "positions" in archive else "joints_rel"
    if key not in archive:
        raise archive.fault(
            "this is not a point track: no array 'positions', nor 'joints_rel' and 'center'",
            archive.contents,
        )
    frames, points, *_ = (*archive.shape(key), 0, 0)
    if points > MAX_POINTS:
        raise archive.fault(f"one body has {points:,} points", f"the limit is {MAX_POINTS:,}")
    positions = archive.array(key, (None, None, 3))
    if 0 in positions.shape:
        raise archive.fault(
            f"positions have {frames} frames of {points} points: both must be at least 1"
        )
    if key == "joints_rel":
        positions = positions + archive.array("center", (len(positions), 3))[:, None]
    return positions


def _names(archive: NpzArchive, points: int) -> tuple[str, ...]:
    key = archive.first(NAME_KEYS)
    if not key:
        return plain_names(points)
    names = archive.strings(key)
    if len(names) != points:
        raise archive.fault(
            f"there are {len(names)} names for {points} points",
            "save the file again with one name for each point",
        )
    if len(set(names)) != points:
        twice = next(name for name in names if names.count(name) > 1)
        raise archive.fault(f"two points are named {twice!r}", "rename one of them")
    return names


def _edges(archive: NpzArchive, points: int) -> Array:
    if "edges" not in archive:
        return np.zeros((0, 2), np.int64)
    edges = archive.array("edges", (None, 2), "integer")
    wrong = ((edges < 0) | (edges >= points)).any(axis=1) | (edges[:, 0] == edges[:, 1])
    if wrong.any():
        first, second = edges[wrong][0]
        raise archive.fault(
            f"an edge is from point {first} to point {second}, of {points} points",
            "edges hold indices of two different points, from 0",
        )
    return edges


def _file_unit(archive: NpzArchive) -> float | None:
    if "units" not in archive:
        return None
    word = archive.text("units")
    if word.strip().lower() not in METRES_PER_UNIT:
        raise archive.fault(
            f"units of {word[:40]!r} are not known",
            f"{', '.join(METRES_PER_UNIT)} are known; give another with --unit",
        )
    return metres_per_unit(word)


def _unit(size: float, given_m: float | None, file_m: float | None) -> tuple[float, str]:
    """Metres in one unit, and a sentence on the evidence."""

    def fits(metres: float) -> bool:
        return _SMALLEST_BODY <= size * metres <= _LARGEST_BODY

    for known, source in ((given_m, "as given"), (file_m, "as the file states")):
        if known is not None:
            doubt = "" if fits(known) else ": an unusual size, check the unit"
            return (
                known,
                f"a unit of {known:g} m {source}; the body measures {size * known:.2f} m{doubt}",
            )
    for name in _GUESSED_UNITS:
        if fits(metres_per_unit(name)):
            metres = metres_per_unit(name)
            return metres, f"unit assumed to be {name}: the body is then {size * metres:.2f} m"
    return 1.0, f"unit assumed to be m: a body of {size:.3g} units matches no unit better"


def _turned(positions: Array, up: str) -> Array:
    turn = turn_to_y(up)
    if turn[3] == 1.0:
        return positions
    # A quarter turn only permutes and negates coordinates: rounding keeps them exact.
    matrix = np.rint(np.stack([quaternions.rotate(turn, axis) for axis in np.eye(3)]))
    return positions @ matrix.astype(positions.dtype)
