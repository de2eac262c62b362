"""Which joints of a point structure above the shoulders are the head."""

from __future__ import annotations

import re

import numpy as np

from deepphase.motion.limbs import below
from deepphase.motion.skeleton import Array, Skeleton

# Points as high as the highest one, to this share of the way from the shoulders, are the head.
_HEAD_SHARE = 0.3


def head_joints(
    skeleton: Skeleton, head: int, positions: Array, shoulders: list[int]
) -> tuple[list[int], list[int]]:
    """The joints that are the head, the highest first, and those of its group that are not.

    Parameters
    ----------
    head
        The joint that was found to be it; joints of its name and a number are of its group.
    positions : (frames, joints, 3)
        Metres.
    """
    same = re.compile(re.escape(skeleton.names[head]) + r"[_ ]?\d+$")
    group = [
        joint
        for joint in np.flatnonzero(below(skeleton, head)).tolist()
        if joint == head or (same.match(skeleton.names[joint]) and not skeleton.children(joint))
    ]
    # The group may hold all that is above the shoulders; the head is where it is highest.
    heights = np.median(positions[:, group, 1], axis=0)
    top = group[int(np.argmax(heights))]
    shoulder_line = np.median(positions[:, shoulders, 1], axis=0).mean()
    room = _HEAD_SHARE * max(float(heights.max() - shoulder_line), 1e-9)
    near = [joint for joint, y in zip(group, heights, strict=True) if heights.max() - y <= room]
    heads = [top, *(joint for joint in near if joint != top)]
    return heads, sorted(set(group) - set(heads))
