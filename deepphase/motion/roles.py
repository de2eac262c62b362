"""Roles of joints (hips, left knee, head), from names, structure, motion or a description.

Also the kind of the body and the body part of every joint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.config import read_yaml
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.limbs import UPRIGHT, find_limbs, pair_joints, tip_positions
from deepphase.motion.skeleton import (
    JointName,
    Skeleton,
    ancestors,
    common_ancestor,
    longest_chain,
    longest_chains,
    parse_names,
    path_length,
    subtree_mask,
    tip_end,
)

# Ratio of trunk (hip to shoulder) to leg: people have 0.5 to 0.75, dogs and horses 1 to 1.5.
_LONG_TRUNK = 0.9
# Share of a leg that a pelvis lies from the hips that it hangs from.
_PELVIS_IN_HIPS = 0.25
# Joints of a face hang on the head and are not above it.
_FACE = re.compile("jaw|chin|nose|brow|lip|tongue|teeth|forehead|eye|mouth")
_ANIMAL = re.compile("paw|hoof|fetlock|hock|stifle|withers|muzzle|snout")

BODY_TYPES = ("biped", "quadruped", "other")
PAIRED_PARTS = ("hip", "knee", "foot", "toe", "shoulder", "elbow", "hand")
_PAIRS = tuple((f"left_{part}", f"right_{part}") for part in PAIRED_PARTS)
_ROLES = ("hips", "spine", "chest", "neck", "head", *(side for pair in _PAIRS for side in pair))
_KEYS = (*_ROLES, "tail", "pairs", "kind", "names", "edges")
TRUNK = "trunk"


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


# Roles by description as JSON text, of a skeleton or of a clip. Both are immutable and compared by
# identity, so that entries never become stale.
_FOUND: WeakKeyDictionary[Skeleton | Clip, dict[str, Roles]] = WeakKeyDictionary()


def find_roles(
    skeleton: Skeleton, description: Mapping[str, Any] | None = None, clip: Clip | None = None
) -> Roles:
    """Find the roles of a skeleton's joints.

    Names come first. Without informative names, mirrored chains of equal lengths are limbs: the
    low pair nearest the root is the legs, the longest other pair the arms (or front legs), and
    the motion decides which side is left.

    Roles are cached for the lifetime of the skeleton, and of the clip if names and structure are
    not enough.

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
    places = [(skeleton, key), (skeleton if clip is None else clip, f"by motion {key}")]
    for owner, entry in places:
        if entry in _FOUND.get(owner, {}):
            return _FOUND[owner][entry]
    roles, by_motion = _find_roles(skeleton, description, clip)
    owner, entry = places[by_motion]
    _FOUND.setdefault(owner, {})[entry] = roles
    return roles


def _find_roles(
    skeleton: Skeleton, description: Mapping[str, Any], clip: Clip | None
) -> tuple[Roles, bool]:
    """The roles, and whether they depend on the clip."""
    names = parse_names(skeleton.names)
    pairs, named_pairs = pair_joints(skeleton, names)
    legs, arms, notes, by_motion = find_limbs(skeleton, names, pairs, clip)
    found: dict[str, Any] = {}
    for limbs, parts in ((legs, PAIRED_PARTS[:4]), (arms, PAIRED_PARTS[4:])):
        for side, limb in zip(("left", "right"), limbs or (), strict=False):
            found.update(zip((f"{side}_{part}" for part in parts), limb, strict=False))
    described = {key: skeleton.index(description[key]) for key in _ROLES if key in description}
    found.update({"hips": 0} | described)
    body = _Body(skeleton, names, pairs, Roles(pairs=pairs, **found))
    body.add(hips=described.get("hips", body.hips(notes)))
    body.add(**body.trunk() | described)
    body.add(tail=body.tail())
    if description:
        tail = tuple(skeleton.index(name) for name in description.get("tail", ()))
        body.add(pairs=_described_pairs(skeleton, description, pairs), tail=tail or body.roles.tail)
        notes.append("the skeleton description overrides the roles that were found")
    for limb_end in ("left_foot", "right_foot", "left_hand", "right_hand"):
        joint = getattr(body.roles, limb_end)
        if joint is not None:
            body.add(**{f"{limb_end}_end": tip_end(skeleton, joint)})
    pairs = body.roles.pairs
    count = int((pairs != np.arange(len(pairs))).sum())
    notes.append(f"{count} of {len(pairs)} joints mirrored, {named_pairs} of them by name")
    kind, note, kind_by_motion = body.kind(clip, description.get("kind"))
    # All callers share one result.
    pairs.setflags(write=False)
    body.add(kind=kind, notes=(*notes, note))
    return body.roles, by_motion or kind_by_motion


