"""Distances between the joints of a rig and those that were asked for, by parts of the body."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.roles import body_parts
from deepphase.rigs.character_rig import CharacterRig


class PartResidual(NamedTuple):
    """Distances of the joints of a part, metres."""

    part: str
    mean: float
    largest: float


def part_residuals(rig: CharacterRig, errors: Array) -> list[PartResidual]:
    """Mean and largest distance of each part of the body.

    Parameters
    ----------
    errors : (frames, joints) metres
        As in `RigSolution`.
    """
    of_joint = body_parts(rig.skeleton, rig.roles)
    parts = np.array([*of_joint, *(of_joint[joint] for joint in rig.skeleton.end_parents)])
    return [
        PartResidual(part, float(own.mean()), float(own.max()))
        for part in dict.fromkeys(parts.tolist())
        for own in [errors[:, parts == part]]
    ]
