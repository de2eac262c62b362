"""Poses of a skeleton from predicted values, with constant limb lengths, and foot locking."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import float32, int64, void

from deepphase.arrays import Array, compiled
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import SkeletonError
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton, ancestors, path_length
from deepphase.steering.foot_lock import FootGround, FootLock
from deepphase.terrain.heightmap import Heightmap

_MIN_LENGTH = 1e-8


@compiled(
    void(
        float32[:, :, ::1],
        float32[:, ::1],
        int64[::1],
        int64[::1],
        float32[:, ::1],
        float32[:, :, ::1],
        float32[:, :, ::1],
        float32[:, :, ::1],
    ),
    error_model="numpy",
)
def read_poses(numbers, hips, order, parents, offsets, rotations, axes, positions):
    """Fill rotations, axes and joint positions of predicted numbers, all in root space.

    `numbers` (characters, joints, 6) predicted x and y axes; `hips` (characters, 3) metres: place
    of the first joint; `order` (joints,) parents before children; `parents` (joints,) places;
    `offsets` (joints, 3) metres. The rotations are those of `quaternions.from_six_numbers`.
    """
    least = float32(_MIN_LENGTH)
    one, zero = float32(1.0), float32(0.0)
    z_axes = np.empty((numbers.shape[1], 3), np.float32)
    for n in range(numbers.shape[0]):
        for j in range(numbers.shape[1]):
            x0, x1, x2 = numbers[n, j, 0], numbers[n, j, 1], numbers[n, j, 2]
            length = math.sqrt(x0 * x0 + x1 * x1 + x2 * x2)
            if length > least:
                x0, x1, x2 = x0 / length, x1 / length, x2 / length
            else:
                x0, x1, x2 = one, zero, zero
            y0, y1, y2 = numbers[n, j, 3], numbers[n, j, 4], numbers[n, j, 5]
            along = x0 * y0 + x1 * y1 + x2 * y2
            y0, y1, y2 = y0 - along * x0, y1 - along * x1, y2 - along * x2
            length = math.sqrt(y0 * y0 + y1 * y1 + y2 * y2)
            if not length > least:
                # x is parallel to at most one of the two axes.
                y0, y1 = (zero, one) if abs(x1) < float32(0.9) else (one, zero)
                along = x0 * y0 + x1 * y1
                y0, y1, y2 = y0 - along * x0, y1 - along * x1, -along * x2
                length = math.sqrt(y0 * y0 + y1 * y1 + y2 * y2)
            y0, y1, y2 = y0 / length, y1 / length, y2 / length
            z0, z1, z2 = x1 * y2 - x2 * y1, x2 * y0 - x0 * y2, x0 * y1 - x1 * y0
            axes[n, j, 0], axes[n, j, 1], axes[n, j, 2] = x0, x1, x2
            axes[n, j, 3], axes[n, j, 4], axes[n, j, 5] = y0, y1, y2
            z_axes[j, 0], z_axes[j, 1], z_axes[j, 2] = z0, z1, z2
            # Shepperd 1978: the largest of the four squared components gives the others.
            xx, yy = one + x0 - y1 - z2, one - x0 + y1 - z2
            zz, ww = one - x0 - y1 + z2, one + x0 + y1 + z2
            if xx >= yy and xx >= zz and xx >= ww:
                a, b, c, d = xx, y0 + x1, z0 + x2, y2 - z1
            elif yy >= zz and yy >= ww:
                a, b, c, d = y0 + x1, yy, z1 + y2, z0 - x2
            elif zz >= ww:
                a, b, c, d = z0 + x2, z1 + y2, zz, x1 - y0
            else:
                a, b, c, d = y2 - z1, z0 - x2, x1 - y0, ww
            scale = one / math.sqrt(a * a + b * b + c * c + d * d)
            rotations[n, j, 0], rotations[n, j, 1] = a * scale, b * scale
            rotations[n, j, 2], rotations[n, j, 3] = c * scale, d * scale
        for place in order:
            above = parents[place]
            if place == 0:
                for c in range(3):
                    positions[n, 0, c] = hips[n, c]
                continue
            for c in range(3):
                positions[n, place, c] = positions[n, above, c] + (
                    offsets[place, 0] * axes[n, above, c]
                    + offsets[place, 1] * axes[n, above, 3 + c]
                    + offsets[place, 2] * z_axes[above, c]
                )


@compiled(
    void(float32[:, :, ::1], float32[:, ::1], int64[::1], int64[::1], float32[:, :, ::1]),
    error_model="numpy",
)
def localise(rotations, first, parents, joints, local):
    """Fill the rotations of joints relative to their parents.

    `rotations` (characters, joints, 4) quaternions in root space. `first` (characters, 4)
    quaternion that the first joint's rotation is multiplied by from the left. `parents` (joints,)
    place of each joint's parent. `joints` (joints,) places in `local`. `local` (characters, all
    joints, 4) quaternions.
    """
    for n in range(rotations.shape[0]):
        for j in range(rotations.shape[1]):
            if j == 0:
                ax, ay, az, aw = first[n, 0], first[n, 1], first[n, 2], first[n, 3]
            else:
                above = rotations[n, parents[j]]
                ax, ay, az, aw = -above[0], -above[1], -above[2], above[3]
            own = rotations[n, j]
            bx, by, bz, bw = own[0], own[1], own[2], own[3]
            k = joints[j]
            local[n, k, 0] = aw * bx + ax * bw + ay * bz - az * by
            local[n, k, 1] = aw * by - ax * bz + ay * bw + az * bx
            local[n, k, 2] = aw * bz + ax * by - ay * bx + az * bw
            local[n, k, 3] = aw * bw - ax * bx - ay * by - az * bz


_IN_CONTACT = 0.5
_ROTATION_NUMBERS = 6


class CharacterFeet:
    """Locks the feet for which the network predicts contacts, by turning the legs' `joints`.

    `limbs` are the legs, `columns` (limbs,) the places of their feet among the contacts. `soles`
    (2, limbs) metres of the last joints and tips of all limbs over uneven ground while they stand,
    see `deepphase.terrain.laying.median_soles`. Hinges are found from `poses` (poses, joints, 4),
    local rotations, or else from the rest pose. `measures` of the clips say where the lowest places
    of tips on a flat floor are, to which feet are lifted, how fast joints turn, and the soles.
    """

    def __init__(
        self,
        skeleton: Skeleton,
        schema: ControllerSchema,
        characters: int,
        ground: Heightmap | None = None,
        poses: Array | None = None,
        measures: Mapping[str, Any] | None = None,
    ) -> None:
        measures = measures or {}
        roles = find_roles(skeleton, description=dict(schema.body))
        every = LegChains.from_skeleton(skeleton, roles).on_floor(skeleton, roles)
        columns = {skeleton.index(name): column for column, name in enumerate(schema.feet)}
        self.limbs = limbs = every.ending_in(columns)
        self._feet = len(schema.feet)
        self.columns = np.array([columns[int(last)] for last in limbs.last], np.int64)
        self.longest = max(
            (path_length(skeleton, *limb) for limb in zip(limbs.upper, limbs.last, strict=True)),
            default=0.0,
        )
        self.ends = limbs.ends(skeleton, roles)
        self._solver = solver = LimbSolver.from_poses(skeleton, roles, limbs, poses, self.ends)
        self.joints, self.hinges = solver.joints, solver.hinges
        self.soles = None
        if (soles := measures.get("soles")) is not None:
            of_limb = dict(zip(every.last.tolist(), np.asarray(soles, np.float64).T, strict=True))
            self.soles = np.stack([of_limb[int(last)] for last in limbs.last], axis=1)
        under = None
        if ground is not None and self.soles is not None:
            under = FootGround(ground, self.soles, characters)
        self.lowest = self.fastest = None
        if lowest := measures.get("lowest_tips"):
            self.lowest = np.array([lowest[skeleton.names[int(last)]] for last in limbs.last])
        # (3 * limbs,) radians/s; files of earlier releases have no rates.
        rates = measures.get("usual_rotations", {})
        names = [skeleton.names[joint] for joint in solver.joints.tolist()]
        if set(names) <= set(rates):
            self.fastest = np.radians([rates[name] for name in names])
        low = self.lowest if under is None else None
        self.lock = FootLock(solver, characters, ground=under, lowest=low, fastest=self.fastest)

    @property
    def stepping(self) -> Array:
        """(characters, feet) bool: feet that step while their body rests."""
        steps = np.zeros((len(self.lock.stepping), self._feet), bool)
        steps[:, self.columns] = self.lock.stepping
        return steps

    def tips(self, rotations: Array, local_positions: Array) -> Array:
        """(characters, limbs, 3) metres: tips of the feet, of the arguments of `lock.apply`."""
        return self._solver.transforms(rotations, local_positions).positions[3].swapaxes(0, 1)

    def touching(self, contacts: Array) -> Array:
        """(characters, limbs) bool: feet that stand by predicted contacts (characters, feet)."""
        return contacts[:, self.columns] > _IN_CONTACT

    def swinging(self, contacts: Array) -> Array | None:
        """(characters, 2) bool: both feet, left first, where they swing; None for other bodies."""
        return ~self.touching(contacts) if len(self.columns) == 2 else None


@dataclass(frozen=True, eq=False)
class BodyPose:
    """Poses in root space with the skeleton's limb lengths."""

    rotations: Array  # (characters, joints, 4) quaternions of the schema's joints, in root space
    numbers: Array  # (characters, joints, 6) the same rotations in six numbers; see `rotations_6d`
    # (characters, joints, 3) metres: the hips as predicted, all others by forward kinematics.
    positions: Array