@dataclass
class _Body:
    """The roles of a skeleton's joints as far as they are found, from limbs to the trunk."""

    skeleton: Skeleton
    names: list[JointName]
    pairs: Array
    roles: Roles

    def add(self, **found: Any) -> None:
        self.roles = replace(self.roles, **found)

    def named(self, part: str) -> list[int]:
        """Joints without a side whose names are those of a part."""
        return [j for j, name in enumerate(self.names) if name.part == part and not name.side]

    def hips(self, notes: list[str]) -> int:
        named, sides = self.named("hips"), self.roles.both("hip")
        if sides is not None:
            meeting = common_ancestor(self.skeleton, *sides)
            shoulders = self.roles.both("shoulder") or (meeting, meeting)
            both = common_ancestor(self.skeleton, meeting, shoulders[0])
            places = self.skeleton.rest_positions
            leg = path_length(self.skeleton, sides[0], longest_chain(self.skeleton, sides[0])[-1])
            # The pelvis of some rigs hangs beside the trunk, from a hip that carries both.
            away = np.linalg.norm(places[both] - places[meeting])
            if both != meeting and away < _PELVIS_IN_HIPS * leg:
                return both
            # The deepest one: some files nest a pelvis in a hip.
            above = [joint for joint in ancestors(self.skeleton, meeting) if joint in named]
            return above[0] if above else meeting
        if named:
            return named[0]
        joints = range(len(self.skeleton))
        hips = next((joint for joint in joints if len(self.skeleton.children(joint)) > 1), 0)
        name = self.skeleton.names[hips]
        notes.append(f"{name!r}, the first joint that branches, is taken as the hips")
        return hips

    def trunk(self) -> dict[str, int | None]:
        skeleton, hips = self.skeleton, self.roles.hips
        below_hips = set(np.flatnonzero(subtree_mask(skeleton, hips)).tolist()) - {hips}
        chest, neck, head = (
            next((joint for joint in self.named(part) if joint in below_hips), None)
            for part in ("chest", "neck", "head")
        )
        shoulders = self.roles.both("shoulder")
        if shoulders is not None:
            chest = common_ancestor(skeleton, *shoulders)
        if head is None and (self.pairs != np.arange(len(self.pairs))).any():
            chain = self.upwards(hips if chest is None else chest)
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
        chest = chest if chest in below_hips else None
        return {"spine": spine, "chest": chest, "neck": neck, "head": head}

    def upwards(self, joint: int) -> list[int]:
        """The longest chain on the middle line below a joint, tails and faces left out."""
        lengths, chain = longest_chains(self.skeleton)[0], list[int]()
        while True:
            following = [
                child
                for child in self.skeleton.children(joint)
                if self.pairs[child] == child and not self.names[child].side
                if self.names[child].part != "tail" and not _FACE.search(self.names[child].key)
            ]
            if not following:
                return chain
            joint = max(following, key=lambda child: lengths[child])
            chain.append(joint)

    def tail(self) -> tuple[int, ...]:
        named, roles = tuple(self.named("tail")), self.roles
        if named or roles.left_hip is None or roles.spine is None:
            return named
        lengths, _ = longest_chains(self.skeleton)
        for child in self.skeleton.children(roles.hips):
            chain = longest_chain(self.skeleton, child)
            on_middle = all(self.pairs[j] == j and not self.names[j].part for j in chain)
            long = len(chain) >= 2 and lengths[child] > 0.2 * lengths[roles.left_hip]
            if child != roles.spine and on_middle and long:
                return tuple(chain)
        return ()

    def kind(self, clip: Clip | None, described: str | None) -> tuple[str, str, bool]:
        """The kind of the body, the evidence, and whether motion counts.

        No single sign of a quadruped decides: people crawl, and dogs sit up.
        """
        skeleton, roles = self.skeleton, self.roles
        if described is not None:
            return described, f"{described}, as described", False
        hips, feet, shoulders = (roles.both(part) for part in ("hip", "foot", "shoulder"))
        if hips is None or feet is None:
            return "other", "neither biped nor quadruped: no pair of legs found", False
        if shoulders is None:
            return "biped", "a biped: one pair of legs and no arms found", False
        leg = path_length(skeleton, hips[0], feet[0])
        # Not along the joints: the way over neck and collar makes people long.
        places = skeleton.rest_positions
        trunk = float(np.linalg.norm(places[shoulders[0]] - places[roles.hips]))
        signs = []
        if any(name.quarter or _ANIMAL.search(name.key) for name in self.names):
            signs.append("its joints' names")
        if roles.tail:
            signs.append("a tail")
        if trunk > _LONG_TRUNK * leg:
            signs.append("a trunk longer than its legs")
        if not signs:
            # Motion adds at most two signs, and three are needed.
            return "biped", "a biped", False
        if clip is not None:
            hands = roles.both("hand") or roles.both("elbow") or shoulders
            transforms = global_transforms(clip)
            tips, foot_tips = (
                np.min([tip_positions(clip, transforms, joint)[:, 1] for joint in pair], axis=0)
                for pair in (hands, feet)
            )
            if np.mean(tips - np.percentile(foot_tips, 10) < 0.25 * leg) > 0.5:
                signs.append("front feet on the floor")
            places = transforms[1]
            rise = places[:, list(shoulders)].mean(axis=1) - places[:, roles.hips]
            if np.median(rise[:, 1] / np.maximum(np.linalg.norm(rise, axis=1), 1e-9)) < UPRIGHT:
                signs.append("a trunk closer to horizontal than to upright")
        if len(signs) >= (2 if clip is None else 3):
            return "quadruped", f"a quadruped by {', '.join(signs)}", True
        return "biped", f"a biped, in spite of {', '.join(signs)}", True


