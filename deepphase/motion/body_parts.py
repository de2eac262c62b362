"""Which part of the body a joint belongs to, in words."""

from __future__ import annotations

import numpy as np

from deepphase.motion.limbs import below
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton

TRUNK = "trunk"


def body_parts(skeleton: Skeleton, roles: Roles) -> tuple[str, ...]:
    """(joints,) the part of each joint: legs, arms, head, tail, or the trunk that is left.

    Of a quadruped the arms are front legs and the legs hind legs. A part that was not found
    (`Roles` holds None) is part of the trunk.
    """
    leg, arm = ("hind leg", "front leg") if roles.kind == "quadruped" else ("leg", "arm")
    tops: dict[str, int | None] = {
        "head": roles.neck if roles.neck is not None else roles.head,
        "tail": roles.tail[0] if roles.tail else None,
        f"left {arm}": roles.left_shoulder,
        f"right {arm}": roles.right_shoulder,
        f"left {leg}": roles.left_hip,
        f"right {leg}": roles.right_hip,
    }
    parts = np.full(len(skeleton), TRUNK, object)
    for name, top in tops.items():
        if top is not None:
            parts[below(skeleton, top)] = name
    return tuple(parts.tolist())
