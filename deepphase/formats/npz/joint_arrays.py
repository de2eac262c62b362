"""Motion of named joints in an .npz under other programs' names: quaternions, positions, parents.

The names are listed in docs/formats.md. None states whether quaternions are local or global, and
whether w comes first or last. Where there are positions, they decide: in the right reading every
joint stands still in its parent's frame.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.npz.archive import NpzArchive, read_npz
from deepphase.formats.reading import (
    CORRECTED,
    LARGEST_LENGTH_M,
    METRES_PER_UNIT,
    Unit,
    check_joint_count,
    checked_options,
    in_metres_y_up,
    resolve_rate,
    unique_names,
    with_notes,
)
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source, joint_positions
from deepphase.motion.mirror import is_left_handed, reflected
from deepphase.motion.point_track import PointTrack
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton, children_of, depth_first, parents_first
from deepphase.solving.point_structure import PointStructure, clip_of_points, plain_names

_NAME_KEYS = ("names", "bone_names", "joint_names")
_PARENT_KEYS = ("parents", "parent_names", "bone_parents", "joint_parents", "parent_indices")
# Words before the name say in which space they are.
_ROTATION_KEYS = tuple(
    f"{space}{name}"
    for name in ("quaternions", "quats", "rotations")
    for space in ("", "local_", "global_", "joint_", "bone_")
)
_POSITION_KEYS = ("positions", *(f"{s}_positions" for s in ("global", "joint", "bone", "local")))
_OFFSET_KEYS = ("offsets", "rest_offsets")
_ROOT_KEYS = ("translations", "root_positions", "root_position", "root_translation", "trans")
_NO_PARENT = ("", "none", "null", "world", "-1")
SPACES = ("local", "global")
_FRAMES_COMPARED = 200
# Movement of joints in their parents' frames, as a share of the bone length, up to which rotations
# belong to positions; readings as near to each other as the second are alike.
_FITS, _ALIKE = 0.2, 1e-3
# The same share beyond which a joint is translated, and up to which positions are local.
_MOVES, _CONSTANT = 1e-3, 0.02
# Quaternions are written with two decimals at least.
_UNIT_LENGTH = 0.02


def is_joint_arrays(keys: Collection[str]) -> bool:
    """Whether an archive of these arrays holds joints with parents, and is not a file of ours."""
    positions, rotations, offsets, parents, of_ours = (
        not set(keys).isdisjoint(names)
        for names in (_POSITION_KEYS, _ROTATION_KEYS, _OFFSET_KEYS, _PARENT_KEYS, ("names", "fps"))
    )
    is_ours = is_npz_motion(keys) and of_ours and not positions
    return parents and (positions or (rotations and offsets)) and not is_ours


def is_npz_motion(keys: Collection[str]) -> bool:
    """Whether an archive of these arrays holds a motion of joints with a hierarchy."""
    return {"rotations", "parents"} <= set(keys)


def load_joint_arrays(
    path: str | Path, *, unit: Unit | None = None, up: str | None = None, fps: float | None = None
) -> Clip:
    """Read joints with their parents: metres, right-handed, Y up; notes say what is inferred."""
    path = Path(path)
    unit_m = checked_options(unit, up, fps)
    archive = read_npz(path)
    rate, rate_notes = resolve_rate(archive.rates(), fps, path)
    rotations, rotation_key = _rotations(archive)
    positions, position_key = _positions(archive, None if rotations is None else len(rotations))
    joints = positions.shape[1]
    if rotations is not None and rotations.shape[1] != joints:
        fact = f"there are rotations of {rotations.shape[1]} joints, but positions of {joints}"
        raise archive.fault(fact, "save both for the same joints")
    names, notes = _names(archive, joints)
    parents, order, parent_notes = _parents(archive, names)
    notes = [*rate_notes, *notes, *parent_notes]
    names = tuple(names[joint] for joint in order)
    positions = positions[:, order]
    rotated = None
    if rotations is not None:
        if position_key in _OFFSET_KEYS:
            root = _root_path(archive, len(rotations))
            positions = np.repeat(positions, len(root), axis=0)
            positions[:, 0] = root
        if len(rotations) != len(positions):
            fact = f"{len(rotations)} frames of rotations, but {len(positions)} of positions"
            raise archive.fault(f"there are {fact}", "save both for the same frames")
        space = next((word for word in SPACES if rotation_key.startswith(f"{word}_")), None)
        local: bool | None = None
        if position_key in (*_OFFSET_KEYS, "local_positions", "global_positions"):
            local = position_key != "global_positions"
        rotated, fit_notes = fitted_clip(
            names, parents, rotations[:, order], positions, rate, space=space, local_positions=local
        )
        notes.extend(fit_notes)
    clip = rotated or _point_clip(names, parents, positions, rate)
    if unit_m is None and (unit_m := archive.unit_m()) is not None:
        notes.append(f"a unit of {unit_m:g} m as the file states")
    clip = in_metres_y_up(clip, unit_m, up, Source(str(path), fps=rate, notes=tuple(notes)))
    if rotated is None:
        points = _point_clip(names, parents, joint_positions(clip), rate)
        clip = replace(points, source=clip.source, name=clip.name)
    if not is_left_handed(clip):
        return clip
    what = "left-handed coordinates, in which the left side is on the right"
    return with_notes(reflected(clip), [f"{CORRECTED}{what}, were mirrored along X"])


def _rotations(archive: NpzArchive) -> tuple[Array | None, str]:
    """(frames, joints, 4) unit quaternions in the file's order of components, and their key."""
    key = archive.first(_ROTATION_KEYS)
    if not key:
        return None, ""
    _check_count(archive, key)
    rotations = archive.array(key, (None, None, 4))
    return unit_quaternions(rotations, f"array {key!r}", archive.path), key


