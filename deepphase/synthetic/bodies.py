"""The bodies that made motion moves: a person and a dog, with what their limbs are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.skeleton import Skeleton

BODY_KINDS = ("biped", "quadruped")


@dataclass(frozen=True, eq=False)
class BodyLimb:
    """A leg, or a quadruped's front leg: two long joints, a foot and toes.

    Parameters
    ----------
    upper, lower, foot, toe
        Joint indices: hip, knee, ankle and the ball of the foot (of a front leg: shoulder, elbow,
        wrist, base of the fingers). The toe joint is the point that stays in place in stance.
    standing
        (3,) metres: the toe joint at rest, x and z relative to the hips, y over the floor.
    heel
        (3,) metres from the foot joint in its frame, or None for who walks on his toes.
    ball
        (3,) metres from the foot joint to the toe joint.
    """

    name: str
    upper: int
    lower: int
    foot: int
    toe: int
    bends: int
    standing: Array
    heel: Array | None
    ball: Array

    @property
    def sole(self) -> Array:
        """(3,) metres from heel to toe joint; of who walks on his toes, from the foot joint."""
        return self.ball if self.heel is None else self.ball - self.heel


@dataclass(frozen=True, eq=False)
class Body:
    """A skeleton at rest on the floor, facing +Z, and its limbs.

    Parameters
    ----------
    kind
        "biped" or "quadruped".
    limbs
        In the order of every (frames, limbs) array.
    """

    kind: str
    skeleton: Skeleton
    limbs: tuple[BodyLimb, ...]
    hips_height: float
    oscillators: tuple[str, ...]

    @property
    def limb_names(self) -> tuple[str, ...]:
        """Names of the limbs."""
        return tuple(limb.name for limb in self.limbs)


def limb_lengths(skeleton: Skeleton, limb: BodyLimb) -> tuple[float, float]:
    """Metres of the two long parts."""
    upper, lower = skeleton.offsets[limb.lower], skeleton.offsets[limb.foot]
    return float(np.linalg.norm(upper)), float(np.linalg.norm(lower))


# name, parent, offset in metres. A person of 1.70 m in T-pose; the left side, mirrored below.
_BIPED_MIDDLE = (
    ("Hips", "", (0.0, 0.95, 0.0)),
    ("Spine", "Hips", (0.0, 0.095, -0.015)),
    ("Spine1", "Spine", (0.0, 0.115, -0.005)),
    ("Spine2", "Spine1", (0.0, 0.12, 0.0)),
    ("Neck", "Spine2", (0.0, 0.165, 0.005)),
    ("Neck1", "Neck", (0.0, 0.055, 0.012)),
    ("Head", "Neck1", (0.0, 0.055, 0.012)),
)
_BIPED_SIDE = (
    ("Shoulder", "Spine2", (0.035, 0.115, 0.005)),
    ("Arm", "Shoulder", (0.14, 0.0, -0.01)),
    ("ForeArm", "Arm", (0.28, 0.0, 0.0)),
    ("Hand", "ForeArm", (0.25, 0.0, 0.0)),
    ("HandMiddle1", "Hand", (0.09, 0.0, 0.0)),
    ("UpLeg", "Hips", (0.09, -0.04, 0.0)),
    ("Leg", "UpLeg", (0.0, -0.42, 0.0)),
    ("Foot", "Leg", (0.0, -0.41, 0.0)),
    ("ToeBase", "Foot", (0.0, -0.06, 0.13)),
)
_BIPED_ENDS = (
    ("Head", (0.0, 0.145, 0.0)),
    ("LeftHandMiddle1", (0.08, 0.0, 0.0)),
    ("RightHandMiddle1", (-0.08, 0.0, 0.0)),
    ("LeftToeBase", (0.0, -0.01, 0.07)),
    ("RightToeBase", (0.0, -0.01, 0.07)),
)
# A dog, 0.6 m at the withers.
_QUADRUPED_MIDDLE = (
    ("Hips", "", (0.0, 0.55, 0.0)),
    ("Spine", "Hips", (0.0, 0.015, 0.10)),
    ("Spine1", "Spine", (0.0, 0.0, 0.16)),
    ("Spine2", "Spine1", (0.0, -0.005, 0.16)),
    ("Neck", "Spine2", (0.0, 0.045, 0.10)),
    ("Neck1", "Neck", (0.0, 0.09, 0.09)),
    ("Head", "Neck1", (0.0, 0.08, 0.07)),
    ("Tail", "Hips", (0.0, 0.02, -0.09)),
    ("Tail1", "Tail", (0.0, -0.05, -0.08)),
    ("Tail2", "Tail1", (0.0, -0.03, -0.09)),
    ("Tail3", "Tail2", (0.0, 0.0, -0.09)),
)
_QUADRUPED_SIDE = (
    ("Shoulder", "Spine2", (0.045, 0.05, 0.03)),
    ("Arm", "Shoulder", (0.02, -0.14, 0.09)),
    ("ForeArm", "Arm", (0.0, -0.125, -0.10)),
    ("Hand", "ForeArm", (0.0, -0.20, 0.02)),
    ("FingerBase", "Hand", (0.0, -0.125, 0.03)),
    ("UpLeg", "Hips", (0.065, -0.04, -0.02)),
    ("Leg", "UpLeg", (0.0, -0.165, 0.085)),
    ("Foot", "Leg", (0.0, -0.165, -0.12)),
    ("ToeBase", "Foot", (0.0, -0.16, 0.025)),
)
_QUADRUPED_ENDS = (
    ("Head", (0.0, -0.05, 0.17)),
    ("Tail3", (0.0, 0.02, -0.09)),
    ("LeftFingerBase", (0.0, -0.01, 0.05)),
    ("RightFingerBase", (0.0, -0.01, 0.05)),
    ("LeftToeBase", (0.0, -0.01, 0.05)),
    ("RightToeBase", (0.0, -0.01, 0.05)),
)
_LEG = ("UpLeg", "Leg", "Foot", "ToeBase")
_FRONT_LEG = ("Arm", "ForeArm", "Hand", "FingerBase")


@lru_cache(maxsize=4)
def biped(height: float = 1.7) -> Body:
    """A person of 25 joints in T-pose, `height` metres tall, with human proportions."""
    skeleton = _skeleton(_BIPED_MIDDLE, _BIPED_SIDE, _BIPED_ENDS, height / 1.7)
    heel = np.array([0.0, -0.08, -0.05]) * height / 1.7
    limbs = tuple(_limb(skeleton, side, _LEG, 1, heel) for side in ("Left", "Right"))
    return Body("biped", skeleton, limbs, 0.95 * height / 1.7, ("LeftArm", "RightArm"))


@lru_cache(maxsize=4)
def quadruped(height: float = 0.6) -> Body:
    """A standing dog of 29 joints, `height` metres at the withers, with a tail of four joints."""
    skeleton = _skeleton(_QUADRUPED_MIDDLE, _QUADRUPED_SIDE, _QUADRUPED_ENDS, height / 0.6)
    limbs = tuple(
        _limb(skeleton, side, chain, bends, None)
        for chain, bends in ((_FRONT_LEG, -1), (_LEG, 1))
        for side in ("Left", "Right")
    )
    return Body("quadruped", skeleton, limbs, 0.55 * height / 0.6, ("Tail",))


def body_named(body: str | Body) -> Body:
    """The body of that kind; a Body passes through. ParameterError where there is none."""
    if isinstance(body, Body):
        return body
    if body not in BODY_KINDS:
        raise ParameterError(f"there is no body {body!r}", hint=f"bodies: {', '.join(BODY_KINDS)}")
    return biped() if body == "biped" else quadruped()


def rest_positions(skeleton: Skeleton) -> Array:
    """(joints, 3) metres: every joint at rest."""
    positions = skeleton.offsets.copy()
    for joint in range(1, len(skeleton)):
        positions[joint] += positions[skeleton.parents[joint]]
    return positions


def _skeleton(middle: tuple, side: tuple, ends: tuple, scale: float) -> Skeleton:
    if not (np.isfinite(scale) and scale > 0):
        raise ParameterError("a body needs a height above 0")
    mirror = np.array([-1.0, 1.0, 1.0])
    rows = [(name, parent, np.array(offset)) for name, parent, offset in middle]
    on_middle = {name for name, _, _ in middle}
    for prefix, sign in (("Left", np.ones(3)), ("Right", mirror)):
        rows += [
            (prefix + name, parent if parent in on_middle else prefix + parent, sign * offset)
            for name, parent, offset in side
        ]
    names = [name for name, _, _ in rows]
    return Skeleton(
        tuple(names),
        np.array([names.index(parent) if parent else -1 for _, parent, _ in rows]),
        np.stack([offset for _, _, offset in rows]) * scale,
        np.array([names.index(name) for name, _ in ends]),
        np.array([offset for _, offset in ends]) * scale,
    )


def _limb(
    skeleton: Skeleton, side: str, chain: tuple[str, ...], bends: int, heel: Array | None
) -> BodyLimb:
    upper, lower, foot, toe = (skeleton.index(side + name) for name in chain)
    return BodyLimb(
        skeleton.names[foot],
        upper,
        lower,
        foot,
        toe,
        bends,
        rest_positions(skeleton)[toe] - skeleton.offsets[0] * np.array([1.0, 0.0, 1.0]),
        heel,
        skeleton.offsets[toe],
    )
