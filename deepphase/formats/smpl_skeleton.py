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

# Joint -> parent, and offset and end in thousandths of the stature: left, up, front. The rest pose
# is the T-pose, palms down. Joints of both sides are listed once, as those of the left.
_Place = tuple[int, int, int]
_CENTRE: dict[str, tuple[str, _Place, _Place | None]] = {
    "Pelvis": ("", (0, 0, 0), None),
    "Spine1": ("Pelvis", (0, 65, 0), None),
    "Spine2": ("Spine1", (0, 80, 0), None),
    "Spine3": ("Spine2", (0, 35, 0), None),
    "Neck": ("Spine3", (0, 95, 0), None),
    "Head": ("Neck", (0, 60, 15), (0, 87, 0)),
    "Jaw": ("Head", (0, -5, 10), None),
}
_LEFT: dict[str, tuple[str, _Place, _Place | None]] = {
    "Hip": ("Pelvis", (52, -48, 0), None),
    "Knee": ("Hip", (0, -245, 0), None),
    "Ankle": ("Knee", (0, -246, 0), None),
    "Foot": ("Ankle", (0, -30, 75), (0, -5, 45)),
    "Collar": ("Spine3", (45, 55, 0), None),
    "Shoulder": ("Collar", (84, 5, 0), None),
    "Elbow": ("Shoulder", (186, 0, 0), None),
    "Wrist": ("Elbow", (146, 0, 0), None),
    "Hand": ("Wrist", (50, 0, 0), (58, 0, 0)),
    "Eye": ("Head", (19, 28, 45), None),
}
# Finger -> offsets of its three joints, and its end.
_FINGERS: dict[str, tuple[_Place, _Place, _Place, _Place]] = {
    "Index": ((56, 0, 14), (22, 0, 0), (14, 0, 0), (11, 0, 0)),
    "Middle": ((57, 0, 2), (25, 0, 0), (15, 0, 0), (11, 0, 0)),
    "Pinky": ((47, 0, -19), (18, 0, 0), (11, 0, 0), (9, 0, 0)),
    "Ring": ((53, 0, -9), (23, 0, 0), (15, 0, 0), (11, 0, 0)),
    "Thumb": ((14, -4, 16), (18, -4, 17), (14, -2, 10), (11, 0, 7)),
}
for _name, (_first, _second, _third, _tip) in _FINGERS.items():
    _LEFT[f"{_name}1"] = ("Wrist", _first, None)
    _LEFT[f"{_name}2"] = (f"{_name}1", _second, None)
    _LEFT[f"{_name}3"] = (f"{_name}2", _third, _tip)


def _both(names: str) -> tuple[str, ...]:
    """Names of joints, of which those that begin with "_" are on both sides."""
    return tuple(
        f"{side}{name}"
        for name in names.split()
        for side in (("L", "R") if name.startswith("_") else ("",))
    )


# In the order of the models' pose vectors.
BODY = _both(
    "Pelvis _Hip Spine1 _Knee Spine2 _Ankle Spine3 _Foot Neck _Collar Head _Shoulder _Elbow _Wrist"
)
HANDS = _both("_Hand")
JAW = ("Jaw",)
EYES = _both("_Eye")
LEFT_FINGERS, RIGHT_FINGERS = (
    tuple(f"{side}_{finger}{number}" for finger in _FINGERS for number in (1, 2, 3))
    for side in "LR"
)
FINGERS = LEFT_FINGERS + RIGHT_FINGERS


@cache
def smpl_skeleton(names: tuple[str, ...]) -> Skeleton:
    """Rest skeleton of the named joints, pelvis at the origin: metres, Y up, facing +Z, T-pose."""
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
        return _CENTRE[name]
    side, part = name.split("_")
    parent, (x, *rest), end = _LEFT[part]
    parent, sign = parent if parent in _CENTRE else f"{side}_{parent}", 1 if side == "L" else -1
    return parent, (sign * x, *rest), None if end is None else (sign * end[0], *end[1:])
