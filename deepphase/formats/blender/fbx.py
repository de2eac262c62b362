"""FBX and .blend files: the armature with the most bones, and the motion of its action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.errors import FormatError
from deepphase.formats.blender.bridge import TO_Y_UP, asked_blender
from deepphase.formats.body_checks import check_writable_body, checked_body
from deepphase.formats.file_content import foreign_content, read_content
from deepphase.formats.frame_rates import resolve_rate
from deepphase.formats.joint_checks import check_joint_count
from deepphase.formats.joint_matrices import END_NAME, clip_of_matrices
from deepphase.formats.joint_trees import one_tree, parents_in_tree
from deepphase.formats.npz.archive import read_npz
from deepphase.formats.units import checked_options, unit_in_words
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.orientation import (
    LARGEST_BODY,
    SMALLEST_BODY,
    body_length,
    infer_up,
    rotate_from_y_up,
    rotate_up,
    scaled,
)
from deepphase.motion.skeleton import Skeleton

_SIGNATURES = {".fbx": b"Kaydara FBX Binary", ".blend": b"BLENDER"}
# Share of the longest bone: length of a bone without children.
_TIP_SHARE = 0.1
# Metres in a unit of files whose scale was lost on their way, the likeliest first.
_POWERS = (1.0, 0.01, 100.0, 0.001, 1000.0)
# Axes of Blender, whose Z is up, as axes of a motion with Y up.
_AXES = {"x": "x", "y": "-z", "z": "y", "-x": "-x", "-y": "z", "-z": "-y"}
_COMPRESSED = (b"\x28\xb5\x2f\xfd", b"\x1f\x8b")


def load_blender(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
) -> Clip:
    """Read an FBX or .blend file as a clip: metres, Y up.

    Blender reads it in a process of its own, with all constraints and drivers evaluated. The
    deforming bones of the largest armature are read, and where they have no bone in common, the
    largest of their trees.

    Parameters
    ----------
    unit
        Metres in a unit of Blender. None is 1, or for bodies that are far from the size of one a
        power of ten.
    up
        The up axis in Blender, whose own is "z"; None infers it from the pose.
    fps
        Frames a second, in place of the file's.

    Raises
    ------
    FormatError
        If Blender cannot read the file, or it has no armature.
    ParameterError
        If Blender is not installed or an option is invalid.
    """
    path = Path(path)
    unit_m = checked_options(unit, up, fps)
    suffix = path.suffix.lower()
    content = read_content(path)
    if not content.startswith((_SIGNATURES[suffix], *(_COMPRESSED if suffix == ".blend" else ()))):
        found = foreign_content(content)
        raise FormatError(
            f"this is not a binary {suffix} file{': ' if found else ''}{found}",
            hint="text FBX is not read: export it as binary" if suffix == ".fbx" else "",
            path=path,
        )
    request = {"task": "read", "path": str(path.resolve())}
    with asked_blender(request, {}, path) as (answer, folder):
        archive = read_npz(folder / "out.npz")
        names = tuple(str(name) for name in answer["names"])
        check_joint_count(len(names), path)
        rest = archive.array("rest", (len(names), 4, 4))
        poses = archive.array("poses", (None, len(names), 4, 4))
        parents = archive.array("parents", (len(names),), "integer")
        stated = float(answer["fps"])
    rate, notes = resolve_rate({"fps": stated}, fps, path)
    tree, tree_notes = one_tree(names, parents, "bones")
    turn, axis_notes = _from_axes(answer["axes"])
    clip = clip_of_matrices(
        tuple(names[bone] for bone in tree),
        parents_in_tree(parents, tree),
        turn @ (TO_Y_UP @ rest[tree]) @ turn.T,
        turn @ (TO_Y_UP @ poses[:, tree]) @ turn.T,
        rate,
        path,
    )
    if unit_m is None:
        unit_m, unit_notes = _stray_unit(clip.skeleton)
        tree_notes = (*tree_notes, *unit_notes)
    clip = checked_body(scaled(clip, unit_m), path)
    notes = (
        *notes,
        *axis_notes,
        f"armature {answer['armature']!r}, read by Blender {answer['version']}",
    )
    if int(answer["armatures"]) > 1:
        notes = (*notes, f"the largest of {answer['armatures']} armatures was read")
    if int(answer["bones"]) > len(names):
        notes = (*notes, f"{len(names)} of {int(answer['bones'])} bones deform and were read")
    notes = (*notes, *tree_notes)
    axis = "y" if up is None else _AXES[up]
    if up is None:
        axis, note = infer_up(clip)
        if axis != "y":
            notes = (*notes, f"the body lies in Blender; {note}")
    source = Source(str(path), unit_m, "y", rate, notes=notes)
    return replace(rotate_up(clip, axis), source=source, name=path.stem)


def save_blender(clip: Clip, path: str | Path) -> None:
    """Write a clip as an FBX or .blend file: an armature with one action.

    End sites become bones named after their joints, with "_end".

    Raises
    ------
    FormatError
        If Blender cannot write the file, or names are too long for it.
    ParameterError
        If Blender is not installed.
    CheckpointError
        If the file cannot be written.
    """
    path = Path(path)
    check_writable_body(clip, path)
    check_writable(path)
    skeleton = clip.skeleton
    turned = rotate_from_y_up(clip, "z")
    world, positions = (each.astype(np.float64) for each in global_transforms(turned))
    ends = skeleton.end_parents
    names = [*skeleton.names, *_end_names(skeleton)]
    if any(len(name.encode()) > 63 for name in names) or len(set(names)) != len(names):
        raise FormatError(
            "a joint name that is longer than 63 bytes, or taken by an end site",
            hint="rename the joint",
            path=path,
        )
    tips = positions[:, ends] + quaternions.rotate(world[:, ends], skeleton.end_offsets)
    # At rest in Blender: Y up becomes Z up.
    at_rest = Rotation.from_euler("X", 90, degrees=True)
    rest = skeleton.rest_positions
    heads = at_rest.apply(np.concatenate([rest, rest[ends] + skeleton.end_offsets]))
    parents = np.concatenate([skeleton.parents, ends])
    rotations = np.concatenate([world, world[:, ends]], axis=1)
    # From the rest in Blender's axes to the pose.
    turns = quaternions.multiply(rotations, at_rest.inv().as_quat())
    matrices = Rotation.from_quat(turns.reshape(-1, 4)).as_matrix()
    arrays = {
        "parents": parents,
        "heads": heads,
        "tails": _tails(heads, parents),
        "rotations": matrices.reshape(*turns.shape[:2], 3, 3),
        "positions": np.concatenate([positions, tips], axis=1),
    }
    fps = max(1, round(clip.fps))
    output = f"out{path.suffix.lower()}"
    request = {
        "task": "write",
        "output": output,
        "names": names,
        "fps": [fps, fps / clip.fps],
        "clip": clip.name,
    }
    with asked_blender(request, arrays, path) as (_, folder):
        content = (folder / output).read_bytes()
    with atomic_write(path) as file:
        file.write(content)


def _from_axes(axes: Sequence[int]) -> tuple[Array, tuple[str, ...]]:
    """(4, 4) to Y up, facing z, from the axes of an FBX file, and a note if they are odd.

    Parameters
    ----------
    axes
        Number and sign of the axes that FBX calls CoordAxis, UpAxis and FrontAxis: they are x, y
        and z here. None for .blend files.
    """
    turn = np.eye(4)
    numbers, signs = axes[::2], axes[1::2]
    if not axes:
        return turn, ()
    if sorted(numbers) != [0, 1, 2] or any(abs(sign) != 1 for sign in signs):
        return turn, ("the file's axes contradict each other: Y up is assumed",)
    turn[:3, :3] = np.eye(3)[list(numbers)] * np.array(signs)[:, None]
    mirrored = np.linalg.det(turn) < 0
    return turn, ("the file's axes are left-handed: they were mirrored",) if mirrored else ()


def _stray_unit(skeleton: Skeleton) -> tuple[float, tuple[str, ...]]:
    """Metres in a unit of Blender, 1 unless only a power of ten makes a body of the skeleton."""
    size = body_length(skeleton)
    for metres in _POWERS:
        if SMALLEST_BODY <= size * metres <= LARGEST_BODY:
            if metres == 1.0:
                break
            return metres, (
                f"the body is {size:.3g} m long in Blender: its unit is assumed to be "
                f"{unit_in_words(metres)}",
            )
    return 1.0, ()


def _tails(heads: Array, parents: Array) -> Array:
    """(bones, 3) ends of the bones: at a child's head, else a little further on."""
    tails = heads.copy()
    lengths = np.linalg.norm(heads - heads[np.maximum(parents, 0)], axis=-1)
    tip = max(_TIP_SHARE * float(lengths.max(initial=0.0)), 1e-3)
    for bone in range(len(heads)):
        children = np.flatnonzero(parents == bone)
        way = heads[children].mean(axis=0) - heads[bone] if len(children) else np.zeros(3)
        if np.linalg.norm(way) < tip:
            way = heads[bone] - heads[max(int(parents[bone]), 0)]
            size = float(np.linalg.norm(way))
            way = way / size * tip if size > 1e-9 else np.array([0.0, 0.0, tip])
        tails[bone] = heads[bone] + way
    return tails


def _end_names(skeleton: Skeleton) -> list[str]:
    names: list[str] = []
    for parent in skeleton.end_parents.tolist():
        name = f"{skeleton.names[parent]}{END_NAME}"
        names.append(name if name not in names else f"{name}{len(names)}")
    return names