def _positions(archive: NpzArchive, frames: int | None) -> tuple[Array, str]:
    """(frames, joints, 3), or offsets as one frame, and their key."""
    if key := archive.first(_POSITION_KEYS):
        _check_count(archive, key)
        positions = archive.array(key, (None, None, 3))
    else:
        key = archive.first(_OFFSET_KEYS)
        positions = archive.array(key, (None, 3))[None]
    if 0 in positions.shape or frames == 0:
        raise archive.fault(f"array {key!r} is {positions.shape}: no joint moves")
    # Prevents overflow in squares.
    if (farthest := np.abs(positions).max()) > LARGEST_LENGTH_M / METRES_PER_UNIT["mm"]:
        fact = f"a joint {farthest:.3g} units from the origin is too far"
        raise archive.fault(fact, "the file may be damaged: save it again")
    return positions, key


def _check_count(archive: NpzArchive, key: str) -> None:
    shape = archive.shape(key)
    if len(shape) == 3:
        check_joint_count(shape[1], archive.path)


def _root_path(archive: NpzArchive, frames: int) -> Array:
    key = archive.first(_ROOT_KEYS)
    if not key:
        hint = f"the file needs one of {', '.join((*_POSITION_KEYS, *_ROOT_KEYS))}"
        raise archive.fault("there are no positions of joints, and no path of the root", hint)
    root = archive.array(key)
    if root.size != 3 * frames:
        raise archive.fault(f"array {key!r} is {root.shape}, expected ({frames}, 3)")
    return root.reshape(frames, 3)


def stated_names(archive: NpzArchive, count: int, what: str) -> tuple[str, ...] | None:
    """The names of so many joints or points; None where the file has none."""
    key = archive.first(_NAME_KEYS)
    names = archive.strings(key) if key else None
    if names is not None and len(names) != count:
        raise archive.fault(
            f"there are {len(names)} names for {count} {what}s",
            f"save the file again with one name for each {what}",
        )
    return names


def _names(archive: NpzArchive, joints: int) -> tuple[tuple[str, ...], list[str]]:
    names = stated_names(archive, joints, "joint")
    if names is None:
        return plain_names(joints), ["the file names no joints"]
    unique, renamed = unique_names(names)
    return unique, [f"repeated names were numbered: {', '.join(renamed)}"] if renamed else []


def _parents(archive: NpzArchive, names: tuple[str, ...]) -> tuple[Array, list[int], list[str]]:
    """Parents of the reordered joints, the order, parents before children, and notes."""
    key, joints = archive.first(_PARENT_KEYS), len(names)
    try:
        words = archive.strings(key)
    except FormatError:
        above = archive.array(key, (joints,), "integer").tolist()
    else:
        if len(words) != joints:
            hint = "save the file again with one parent for each joint"
            raise archive.fault(f"there are {len(words)} parents for {joints} joints", hint)
        index = {name: joint for joint, name in enumerate(names)}
        for name, word in zip(names, words, strict=True):
            if word not in index and word.strip().lower() not in _NO_PARENT:
                fact = f"joint {name!r} has the parent {word!r}, which is not a joint"
                hint = "name a joint of the file, or leave the root's parent empty"
                raise archive.fault(fact, hint)
        above = [index.get(word, -1) for word in words]
    notes = []
    selves = sum(parent == joint for joint, parent in enumerate(above))
    if selves > 1 and min(above) == 0 and above.count(0) == 1:
        above = [parent - 1 for parent in above]
        notes.append("parents are counted from 1")
    above = [-1 if parent == joint else parent for joint, parent in enumerate(above)]
    roots = [joint for joint, parent in enumerate(above) if parent < 0]
    if not roots or max(above) >= joints:
        raise archive.fault(f"array {key!r}: no root, or a parent that does not exist")
    if len(roots) > 1:
        # Props have fewer joints than bodies.
        children = children_of(above)
        main, *others = sorted(roots, key=lambda root: (-len(depth_first(root, children)), root))
        for root in others:
            above[root] = main
        named = ", ".join(names[joint] for joint in others[:8])
        notes.append(f"joints without a parent were attached to {names[main]!r}: {named}")
    order, parents = parents_first(above)
    if len(order) != joints:
        raise archive.fault(f"array {key!r}: parents are in a circle")
    return parents, order, notes


