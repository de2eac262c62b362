"""Joints of standard sets of optical markers by their labels; edges of points named as joints.

Known are Vicon's Plug-in Gait with its 39 markers, CMU's 41, and the Baseline and Conventional
sets of OptiTrack. Joints are means of markers; where a mean needs weights, points are repeated.

References
----------
Plug-in Gait Reference Guide, Vicon, for the places of the markers. Bell et al. 1989, the centre of
the hip from markers of the pelvis.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, pairwise

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.orientation import ASSUMED_UP, AXES
from deepphase.motion.skeleton import JointName, parse_names

# Part of the body -> labels without side, in small letters without signs.
_SIDED = {
    "front": r"asis?|fwt|waistfront",
    "rear": r"psis?|bwt|waistback",
    "thigh": r"thi\w?|thigh\w*",
    "knee": r"m?kn[em]\w?|knee(out|in|lat|med)?",
    "shin": r"tib\w?|shn|shin\w*|shank\w*",
    "ankle": r"m?ank\w?|ankle(out|in|lat|med)?",
    "heel": r"hee|heel(back)?",
    "toe": r"toe(in|out|tip)?|mt[1-5]p?|forefoot(in|out)",
    "shoulder": r"sho|shoulder(top|back)|acr\w*",
    "upper arm": r"upa|u?arm(high)?|upperarm|biceps",
    "elbow": r"m?elb|elbow(out|in|lat|med)?",
    "forearm": r"frm|fra|farm|forearm",
    "wrist": r"wr[abio]|wrist(out|in|lat|med)",
    "hand": r"fin|hand(out|in)?",
}
_MIDDLE = {
    "rear": r"sacr(al|um)?|vsacral",
    "head": r"[lr][fb]hd|head(top|front|back|side|[lr](front|back)?)",
    "top": r"c7|clav|(back|spine|chest)top",
    "chest": r"t10|t8|strn|sternum|chest|xiph\w*",
    "back": r"[lr]?ba[ck]{1,2}|back(l|r|left|right|middle|low)",
}
# Share of the knee in the centre of the hip, which lies below the waist's markers; and of the
# elbow in that of the shoulder.
_HIP, _SHOULDER = (10, 5, 3), (6, 1)
# Share of the way from the ankles to the waist that is along the up axis of a standing body.
_CLEAR = 0.8
_SIDES = (("l", "Left"), ("r", "Right"))

# Parts of legs and arms by the names of points, from the trunk outwards.
_LEG_PARTS = (("upper leg", "hip"), ("knee", "leg"), ("ankle", "foot"), ("toe", "foot"))
_ARM_PARTS = (("upper arm", "arm", "shoulder"), ("elbow",), ("wrist", "hand"))
_SPINE = ("spine", "chest")

# Name, parent, points whose mean is the joint, and points that move with it.
JointRow = tuple[str, str, tuple[int, ...], list[int]]


def _part(label: str) -> tuple[str, str]:
    """Side ("l", "r" or "") and part of the body of a marker; ("", "") if it is not known."""
    key = re.sub(r"[^a-z0-9]", "", label.rpartition(":")[2].lower())
    for part, pattern in _MIDDLE.items():
        if re.fullmatch(pattern, key):
            return "", part
    sided = re.fullmatch(r"(waist|)(left|l|right|r)(.+)", key)
    if sided:
        for part, pattern in _SIDED.items():
            if re.fullmatch(pattern, sided[1] + sided[3]):
                return sided[2][0], part
    return "", ""


def _mean(*groups: tuple[Sequence[int], int]) -> tuple[int, ...]:
    """Points whose mean is that of the means of groups, by whole weights."""
    multiple = math.lcm(*(len(points) for points, _ in groups if points))
    return tuple(
        point
        for points, weight in groups
        for point in [*points] * (weight * multiple // max(len(points), 1))
    )


def marker_joints(names: Sequence[str]) -> list[JointRow]:
    """The joints of the set that labels belong to, parents first; none of an unknown set."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for point, name in enumerate(names):
        found[_part(name)].append(point)
    waist = [found[side, part] for side, _ in _SIDES for part in ("front", "knee", "ankle")]
    if not all(waist):
        return []
    fronts, rears = found["l", "front"] + found["r", "front"], found["", "rear"]
    rears = rears or found["l", "rear"] + found["r", "rear"]
    if not rears:
        return []
    shoulders = found["l", "shoulder"], found["r", "shoulder"]
    has_arms = all(
        found[side, part] for side, _ in _SIDES for part in ("shoulder", "elbow", "wrist")
    )
    trunk = [*chain(*(found["", part] for part in ("top", "chest", "back")), *shoulders)]
    chest, carried = "Hips", fronts + rears
    rows: list[JointRow] = [("Hips", "", _mean((fronts, 1), (rears, 1)), carried)]
    if all(shoulders):
        top = [(points, 1) for points in (*shoulders, found["", "top"])]
        middle = _mean((fronts, 2), (rears, 2), *top)
        chest = "Chest"
        rows += [("Spine", "Hips", middle, []), (chest, "Spine", _mean(*top), trunk)]
    else:
        carried.extend(trunk)
    if found["", "head"]:
        rows.append(("Head", chest, tuple(found["", "head"]), found["", "head"]))
    for side, word in _SIDES:
        part = {name: found[side, name] for name in _SIDED}
        front, knee, rear = part["front"], part["knee"], part["rear"] or rears
        hip = _mean(*zip((front, rear, knee), _HIP, strict=True))
        rows += [
            (f"{word}UpLeg", "Hips", hip, part["thigh"]),
            (f"{word}Leg", f"{word}UpLeg", tuple(knee), part["shin"] + knee),
            (f"{word}Foot", f"{word}Leg", tuple(part["ankle"]), part["heel"] + part["ankle"]),
        ]
        if part["toe"]:
            rows.append((f"{word}ToeBase", f"{word}Foot", tuple(part["toe"]), part["toe"]))
        if has_arms:
            elbow, wrist = part["elbow"], part["wrist"]
            arm = _mean(*zip((part["shoulder"], elbow), _SHOULDER, strict=True))
            rows += [
                (f"{word}Arm", chest, arm, part["upper arm"]),
                (f"{word}ForeArm", f"{word}Arm", tuple(elbow), part["forearm"] + elbow + wrist),
                (f"{word}Hand", f"{word}ForeArm", tuple(wrist), []),
            ]
            if part["hand"]:
                rows.append((f"{word}Finger", f"{word}Hand", tuple(part["hand"]), part["hand"]))
    return rows


