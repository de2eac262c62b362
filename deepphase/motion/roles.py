"""Roles of joints (hips, left knee, head), from names, structure, motion or a description.

Also the kind of the body and the body part of every joint.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.clip import Clip
from deepphase.motion.joint_names import JointName, parse_names
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.limb_roles import LimbsBySide, find_limb_roles, tip_positions
from deepphase.motion.limbs import (
    ancestors,
    common_ancestor,
    longest_chains,
    pair_joints,
    path_length,
    subtree_mask,
    tip_end,
)
from deepphase.motion.skeleton import Skeleton
from deepphase.motion.skeleton_description import described_joints, described_pairs
from deepphase.short_repr import brief_repr

# Ratio of trunk (hip to shoulder) to leg: people have 0.5 to 0.75, dogs and horses 1 to 1.5.
_LONG_TRUNK = 0.9
# Joints of a face hang on the head and are not above it.
_FACE_WORDS = ("jaw", "chin", "nose", "brow", "lip", "tongue", "teeth", "forehead", "eye", "mouth")
_ANIMAL_WORDS = ("paw", "hoof", "fetlock", "hock", "stifle", "withers", "muzzle", "snout")


def body_kind(
    skeleton: Skeleton,
    by_role: Mapping[str, int | None],
    tail: tuple[int, ...],
    names: list[JointName],
    clip: Clip | None,
) -> tuple[str, str, bool]:
    """The kind of a body ("biped", "quadruped", "other"), the evidence, and whether motion counts.

    A quadruped has arms, or front legs, and most of these signs: the tips of these limbs are on
    the floor, the trunk is horizontal (both need a clip, Y up), the trunk is longer than thigh
    and shin, there is a tail, joints have names of an animal's parts. No single sign decides:
    people crawl, and dogs sit up.
    """
    hips, feet = _both(by_role, "hip"), _both(by_role, "foot")
    if hips is None or feet is None:
        return "other", "neither biped nor quadruped: no pair of legs found", False
    shoulders = _both(by_role, "shoulder")
    if shoulders is None:
        return "biped", "a biped: one pair of legs and no arms found", False
    signs = []
    if any(name.quarter for name in names) or any(
        word in name.key for name in names for word in _ANIMAL_WORDS
    ):
        signs.append("its joints' names")
    if tail:
        signs.append("a tail")
    middle = by_role["hips"] or 0
    leg = path_length(skeleton, hips[0], feet[0])
    meeting = common_ancestor(skeleton, middle, shoulders[0])
    trunk = path_length(skeleton, meeting, middle) + path_length(skeleton, meeting, shoulders[0])
    if trunk > _LONG_TRUNK * leg:
        signs.append("a trunk longer than its legs")
    if not signs:
        # Motion adds at most two signs, and three are needed.
        return "biped", "a biped", False
    needed = 2
    if clip is not None:
        needed = 3
        hands = _both(by_role, "hand") or _both(by_role, "elbow") or shoulders
        signs.extend(_signs_in_motion(clip, middle, feet, hands, shoulders, leg))
    if len(signs) >= needed:
        return "quadruped", f"a quadruped by {', '.join(signs)}", True
    return "biped", f"a biped, in spite of {', '.join(signs)}", True


def _both(by_role: Mapping[str, int | None], part: str) -> tuple[int, int] | None:
    left, right = by_role.get(f"left_{part}"), by_role.get(f"right_{part}")
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


TRUNK = "trunk"


def body_parts(skeleton: Skeleton, roles: Roles) -> tuple[str, ...]:
    """(joints,) the body part of each joint: legs, arms, head, tail; all others are the trunk.

    The parts of a quadruped are called front and hind legs. A part that was not found (`Roles`
    holds None) belongs to the trunk.
    """
    leg, arm = ("hind leg", "front leg") if roles.kind == "quadruped" else ("leg", "arm")
    tops: dict[str, int | None] = {
        "head": roles.neck if roles.neck is not None else roles.head,
        "tail": roles.tail[0] if roles.tail else None,
        f"left {arm}": roles.left_shoulder,
        f"right {arm}": roles.right_shoulder,
        f"left {leg}": roles.left_hip,
        f"right {leg}": roles.right_hip,
    }
    parts = np.full(len(skeleton), TRUNK, object)
    for name, top in tops.items():
        if top is not None:
            parts[subtree_mask(skeleton, top)] = name
    return tuple(parts.tolist())


@brief_repr
@dataclass(frozen=True, eq=False)
class Roles:
    """Joints of a body by their roles: indices into the skeleton, None for a role without joint.

    Parameters
    ----------
    hips
        The joint that both legs are attached to (the pelvis).
    pairs
        (joints,) index of each joint's mirror partner; its own on the middle line, and for joints
        without a partner (a prop in one hand).
    kind
        "biped", "quadruped" or "other" (no legs found).
    spine, chest, neck, head
        First joint of the spine; the joint that the arms are attached to; neck and head.
    left_hip, right_hip
        Upper legs (the femur's head); `knee`, `foot` (ankle) and `toe` follow down the leg.
    left_shoulder, right_shoulder
        Upper arms, or front legs of a quadruped; `elbow` and `hand` (wrist, front paw) follow.
    left_foot_end, right_foot_end, left_hand_end, right_hand_end
        Index of the end site at the limb's tip, if it has one apart from its joint.
    tail
        From the root of the tail to its last joint.
    notes
        How the roles were found, one sentence each.
    """

    hips: int
    pairs: Array
    kind: str = "other"
    spine: int | None = None
    chest: int | None = None
    neck: int | None = None
    head: int | None = None
    left_hip: int | None = None
    right_hip: int | None = None
    left_knee: int | None = None
    right_knee: int | None = None
    left_foot: int | None = None
    right_foot: int | None = None
    left_toe: int | None = None
    right_toe: int | None = None
    left_shoulder: int | None = None
    right_shoulder: int | None = None
    left_elbow: int | None = None
    right_elbow: int | None = None
    left_hand: int | None = None
    right_hand: int | None = None
    left_foot_end: int | None = None
    right_foot_end: int | None = None
    left_hand_end: int | None = None
    right_hand_end: int | None = None
    tail: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def both(self, part: str) -> tuple[int, int] | None:
        """(left, right) joints of a part ("hip", "foot", "shoulder"), None unless both exist."""
        left, right = getattr(self, f"left_{part}"), getattr(self, f"right_{part}")
        return None if left is None or right is None else (left, right)


def find_roles(
    skeleton: Skeleton, description: Mapping[str, Any] | None = None, clip: Clip | None = None
) -> Roles:
    """Find the roles of a skeleton's joints.

    Names come first. Without informative names, mirrored chains of equal lengths are limbs: the
    low pair nearest the root is the legs, the longest other pair the arms (or front legs), and
    the motion decides which side is left.

    Roles are cached for the lifetime of the skeleton: one result for each skeleton and
    description, and one for each clip if names and structure are not enough.

    Parameters
    ----------
    description
        A skeleton description (`load_description`), which has precedence.
    clip
        Motion of this skeleton, Y up: distinguishes left from right if names do not, and a
        quadruped from a biped.

    Raises
    ------
    SkeletonError
        If the description names a joint that does not exist.
    """
    description = description or {}
    key = json.dumps(dict(description), sort_keys=True, default=str)
    known = _KNOWN.setdefault(skeleton, _KnownRoles())
    motion = skeleton if clip is None else clip
    roles = known.by_structure.get(key) or known.by_motion.get(motion, {}).get(key)
    if roles is None:
        roles, by_motion = _find_roles(skeleton, description, clip)
        cache = known.by_motion.setdefault(motion, {}) if by_motion else known.by_structure
        cache[key] = roles
    return roles


@dataclass(frozen=True, eq=False)
class _KnownRoles:
    """Cached roles of one skeleton, by description as JSON text."""

    by_structure: dict[str, Roles] = field(default_factory=dict)
    by_motion: WeakKeyDictionary[Clip | Skeleton, dict[str, Roles]] = field(
        default_factory=WeakKeyDictionary
    )


# Skeletons are immutable and compared by identity, so that entries never become stale.
_KNOWN: WeakKeyDictionary[Skeleton, _KnownRoles] = WeakKeyDictionary()


def _find_roles(
    skeleton: Skeleton, description: Mapping[str, Any], clip: Clip | None
) -> tuple[Roles, bool]:
    """The roles, and whether they depend on the clip."""
    names = parse_names(skeleton.names)
    pairs, named_pairs = pair_joints(skeleton, names)
    legs, arms, notes, by_motion = find_limb_roles(skeleton, names, pairs, clip)
    by_role: dict[str, int | None] = {
        **_limb_fields(legs, ("hip", "knee", "foot", "toe")),
        **_limb_fields(arms, ("shoulder", "elbow", "hand")),
    }
    described = described_joints(skeleton, description)
    by_role.update(described)
    hips, hips_notes = _hips(skeleton, names, by_role)
    notes.extend(hips_notes)
    hips = described.get("hips", hips)
    by_role.update({"hips": hips, **_trunk(skeleton, names, pairs, hips, by_role), **described})
    tail = _tail(skeleton, names, pairs, hips, by_role)
    if description:
        pairs = described_pairs(skeleton, description, pairs)
        tail = tuple(skeleton.index(name) for name in description.get("tail", ())) or tail
        notes.append("the skeleton description overrides the roles that were found")
    for limb in ("left_foot", "right_foot", "left_hand", "right_hand"):
        joint = by_role.get(limb)
        by_role[f"{limb}_end"] = None if joint is None else tip_end(skeleton, joint)
    count = int((pairs != np.arange(len(pairs))).sum())
    notes.append(f"{count} of {len(pairs)} joints mirrored, {named_pairs} of them by name")
    if "kind" in description:
        kind, kind_note = description["kind"], f"{description['kind']}, as described"
    else:
        kind, kind_note, kind_by_motion = body_kind(skeleton, by_role, tail, names, clip)
        by_motion = by_motion or kind_by_motion
    # All callers share one result.
    pairs.setflags(write=False)
    roles = Roles(
        pairs=pairs,
        kind=kind,
        tail=tail,
        notes=(*notes, kind_note),
        **by_role,  # type: ignore[arg-type]
    )
    return roles, by_motion


def _limb_fields(limbs: LimbsBySide | None, parts: tuple[str, ...]) -> dict[str, int | None]:
    return {
        f"{side}_{part}": joint
        for side, limb in zip(("left", "right"), limbs or (), strict=False)
        for part, joint in zip(parts, (limb.upper, limb.middle, limb.last, limb.toe), strict=False)
    }


def _named(names: list[JointName], part: str) -> list[int]:
    return [joint for joint, name in enumerate(names) if name.part == part and not name.side]


def _hips(
    skeleton: Skeleton, names: list[JointName], by_role: Mapping[str, int | None]
) -> tuple[int, list[str]]:
    named = _named(names, "hips")
    left, right = by_role.get("left_hip"), by_role.get("right_hip")
    if left is not None and right is not None:
        meeting = common_ancestor(skeleton, left, right)
        # The deepest one: some files nest a pelvis in a hip.
        above = [joint for joint in ancestors(skeleton, meeting) if joint in named]
        return (above[0] if above else meeting), []
    if named:
        return named[0], []
    branching = [joint for joint in range(len(skeleton)) if len(skeleton.children(joint)) > 1]
    hips = branching[0] if branching else 0
    return hips, [f"{skeleton.names[hips]!r}, the first joint that branches, is taken as the hips"]


def _trunk(
    skeleton: Skeleton,
    names: list[JointName],
    pairs: Array,
    hips: int,
    by_role: Mapping[str, int | None],
) -> dict[str, int | None]:
    below_hips = set(np.flatnonzero(subtree_mask(skeleton, hips)).tolist()) - {hips}

    def named(part: str) -> int | None:
        return next((joint for joint in _named(names, part) if joint in below_hips), None)

    left, right = by_role.get("left_shoulder"), by_role.get("right_shoulder")
    chest, neck, head = named("chest"), named("neck"), named("head")
    if left is not None and right is not None:
        chest = common_ancestor(skeleton, left, right)
    if head is None and (pairs != np.arange(len(pairs))).any():
        chain = _upwards(skeleton, names, pairs, hips if chest is None else chest)
        head = chain[-1] if chain else None
        if neck is None and len(chain) > 1 and chest is not None:
            neck = chain[0]
    elif neck is None and head is not None:
        above = int(skeleton.parents[head])
        neck = None if above in (hips, chest, -1) else above
    top = next((joint for joint in (chest, neck, head) if joint in below_hips), None)
    spine = None
    if top is not None:
        path = ancestors(skeleton, top)
        spine = path[path.index(hips) - 1]
    return {
        "spine": spine,
        "chest": chest if chest in below_hips else None,
        "neck": neck,
        "head": head,
    }


def _upwards(skeleton: Skeleton, names: list[JointName], pairs: Array, joint: int) -> list[int]:
    """The longest chain on the middle line below a joint, tails and faces left out."""
    lengths, chain = longest_chains(skeleton)[0], list[int]()
    while True:
        following = [
            child
            for child in skeleton.children(joint)
            if pairs[child] == child
            and not names[child].side
            and names[child].part != "tail"
            and not any(word in names[child].key for word in _FACE_WORDS)
        ]
        if not following:
            return chain
        joint = max(following, key=lambda child: lengths[child])
        chain.append(joint)


def _tail(
    skeleton: Skeleton,
    names: list[JointName],
    pairs: Array,
    hips: int,
    by_role: Mapping[str, int | None],
) -> tuple[int, ...]:
    named = tuple(_named(names, "tail"))
    if named or by_role.get("left_hip") is None or by_role["spine"] is None:
        return named
    lengths, through = longest_chains(skeleton)
    for child in skeleton.children(hips):
        chain = [child]
        while through[chain[-1]] >= 0:
            chain.append(int(through[chain[-1]]))
        on_middle = all(pairs[joint] == joint and not names[joint].part for joint in chain)
        long = lengths[child] > 0.2 * lengths[by_role["left_hip"]]
        if child != by_role["spine"] and on_middle and long and len(chain) >= 2:
            return tuple(chain)
    return ()