def _point_clip(names: tuple[str, ...], parents: Array, positions: Array, fps: float) -> Clip:
    """All joints translated and none rotated."""
    across: list[tuple[int, int]] = []
    if len(names) > 1:
        # Named limbs are found in any pose.
        roles = find_roles(Skeleton(names, parents, np.median(positions, axis=0)))
        across = [pair for part in ("hip", "shoulder") if (pair := roles.both(part)) is not None]
    owners = tuple((joint,) for joint in range(len(names)))
    structure = PointStructure(names, tuple(parents.tolist()), owners, tuple(across))
    return clip_of_points(PointTrack(names, positions, fps), structure=structure)


def unit_quaternions(stored: Array, what: str, path: Path) -> Array:
    """Quaternions (frames, joints, 4) made to have length 1; FormatError if a length is another."""
    # A square may overflow; such a length is refused.
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(stored, axis=-1)
    wrong = ~(np.abs(lengths - 1.0) <= _UNIT_LENGTH)
    if wrong.any():
        frame, joint = np.argwhere(wrong)[0]
        fact = f"a quaternion of length {lengths[frame, joint]:.3g} in {what} is not possible"
        where = f"frame {frame}, joint {joint}"
        raise FormatError(f"{where}: {fact}", hint="quaternions have length 1", path=path)
    return np.asarray(stored / lengths[..., None])


def fitted_clip(
    names: tuple[str, ...],
    parents: Array,
    stored: Array,
    positions: Array,
    fps: float,
    *,
    space: str | None = None,
    local_positions: bool | None = None,
) -> tuple[Clip | None, list[str]]:
    """The clip in the reading in which rotations and positions fit best, or None, and notes."""
    w_first = float(np.abs(stored[..., 0]).mean()) > float(np.abs(stored[..., 3]).mean())
    step = max(1, len(stored) // _FRAMES_COMPARED)
    some, places = stored[::step], positions[::step]
    spreads = {
        (kind, first): _spread_in_parents(parents, _globals(parents, some, kind, first), places)
        for kind in (SPACES if space is None else (space,))
        for first in (w_first, not w_first)
    }
    if local_positions is None:
        constant = _spread(places[:, 1:], np.linalg.norm(places[:, 1:], axis=-1))
        local_positions = constant < _CONSTANT and min(spreads.values()) > _CONSTANT
    if local_positions:
        spreads = dict.fromkeys(spreads, 0.0)
    least = min(spreads.values())
    # The preferred readings come first.
    kind, first = next(each for each, spread in spreads.items() if spread <= least + _ALIKE)
    if least > _FITS:
        how = f"joints move by {100 * least:.0f} % of their bones in their parents' frames"
        return None, [f"the quaternions contradict the positions ({how}) and were left out"]
    world = _globals(parents, stored, kind, first)
    by = "assumed to be" if local_positions else "by the positions,"
    notes = [f"quaternions {by} {kind}, in the order {'w x y z' if first else 'x y z w'}"]
    above = parents[1:]
    to_parent = quaternions.conjugate(world[:, above])
    rotations, local = world.copy(), positions.copy()
    rotations[:, 1:] = quaternions.multiply(to_parent, world[:, 1:])
    if local_positions:
        notes.append("positions are in the frames of the parents")
    else:
        local[:, 1:] = quaternions.rotate(to_parent, positions[:, 1:] - positions[:, above])
    offsets = np.median(local, axis=0)
    bone = float(np.median(np.linalg.norm(offsets[1:], axis=-1))) if len(names) > 1 else 0.0
    moves = np.abs(local - offsets).max(axis=(0, 2)) > _MOVES * bone
    moves[0] = True
    moving = np.flatnonzero(moves)
    rotations = quaternions.sign_continuous(quaternions.normalized(rotations))
    return Clip(Skeleton(names, parents, offsets), rotations, local[:, moving], fps, moving), notes


def _globals(parents: Array, stored: Array, space: str, w_first: bool) -> Array:
    """(frames, joints, 4) rotations in the world, x y z w."""
    rotations = np.roll(stored, -1, axis=-1) if w_first else stored
    if space == "global":
        return rotations
    world = rotations.copy()
    for joint, parent in enumerate(parents[1:].tolist(), start=1):
        world[:, joint] = quaternions.multiply(world[:, parent], rotations[:, joint])
    return world


def _spread_in_parents(parents: Array, world: Array, positions: Array) -> float:
    """Mean movement of the joints in their parents' frames, as a share of the bones."""
    bones = positions[:, 1:] - positions[:, parents[1:]]
    local = quaternions.rotate(quaternions.conjugate(world[:, parents[1:]]), bones)
    return _spread(local, np.linalg.norm(bones, axis=-1))


def _spread(local: Array, lengths: Array) -> float:
    mean_lengths = lengths.mean(axis=0)
    clear = mean_lengths > 1e-6 * max(float(mean_lengths.max(initial=0.0)), 1e-12)
    if not clear.any():
        return 0.0
    moved = np.linalg.norm(local - local.mean(axis=0), axis=-1)
    shares = np.sqrt(np.square(moved).mean(axis=0))[clear] / mean_lengths[clear]
    return float(np.minimum(shares, 1.0).mean())
