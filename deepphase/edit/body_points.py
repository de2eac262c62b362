"""Points of a body that determine its pose: joints, and markers where joints leave a roll open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.skeleton import Skeleton, path_length, subtree_mask

# A direction counts as a second one if it leaves the first by this sine.
_SECOND_SINE = 0.35
# Distance of a marker from its joint, as a share of the length of the body's longest chain.
_MARKER_SHARE = 0.12


@dataclass(frozen=True, eq=False)
class BodyPoints:
    """Points from the hips down: each joint carries two that are not in line with it."""

    # (body joints,) in the skeleton, hips first, and the parent of each among them, -1 for the hips
    joints: Array
    parents: Array
    # (points,) joint of `joints` that carries each point; -1 for the hips, which the root carries
    carriers: Array
    point_joints: Array  # (points,) joint of `joints` that the point is; -1 for tips and markers
    offsets: Array  # (points, 3) metres in the carrier's frame; 0 for the hips

    @classmethod
    def from_skeleton(cls, skeleton: Skeleton, hips: int) -> BodyPoints:
        """Points of the hips and all joints below them."""
        joints = np.flatnonzero(subtree_mask(skeleton, hips))
        place = {int(joint): index for index, joint in enumerate(joints)}
        parents = np.array([place.get(int(skeleton.parents[joint]), -1) for joint in joints])
        parents[0] = -1
        carriers, owners, offsets = [-1], [0], [np.zeros(3)]
        for index, joint in enumerate(joints[1:].tolist(), start=1):
            carriers.append(int(parents[index]))
            owners.append(index)
            offsets.append(skeleton.offsets[joint])
        longest = max(path_length(skeleton, hips, joint) for joint in joints.tolist())
        reach = _MARKER_SHARE * max(longest, 1e-3)
        for index, joint in enumerate(joints.tolist()):
            own = [np.array(o) for o, c in zip(offsets, carriers, strict=True) if c == index]
            tips = skeleton.end_offsets[skeleton.end_parents == joint]
            added = [tip for tip in tips if np.linalg.norm(tip) > 0.05 * reach]
            added += _markers([*own, *added], reach)
            carriers += [index] * len(added)
            owners += [-1] * len(added)
            offsets += added
        return cls(joints, parents, np.array(carriers), np.array(owners), np.array(offsets))

    def __len__(self) -> int:
        return len(self.carriers)

    @property
    def of_joints(self) -> Array:
        """(body joints,) the point that each joint is."""
        order = np.argsort(np.where(self.point_joints < 0, len(self), self.point_joints))
        return order[: len(self.joints)]

    def arms(self) -> tuple[Array, Array]:
        """Points that a joint carries (arms,), and the points that are these joints (arms,)."""
        carried = np.flatnonzero(self.carriers >= 0)
        return carried, self.of_joints[self.carriers[carried]]

    def of_body(self, bone_offsets: Array) -> BodyPoints:
        """The same points on bones (skeleton's joints, 3) of another length."""
        offsets = self.offsets.copy()
        moved = (self.point_joints >= 0) & (self.carriers >= 0)
        offsets[moved] = bone_offsets[self.joints[self.point_joints[moved]]]
        return BodyPoints(self.joints, self.parents, self.carriers, self.point_joints, offsets)

    def positions(self, rotations: Array, places: Array) -> Array:
        """(frames, points, 3) metres, of world rotations and positions of the body's joints."""
        carriers = np.maximum(self.carriers, 0)
        offsets = self.offsets.astype(places.dtype)
        return places[:, carriers] + quaternions.rotate(rotations[:, carriers], offsets)

    def rotations(self, points: Array) -> Array:
        """(frames, body joints, 4) local rotations that fit points best (Kabsch 1976)."""
        centres = self.of_joints
        moments = np.empty((len(points), len(self.joints), 3, 3))
        for joint in range(len(self.joints)):
            own = np.flatnonzero(self.carriers == joint)
            arms = points[:, own].astype(np.float64) - points[:, centres[joint], None]
            moments[:, joint] = arms.swapaxes(1, 2) @ self.offsets[own]
        world = quaternions.rotation_fit(moments)
        local = world.copy()
        above = self.parents[1:]
        local[:, 1:] = quaternions.multiply(quaternions.conjugate(world[:, above]), world[:, 1:])
        return quaternions.sign_continuous(local)

    def place(self, local: Array, points: Array) -> Array:
        """(frames, 3) place of the hips at which all points of a pose fit others best."""
        world, places = local.copy(), np.zeros((*local.shape[:2], 3))
        own = self.of_joints
        for joint, parent in enumerate(self.parents[1:].tolist(), start=1):
            world[:, joint] = quaternions.multiply(world[:, parent], local[:, joint])
            arm = quaternions.rotate(world[:, parent], self.offsets[own[joint]])
            places[:, joint] = places[:, parent] + arm
        place: Array = (points - self.positions(world, places)).mean(axis=1)
        return place

    def groups(self) -> Array:
        """(groups, groups) bool: what moves if joint b - 1 turns; 0 is the root, j + 1 joint j."""
        count = len(self.joints)
        depends = np.eye(count + 1, dtype=bool)
        for joint in range(1, count):
            depends[joint + 1] |= depends[self.parents[joint] + 1]
        return depends

    def of_joint(self, skeleton: Skeleton, joint: int) -> Array:
        """(points,) bool: points of a joint of the skeleton and of all below it."""
        below = subtree_mask(skeleton, joint)[self.joints]
        own: Array = (self.carriers >= 0) & below[self.carriers]
        own |= (self.point_joints >= 0) & (self.joints[self.point_joints] == joint)
        return own

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> BodyPoints:
        """From the fields by their names. Raises ValueError where they do not fit each other."""
        points = cls(**arrays)
        joints, count = len(points.joints), len(points.carriers)
        if points.parents.shape != (joints,) or points.offsets.shape != (count, 3):
            raise ValueError(f"{joints} joints and {count} points with {points.offsets.shape}")
        if (points.parents[1:] >= np.arange(1, joints)).any() or (points.parents[1:] < 0).any():
            raise ValueError("a joint comes before its parent")
        for values in (points.carriers, points.point_joints):
            if values.shape != (count,) or values.min() < -1 or values.max() >= joints:
                raise ValueError("a point of a joint that does not exist")
        if sorted(points.point_joints[points.point_joints >= 0]) != list(range(joints)):
            raise ValueError("a joint without its point")
        return points


def _markers(arms: list[Array], reach: float) -> list[Array]:
    """Offsets of the markers that a joint with these arms needs: none, one or two."""
    long = [arm for arm in arms if np.linalg.norm(arm) > 0.05 * reach]
    if not long:
        return [reach * np.eye(3)[0], reach * np.eye(3)[1]]
    units = np.array([arm / np.linalg.norm(arm) for arm in long])
    across = np.linalg.norm(np.cross(units[0], units), axis=1)
    if across.max() > _SECOND_SINE:
        return []
    axis = np.eye(3)[np.argmin(np.abs(units[0]))]
    side = axis - units[0] * (axis @ units[0])
    return [reach * side / np.linalg.norm(side)]
