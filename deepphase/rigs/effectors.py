"""Inverse rig functions from a few joints: hands, feet, hips and head (Holden 2017, 3.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.roles import Roles
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.gaussian_process import EFFECTOR_RIDGE, MultiquadricProcess, chosen_width
from deepphase.rigs.inverse import RigInverse

# Examples that the width of the kernel is chosen with.
_WIDTH_EXAMPLES = 300
_SIDES = ("left", "right")
_BOTH = {"hands": "hand", "feet": "foot", "toes": "toe"}


def named_effectors(rig: BodyRig, names: Sequence[str]) -> Array:
    """Indices of joints that a motion is made from.

    Parameters
    ----------
    names
        "seven" (hips, head, hands, feet, and the end of the tail or the chest), "feet" (all feet of
        an animal), "hands", roles such as left_hand, or names of joints of the rig.

    Raises
    ------
    ParameterError
        If the rig has no such joint, or no name is given.
    """
    found: dict[int, None] = {}
    for name in names:
        for joint in _named(rig, name):
            found[joint] = None
    if not found:
        raise ParameterError("no joint is named", hint="give seven, feet, or names of joints")
    return np.array(list(found), np.int64)


def _named(rig: BodyRig, name: str) -> list[int]:
    roles = rig.roles
    joints: list[int | None] = []
    if name == "seven":
        last = roles.tail[-1] if roles.tail else roles.chest
        limbs = [getattr(roles, f"{side}_{part}") for part in ("hand", "foot") for side in _SIDES]
        joints = [roles.hips, roles.head, *limbs, last]
    elif name in _BOTH:
        parts = [_BOTH[name], *(["hand"] if name == "feet" and roles.kind != "biped" else [])]
        joints = [getattr(roles, f"{side}_{part}") for part in parts for side in _SIDES]
    elif name in rig.joints:
        joints = [rig.joints.index(name)]
    elif name == "tail" and roles.tail:
        joints = [roles.tail[-1]]
    elif isinstance(getattr(roles, name, None), int):
        joints = [getattr(roles, name)]
    known = [int(joint) for joint in joints if joint is not None]
    if not known:
        raise ParameterError(
            f"the rig has no joint {name!r}",
            hint=f"there are seven, feet, hands, {', '.join([*_roles(roles), *rig.joints])}"[:400],
        )
    return known


def _roles(roles: Roles) -> list[str]:
    return [
        name
        for name, value in vars(roles).items()
        if isinstance(value, int) and not name.endswith("_end")
    ]


def inverse_of_effectors(inverse: RigInverse, joints: Array) -> RigInverse:
    """The inverse that knows some joints alone, out of the same examples.

    Its process reads these joints, and refinement follows them. What they leave open is as in the
    examples. It has no network.

    Parameters
    ----------
    joints
        Indices of joints of the rig, as of `named_effectors`.

    References
    ----------
    Holden 2017, section 3.8: whole-body inverse kinematics in the space of the rig.
    """
    process = inverse.process
    columns = (3 * joints[:, None] + np.arange(3)).ravel()
    inputs, outputs = process.inputs[:, columns], process.predict(process.inputs)
    some = np.random.default_rng(0).permutation(len(inputs))[:_WIDTH_EXAMPLES]
    width = chosen_width(inputs[some], outputs[some], ridge=EFFECTOR_RIDGE)
    process = MultiquadricProcess.fit(inputs, outputs, width, EFFECTOR_RIDGE)
    return replace(inverse, process=process, network=None, joints=joints)
