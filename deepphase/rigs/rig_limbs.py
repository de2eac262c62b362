"""What a rig has of a body: limbs and how they bend, chains, and axes of twist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import Skeleton, ancestors
from deepphase.rigs.matrices import across, unit

# A middle joint that is further from the line between the ends, as a share of the limb, shows the
# way in which the limb bends.
_BENT = 0.02


@dataclass(frozen=True, eq=False)
class RigLimb:
    """Arm or leg with forward and inverse kinematics, such as "left_leg"."""

    name: str
    chain: tuple[int, ...]  # joints from the upper to the last one
    middle: int
    toe: int | None
    bend: Array  # (3,) unit vector: to where the middle joint bends at rest

    @property
    def upper(self) -> int:
        return self.chain[0]

    @property
    def last(self) -> int:
        return self.chain[-1]


def _limb_joints(roles: Roles) -> dict[str, tuple[int, int, int]]:
    """Limb -> upper, middle and last joint, of those that have all three."""
    four = roles.kind == "quadruped"
    found = {}
    for limb, parts in (
        ("hind_leg" if four else "leg", ("hip", "knee", "foot")),
        ("front_leg" if four else "arm", ("shoulder", "elbow", "hand")),
    ):
        for side in ("left", "right"):
            upper, middle, last = (getattr(roles, f"{side}_{part}") for part in parts)
            if None not in (upper, middle, last) and len({upper, middle, last}) == 3:
                found[f"{side}_{limb}"] = (upper, middle, last)
    return found


def rest_bends(skeleton: Skeleton, roles: Roles) -> dict[str, Array]:
    """Limb -> (3,) unit vector to where it bends in the reference pose."""
    bends = {}
    for name, joints in _limb_joints(roles).items():
        upper, middle, last = skeleton.rest_positions[list(joints)]
        axis = unit(last - upper)
        out = across(middle - upper, axis)
        if np.linalg.norm(out) < _BENT * np.linalg.norm(last - upper):
            # Knees bend forward, elbows backward.
            out = across(np.array([0.0, 0.0, 1.0 if "leg" in name else -1.0]), axis)
        bends[name] = unit(out)
    return bends


def rig_limbs(skeleton: Skeleton, roles: Roles, bends: Mapping[str, Array]) -> tuple[RigLimb, ...]:
    limbs = []
    for name, (upper, middle, last) in _limb_joints(roles).items():
        path = ancestors(skeleton, last)
        chain = tuple(path[: path.index(upper) + 1][::-1])
        side = name.partition("_")[0]
        toe = getattr(roles, f"{side}_toe")
        if last != getattr(roles, f"{side}_foot") or toe is None or skeleton.parents[toe] != last:
            toe = None
        limbs.append(RigLimb(name, chain, middle, toe, bends[name]))
    return tuple(limbs)


def rig_chains(skeleton: Skeleton, roles: Roles, carrying: set[int]) -> dict[str, tuple[int, ...]]:
    """Chains of two joints or more that bend together: spine, neck and tail."""
    tail = (roles.tail[0], roles.tail[-1]) if roles.tail else (None, None)
    ends = {"spine": (roles.spine, roles.chest), "neck": (roles.neck, roles.head), "tail": tail}
    chains = {}
    for name, (first, last) in ends.items():
        path = [] if first is None or last is None else ancestors(skeleton, last)
        if first in path:
            chain = path[: path.index(first) + 1][::-1]
            chains[name] = tuple(joint for joint in chain if joint in carrying)
    return {name: chain for name, chain in chains.items() if len(chain) > 1}


def twist_axes(skeleton: Skeleton) -> tuple[int, ...]:
    """Axis of each joint that is nearest to the line to its child or end."""
    ways = np.zeros((len(skeleton), 3))
    np.add.at(ways, skeleton.parents[1:], skeleton.offsets[1:])
    np.add.at(ways, skeleton.end_parents, skeleton.end_offsets)
    ways[~ways.any(axis=1)] = [0.0, 1.0, 0.0]
    return tuple(np.abs(ways).argmax(axis=1).tolist())


def rig_joint_names(skeleton: Skeleton) -> list[str]:
    """Names of the joints and end sites, each once."""
    names = list(skeleton.names)
    for joint in skeleton.end_parents:
        name = f"{skeleton.names[joint]}_end"
        names.append(name if name not in names else f"{name}{len(names)}")
    return names


def roles_of_part(roles: Roles, row: Mapping[int, int], pairs: Array) -> Roles:
    """Roles as those of a skeleton with some of the joints, of which `pairs` (joints,) are."""
    named = vars(roles).items()
    fields = {
        name: row.get(value)
        for name, value in named
        if isinstance(value, int) and not name.endswith("_end")
    }
    tail = tuple(row[joint] for joint in roles.tail if joint in row)
    return Roles(pairs=pairs, kind=roles.kind, tail=tail, **fields)  # type: ignore[arg-type]
