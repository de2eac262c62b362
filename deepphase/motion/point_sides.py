"""Which side of a body of points is the left one: from feet, knees, elbows and the way it goes."""

from __future__ import annotations

import numpy as np

from deepphase.motion.kinematics import velocities
from deepphase.motion.point_limbs import PointBody, PointLimb
from deepphase.motion.skeleton import Array

_UP = np.array([0.0, 1.0, 0.0])
_GROUND = np.array([1.0, 0.0, 1.0])
# What each sign counts. Toes and knees point forwards whatever a body does; elbows point backwards
# unless arms are raised, and dancers go backwards nearly as much as forwards.
_WEIGHTS = {"feet": 2.0, "knees": 2.0, "elbows": 0.5, "travel": 0.5}


def facing(positions: Array, body: PointBody) -> Array:
    """(frames, 3) unit vectors on the ground: where the body faces if its first limbs are left."""
    pairs = [body.legs, *([] if body.arms is None else [body.arms])]
    across = sum(positions[:, a.points[0]] - positions[:, b.points[0]] for a, b in pairs)
    front = np.cross(across, _UP)
    return front / np.maximum(np.linalg.norm(front, axis=1, keepdims=True), 1e-9)


def first_is_left(
    positions: Array, fps: float, body: PointBody, joints: dict[str, list[int]]
) -> tuple[float, str]:
    """How sure it is that the first leg is the left one, from -1 (it is the right one) to 1.

    Parameters
    ----------
    positions
        (frames, points, 3) metres, Y up.
    joints
        "knees", "feet", "elbows", "hands" -> the point of both limbs, where it is known.

    Returns
    -------
    sureness
        Votes of the feet (from ankle to toe), the knees and elbows (off the line of their limb)
        and the direction of travel, weighted; 0 where nothing tells.
    note
        How each voted, one sentence.
    """
    front = facing(positions, body)
    evidence = {}
    feet = joints.get("feet")
    if feet is not None:
        tips = [leg.points[-1] for leg in body.legs]
        if tips != feet:
            evidence["feet"] = list(np.moveaxis(positions[:, tips] - positions[:, feet], 1, 0))
        if "knees" in joints:
            evidence["knees"] = _bends(positions, body.legs, joints["knees"], feet)
    if body.arms is not None and "elbows" in joints and "hands" in joints:
        bends = _bends(positions, body.arms, joints["elbows"], joints["hands"])
        evidence["elbows"] = [-bend for bend in bends]
    hips = positions[:, [leg.points[0] for leg in body.legs]].mean(axis=1)
    evidence["travel"] = [velocities(hips, fps)]
    votes = {}
    for name, vectors in evidence.items():
        ground = [vector * _GROUND for vector in vectors]
        length = sum(float(np.linalg.norm(vector, axis=1).sum()) for vector in ground)
        along = sum(float(np.einsum("fc,fc->", vector, front)) for vector in ground)
        votes[name] = along / length if length > 1e-9 else 0.0
    total = sum(_WEIGHTS[name] for name in votes)
    sureness = sum(_WEIGHTS[name] * vote for name, vote in votes.items()) / total
    agreeing = {name: abs(vote) for name, vote in votes.items() if vote * sureness > 0}
    said = ", ".join(f"{name} {vote:.2f}" for name, vote in agreeing.items())
    against = ", ".join(name for name, vote in votes.items() if vote * sureness < 0)
    note = f"left and right told apart by {said or 'nothing'} (1 is sure)"
    return sureness, f"{note}, against {against}" if against else note


def _bends(
    positions: Array, limbs: tuple[PointLimb, PointLimb], middles: list[int], ends: list[int]
) -> list[Array]:
    """(frames, 3) of each limb: how far its middle joint stands off the line between the ends."""
    bends = []
    for limb, middle, end in zip(limbs, middles, ends, strict=True):
        start = positions[:, limb.points[0]]
        line, way = positions[:, end] - start, positions[:, middle] - start
        squared = np.maximum(np.einsum("fc,fc->f", line, line), 1e-12)
        share = np.einsum("fc,fc->f", way, line) / squared
        bends.append(way - share[:, None] * line)
    return bends
