"""Point tracks, positions over time without rotations: files of markers, .npz and .npy.

The arrays of an .npz are listed in docs/formats.md. A .npy has (frames, joints, 3) positions alone,
as programs that make motion from text write them: 22 or 24 joints of SMPL at 20 frames a second, or
the 21 of KIT-ML at 12.5.

References
----------
Guo et al. 2022, Generating diverse and natural 3D human motions from text: `paramUtil.py` has the
chains of KIT-ML.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.formats.amass import LAYOUTS, is_amass, smpl_skeleton
from deepphase.formats.markers.c3d import read_c3d
from deepphase.formats.markers.marker_data import (
    MAX_POINTS,
    MarkerData,
    marker_bodies,
    seen_markers,
)
from deepphase.formats.markers.tables import read_motive, read_trc
from deepphase.formats.npz.archive import NpzArchive, npy_shape, read_npy, read_npz, write_npz
from deepphase.formats.npz.joint_arrays import is_joint_arrays, is_npz_motion, stated_names
from deepphase.formats.reading import (
    CHECK,
    EXPORT_AGAIN,
    LARGEST_LENGTH_M,
    METRES_PER_UNIT,
    checked_floor,
    checked_options,
    foreign_content,
    read_content,
    resolve_rate,
)
from deepphase.motion.clip import Clip, Source
from deepphase.motion.orientation import quarter_turned, turn_to_y
from deepphase.motion.point_track import PointTrack, without_balls
from deepphase.solving.marker_sets import up_of_markers
from deepphase.solving.point_limbs import body_size, infer_points_up
from deepphase.solving.point_structure import clip_of_points, plain_names
from deepphase.work import within_memory

# Metres: sizes of bodies from a cat to a horse.
_SMALLEST_BODY, _LARGEST_BODY = 0.2, 5.0
_GUESSED_UNITS = ("m", "cm", "mm", "inch")
# Frames a second of HumanML3D, whose form motion from text has, and of KIT-ML, with its parents.
_TEXT_TO_MOTION_FPS, _KIT_FPS = 20.0, 12.5
_KIT_PARENTS = (0, 1, 2, 3, 3, 5, 6, 3, 8, 9, 0, 11, 12, 13, 14, 0, 16, 17, 18, 19)
# Joints of a .npy that is taken for motion where it is not named as such.
_TEXT_TO_MOTION_JOINTS = (21, 22, 24, 52)
# The points of MediaPipe's poses, in their order, which files of them seldom name.
_FACE = "nose left_eye_inner left_eye left_eye_outer right_eye_inner right_eye right_eye_outer"
_PAIRS = "ear mouth shoulder elbow wrist pinky index thumb hip knee ankle heel foot_index"
_MEDIAPIPE = (*_FACE.split(), *(f"{s}_{p}" for p in _PAIRS.split() for s in ("left", "right")))
# Numbers a frame of the own vectors of HumanML3D and KIT-ML.
_HUMANML_WIDTHS = (263, 251)
# Deviation of the lengths of bones, as a share of their means, beyond which they are none.
_CHANGES = 0.2
# A body is thicker than this share of its extent; frames that tell.
_FLAT, _FEWEST_FRAMES = 0.02, 20
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
    animation: int | None = None,
) -> PointTrack:
    """Read a point track of .npz, .npy, .c3d, .trc or .csv: metres, Y up, gaps bridged.

    Unit, up axis and rate have precedence over the file's; `floor` is the height in metres that
    becomes 0, and `animation` the number of the body, where labels have prefixes of several.
    """
    path, unit_m, level = Path(path), checked_options(unit, up, fps), checked_floor(floor)
    bodies = _bodies(path)
    if animation is not None and not 0 <= animation < len(bodies):
        raise FormatError(f"there is no body {animation}: the file has {len(bodies)}", path=path)
    body = bodies[animation or 0]
    if animation is None and len(bodies) > 1:
        others = ", ".join(repr(other.subject) for other in bodies[1:])
        note = f"body {body.subject!r} was read; there are also {others}"
        body = replace(body, notes=(note, *body.notes))
    return _track(body, path, unit_m, up, fps, level)


def load_point_bodies(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    floor: float | None = None,
) -> tuple[PointTrack, ...]:
    """Read a track of every body of a file: one a prefix of labels, which is its name."""
    path, unit_m, level = Path(path), checked_options(unit, up, fps), checked_floor(floor)
    tracks, faults = [], {}
    for body in _bodies(path):
        try:
            tracks.append(_track(body, path, unit_m, up, fps, level))
        except FormatError as error:
            faults[body.subject] = error
    if not tracks:
        raise next(iter(faults.values()))
    notes = [f"body {name!r} is left out: {error.fact}" for name, error in faults.items()]
    return tuple(
        replace(track, source=replace(track.source, notes=(*track.source.notes, *notes)))
        for track in tracks
    )


def point_bodies(path: str | Path) -> tuple[tuple[int, str], ...]:
    """Number and name of each body of a file of markers with several; else empty."""
    subjects = enumerate(body.subject for body in _bodies(Path(path)))
    return tuple((number, subject) for number, subject in subjects if subject)


def load_points_as_clips(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    description: Mapping[str, Any] | None = None,
) -> tuple[Clip, ...]:
    """Read every body of a file of points as a clip; see `load_point_bodies`, `clip_of_points`."""
    tracks = load_point_bodies(path, unit=unit, up=up, fps=fps)
    return tuple(clip_of_points(without_balls(track), description) for track in tracks)


def _bodies(path: Path) -> list[MarkerData]:
    reader = _MARKER_READERS.get(path.suffix.lower())
    if reader is not None:
        return marker_bodies(reader(path))
    return _read_npy(path) if path.suffix.lower() == ".npy" else [_read_npz(path)]


def _track(
    data: MarkerData,
    path: Path,
    given_m: float | None,
    up: str | None,
    fps: float | None,
    floor: float,
) -> PointTrack:
    fault = partial(FormatError, path=path)
    data = seen_markers(data, path)
    rate, notes = resolve_rate(data.rates, fps, path)
    if fps is None and path.suffix.lower() == ".npy":
        notes = (*notes, f"{rate:g} frames a second are assumed, as of motion from text")
    positions = data.positions
    # Prevents overflow in the checks below.
    if np.abs(positions).max() > np.finfo(np.float32).max:
        raise fault("positions beyond what float32 holds", hint=EXPORT_AGAIN)
    unit_m, note = _unit(body_size(positions), given_m, data.unit_m)
    positions = positions * positions.dtype.type(unit_m)
    if (farthest := np.abs(positions).max()) > LARGEST_LENGTH_M:
        hint = "the unit may be wrong: give it with --unit"
        raise fault(f"a point {farthest:.3g} m from the origin is too far", hint=hint)
    notes = (*notes, *data.notes, note)
    if len(data.edges):
        lengths = np.linalg.norm(np.diff(positions[:, data.edges], axis=2)[:, :, 0], axis=-1)
        change = float(np.median(lengths.std(axis=0) / np.maximum(lengths.mean(axis=0), 1e-9)))
        if change > _CHANGES:
            what = f"bones change their lengths by {100 * change:.0f} %"
            notes = (*notes, f"{CHECK}{what}: are these places of joints, and not angles?")
    thick = (positions - positions.mean(axis=1, keepdims=True)).std(axis=(0, 1))
    is_flat = len(positions) >= _FEWEST_FRAMES and thick.min() < _FLAT * thick.max()
    in_unit = data.names == _MEDIAPIPE and positions[..., :2].min() >= 0
    if is_flat or (in_unit and positions[..., :2].max() <= 1):
        what = "these are places in a picture"
        notes = (*notes, f"{CHECK}{what}: save places in the world (MediaPipe: world landmarks)")
    if up is None:
        up, note = up_of_markers(data.names, positions) or infer_points_up(positions, data.edges)
        notes = (*notes, note)
    positions = quarter_turned(positions, turn_to_y(up))
    positions[..., 1] -= floor
    return PointTrack(
        names=data.names,
        positions=positions,
        fps=rate,
        edges=data.edges,
        source=Source(str(path), unit_m, up, rate, notes=notes),
        name=data.subject or path.stem,
        present=None if data.present is None or data.present.all() else data.present,
    )


def save_points(track: PointTrack, path: str | Path) -> None:
    """Write a point track: metres, Y up."""
    arrays = {"positions": track.positions, "fps": np.float64(track.fps), "units": np.str_("m")}
    if track.names != plain_names(len(track.names)):
        arrays["names"] = np.array(track.names)
    if len(track.edges):
        arrays["edges"] = track.edges
    if track.present is not None:
        arrays["present"] = track.present
    write_npz(path, arrays)


def is_text_to_motion(path: Path) -> bool:
    """Whether a .npy has the shape of motion from text, or holds Python objects, as MDM's do."""
    shape, is_pickled = npy_shape(path)
    if is_pickled:
        return shape == ()
    is_positions = len(shape) in (3, 4) and shape[-2] in _TEXT_TO_MOTION_JOINTS and shape[-1] == 3
    return is_positions or _is_of_mdm(shape)


