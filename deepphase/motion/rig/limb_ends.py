"""Which points beyond a knee or elbow are the ankle or wrist."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from deepphase.errors import SkeletonError

# A lower leg or arm is at least this share of the upper one: what is nearer to the knee or elbow
# is a second point on it.
_LOWER_SHARE = 0.55
# Up to so many points beyond a knee or elbow are markers of two parts; more are a tree of joints.
_FEW = 4


def limb_ends(
    distal: list[list[int]],
    lengths: list[list[float]],
    uppers: list[float],
    distance: Callable[[int, int], float],
    lasts: tuple[int, int] | None,
    *,
    leg: bool,
) -> list[tuple[list[int], list[int], list[int]]]:
    """Of both limbs what lies before the ankle or wrist, the points that are it, what is beyond."""
    if any(not limb for limb in distal):
        raise SkeletonError(
            "a rig needs a point beyond each knee and elbow",
            hint="leave out arms that end at the elbow by a skeleton description",
        )
    ordered = [
        [joint for _, joint in sorted(zip(far, limb, strict=True))]
        for far, limb in zip(lengths, distal, strict=True)
    ]
    ways = [dict(zip(limb, far, strict=True)) for far, limb in zip(lengths, distal, strict=True)]
    known = lasts is not None and all(
        last in limb for last, limb in zip(lasts, ordered, strict=True)
    )
    if lasts is not None and known and max(map(len, ordered)) > _FEW:
        return [
            (
                limb[: limb.index(last)],
                [last],
                limb[limb.index(last) + 1 :],
            )
            for limb, last in zip(ordered, lasts, strict=True)
        ]
    groups = [[[joint] for joint in limb] for limb in ordered]
    if not leg and min(map(len, ordered)) >= 3:
        groups = [_two_groups(limb, distance) for limb in ordered]
    places = min(map(len, groups))

    def share(place: int) -> float:
        far = sum(
            float(np.mean([way[joint] for joint in limb[place]]))
            for way, limb in zip(ways, groups, strict=True)
        )
        return far / max(sum(uppers), 1e-9)

    last_place = next((p for p in range(places) if share(p) >= _LOWER_SHARE), places - 1)
    return [
        (
            [joint for group in limb[:last_place] for joint in group],
            limb[last_place],
            [joint for group in limb[last_place + 1 :] for joint in group],
        )
        for limb in groups
    ]


def _two_groups(limb: list[int], distance: Callable[[int, int], float]) -> list[list[int]]:
    """Points from the elbow outwards in two groups, whose nearest points are farthest apart."""
    groups = [[joint] for joint in limb]
    while len(groups) > 2:
        gaps = [
            min(distance(one, other) for one in near for other in far)
            for near, far in pairwise(groups)
        ]
        place = int(np.argmin(gaps))
        groups[place : place + 2] = [groups[place] + groups[place + 1]]
    return groups
