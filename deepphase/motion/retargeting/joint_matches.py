"""Correspondence of two skeletons' joints: by roles, along the chains between them, by names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from deepphase.errors import SkeletonError
from deepphase.motion.joint_names import parse_names
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, ancestors, bone_lengths

_LIMBS = (("hip", "knee", "foot", "toe"), ("shoulder", "elbow", "hand"))
# Share of the lengths along a path that its ends are apart if it is straight.
_STRAIGHT = 0.99


@dataclass(frozen=True)
class JointMatch:
    """Where a joint takes its rotation from.

    Parameters
    ----------
    first, second, share
        Joints of the source: the rotation is between theirs, nearer to the second's with a larger
        share.
    """

    joint: int
    first: int
    second: int
    share: float = 0.0


def match_joints(
    source: Skeleton, source_roles: Roles, target: Skeleton, target_roles: Roles
) -> list[JointMatch]:
    """The target's joints that have counterparts, in their order.

    Joints of one role correspond. Those between two of them (a spine, a collar) lie at the same
    share of the way, but a joint within a thigh or forearm does not bend it; all others correspond
    if they have the same side and name.
    """
    kinds = (source_roles.kind, target_roles.kind)
    if kinds[0] != kinds[1] or "other" in kinds:
        raise SkeletonError(
            f"motion of a {kinds[0]} cannot be put on a {kinds[1]}"
            if "other" not in kinds
            else "the legs of a body were not found",
            hint="both bodies must be bipeds or both quadrupeds; a skeleton description corrects "
            "what was found",
        )
    chains = [("hips", "chest"), ("chest", "neck"), ("neck", "head"), ("chest", "head")]
    for side in ("left", "right"):
        for limb, top in zip(_LIMBS, ("hips", "chest"), strict=True):
            names = [top, *(f"{side}_{part}" for part in limb)]
            chains.extend(pairwise(names))
    found: dict[int, JointMatch] = {}

    def add(match: JointMatch) -> None:
        found.setdefault(match.joint, match)

    for name in dict.fromkeys(["hips", *(name for chain in chains for name in chain)]):
        own, other = getattr(target_roles, name), getattr(source_roles, name)
        if own is not None and other is not None:
            add(JointMatch(own, other, other))
    for upper, lower in chains:
        paths = []
        for skeleton, roles in ((target, target_roles), (source, source_roles)):
            ends = getattr(roles, upper), getattr(roles, lower)
            paths.append(joint_path(skeleton, *ends) if None not in ends else [])
        if all(paths):
            for match in _along(target, paths[0], source, paths[1]):
                stiff = _stiff(target, target_roles, lower, paths[0])
                add(replace(match, share=0.0) if stiff else match)
    tails = [list(roles.tail) for roles in (target_roles, source_roles)]
    if all(tails):
        for match in _along(target, tails[0], source, tails[1], whole=True):
            add(match)
    by_name = {
        (name.side, name.key): joint
        for joint, name in enumerate(parse_names(source.names))
        if joint not in {match.first for match in found.values()}
    }
    for joint, own_name in enumerate(parse_names(target.names)):
        if joint not in found and (own_name.side, own_name.key) in by_name:
            other = by_name[own_name.side, own_name.key]
            add(JointMatch(joint, other, other))
    return [found[joint] for joint in sorted(found)]


def _stiff(target: Skeleton, roles: Roles, lower: str, path: list[int]) -> bool:
    """Whether the joints on a path down to a role cannot bend it.

    The lower legs of animals may have a hock, which their rest pose shows.
    """
    part = lower.partition("_")[2]
    if part in ("knee", "elbow"):
        return True
    if part not in ("foot", "hand", "toe"):
        return False
    ways = target.offsets[path[1:]]
    lengths = np.linalg.norm(ways, axis=1)
    straight = float(np.linalg.norm(ways.sum(axis=0))) > _STRAIGHT * float(lengths.sum())
    return roles.kind == "biped" or straight


def joint_path(skeleton: Skeleton, upper: int, lower: int) -> list[int]:
    """Joints from `upper` down to `lower`; empty if one is not above the other."""
    up = ancestors(skeleton, lower)
    return up[: up.index(upper) + 1][::-1] if upper in up and upper != lower else []


def _along(
    target: Skeleton, own: list[int], source: Skeleton, other: list[int], *, whole: bool = False
) -> list[JointMatch]:
    """Matches of the joints on one path; without its ends, unless the `whole` path is asked for."""
    if len(own) == len(other):
        pairs = [JointMatch(a, b, b) for a, b in zip(own, other, strict=True)]
        return pairs if whole else pairs[1:-1]
    places = _shares(source, other)
    matches = []
    for joint, share in zip(own, _shares(target, own), strict=True):
        place = int(np.clip(np.searchsorted(places, share) - 1, 0, max(len(places) - 2, 0)))
        after = min(place + 1, len(places) - 1)
        span = places[after] - places[place]
        between = float(np.clip((share - places[place]) / span, 0.0, 1.0)) if span > 0 else 0.0
        matches.append(JointMatch(joint, other[place], other[after], between))
    return matches if whole else matches[1:-1]


def _shares(skeleton: Skeleton, path: list[int]) -> list[float]:
    """Share of the way along a path at each of its joints."""
    lengths = np.concatenate([[0.0], bone_lengths(skeleton)[path[1:]]])
    total = lengths.sum()
    if total <= 0:
        return np.linspace(0.0, 1.0, len(path)).tolist()
    return (np.cumsum(lengths) / total).tolist()
