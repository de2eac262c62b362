"""The bodies that synthetic motion moves: a person and a dog, with what their limbs are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.config import read_yaml
from deepphase.errors import ParameterError
from deepphase.motion.skeleton import Skeleton

BODY_KINDS = ("biped", "quadruped")


@lru_cache
def table(name: str) -> Any:
    """The content of one of the tables of numbers in this package."""
    return read_yaml(Path(__file__).parent / "tables" / f"{name}.yaml")


@dataclass(frozen=True, eq=False)
class BodyLimb:
    """A leg, or a quadruped's front leg: two long joints, a foot and toes."""

    name: str
    # Joints: hip, knee, ankle and the ball of the foot (shoulder, elbow, wrist and the base of the
    # fingers). The toe joint is the point that stays in place in stance.
    upper: int
    lower: int
    foot: int
    toe: int
    lengths: tuple[float, float]  # metres of the two long parts
    bends: int  # 1 where the middle joint bends forward, -1 where it bends backward
    standing: Array  # (3,) metres: the toe joint at rest, x and z from the hips, y over the floor
    heel: Array | None  # (3,) metres from the foot joint; None for a body that walks on its toes
    ball: Array  # (3,) metres from the foot joint to the toe joint


@dataclass(frozen=True, eq=False)
class Body:
    """A skeleton at rest on the floor, facing +Z, and its limbs."""

    kind: str
    skeleton: Skeleton
    limbs: tuple[BodyLimb, ...]  # in the order of every (frames, limbs) array
    hips_height: float  # metres
    scale: float  # its size as a multiple of the body in the table
    oscillators: tuple[str, ...]
    # Metres by which a turn takes the upper end of a leg aside over its foot, before this leaves.
    longest_sweep: float = np.inf


def biped(height: float = 1.7) -> Body:
    """A person of 25 joints in T-pose, `height` metres tall, with human proportions."""
    return _body("biped", height)


def quadruped(height: float = 0.6) -> Body:
    """A standing dog of 29 joints, `height` metres at the withers, with a tail of four joints."""
    return _body("quadruped", height)


def body_named(body: str | Body) -> Body:
    """The body of that kind; a Body passes through. ParameterError where there is none."""
    if isinstance(body, Body):
        return body
    if body not in BODY_KINDS:
        raise ParameterError(f"there is no body {body!r}", hint=f"bodies: {', '.join(BODY_KINDS)}")
    return biped() if body == "biped" else quadruped()


@lru_cache(maxsize=8)
def _body(kind: str, height: float) -> Body:
    values = table("bodies")[kind]
    if not (np.isfinite(height) and height > 0):
        raise ParameterError("a body needs a height above 0")
    scale = height / values["height"]
    rows = [
        (name, joint.get("parent"), joint["offset"]) for name, joint in values["middle"].items()
    ]
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        for name, joint in values["side"].items():
            parent, (across, up, ahead) = joint["parent"], joint["offset"]
            parent = parent if parent in values["middle"] else side + parent
            rows.append((side + name, parent, [sign * across, up, ahead]))
    names = [name for name, _, _ in rows]
    skeleton = Skeleton(
        tuple(names),
        np.array([-1 if parent is None else names.index(parent) for _, parent, _ in rows]),
        np.array([offset for _, _, offset in rows]) * scale,
        np.array([names.index(name) for name in values["ends"]]),
        np.array(list(values["ends"].values())) * scale,
    )
    heel = np.array(values["heel"]) * scale if "heel" in values else None
    limbs = tuple(
        _limb(skeleton, [side + name for name in limb["joints"]], limb["bends"], heel)
        for limb in values["limbs"]
        for side in ("Left", "Right")
    )
    hips_height = values["middle"]["Hips"]["offset"][1] * scale
    return Body(kind, skeleton, limbs, hips_height, scale, tuple(values["oscillators"]))


def _limb(skeleton: Skeleton, names: list[str], bends: int, heel: Array | None) -> BodyLimb:
    upper, lower, foot, toe = (skeleton.index(name) for name in names)
    offsets = skeleton.offsets
    first, second = (float(np.linalg.norm(offsets[joint])) for joint in (lower, foot))
    standing = skeleton.rest_positions[toe] - offsets[0] * np.array([1.0, 0.0, 1.0])
    return BodyLimb(
        names[2], upper, lower, foot, toe, (first, second), bends, standing, heel, offsets[toe]
    )