def body_parts(skeleton: Skeleton, roles: Roles) -> tuple[str, ...]:
    """(joints,) body part of each: (front and hind) legs, arms, head, tail, else the trunk."""
    leg, arm = ("hind leg", "front leg") if roles.kind == "quadruped" else ("leg", "arm")
    tops = [
        ("head", roles.head if roles.neck is None else roles.neck),
        ("tail", roles.tail[0] if roles.tail else None),
        # Feet may hang beside the body.
        *(
            (f"{side} {limb}", getattr(roles, f"{side}_{part}"))
            for limb, parts in ((arm, ("hand", "shoulder")), (leg, ("foot", "hip")))
            for side in ("left", "right")
            for part in parts
        ),
    ]
    parts = np.full(len(skeleton), TRUNK, object)
    for name, top in tops:
        if top is not None:
            parts[subtree_mask(skeleton, top)] = name
    return tuple(parts.tolist())


def load_description(path: str | Path) -> dict[str, Any]:
    """Read a skeleton description, which states the role of each joint.

    It is a YAML mapping of role names (`hips`, `head`, `left_hip`, `right_hand`, ...: the fields
    of `Roles`) to joint names; `tail`, a list of joints; `pairs`, a list of [left, right]; and
    `kind`, one of "biped", "quadruped", "other". For point tracks also `names`, a list with a
    name for every point in the file's order, and `edges`, a list of [name, name] of connected
    points. All keys are optional.

    Raises
    ------
    ParameterError
        If the file does not exist, is not YAML, or has unknown keys or values.
    """
    path = Path(path)
    content = read_yaml(path)
    return {} if content is None else checked_description(content, path)


def checked_description(content: Any, path: Path | None = None) -> dict[str, Any]:
    """A skeleton description from YAML or JSON; ParameterError as `load_description`."""
    if not isinstance(content, dict):
        raise ParameterError(
            "this is not a mapping of roles to joints", hint="write `hips: Pelvis`", path=path
        )
    for key, value in content.items():
        if key not in _KEYS:
            hint = f"roles are {', '.join(_KEYS)}"
            raise ParameterError(f"there is no role {key!r}", hint=hint, path=path)
        if not _fits(key, value):
            raise ParameterError(
                f"{key} cannot be {value!r}",
                hint="a role has one joint, names and tail a list, pairs and edges lists of two",
                path=path,
            )
    return content


def _fits(key: str, value: Any) -> bool:
    if key in ("names", "tail"):
        is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
        return is_list and (key == "tail" or len(set(value)) == len(value))
    if key in ("pairs", "edges"):
        return isinstance(value, list) and all(
            _fits("tail", pair) and len(pair) == 2 for pair in value
        )
    return value in BODY_TYPES if key == "kind" else isinstance(value, str)


def _described_pairs(skeleton: Skeleton, description: Mapping[str, Any], pairs: Array) -> Array:
    """(joints,) mirror partners, overridden by those of the description."""
    by_role = ([description.get(role) for role in pair] for pair in _PAIRS)
    pairs = pairs.copy()
    for stated in (*description.get("pairs", ()), *(pair for pair in by_role if None not in pair)):
        left, right = map(skeleton.index, stated)
        if left == right:
            raise SkeletonError(
                f"{skeleton.names[left]!r} cannot be its own mirror partner",
                hint="leave joints of the middle line out of pairs",
            )
        for joint in (left, right):
            pairs[pairs[joint]] = pairs[joint]
        pairs[left], pairs[right] = right, left
    return pairs
