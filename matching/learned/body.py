"""Bodies of matchers, and the values of their poses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from deepphase.arrays import Array
from deepphase.matching.player.playback import Playback
from deepphase.motion import quaternions
from deepphase.motion.clip import Source
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.quaternions import from_six_numbers, six_numbers
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton, subtree_mask


class RootPoses(NamedTuple):
    """Poses of frames in root space, with their motion to the next frame."""

    # rotations, translations: (..., joints, 4) and (..., translated joints, 3) float32, as those of
    # a `Playback`.
    rotations: Array
    translations: Array
    # steps, slips: (..., 3) and (..., limbs, 2) float32: motion of the root and of feet, as of a
    # `Playback`.
    steps: Array
    slips: Array


@dataclass(frozen=True)
class PoseValues:
    """Order of the values of a pose.

    They are rotations (body, 6), the rotated x and y axes; translations (moved, 3) m; and
    velocities in root space: of the root (3), m/s, m/s and rad/s, and of feet (limbs, 2), m/s.
    """

    joints: int  # Joints of the skeleton
    body: tuple[int, ...]  # Joints from the carrier down, of which rotations are
    translated: int  # Number of translated joints
    moved: tuple[int, ...]  # Those of them that are in the body
    limbs: int  # Number of limbs that end in feet
    fps: float  # Frames per second

    @classmethod
    def from_body(cls, body: Playback | MatcherBody, fps: float) -> PoseValues:
        """The values of a body's poses, from its hips down."""
        joints = np.flatnonzero(subtree_mask(body.skeleton, body.roles.hips)).tolist()
        translated = body.translated_joints.tolist()
        moved = tuple(index for index, joint in enumerate(translated) if joint in joints)
        limbs = len(body.limbs)
        return cls(len(body.skeleton), tuple(joints), len(translated), moved, limbs, fps)

    @cached_property
    def slices(self) -> dict[str, slice]:
        """Name -> its values."""
        sizes = {
            "rotations": 6 * len(self.body),
            "translations": 3 * len(self.moved),
            "velocity": 3,
            "slips": 2 * self.limbs,
        }
        stops = np.cumsum(list(sizes.values())).tolist()
        return {
            name: slice(stop - size, stop)
            for (name, size), stop in zip(sizes.items(), stops, strict=True)
        }

    @property
    def dims(self) -> int:
        """Number of values."""
        return self.slices["slips"].stop

    def values(self, poses: RootPoses) -> Array:
        """(..., dims) float32 values of poses."""
        shape = poses.steps.shape[:-1]
        parts = (
            six_numbers(poses.rotations[..., list(self.body), :]),
            poses.translations[..., list(self.moved), :],
            poses.steps * self.fps,
            poses.slips * self.fps,
        )
        return np.concatenate([each.reshape(*shape, -1) for each in parts], -1, dtype=np.float32)

    def poses(self, values: Array) -> RootPoses:
        """The poses of values (frames, dims)."""
        count, slices = len(values), self.slices
        rotations = np.empty((count, self.joints, 4), np.float32)
        if len(self.body) < self.joints:
            rotations[:] = quaternions.IDENTITY
        six = values[:, slices["rotations"]].reshape(count, -1, 6)
        rotations[:, list(self.body)] = from_six_numbers(six)
        translations = np.zeros((count, self.translated, 3), np.float32)
        translations[:, list(self.moved)] = values[:, slices["translations"]].reshape(count, -1, 3)
        return RootPoses(
            rotations,
            translations,
            values[:, slices["velocity"]] / np.float32(self.fps),
            values[:, slices["slips"]].reshape(count, -1, 2) / np.float32(self.fps),
        )


@dataclass(frozen=True, eq=False)
class MatcherBody:
    """The body of a matcher, and what was measured in all of the database's motion."""

    # skeleton, translated_joints, source: As of a `Playback`.
    skeleton: Skeleton
    description: Mapping[str, str]  # Role -> joint name, as `find_roles` takes a description
    translated_joints: Array
    usual_acceleration: float  # As of a `Playback`
    # top_speed, travelling_speed: m/s: 99th percentile of all rows, and median of those in
    # locomotion.
    top_speed: float
    travelling_speed: float
    covered: tuple[bool, ...]  # (8,) bool: as of `FacingCoverage`
    source: Source = Source()  # noqa: RUF009 (frozen)

    @classmethod
    def from_playback(
        cls, playback: Playback, description: Mapping[str, str], playable: Array
    ) -> MatcherBody:
        """The body of a database's motion, of which the rows `playable` (rows,) are played."""
        return cls(
            playback.skeleton,
            dict(description),
            playback.translated_joints,
            playback.usual_acceleration,
            playback.top_speed,
            playback.travelling_speed,
            tuple(playback.facing_coverage(playable).covered.tolist()),
            playback.source,
        )

    @cached_property
    def roles(self) -> Roles:
        """Roles of the joints."""
        return find_roles(self.skeleton, description=dict(self.description))

    @cached_property
    def limbs(self) -> LegChains:
        """Limbs that end in feet."""
        return LegChains.from_skeleton(self.skeleton, self.roles).on_floor(
            self.skeleton, self.roles
        )
