"""Point tracks as .npz: positions of a body's points over time, without rotations.

===========  =======================  ==========================================================
positions    (frames, points, 3)      in the file's unit; or both of the next two
joints_rel   (frames, points, 3)      relative to the body's centre
center       (frames, 3)              the centre
fps          ()                       frames a second
units        () str                   "m", "cm", "mm", "inch", "foot"; inferred where it is missing
names        (points,) str            if known
edges        (edges, 2) int           pairs of points that hang together, if known
===========  =======================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.amass import is_amass
from deepphase.formats.npz.archive import NpzArchive, read_npz, write_npz
from deepphase.formats.npz.motion import is_npz_motion
from deepphase.formats.units import (
    METRES_PER_UNIT,
    check_rate_option,
    check_up_option,
    metres_per_unit,
    resolve_rate,
)
from deepphase.motion import quaternions
from deepphase.motion.clip import Source
from deepphase.motion.orientation import turn_to_y
from deepphase.motion.point_track import PointTrack
from deepphase.solving.point_tree import plain_names
from deepphase.solving.point_up import body_size, infer_points_up

_RATES = ("fps", "frame_rate", "framerate")
# Metres: a body from a cat's to a horse's.
_SMALLEST_BODY, _LARGEST_BODY = 0.2, 5.0
_GUESSED_UNITS = ("m", "cm", "mm", "inch")
# Fewer than joints of a hierarchy: here all pairs of points are compared.
_MAX_POINTS = 4096
# Places on this planet: beyond, float32 and every distance are of no use.
_LARGEST_COORDINATE_M = 1e6


def is_points(keys: Collection[str]) -> bool:
    """Whether an archive of these arrays holds a point track."""
    return "positions" in keys or {"joints_rel", "center"} <= set(keys)


def holds_points(path: str | Path) -> bool:
    """Whether a file is a point track, damaged or not: decides only what to read it with."""
    if Path(path).suffix.lower() != ".npz":
        return False
    try:
        keys = read_npz(path).keys
    except FormatError:
        return False
    # Archives of joints with rotations may hold where they stand as well.
    return is_points(keys) and not is_npz_motion(keys) and not is_amass(keys)


def load_points(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
) -> PointTrack:
    """Read a point track: metres, Y up.

    Parameters
    ----------
    unit
        "m", "cm", "mm", "inch", "foot" or metres in one unit; None takes the file's word, else
        what makes the points a body's size.
    up
        The file's up axis: "x", "y", "z", "-x", "-y" or "-z"; None infers it from the motion.
    fps
        Frames a second, in place of the file's.

    Raises
    ------
    FormatError
        Where the file cannot be read, lacks an array, or holds impossible values.
    ParameterError
        Where an option is impossible.
    """
    path = Path(path)
    stated_m = None if unit is None else metres_per_unit(unit)
    check_up_option(up)
    check_rate_option(fps)
    archive = read_npz(path)
    stated = {name: archive.scalar(name) for name in _RATES if name in archive}
    rate, notes = resolve_rate(stated, fps, path)
    positions = _positions(archive)
    points = positions.shape[1]
    names = _names(archive, points)
    edges = _edges(archive, points)
    said_m = _said_unit(archive)
    # Far places of few points: whatever is looked at must not overflow.
    if np.abs(positions).max() > np.finfo(np.float32).max:
        raise FormatError("positions beyond what float32 holds", path=path)
    unit_m, note = _unit(body_size(positions), stated_m, said_m)
    positions = positions * positions.dtype.type(unit_m)
    if np.abs(positions).max() > _LARGEST_COORDINATE_M:
        raise FormatError(
            f"a point {np.abs(positions).max():.3g} m from the origin",
            hint="the unit may be wrong: tell it with --unit",
            path=path,
        )
    notes = (*notes, note)
    if up is None:
        up, note = infer_points_up(positions, edges)
        notes = (*notes, note)
    return PointTrack(
        names=names,
        positions=_turned(positions, up),
        fps=rate,
        edges=edges,
        source=Source(str(path), unit_m, up, rate, notes=notes),
        name=path.stem,
    )


def save_points(track: PointTrack, path: str | Path) -> None:
    """Write a point track: metres, Y up.

    Raises CheckpointError where the file cannot be written.
    """
    arrays = {
        "positions": track.positions,
        "fps": np.float64(track.fps),
        "units": np.str_("m"),
        "names": np.array(track.names),
    }
    if track.names == plain_names(len(track.names)):
        # Names that say nothing are not names.
        del arrays["names"]
    if len(track.edges):
        arrays["edges"] = track.edges
    write_npz(path, arrays)


def _positions(archive: NpzArchive) -> Array:
    key = "positions" if "positions" in archive else "joints_rel"
    if key not in archive:
        held = ", ".join(archive.keys[:20]) or "nothing"
        raise FormatError(
            "not a point track: no array 'positions', nor 'joints_rel' and 'center'",
            hint=f"the file holds {held}",
            path=archive.path,
        )
    frames, points, *_ = (*archive.shape(key), 0, 0)
    if points > _MAX_POINTS:
        raise FormatError(
            f"{points:,} points of one body", hint=f"at most {_MAX_POINTS:,}", path=archive.path
        )
    positions = archive.array(key, (None, None, 3))
    if 0 in positions.shape:
        raise FormatError(f"{frames} frames of {points} points", path=archive.path)
    if key == "joints_rel":
        positions = positions + archive.array("center", (len(positions), 3))[:, None]
    return positions


def _names(archive: NpzArchive, points: int) -> tuple[str, ...]:
    if "names" not in archive:
        return plain_names(points)
    names = archive.strings("names")
    if len(names) != points:
        raise FormatError(f"{len(names)} names for {points} points", path=archive.path)
    if len(set(names)) != points:
        twice = next(name for name in names if names.count(name) > 1)
        raise FormatError(f"two points are named {twice!r}", path=archive.path)
    return names


def _edges(archive: NpzArchive, points: int) -> Array:
    if "edges" not in archive:
        return np.zeros((0, 2), np.int64)
    edges = archive.array("edges", (None, 2), "integer")
    wrong = ((edges < 0) | (edges >= points)).any(axis=1) | (edges[:, 0] == edges[:, 1])
    if wrong.any():
        first, second = edges[wrong][0]
        raise FormatError(
            f"an edge from point {first} to point {second}, of {points} points",
            hint="edges hold indices of two different points, from 0",
            path=archive.path,
        )
    return edges


def _said_unit(archive: NpzArchive) -> float | None:
    if "units" not in archive:
        return None
    word = archive.text("units")
    if word.strip().lower() not in METRES_PER_UNIT:
        raise FormatError(
            f"units of {word[:40]!r}",
            hint=f"{', '.join(METRES_PER_UNIT)} are known; --unit tells another",
            path=archive.path,
        )
    return metres_per_unit(word)


def _unit(size: float, stated_m: float | None, said_m: float | None) -> tuple[float, str]:
    """Metres in one unit, and a sentence on what says so."""

    def fits(metres: float) -> bool:
        return _SMALLEST_BODY <= size * metres <= _LARGEST_BODY

    for known, who in ((stated_m, "as told"), (said_m, "as the file says")):
        if known is not None:
            doubt = "" if fits(known) else ": no usual size, check the unit"
            return (
                known,
                f"a unit of {known:g} m {who}; the body measures {size * known:.2f} m{doubt}",
            )
    for name in _GUESSED_UNITS:
        if fits(metres_per_unit(name)):
            metres = metres_per_unit(name)
            return metres, f"unit taken for {name}: the body then measures {size * metres:.2f} m"
    return 1.0, f"unit taken for m: a body of {size:.3g} units fits none better"


def _turned(positions: Array, up: str) -> Array:
    turn = turn_to_y(up)
    if turn[3] == 1.0:
        return positions
    # A quarter turn only permutes and negates coordinates: rounding keeps them exact.
    matrix = np.rint(np.stack([quaternions.rotate(turn, axis) for axis in np.eye(3)]))
    return positions @ matrix.astype(positions.dtype)
