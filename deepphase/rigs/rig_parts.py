"""Rigs as arrays and a header, in the file of an inverse rig function."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.formats.array_file import array_part
from deepphase.formats.body_checks import checked_skeleton
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton
from deepphase.rigs.body_rig import BodyRig

_SKELETON = ("parents", "offsets", "end_parents", "end_offsets")


def rig_parts(rig: BodyRig) -> tuple[dict[str, dict[str, Array]], dict[str, Any]]:
    """Parts and header of a rig."""
    parts = {
        "skeleton": {name: getattr(rig.skeleton, name) for name in _SKELETON},
        "rig": {
            "pairs": np.asarray(rig.roles.pairs, np.int64),
            "rest_hips": rig.rest_hips,
            "rest_turns": rig.rest_turns,
        },
    }
    roles = {
        name: value
        for name, value in vars(rig.roles).items()
        if isinstance(value, int | str) and value is not None
    }
    return parts, {
        "kind": "body",
        "names": list(rig.skeleton.names),
        "roles": roles,
        "tail": [int(joint) for joint in rig.roles.tail],
        "bends": {name: bend.tolist() for name, bend in rig.bends.items()},
    }


def rig_of_parts(arrays: Mapping[str, Array], header: Mapping[str, Any]) -> BodyRig:
    """The rig of the arrays of parts and a header of `rig_parts`.

    Raises ValueError, KeyError or TypeError if they do not fit each other.
    """
    if header["kind"] != "body":
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
    shapes = {"pairs": (joints,), "rest_hips": (3,), "rest_turns": (joints, 4)}
    own = array_part(arrays, "rig", shapes)
    pairs = own["pairs"]
    if not ((pairs >= 0) & (pairs < joints)).all():
        raise ValueError("pairs of joints that do not exist")
    found = Roles(pairs=pairs, tail=tail, **roles)
    bends = {name: np.array(bend, float).reshape(3) for name, bend in header["bends"].items()}
    return BodyRig(skeleton, found, own["rest_hips"], bends, own["rest_turns"])
