"""Rigs as arrays and a header, in the file of an inverse rig function."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.array_parts import array_part
from deepphase.formats.body_checks import checked_skeleton
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.blender_body import BlenderBody
from deepphase.rigs.blender_rig import BlenderRig
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.rig_function import Control

_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")
_BODY = ("rest", "tips", "to_character", "world")


def rig_parts(
    rig: BodyRig | BlenderRig, folder: Path
) -> tuple[dict[str, dict[str, Array]], dict[str, Any]]:
    """Parts and header of a rig, for a file in a folder."""
    parts = {
        "skeleton": {name: getattr(rig.skeleton, name) for name in _SKELETON},
        "rig": {"pairs": np.asarray(rig.roles.pairs, np.int64)},
    }
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
        parts["rig"] |= {"rest_hips": rig.rest_hips, "rest_turns": rig.rest_turns}
        bends = {name: bend.tolist() for name, bend in rig.bends.items()}
        return parts, {"kind": "body", **header, "bends": bends}
    parts["rig"] |= {name: getattr(rig.body, name) for name in _BODY}
    if rig.pattern is not None:
        parts["rig"]["pattern"] = rig.pattern.astype(np.uint8)
    return parts, {
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
    """The rig of the arrays of parts and a header of `rig_parts`, of a file in a folder.

    Raises
    ------
    ValueError, KeyError, TypeError
        If they do not fit each other.
    """
    if header["kind"] not in ("body", "blender"):
        raise ValueError(f"a rig of kind {header['kind']!r}")
    skeleton = checked_skeleton(Skeleton(tuple(header["names"]), **array_part(arrays, "skeleton")))
    joints = len(skeleton)
    roles = dict(header["roles"])
    for name, joint in roles.items():
        if name != "kind" and not 0 <= int(joint) < joints:
            raise ValueError(f"no joint {joint} for {name}")
    tail = tuple(int(joint) for joint in header["tail"])
    if any(not 0 <= joint < joints for joint in tail):
        raise ValueError("a tail of joints that do not exist")
    ends, count = len(skeleton.end_parents), len(header.get("controls", ()))
    shapes = {
        "pairs": (joints,), "rest_hips": (3,), "rest_turns": (joints, 4), "rest": (joints, 3, 3),
        "tips": (ends, 3), "to_character": (4, 4), "world": (4, 4),
        "pattern": (joints + ends, count),
    }  # fmt: skip
    own = array_part(arrays, "rig", shapes)
    pairs = own["pairs"]
    if not ((pairs >= 0) & (pairs < joints)).all():
        raise ValueError("pairs of joints that do not exist")
    found = Roles(pairs=pairs, tail=tail, **roles)
    if header["kind"] == "body":
        bends = {name: np.array(bend, float).reshape(3) for name, bend in header["bends"].items()}
        return BodyRig(skeleton, found, own["rest_hips"], bends, own["rest_turns"])
    controls = [Control(*each) for each in header["controls"]]
    groups = [str(each) for each in header["groups"]]
    if len(groups) != len(controls):
        raise ValueError("controls without bones")
    body = BlenderBody(skeleton, found, *(own[name] for name in _BODY))
    path = (folder / str(header["file"])).resolve()
    if not path.exists():
        path = (folder / path.name).resolve()
    pattern = own["pattern"].astype(bool) if "pattern" in own else None
    return BlenderRig(
        path, str(header["sha256"]), body, controls, groups, str(header["root"]), pattern
    )
