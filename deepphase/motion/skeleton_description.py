"""Skeleton descriptions: YAML files that state the roles of joints.

They help where names and structure of a skeleton are not enough to find the roles.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepphase.arrays import Array
from deepphase.config import read_yaml
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.skeleton import Skeleton

BODY_TYPES = ("biped", "quadruped", "other")
PAIRED_PARTS = ("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand")
JOINT_ROLES = (
    *("hips", "spine", "chest", "neck", "head"),
    *(f"{side}_{part}" for part in PAIRED_PARTS for side in ("left", "right")),
)
_KEYS = (*JOINT_ROLES, "tail", "pairs", "kind", "names", "edges")


def load_description(path: str | Path) -> dict[str, Any]:
    """Read a skeleton description, which states the role of each joint.

    It is a YAML mapping of role names (`hips`, `head`, `left_hip`, `right_hand`, ...: the fields
    of `Roles`) to joint names; `tail`, a list of joints; `pairs`, a list of [left, right]; and
    `kind`, one of "biped", "quadruped", "other". For point tracks also `names`, a list with a
    name for every point in the file's order, and `edges`, a list of [name, name] of connected
    points. All keys are optional.

    Raises
    ------
    ParameterError
        If the file does not exist, is not YAML, or has unknown keys or values.
    """
    path = Path(path)
    content = read_yaml(path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ParameterError(
            "this is not a mapping of roles to joints", hint="write `hips: Pelvis`", path=path
        )
    for key, value in content.items():
        if key not in _KEYS:
            roles = ", ".join(_KEYS)
            raise ParameterError(f"there is no role {key!r}", hint=f"roles are {roles}", path=path)
        if not _fits(key, value):
            raise ParameterError(
                f"{key} cannot be {value!r}",
                hint="a role has one joint, names and tail a list, pairs and edges lists of two",
                path=path,
            )
    return content


def _fits(key: str, value: Any) -> bool:
    if key == "kind":
        return value in BODY_TYPES
    if key == "names":
        return _are_names(value) and len(set(value)) == len(value)
    if key == "tail":
        return _are_names(value)
    if key in ("pairs", "edges"):
        return isinstance(value, list) and all(
            _are_names(pair) and len(pair) == 2 for pair in value
        )
    return isinstance(value, str)


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def described_joints(skeleton: Skeleton, description: Mapping[str, Any]) -> dict[str, int]:
    """Role -> joint of the roles in a description. Raises SkeletonError for an unknown joint."""
    return {key: skeleton.index(description[key]) for key in JOINT_ROLES if key in description}


def described_pairs(skeleton: Skeleton, description: Mapping[str, Any], pairs: Array) -> Array:
    """(joints,) mirror partners, overridden by those of the description."""
    given = [tuple(pair) for pair in description.get("pairs", ())]
    sides = ((f"left_{part}", f"right_{part}") for part in PAIRED_PARTS)
    given.extend(
        (description[left], description[right])
        for left, right in sides
        if left in description and right in description
    )
    pairs = pairs.copy()
    for left, right in ((skeleton.index(left), skeleton.index(right)) for left, right in given):
        if left == right:
            raise SkeletonError(
                f"{skeleton.names[left]!r} cannot be its own mirror partner",
                hint="leave joints of the middle line out of pairs",
            )
        for joint in (left, right):
            pairs[pairs[joint]] = pairs[joint]
        pairs[left], pairs[right] = right, left
    return pairs
