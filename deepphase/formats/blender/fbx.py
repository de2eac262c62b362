"""FBX and .blend files: the armature with the most bones, and the motion of its action."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.errors import FormatError
from deepphase.formats.blender.bone_trees import largest_tree, parents_in_tree
from deepphase.formats.blender.bridge import TO_Y_UP, asked_blender
from deepphase.formats.body_checks import check_writable_body, checked_body
from deepphase.formats.file_content import foreign_content, read_content
from deepphase.formats.frame_rates import resolve_rate
from deepphase.formats.joint_checks import check_joint_count
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
# Bones of this name that carry no motion are end sites.
_END = "_end"
# Shares of the longest bone: movement of a translated joint, length of a bone without children.
_MOVES, _TIP_SHARE = 1e-5, 0.1
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
    tree, tree_notes = _one_tree(names, parents)
    clip = _clip(
        tuple(names[bone] for bone in tree),
        parents_in_tree(parents, tree),
        TO_Y_UP @ rest[tree],
        TO_Y_UP @ poses[:, tree],
        rate,
        path,
    )
    if unit_m is None:
        unit_m, unit_notes = _stray_unit(clip.skeleton)
        tree_notes = (*tree_notes, *unit_notes)
    clip = checked_body(scaled(clip, unit_m), path)
    notes = (*notes, f"armature {answer['armature']!r}, read by Blender {answer['version']}")
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


def _one_tree(names: tuple[str, ...], parents: Array) -> tuple[Array, tuple[str, ...]]:
    """Indices of the bones of the largest tree, and a note if there are others."""
    tree, roots = largest_tree(parents)
    if len(roots) == 1:
        return tree, ()
    others = [names[root] for root in roots.tolist() if root != tree[0]]
    listed = ", ".join(others[:4]) + (f" and {len(others) - 4} more" if len(others) > 4 else "")
    return tree, (
        f"{len(roots)} bones have no parent: the {len(tree)} bones of {names[int(tree[0])]!r} were "
        f"read, and {len(names) - len(tree)} of {listed} left out",
    )


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


def _clip(
    names: tuple[str, ...], parents: Array, rest: Array, poses: Array, fps: float, path: Path
) -> Clip:
    """The clip of bones' matrices in the world, at rest and in every frame."""
    rest_turns, world = _rotations(rest, path), _rotations(poses, path)
    # Rotations from the rest pose: its directions are those of the offsets.
    turns = quaternions.multiply(world, quaternions.conjugate(rest_turns))
    places = poses[..., :3, 3]
    ends = _end_sites(names, parents, rest, poses)
    joints = [joint for joint in range(len(names)) if joint not in ends]
    row = {joint: place for place, joint in enumerate(joints)}
    above = np.array([-1, *(row[int(parents[joint])] for joint in joints[1:])])
    turns, places = turns[:, joints], places[:, joints]
    heads = rest[:, :3, 3]
    offsets = heads[joints] - np.where(above[:, None] < 0, 0.0, heads[joints][above])
    back = quaternions.conjugate(turns[:, above[1:]])
    rotations, local = turns.copy(), places.copy()
    rotations[:, 1:] = quaternions.multiply(back, turns[:, 1:])
    local[:, 1:] = quaternions.rotate(back, places[:, 1:] - places[:, above[1:]])
    longest = float(np.linalg.norm(offsets[1:], axis=-1).max(initial=0.0))
    moves = np.abs(local - offsets).max(axis=(0, 2)) > max(_MOVES * longest, 1e-6)
    moves[0] = True
    moving = np.flatnonzero(moves)
    skeleton = Skeleton(
        tuple(names[joint] for joint in joints),
        above,
        offsets,
        np.array([row[int(parents[end])] for end in ends], np.int64),
        np.array([heads[end] - heads[parents[end]] for end in ends]).reshape(-1, 3),
    )
    rotations = quaternions.sign_continuous(quaternions.normalized(rotations))
    return Clip(skeleton, rotations, local[:, moving], fps, moving)


def _rotations(matrices: Array, path: Path) -> Array:
    """(..., 4) rotations of (..., 4, 4) transforms, without their scales."""
    linear = matrices[..., :3, :3]
    lengths = np.linalg.norm(linear, axis=-2, keepdims=True)
    if not (lengths > 1e-9).all() or not (np.linalg.det(linear) > 0).all():
        raise FormatError(
            "a bone is flat or mirrored", hint="apply scales to the armature", path=path
        )
    flat = Rotation.from_matrix((linear / lengths).reshape(-1, 3, 3)).as_quat()
    return np.asarray(flat.reshape(*matrices.shape[:-2], 4))


def _end_sites(names: tuple[str, ...], parents: Array, rest: Array, poses: Array) -> list[int]:
    """Bones without children that are called ends and do not move in their parents' frames."""
    with_children = set(parents.tolist())
    found = []
    for joint, name in enumerate(names):
        if joint in with_children or parents[joint] < 0 or _END not in name.lower():
            continue
        local = np.linalg.inv(poses[:, parents[joint]]) @ poses[:, joint]
        still = np.linalg.inv(rest[parents[joint]]) @ rest[joint]
        if np.abs(local - still).max() < 1e-3:
            found.append(joint)
    return found


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
        name = f"{skeleton.names[parent]}{_END}"
        names.append(name if name not in names else f"{name}{len(names)}")
    return names
