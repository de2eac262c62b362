"""Input signals of phase models: velocities of joints in root space, and of points of any body."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deepphase.arrays import Array, counted, short_repr
from deepphase.config import checked_count, checked_labels
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError, SkeletonError
from deepphase.formats.array_file import checked_joints, checked_rate
from deepphase.motion.clip import Clip, joint_positions, velocities
from deepphase.motion.resample import resample
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    root_trajectory,
    to_root_space,
    velocities_in_root_space,
)
from deepphase.motion.skeleton import Skeleton, ancestors, bone_lengths, longest_chains

if TYPE_CHECKING:
    from torch import Tensor

_ROOT_ROLES = ("hips", "left_hip", "right_hip", "left_shoulder", "right_shoulder")


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
        """All joints of a clip's body at its rate, without nodes above the hips."""
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
        last = len(joints) - 1
        partners = [checked_count(partner, "partner", 0, last) for partner in content["partners"]]
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
        """(signals,) order and sign that mirror the signals; None without mirror symmetry."""
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
        """(frames, joints, 3) float32, m, in root space; raises as `read` does."""
        clip, root, positions = self.places(clip)
        return to_root_space(positions[:, self._order(clip)], root).astype(np.float32)

    def places(self, clip: Clip) -> tuple[Clip, RootTrajectory, Array]:
        """The clip at this rate, its root trajectory and its joints; raises as `read` does."""
        missing = [name for name in self.joints if name not in clip.skeleton.names]
        if missing:
            others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise SkeletonError(
                f"{clip.name}: it has another skeleton, without {missing[0]!r}{others} of the "
                f"{len(self.joints)} joints that the model reads",
                hint="`deepphase train phase` makes a model of these clips, and `deepphase "
                "convert --to` puts them on the model's skeleton",
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


# Chains of the body and the points along each, the first of which is another chain's. A leg of a
# biped and the hind leg of a quadruped are the same chain, as are an arm and a front leg.
CHAINS: dict[str, tuple[str, ...]] = {
    "trunk": ("hips", "spine", "chest", "neck", "head"),
    "left leg": ("hips", "left hip", "left knee", "left foot", "left toe"),
    "right leg": ("hips", "right hip", "right knee", "right foot", "right toe"),
    "left arm": ("chest", "left shoulder", "left elbow", "left hand"),
    "right arm": ("chest", "right shoulder", "right elbow", "right hand"),
    "tail": ("hips", "tail middle", "tail end"),
}
POINTS: tuple[str, ...] = tuple(dict.fromkeys(itertools.chain(*CHAINS.values())))
FPS = 60.0
"""Frames per second at which models for any skeleton read motion."""

_INDEX = dict(zip(POINTS, range(len(POINTS)), strict=True))
# A point at the end of a chain is read off a joint that is at most so far before it, in points.
_REACH = 0.5


def parent_points() -> Array:
    """(points,) index of the point before each of `POINTS` on its chain; -1 for the hips."""
    parents = np.full(len(POINTS), -1)
    for names in CHAINS.values():
        for upper, lower in itertools.pairwise(names):
            parents[_INDEX[lower]] = _INDEX[upper]
    return parents


def mirrored_points() -> tuple[int, ...]:
    """Index of the point on the other side for each of `POINTS`; its own on the middle line."""
    sides = {"left": "right", "right": "left"}
    return tuple(
        _INDEX[" ".join(sides.get(word, word) for word in name.split())] for name in POINTS
    )


@dataclass(frozen=True)
class PointVelocities:
    """Velocities of the points of a body, each frame in its own root space.

    Clips have joints instead: those of one skeleton become part of a network's weights
    (`bound_weights`), and `PhaseModel.bound` gives the model that reads them.
    """

    KIND: ClassVar[str] = "body-point velocities in root space"
    UNIT: ClassVar[str] = JointVelocities.UNIT
    NORMALISATION: ClassVar[str] = JointVelocities.NORMALISATION
    PADDING: ClassVar[str] = JointVelocities.PADDING

    # No joint of a certain name is needed.
    joints: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> PointVelocities:
        """From the mapping of `as_mapping`; ValueError where its points are others."""
        if tuple(content["points"]) != POINTS or content["fps"] != FPS:
            raise ValueError("its body points are others")
        return cls()

    def as_mapping(self) -> dict[str, Any]:
        """The points and their rate as values for JSON."""
        return {"points": list(POINTS), "fps": FPS}

    @property
    def fps(self) -> float:
        """60 frames a second."""
        return FPS

    @property
    def names(self) -> list[str]:
        """(3 * points,) names of the signals, as in "left knee.x"."""
        return [f"{point}.{axis}" for point in POINTS for axis in "xyz"]

    @property
    def groups(self) -> list[str]:
        """(3 * points,) the point that each signal is of."""
        return [point for point in POINTS for _ in "xyz"]

    def mirror(self) -> None:
        """None: a training mirrors whole bodies in place of windows."""


def joints_of(
    clips: Clip | ClipStore, description: Mapping[str, Any] | None = None
) -> tuple[JointVelocities, BodyPlan]:
    """The joints of a clip's body, or of a store's longest clip, and their places on the body."""
    clip = clips if isinstance(clips, Clip) else clips.clip(int(np.argmax(clips.lengths)))
    description = description or getattr(clips, "description", None)
    roles = find_roles(clip.skeleton, description, clip=clip)
    signals = replace(JointVelocities.from_clip(clip, roles), fps=FPS)
    index = np.array([clip.skeleton.index(name) for name in signals.joints])
    return signals, BodyPlan.from_skeleton(clip.skeleton, roles).select(index)


def bound_weights(weights: Mapping[str, Tensor], read: Tensor, write: Tensor) -> dict[str, Tensor]:
    """Weights that read and reconstruct joints in place of body points.

    Interpolation is linear, as is the first convolution of the encoder and the last of the decoder,
    so that both are one convolution. The derivatives with respect to `weights` are kept. `read`:
    `BodyPlan.points_from_joints`; `write`: `BodyPlan.joints_from_points`.
    """
    bound = dict(weights)
    encoder, decoder = weights["encoder_in.weight"], weights["decoder_out.weight"]
    kernel, _, hidden = encoder.shape
    points = len(POINTS)
    by_point = encoder.view(kernel, points, 3 * hidden).transpose(0, 1).reshape(points, -1)
    # (joints, kernel, 3, hidden) -> (kernel, joints, 3, hidden)
    by_joint = (read.T @ by_point).view(-1, kernel, 3 * hidden).transpose(0, 1)
    bound["encoder_in.weight"] = by_joint.reshape(kernel, -1, hidden)
    taps = decoder.view(kernel * hidden, points, 3).transpose(1, 2)
    bound["decoder_out.weight"] = (taps @ write.T).transpose(1, 2).reshape(kernel, hidden, -1)
    bound["decoder_out.bias"] = (write @ weights["decoder_out.bias"].view(points, 3)).reshape(-1)
    return bound


@dataclass(frozen=True, eq=False)
class BodyPlan:
    """Place of each joint of a body on the chains of `CHAINS`.

    `chains` (joints,) the chain of each joint. `places` (joints,) position along its chain: 1 is
    the chain's point 1, and 1.5 the middle of the bones between its points 1 and 2.
    """

    chains: tuple[str, ...]
    places: Array

    @classmethod
    def from_skeleton(cls, skeleton: Skeleton, roles: Roles) -> BodyPlan:
        """Places of all joints of a skeleton.

        Joints beside the chains, such as fingers, have the place of the joint of a chain that they
        hang from; joints above the hips have that of the hips.
        """
        lengths = bone_lengths(skeleton)
        found: dict[int, tuple[str, float]] = {roles.hips: ("trunk", 0.0)}
        for chain, anchors in _anchors(skeleton, roles).items():
            for (upper, start), (lower, stop) in itertools.pairwise(anchors):
                path = ancestors(skeleton, lower)
                if upper not in path:
                    # The limb hangs from another joint of the trunk: its own joint alone is known.
                    found.setdefault(lower, (chain, float(stop)))
                    continue
                between = path[: path.index(upper)][::-1]
                total = max(float(lengths[between].sum()), 1e-9)
                passed = 0.0
                for joint in between:
                    passed += float(lengths[joint])
                    place = stop if joint == lower else start + (stop - start) * passed / total
                    found.setdefault(joint, (chain, float(place)))
        every: list[tuple[str, float]] = []
        for joint, parent in enumerate(skeleton.parents.tolist()):
            above = every[parent] if parent >= 0 else ("trunk", 0.0)
            every.append(found.get(joint, above))
        chains, places = zip(*every, strict=True)
        return cls(chains, np.array(places))

    @classmethod
    def from_points(cls, index: Array) -> BodyPlan:
        """The plan of a body whose joints are some of `POINTS`."""
        known: dict[str, tuple[str, float]] = {}
        for chain, names in CHAINS.items():
            for position, name in enumerate(names):
                known.setdefault(name, (chain, float(position)))
        chains, places = zip(*(known[POINTS[point]] for point in index), strict=True)
        return cls(chains, np.array(places))

    def select(self, index: Array) -> BodyPlan:
        """The plan of some joints, in that order."""
        return BodyPlan(tuple(self.chains[joint] for joint in index), self.places[index])

    def joints_from_points(self) -> Array:
        """(joints, points) float32 weights that interpolate each joint between two points."""
        weights = np.zeros((len(self.chains), len(POINTS)), np.float32)
        for joint, (chain, place) in enumerate(zip(self.chains, self.places, strict=True)):
            points = CHAINS[chain]
            below = min(int(place), len(points) - 2)
            share = place - below
            weights[joint, _INDEX[points[below]]] += 1.0 - share
            weights[joint, _INDEX[points[below + 1]]] += share
        return weights

    def points_from_joints(self) -> Array:
        """(points, joints) float32 weights that interpolate each point between joints of its chain.

        The row of a point that the body lacks, or that no joint is near to, is zero.
        """
        weights = np.zeros((len(POINTS), len(self.chains)), np.float32)
        for chain, points in CHAINS.items():
            members = self._members(chain)
            for position, name in enumerate(points):
                row = weights[_INDEX[name]]
                if not row.any():
                    _interpolate(row, members, float(position))
        return weights

    def _members(self, chain: str) -> list[tuple[float, int]]:
        """Places along a chain and joints; the chain's first point may lie on another chain."""
        first = "trunk", CHAINS["trunk"].index(CHAINS[chain][0])
        return sorted(
            (float(place) if own == chain else 0.0, joint)
            for joint, (own, place) in enumerate(zip(self.chains, self.places, strict=True))
            if own == chain or (own, place) == first
        )


def _interpolate(row: Array, members: list[tuple[float, int]], position: float) -> None:
    """Set the weights of one point from joints at places along its chain."""
    exact = [joint for place, joint in members if abs(place - position) < 1e-6]
    if exact:
        # Fingers share the hand's place; the first is the joint of the chain itself.
        row[exact[0]] = 1.0
        return
    before = [member for member in members if member[0] < position]
    after = [member for member in members if member[0] > position]
    if before and after:
        (low, first), (high, second) = before[-1], after[0]
        share = (position - low) / (high - low)
        row[first], row[second] = 1.0 - share, share
    elif before and position - before[-1][0] <= _REACH:
        row[before[-1][1]] = 1.0
    elif after and after[0][0] - position <= _REACH:
        row[after[0][1]] = 1.0


def _anchors(skeleton: Skeleton, roles: Roles) -> dict[str, list[tuple[int, int]]]:
    """Chain -> (joint, index of its point) of each joint whose role names the point."""
    trunk = zip((roles.hips, roles.chest, roles.neck, roles.head), (0, 2, 3, 4), strict=True)
    chains: dict[str, list[tuple[int | None, int]]] = {"trunk": list(trunk)}
    for side in ("left", "right"):
        for chain, top, parts in (
            ("leg", roles.hips, ("hip", "knee", "foot", "toe")),
            ("arm", roles.chest, ("shoulder", "elbow", "hand")),
        ):
            joints = [getattr(roles, f"{side}_{part}") for part in parts]
            chains[f"{side} {chain}"] = [(top, 0), *zip(joints, range(1, 5), strict=False)]
    if roles.tail:
        chains["tail"] = [(roles.hips, 0), (roles.tail[-1], 2)]
    known = {
        chain: [(joint, point) for joint, point in anchors if joint is not None]
        for chain, anchors in chains.items()
    }
    if len(known["trunk"]) == 1:
        _, through = longest_chains(skeleton)
        tip = roles.hips
        while through[tip] >= 0:
            tip = int(through[tip])
        if tip != roles.hips:
            known["trunk"].append((tip, 4))
    return {chain: anchors for chain, anchors in known.items() if len(anchors) > 1}