def _is_of_mdm(shape: tuple[int, ...]) -> bool:
    """Whether axes end with joints, coordinates and frames; rotations end with (3, 3)."""
    is_motion = len(shape) in (3, 4) and shape[-3] in _TEXT_TO_MOTION_JOINTS
    return is_motion and shape[-2] == 3 and shape[-1] > 3


def _read_npy(path: Path) -> list[MarkerData]:
    fault = partial(FormatError, path=path)
    found = foreign_content(read_content(path))
    if found and "npy" not in found:
        raise fault(f"this is not a .npy file: {found}")
    positions = read_npy(path)
    shape, notes = positions.shape, list[str]()
    if len(shape) == 2 and shape[1] in _HUMANML_WIDTHS:
        raise fault(
            f"an array {shape}: vectors of HumanML3D, which are speeds, places and rotations",
            hint="convert them with its recover_from_ric: (frames, 22, 3) positions are read",
        )
    if _is_of_mdm(shape):
        positions = np.moveaxis(positions, -1, -3)
        notes.append("axes are joints, coordinates and frames, as of MDM")
    if len(shape) not in (3, 4) or positions.shape[-1] != 3 or positions.dtype.kind not in "fiu":
        raise fault(
            f"an array {shape} of {positions.dtype!s:.40} is not a motion",
            hint="(frames, joints, 3) positions are read",
        )
    frames, joints, _ = positions.shape[-3:]
    if 0 in shape or joints > MAX_POINTS or not np.isfinite(positions).all():
        raise fault(
            f"{frames:,} frames of {joints:,} points, or places that are not finite",
            hint=f"a frame and up to {MAX_POINTS:,} points are read",
        )
    names, edges, fps = LAYOUTS.get(joints), np.zeros((0, 2), np.int64), _TEXT_TO_MOTION_FPS
    parents: Sequence[int] = () if names is None else smpl_skeleton(names).parents[1:].tolist()
    if joints == len(_KIT_PARENTS) + 1:
        parents, fps = _KIT_PARENTS, _KIT_FPS
    if parents:
        edges = np.stack([parents, np.arange(1, joints)], axis=1)
    kind = positions.dtype.newbyteorder("=") if positions.dtype.kind == "f" else np.float64
    motions = positions.astype(kind).reshape(-1, *positions.shape[-3:])
    subjects = [""]
    if len(motions) > 1:
        subjects = [f"motion {number}" for number in range(len(motions))]
        notes.append("all motions of the array are as long: programs fill up shorter ones")
    names, rates = names or _default_names(joints), {"motion from text": fps}
    return [
        MarkerData(names, motion, rates, None, tuple(notes), subject, edges)
        for motion, subject in zip(motions, subjects, strict=True)
    ]


