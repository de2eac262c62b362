"""Joints that a layout names: by their own names, or by what they are on any body."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from deepphase.errors import ParameterError
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Array, Skeleton

_PAIRS = {"feet": "foot", "toes": "toe", "hands": "hand", "knees": "knee", "elbows": "elbow"}
_SINGLE = ("hips", "spine", "chest", "neck", "head")
_SIDED = tuple(f"{side}_{part}" for part in _PAIRS.values() for side in ("left", "right"))
ALL = "all"


def named_joints(names: Sequence[str], skeleton: Skeleton, roles: Roles) -> tuple[str, ...]:
    """Joint names of joint names and roles, each once, in the order in which they are named.

    Roles are "hips", "spine", "chest", "neck", "head", "left_foot" and the like, "feet", "toes",
    "hands", "knees", "elbows", and "all": every joint from the hips on. A joint of that name goes
    before a role.

    Raises
    ------
    ParameterError
        Where a name is neither a joint nor a role that this body has.
    """
    found: list[str] = []
    for name in names:
        if name in skeleton.names:
            found.append(name)
            continue
        joints = _of_role(name, skeleton, roles)
        if not joints:
            raise ParameterError(
                f"no joint or role {name!r} on this skeleton",
                hint=f"roles: {', '.join((ALL, *_SINGLE, *_PAIRS, *_SIDED))}; joints: "
                f"{', '.join(skeleton.names)}",
            )
        found += [skeleton.names[joint] for joint in joints]
    return tuple(dict.fromkeys(found))


def _of_role(name: str, skeleton: Skeleton, roles: Roles) -> list[int]:
    if name == ALL:
        return np.flatnonzero(body_joints(skeleton, roles)).tolist()
    if name in _PAIRS:
        return list(roles.both(_PAIRS[name]) or ())
    joint = getattr(roles, name) if name in (*_SINGLE, *_SIDED) else None
    return [] if joint is None else [joint]


def body_joints(skeleton: Skeleton, roles: Roles) -> Array:
    """(joints,) bool: the hips and all that hangs from them; what stands above is no body."""
    inside = np.zeros(len(skeleton), bool)
    inside[roles.hips] = True
    for joint in range(roles.hips + 1, len(skeleton)):
        inside[joint] = inside[skeleton.parents[joint]]
    return inside