def up_of_markers(names: Sequence[str], positions: Array) -> tuple[str, str] | None:
    """The up axis of points (frames, points, 3) with labels or names, and a note; else None."""
    joints = {name: list(points) for name, _, points, _ in marker_joints(names)}
    feet, waist = joints.get("LeftFoot", []) + joints.get("RightFoot", []), joints.get("Hips", [])
    if not joints:
        parts = [name.part for name in parse_names(tuple(names))]
        feet, waist = (
            [point for point, part in enumerate(parts) if part in own]
            for own in (("ankle", "foot"), ("hips", "hip", "upper leg"))
        )
    if not (feet and waist):
        return None
    hips = positions[:, waist].mean(axis=1)
    rise = (hips - positions[:, feet].mean(axis=1)).mean(axis=0)
    axis = int(np.argmax(np.abs(rise)))
    if abs(rise[axis]) < _CLEAR * np.linalg.norm(rise):
        return None
    up = AXES[axis if rise[axis] > 0 else axis + 3]
    return up, f"{ASSUMED_UP}{up}: from the ankles to the waist"


def named_edges(names: Sequence[JointName]) -> list[tuple[int, int]]:
    """Edges along hips, legs, trunk and arms where names say these; none unless both legs do."""
    found: dict[tuple[str, str], int] = {}
    for point, name in enumerate(names):
        found.setdefault((name.part, name.side), point)

    def limb(steps: Sequence[Sequence[str]], side: str) -> list[int]:
        """The first point of each step that has one, without those of steps before."""
        line: list[int] = []
        for parts in steps:
            own = (found[part, side] for part in parts if (part, side) in found)
            line += [point for point in own if point not in line][:1]
        return line

    legs, arms = (
        [limb(steps, side) for side in ("left", "right")] for steps in (_LEG_PARTS, _ARM_PARTS)
    )
    if min(map(len, legs)) < 3:
        return []
    # Trackers of video have no point between the hips: one side hangs from the other.
    first = found.get(("hips", ""), legs[0][0])
    spine = [point for point, name in enumerate(names) if name.part in _SPINE and not name.side]
    trunk, has_centre = [first, *spine], ("hips", "") in found
    lines = [trunk, *([first, *(point for point in leg if point != first)] for leg in legs)]
    lines.append([trunk[-1], *limb((("neck",), ("head",)), "")])
    if min(map(len, arms)) >= 3:
        lines += [[trunk[-1], *arms[0]], [trunk[-1] if has_centre else arms[0][0], *arms[1]]]
    return [pair for line in lines for pair in pairwise(line)]
