"""Whether a body walks on two legs or on four."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import JointName
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.limbs import common_ancestor, path_length
from deepphase.motion.sides import tip_positions
from deepphase.motion.skeleton import Skeleton

# From hip to shoulder against thigh and shin: people have 0.5 to 0.75, dogs and horses 1 to 1.5.
_LONG_TRUNK = 0.9
_ANIMAL_WORDS = ("paw", "hoof", "fetlock", "hock", "stifle", "withers", "muzzle", "snout")


def body_kind(
    skeleton: Skeleton,
    found: Mapping[str, int | None],
    tail: tuple[int, ...],
    names: list[JointName],
    clip: Clip | None,
) -> tuple[str, str, bool]:
    """The kind of a body ("biped", "quadruped", "other"), the evidence, and whether motion counts.

    A quadruped has arms, or front legs, and most of these: their tips are on the floor, its
    trunk is horizontal (both need a clip, Y up), its trunk is longer than its thigh and shin, a
    tail, names of an animal's parts. No single sign decides: people crawl, and dogs sit up.

    Parameters
    ----------
    found
        Role -> joint, `hips` among them.
    tail
        The joints of the tail.

    Returns
    -------
    kind
    note
        One sentence on what says so.
    by_motion
        Whether another clip of this skeleton can give another kind.
    """
    hips, feet = _both(found, "hip"), _both(found, "foot")
    if hips is None or feet is None:
        return "other", "neither biped nor quadruped: no pair of legs found", False
    shoulders = _both(found, "shoulder")
    if shoulders is None:
        return "biped", "a biped: one pair of legs and no arms found", False
    signs = []
    if any(name.quarter for name in names) or any(
        word in name.key for name in names for word in _ANIMAL_WORDS
    ):
        signs.append("its joints' names")
    if tail:
        signs.append("a tail")
    middle = found["hips"] or 0
    leg = path_length(skeleton, hips[0], feet[0])
    meeting = common_ancestor(skeleton, middle, shoulders[0])
    trunk = path_length(skeleton, meeting, middle) + path_length(skeleton, meeting, shoulders[0])
    if trunk > _LONG_TRUNK * leg:
        signs.append("a trunk longer than its legs")
    if not signs:
        # Motion has two signs at most, and three are needed.
        return "biped", "a biped", False
    needed = 2
    if clip is not None:
        needed = 3
        hands = _both(found, "hand") or _both(found, "elbow") or shoulders
        signs.extend(_signs_in_motion(clip, middle, feet, hands, shoulders, leg))
    if len(signs) >= needed:
        return "quadruped", f"a quadruped by {', '.join(signs)}", True
    return "biped", f"a biped, in spite of {', '.join(signs)}", True


def _both(found: Mapping[str, int | None], part: str) -> tuple[int, int] | None:
    left, right = found.get(f"left_{part}"), found.get(f"right_{part}")
    return None if left is None or right is None else (left, right)


def _signs_in_motion(
    clip: Clip,
    hips: int,
    feet: tuple[int, int],
    hands: tuple[int, int],
    shoulders: tuple[int, int],
    leg: float,
) -> list[str]:
    signs = []
    transforms = global_transforms(clip)
    positions = transforms[1]
    tips = np.stack([tip_positions(clip, transforms, joint)[:, 1] for joint in hands])
    foot_tips = np.stack([tip_positions(clip, transforms, joint)[:, 1] for joint in feet])
    floor = np.percentile(foot_tips.min(axis=0), 10)
    if np.mean(tips.min(axis=0) - floor < 0.25 * leg) > 0.5:
        signs.append("front feet on the floor")
    trunk = positions[:, list(shoulders)].mean(axis=1) - positions[:, hips]
    elevation = trunk[:, 1] / np.maximum(np.linalg.norm(trunk, axis=1), 1e-9)
    if np.median(elevation) < 0.6:
        signs.append("a trunk closer to horizontal than to upright")
    return signs
