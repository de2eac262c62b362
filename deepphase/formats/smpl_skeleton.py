"""Rest skeleton of an average adult with the joints of the SMPL family of body models.

The models are licensed and not used: lengths are shares of the stature from textbooks of
anthropometry; only the names and the order of the joints are those of the models.

References
----------
Winter 2009, Biomechanics and motor control of human movement, fig. 4.1 (after Drillis and Contini
1964); hands after the proportions of Buchholz et al. 1992.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from deepphase.motion.skeleton import Skeleton

STATURE_M = 1.72

# Joint -> parent, and offset in thousandths of the stature: left, up, front. The rest pose is the
# T-pose, palms down. Joints of both sides are listed once, as L_.
_CENTRE = {
    "Pelvis": ("", (0, 0, 0)),
    "Spine1": ("Pelvis", (0, 65, 0)),
    "Spine2": ("Spine1", (0, 80, 0)),
    "Spine3": ("Spine2", (0, 35, 0)),
    "Neck": ("Spine3", (0, 95, 0)),
    "Head": ("Neck", (0, 60, 15)),
    "Jaw": ("Head", (0, -5, 10)),
}
_LEFT = {
    "Hip": ("Pelvis", (52, -48, 0)),
    "Knee": ("Hip", (0, -245, 0)),
    "Ankle": ("Knee", (0, -246, 0)),
    "Foot": ("Ankle", (0, -30, 75)),
    "Collar": ("Spine3", (45, 55, 0)),
    "Shoulder": ("Collar", (84, 5, 0)),
    "Elbow": ("Shoulder", (186, 0, 0)),
    "Wrist": ("Elbow", (146, 0, 0)),
    "Hand": ("Wrist", (50, 0, 0)),
    "Eye": ("Head", (19, 28, 45)),
    "Index1": ("Wrist", (56, 0, 14)),
    "Index2": ("Index1", (22, 0, 0)),
    "Index3": ("Index2", (14, 0, 0)),
    "Middle1": ("Wrist", (57, 0, 2)),
    "Middle2": ("Middle1", (25, 0, 0)),
    "Middle3": ("Middle2", (15, 0, 0)),
    "Ring1": ("Wrist", (53, 0, -9)),
    "Ring2": ("Ring1", (23, 0, 0)),
    "Ring3": ("Ring2", (15, 0, 0)),
    "Pinky1": ("Wrist", (47, 0, -19)),
    "Pinky2": ("Pinky1", (18, 0, 0)),
    "Pinky3": ("Pinky2", (11, 0, 0)),
    "Thumb1": ("Wrist", (14, -4, 16)),
    "Thumb2": ("Thumb1", (18, -4, 17)),
    "Thumb3": ("Thumb2", (14, -2, 10)),
}
_CENTRE_ENDS = {"Head": (0, 87, 0)}
_LEFT_ENDS = {
    "Foot": (0, -5, 45),
    "Hand": (58, 0, 0),
    "Index3": (11, 0, 0),
    "Middle3": (11, 0, 0),
    "Ring3": (11, 0, 0),
    "Pinky3": (9, 0, 0),
    "Thumb3": (11, 0, 7),
}


def _both(names: str) -> tuple[str, ...]:
    return tuple(f"{side}_{name}" for name in names.split() for side in "LR")


# In the order of the models' pose vectors.
BODY = (
    "Pelvis",
    *_both("Hip"),
    "Spine1",
    *_both("Knee"),
    "Spine2",
    *_both("Ankle"),
    "Spine3",
    *_both("Foot"),
    "Neck",
    *_both("Collar"),
    "Head",
    *_both("Shoulder Elbow Wrist"),
)
HANDS = _both("Hand")
JAW = ("Jaw",)
EYES = _both("Eye")
LEFT_FINGERS, RIGHT_FINGERS = (
    tuple(
        f"{side}_{finger}{number}"
        for finger in ("Index", "Middle", "Pinky", "Ring", "Thumb")
        for number in (1, 2, 3)
    )
    for side in "LR"
)
FINGERS = LEFT_FINGERS + RIGHT_FINGERS


@cache
def smpl_skeleton(names: tuple[str, ...]) -> Skeleton:
    """The rest skeleton of the named joints in their order; the pelvis is at the origin.

    Metres, Y up, facing +Z, T-pose.
    """
    index = {name: position for position, name in enumerate(names)}
    parents, offsets, end_parents, end_offsets = [], [], [], []
    for name in names:
        parent, offset, end = _joint(name)
        parents.append(index[parent] if parent else -1)
        offsets.append(offset)
        if end is not None:
            end_parents.append(index[name])
            end_offsets.append(end)
    # The wrist is the end of the arm if the model has neither hand nor fingers.
    for side, sign in (("L", 1), ("R", -1)):
        wrist = index[f"{side}_Wrist"]
        if wrist not in parents:
            end_parents.append(wrist)
            end_offsets.append((sign * 108, 0, 0))
    scale = STATURE_M / 1000
    return Skeleton(
        names,
        np.array(parents),
        np.array(offsets) * scale,
        np.array(end_parents),
        np.array(end_offsets) * scale,
    )


def _joint(name: str) -> tuple[str, tuple[int, ...], tuple[int, ...] | None]:
    """A joint's parent, its offset and its end site, in thousandths of the stature."""
    if name in _CENTRE:
        return (*_CENTRE[name], _CENTRE_ENDS.get(name))
    side, part = name.split("_")
    parent, (x, *rest) = _LEFT[part]
    sign = 1 if side == "L" else -1
    end = _LEFT_ENDS.get(part)
    return (
        parent if parent in _CENTRE else f"{side}_{parent}",
        (sign * x, *rest),
        None if end is None else (sign * end[0], *end[1:]),
    )
