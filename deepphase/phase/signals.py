"""Joint velocities in root space, the input signals of phase models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from deepphase.arrays import Array, counted, short_repr
from deepphase.errors import ParameterError, SkeletonError
from deepphase.formats.header_values import (
    checked_count,
    checked_joints,
    checked_labels,
    checked_rate,
)
from deepphase.motion.clip import Clip, joint_positions, velocities
from deepphase.motion.resample import resample
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    root_trajectory,
    to_root_space,
    velocities_in_root_space,
)

_ROOT_ROLES = ("hips", "left_hip", "right_hip", "left_shoulder", "right_shoulder")
# No joint of a body that is measured in metres moves faster than this; see `check_speed`.
_FASTEST_M_PER_S = 60.0


@dataclass(frozen=True)
class JointVelocities:
    """Velocities of named joints, each frame in its own root space.

    `joints`: names of the joints that are read, in the order of the signals (x, y, z of each).
    `fps`: frames a second that a motion is resampled to. `body`: role -> joint name of what the
    root trajectory needs (hips, hip and shoulder joints), and "kind": so that a model finds facing
    on every clip as it did in training. `partners` (joints,) index of each joint's mirror partner,
    its own on the middle line; empty where the body has no two sides.
    """

    KIND: ClassVar[str] = "joint velocities in root space"
    UNIT: ClassVar[str] = "m/s"
    NORMALISATION: ClassVar[str] = "the mean over a window is taken off each signal; nothing else"
    # Past a clip's ends its edge poses are repeated: a repeated pose has no velocity.
    PADDING: ClassVar[str] = "constant"

    joints: tuple[str, ...]
    fps: float
    body: Mapping[str, str] = field(default_factory=dict)
    partners: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self.joints), "joint"), f"at {self.fps:g} Hz")

    @classmethod
    def from_clip(cls, clip: Clip, roles: Roles | None = None) -> JointVelocities:
        """All joints of a clip's body, from the hips on, at the clip's rate.

        Nodes above the hips, such as a node at the origin in some files, are left out.
        """
        roles = find_roles(clip.skeleton, clip=clip) if roles is None else roles
        names, parents = clip.skeleton.names, clip.skeleton.parents
        in_body = np.zeros(len(names), bool)
        in_body[roles.hips] = True
        for joint in range(roles.hips + 1, len(names)):
            in_body[joint] = in_body[parents[joint]]
        known = {role: getattr(roles, role) for role in _ROOT_ROLES}
        body = {role: names[joint] for role, joint in known.items() if joint is not None}
        body["kind"] = roles.kind
        every = cls(names, clip.fps, body, tuple(int(partner) for partner in roles.pairs))
        return every.select(in_body)

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> JointVelocities:
        """From the mapping of `as_mapping`, as in model files."""
        joints = checked_joints(content["joints"])
        partners = [
            checked_count(partner, "partner", 0, len(joints) - 1) for partner in content["partners"]
        ]
        if len(partners) not in (0, len(joints)):
            raise ValueError(f"there are {len(partners)} mirror partners of {len(joints)} joints")
        if any(partners[partner] != joint for joint, partner in enumerate(partners)):
            raise ValueError("two mirror partners are not each other's")
        body = checked_labels(content["body"], "body")
        return cls(joints, checked_rate(content["fps"]), body, tuple(partners))

    def as_mapping(self) -> dict[str, Any]:
        """The fields as values for JSON."""
        return {
            "joints": list(self.joints),
            "fps": self.fps,
            "body": dict(self.body),
            "partners": list(self.partners),
        }

    def select(self, kept: Array) -> JointVelocities:
        """The signals of some joints; `kept` is (joints,) bool."""
        index = np.flatnonzero(kept)
        place = {int(joint): new for new, joint in enumerate(index)}
        partners = [place.get(self.partners[joint], -1) for joint in index if self.partners]
        two_sided = -1 not in partners and partners != list(range(len(index)))
        return replace(
            self,
            joints=tuple(self.joints[joint] for joint in index),
            partners=tuple(partners) if two_sided else (),
        )

    def mirror(self) -> tuple[Array, Array] | None:
        """(signals,) order and (signals,) sign that mirror the signals.

        None if the body has no mirror symmetry.
        """
        if not self.partners:
            return None
        order = (3 * np.array(self.partners)[:, None] + np.arange(3)).reshape(-1)
        return order, np.tile(np.array([-1.0, 1.0, 1.0], np.float32), len(self.joints))

    @property
    def names(self) -> list[str]:
        """(3 * joints,) names of the signals, as in "LeftFoot.x"."""
        return [f"{joint}.{axis}" for joint in self.joints for axis in "xyz"]

    @property
    def groups(self) -> list[str]:
        """(3 * joints,) the joint that each signal is of."""
        return [joint for joint in self.joints for _ in "xyz"]

    def read(self, clip: Clip) -> Array:
        """(frames, 3 * joints) float32, m/s, at this rate.

        The mean over a window is taken off later, when windows are gathered.
        """
        clip, root, positions = self.places(clip)
        own = positions[:, self._order(clip)]
        moving = velocities_in_root_space(velocities(own, clip.fps), root)
        signals = moving.reshape(len(clip), -1).astype(np.float32)
        if not np.isfinite(signals).all():
            raise ParameterError(f"{clip.name}: a joint velocity that is not finite")
        return signals

    def poses(self, clip: Clip) -> Array:
        """(frames, joints, 3) float32, m: the same joints' positions in root space.

        Raises SkeletonError as `read` does.
        """
        clip, root, positions = self.places(clip)
        return to_root_space(positions[:, self._order(clip)], root).astype(np.float32)

    def places(self, clip: Clip) -> tuple[Clip, RootTrajectory, Array]:
        """The clip at this rate, its root trajectory, and all its joints' positions in the world.

        Raises SkeletonError as `read` does.
        """
        missing = [name for name in self.joints if name not in clip.skeleton.names]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise SkeletonError(
                f"{clip.name}: it has another skeleton, without {missing[0]!r}{others} of the "
                f"{len(self.joints)} joints that the model reads",
                hint="`deepphase train phase` makes a model of these clips, and `deepphase "
                "retarget` puts them on the model's skeleton",
                path=clip.source.path or None,
            )
        if clip.fps != self.fps:
            clip = resample(clip, self.fps)
        roles = find_roles(clip.skeleton, description=self.body, clip=clip)
        positions = joint_positions(clip)
        root = root_trajectory(clip, roles, positions=positions)
        return clip, root, positions

    def _order(self, clip: Clip) -> list[int]:
        """Index in the clip of each joint."""
        return [clip.skeleton.names.index(name) for name in self.joints]


def check_speed(signals: Array, *, name: str) -> None:
    """Refuse signals too fast for a body, which come from a wrong unit or a wrong frame rate."""
    speed = float(np.sqrt(np.mean(np.square(signals, dtype=np.float64)) * 3)) if signals.size else 0
    if speed > _FASTEST_M_PER_S:
        raise ParameterError(
            f"{name}: joints move at {speed:.3g} m/s on average",
            hint="the unit or the frame rate is wrong: see `deepphase inspect`, then --unit",
        )