def _read_npz(path: Path) -> MarkerData:
    archive = read_npz(path)
    stated, positions = archive.rates(), _positions(archive)
    points, shape = positions.shape[1], positions.shape[:2]
    present = archive.array("present", shape, "bool") if "present" in archive else None
    return MarkerData(
        _names(archive, points),
        positions,
        stated,
        archive.unit_m(),
        edges=_edges(archive, points),
        present=present,
    )


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
        fact = f"positions have {frames} frames of {points} points: both must be at least 1"
        raise archive.fault(fact)
    if key == "joints_rel":
        positions = positions + archive.array("center", (len(positions), 3))[:, None]
    return positions


def _names(archive: NpzArchive, points: int) -> tuple[str, ...]:
    names = stated_names(archive, points, "point")
    if names is None:
        return _default_names(points)
    if len(set(names)) != points:
        twice = next(name for name in names if names.count(name) > 1)
        raise archive.fault(f"two points are named {twice!r}", "rename one of them")
    return names


def _default_names(points: int) -> tuple[str, ...]:
    return _MEDIAPIPE if points == len(_MEDIAPIPE) else plain_names(points)


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


def _unit(size: float, given_m: float | None, file_m: float | None) -> tuple[float, str]:
    """Metres in one unit, and a sentence on the evidence."""

    def fits(metres: float) -> bool:
        return _SMALLEST_BODY <= size * metres <= _LARGEST_BODY

    for known, source in ((given_m, "as given"), (file_m, "as the file states")):
        if known is not None:
            doubt = "" if fits(known) else ": an unusual size, check the unit"
            measured = f"the body measures {size * known:.2f} m{doubt}"
            return known, f"a unit of {known:g} m {source}; {measured}"
    for name in _GUESSED_UNITS:
        if fits(metres := METRES_PER_UNIT[name]):
            return metres, f"unit assumed to be {name}: the body is then {size * metres:.2f} m"
    return 1.0, f"unit assumed to be m: a body of {size:.3g} units matches no unit better"
