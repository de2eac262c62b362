"""Rigs as arrays and a header, in the file of an inverse rig function."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.blender_body import BlenderBody
from deepphase.rigs.blender_rig import BlenderRig
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.rig_function import Control

_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")


def rig_parts(rig: BodyRig | BlenderRig, folder: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Arrays and header of a rig, for a file in a folder."""
    arrays = {f"skeleton.{name}": getattr(rig.skeleton, name) for name in _SKELETON}
    arrays["rig.pairs"] = np.asarray(rig.roles.pairs, np.int64)
    header = {
        "names": list(rig.skeleton.names),
        "roles": {
            name: value
            for name, value in vars(rig.roles).items()
            if isinstance(value, int | str) and value is not None
        },
        "tail": [int(joint) for joint in rig.roles.tail],
    }
    if isinstance(rig, BodyRig):
        arrays |= {"rig.rest_hips": rig.rest_hips, "rig.rest_turns": rig.rest_turns}
        bends = {name: bend.tolist() for name, bend in rig.bends.items()}
        return arrays, {"kind": "body", **header, "bends": bends}
    arrays |= {"rig.rest": rig.body.rest, "rig.tips": rig.body.tips}
    arrays |= {"rig.to_character": rig.body.to_character, "rig.world": rig.body.world}
    if rig.pattern is not None:
        arrays["rig.pattern"] = rig.pattern.astype(np.uint8)
    return arrays, {
        "kind": "blender",
        **header,
        "file": os.path.relpath(rig.path.resolve(), folder.resolve()),
        "sha256": rig.digest,
        "root": rig.root,
        "groups": list(rig.groups),
        "controls": [list(vars(control).values()) for control in rig.controls],
    }


def rig_of_parts(
    arrays: Mapping[str, Array], header: Mapping[str, Any], folder: Path
) -> BodyRig | BlenderRig:
    """The rig of arrays and a header of `rig_parts`, of a file in a folder.

    Raises
    ------
    ValueError, KeyError, TypeError
        If they do not fit each other.
    """
    if header["kind"] not in ("body", "blender"):
        raise ValueError(f"a rig of kind {header['kind']!r}")
    skeleton = Skeleton(tuple(header["names"]), *(arrays[f"skeleton.{name}"] for name in _SKELETON))
    joints = len(skeleton)
    roles = dict(header["roles"])
    for name, joint in roles.items():
        if name != "kind" and not 0 <= int(joint) < joints:
            raise ValueError(f"no joint {joint} for {name}")
    tail = tuple(int(joint) for joint in header["tail"])
    if any(not 0 <= joint < joints for joint in tail):
        raise ValueError("a tail of joints that do not exist")
    pairs = arrays["rig.pairs"]
    check_shape(pairs, (joints,))
    if not ((pairs >= 0) & (pairs < joints)).all():
        raise ValueError("pairs of joints that do not exist")
    found = Roles(pairs=pairs, tail=tail, **roles)
    if header["kind"] == "blender":
        return _blender_rig(arrays, header, folder, skeleton, found)
    check_shape(arrays["rig.rest_hips"], (3,))
    check_shape(arrays["rig.rest_turns"], (joints, 4))
    bends = {name: np.array(bend, np.float64).reshape(3) for name, bend in header["bends"].items()}
    return BodyRig(skeleton, found, arrays["rig.rest_hips"], bends, arrays["rig.rest_turns"])


def _blender_rig(
    arrays: Mapping[str, Array],
    header: Mapping[str, Any],
    folder: Path,
    skeleton: Skeleton,
    roles: Roles,
) -> BlenderRig:
    joints, ends = len(skeleton), len(skeleton.end_parents)
    controls = [Control(*each) for each in header["controls"]]
    groups = [str(each) for each in header["groups"]]
    if len(groups) != len(controls):
        raise ValueError("controls without bones")
    check_shape(arrays["rig.rest"], (joints, 3, 3))
    check_shape(arrays["rig.tips"], (ends, 3))
    for name in ("to_character", "world"):
        check_shape(arrays[f"rig.{name}"], (4, 4))
    pattern = arrays.get("rig.pattern")
    if pattern is not None:
        check_shape(pattern, (joints + ends, len(controls)))
        pattern = pattern.astype(bool)
    body = BlenderBody(
        skeleton,
        roles,
        *(arrays[f"rig.{name}"] for name in ("rest", "tips", "to_character", "world")),
    )
    path = (folder / str(header["file"])).resolve()
    if not path.exists():
        path = (folder / path.name).resolve()
    return BlenderRig(
        path, str(header["sha256"]), body, controls, groups, str(header["root"]), pattern
    )


def check_shape(array: Array, shape: tuple[int, ...]) -> None:
    """Raise ValueError if an array has another shape."""
    if array.shape != shape:
        raise ValueError(f"an array of {array.shape}, not {shape}")