class BodyPoses:
    """Conversion of predicted values to poses of a skeleton."""

    def __init__(self, skeleton: Skeleton, schema: ControllerSchema) -> None:
        self.skeleton = skeleton
        self.body = np.array([skeleton.index(name) for name in schema.joints])
        place = {int(joint): index for index, joint in enumerate(self.body)}
        parents = [place.get(int(skeleton.parents[joint]), -1) for joint in self.body]
        if -1 in parents[1:]:
            loose = schema.joints[parents.index(-1, 1)]
            raise SkeletonError(
                f"the joint {loose!r} does not descend from {schema.joints[0]!r}",
                hint="put the joint that all others descend from first",
            )
        self._parents = np.array([0, *parents[1:]])
        self._offsets = skeleton.offsets[self.body].astype(np.float32)
        # A skeleton's parents come before its children.
        self._order = np.argsort(self.body)
        hips = int(self.body[0])
        # If the hips have ancestors, the topmost one moves with the root.
        self._above = np.array([joint for joint in ancestors(skeleton, hips) if joint != hips], int)
        self.translated_joints = np.unique([0, *self._above, hips])
        self._hips_place = int(np.flatnonzero(self.translated_joints == hips)[0])

    def read(self, numbers: Array, hips: Array) -> BodyPose:
        """Poses from predicted values.

        `numbers` (characters, 6 * joints) rotations in root space. `hips` (characters, 3) metres,
        root space.
        """
        count, joints = len(numbers), len(self.body)
        numbers = np.ascontiguousarray(numbers, np.float32).reshape(count, joints, -1)
        rotations, axes, positions = (
            np.empty((count, joints, width), np.float32) for width in (4, _ROTATION_NUMBERS, 3)
        )
        hips = np.ascontiguousarray(hips, np.float32)
        read_poses(
            numbers, hips, self._order, self._parents, self._offsets, rotations, axes, positions
        )
        return BodyPose(rotations, axes, positions)

    def in_world(
        self, pose: BodyPose, places: Array, angles: Array, level: Array | None = None
    ) -> tuple[Array, Array]:
        """Local rotations and translations of the whole skeleton, with the root in the world.

        `places` (characters,) complex x + i z of the roots, metres; `angles` (characters,) radians
        about Y; `level` (characters,) metres that the poses are over. Returns (characters, joints,
        4) and, of `translated_joints`, (characters, translated joints, 3) metres, float32.
        """
        count = len(places)
        turn = np.zeros((count, 4), np.float32)
        turn[:, 1], turn[:, 3] = np.sin(0.5 * angles), np.cos(0.5 * angles)
        rotations = np.zeros((count, len(self.skeleton), 4), np.float32)
        rotations[..., 3] = 1.0
        translations = np.zeros((count, len(self.translated_joints), 3), np.float32)
        hips = pose.positions[:, 0]
        if len(self._above):
            first, rotations[:, 0] = rotations[:, 0].copy(), turn
            translations[:, 0, 0], translations[:, 0, 2] = places.real, places.imag
            translations[:, self._hips_place] = hips
        else:
            first = turn
            ground = places + (hips[:, 0] + 1j * hips[:, 2]) * np.exp(-1j * angles)
            translations[:, 0, 0], translations[:, 0, 2] = ground.real, ground.imag
            translations[:, 0, 1] = hips[:, 1]
        if level is not None:
            translations[:, 0, 1] += level
        localise(pose.rotations, first, self._parents, self.body, rotations)
        return rotations, translations

    def local_positions(self, translations: Array) -> Array:
        """(characters, joints, 3) metres: rest offsets, or translations where there are any."""
        offsets = self.skeleton.offsets.astype(translations.dtype)
        local = np.broadcast_to(offsets, (len(translations), *offsets.shape)).copy()
        local[:, self.translated_joints] = translations
        return local
