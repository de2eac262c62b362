"""Rows of motion as the autoencoder reads them, and the way back to a clip of constant bones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d, uniform_filter1d

from deepphase.arrays import Array
from deepphase.corpus.groups import check_fits_body
from deepphase.edit.body_points import BodyPoints
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.mirror import MirrorMap, mirror_map
from deepphase.motion.resample import at_frames, resample
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import (
    RootTrajectory,
    from_root_space,
    root_trajectory,
    to_root_space,
    with_root_motion,
)
from deepphase.motion.skeleton import Skeleton, ancestors, bone_lengths

ROOT_VALUES = 3
"""Velocities of the root: forward-sideways (x, z) in m/s and the turn in rad/s."""
SMOOTHING_S = 0.3
"""Standard deviation in seconds of the Gaussian that smooths the root's way: paths have no sway."""
# Frames of the window that roughness is measured over, and the percentile of usual roughness.
_ROUGH_FRAMES, _USUAL_PERCENTILE = 9, 99.0


@dataclass(frozen=True, eq=False)
class MotionRows:
    """Rows of a motion, one a frame (Holden et al. 2016, section 4; the markers are ours)."""

    points: Array  # (frames, points, 3) metres in root space, on a body of the editor's size
    velocities: Array  # (frames, 3) as of `root_velocities`, on a body of the editor's size
    contacts: Array  # (frames, feet) 1 where a foot is on the floor, else 0

    def __len__(self) -> int:
        return len(self.points)

    def array(self) -> Array:
        """(frames, values) float32."""
        flat = self.points.reshape(len(self), -1)
        return np.concatenate([flat, self.velocities, self.contacts], axis=1).astype(np.float32)

    @classmethod
    def from_array(cls, values: Array, points: int) -> MotionRows:
        """From what `array` returns, of a body with that many points."""
        body = 3 * points
        places, *others = np.split(values, [body, body + ROOT_VALUES], axis=1)
        return cls(places.reshape(len(values), points, 3), *others)


@dataclass(frozen=True, eq=False)
class MotionSpace:
    """The body that rows are of, and how clips become rows and rows become clips."""

    skeleton: Skeleton
    hips: int
    points: BodyPoints
    # Frames a second of the rows
    fps: float
    description: dict[str, Any] | None = None

    @classmethod
    def from_clip(
        cls, clip: Clip, fps: float, description: dict[str, Any] | None = None
    ) -> MotionSpace:
        """The space of a clip's body."""
        hips = find_roles(clip.skeleton, description, clip=clip).hips
        points = BodyPoints.from_skeleton(clip.skeleton, hips)
        return cls(clip.skeleton, hips, points, fps, description)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the body's joints, hips first."""
        return tuple(self.skeleton.names[joint] for joint in self.points.joints)

    def roles_of(self, clip: Clip) -> Roles:
        """Roles of the joints of a clip of this body."""
        return find_roles(clip.skeleton, self.description, clip=clip)

    def on_hips(self, clip: Clip) -> Clip:
        """The clip in the space's order, travel on the hips; SkeletonError for other bodies."""
        check_fits_body(clip, self.skeleton, "the editor's body")
        clip = clip.in_order_of(self.skeleton)
        above = ancestors(self.skeleton, self.hips)[1:]
        local = clip.local_positions()
        still = not above or (
            not local[:, above].any() and (np.abs(clip.rotations[:, above, :3]) < 1e-7).all()
        )
        if still and self.hips in clip.translated_joints:
            return clip
        root = root_trajectory(clip, self.roles_of(clip))
        return with_root_motion(clip, self.hips, root, "hips")

    def mirror_map(self, clip: Clip) -> MirrorMap | None:
        """How the joints of a clip of this body mirror; None for a body that is not symmetric."""
        roles = self.roles_of(clip)
        if (roles.pairs == np.arange(len(roles.pairs))).all():
            return None
        try:
            return mirror_map(self.on_hips(clip), roles)
        except SkeletonError:
            return None

    def size_of(self, clip: Clip) -> float:
        """Size of a clip's body relative to the space's: the ratio of all bones' lengths."""
        joints = self.points.joints[1:]
        own = bone_lengths(clip.skeleton)[joints].sum()
        return float(own / max(bone_lengths(self.skeleton)[joints].sum(), 1e-9))

    def pose(self, clip: Clip) -> tuple[Array, Array]:
        """Local rotations (frames, body joints, 4), places (frames, 3) of the hips, float64."""
        places = clip.local_positions()[:, self.hips]
        return clip.rotations[:, self.points.joints].astype(np.float64), places.astype(np.float64)

    def with_pose(self, clip: Clip, rotations: Array, places: Array) -> Clip:
        """A clip on the hips with another pose, as `pose` has it."""
        all_rotations = clip.rotations.astype(np.float64)
        all_rotations[:, self.points.joints] = rotations
        translations = clip.translations.astype(np.float64)
        translations[:, np.flatnonzero(clip.translated_joints == self.hips)[0]] = places
        return replace(clip, rotations=all_rotations, translations=translations)

    def rows(self, clip: Clip) -> tuple[MotionRows, RootTrajectory]:
        """Rows of a clip at this rate whose travel is on the hips, and its root trajectory."""
        roles = self.roles_of(clip)
        transforms = global_transforms(clip)
        root = root_trajectory(clip, roles, positions=transforms[1])
        contacts = foot_contacts(clip, roles, transforms=transforms)
        joints = self.points.joints
        body = self.points.of_body(_mean_bones(clip))
        points = body.positions(transforms[0][:, joints], transforms[1][:, joints])
        points = to_root_space(points, root) - [0.0, contacts.floor, 0.0]
        size = self.size_of(clip)
        velocities = root_velocities(root, self.fps)
        velocities[:, :2] /= size
        return MotionRows(points / size, velocities, contacts.flags.astype(float)), root

    def floor(self, rows: MotionRows, clip: Clip) -> float:
        """Height in metres of the floor that the rows of a clip are over."""
        heights = clip.local_positions()[:, self.hips, 1]
        return float(np.median(heights - rows.points[:, 0, 1] * self.size_of(clip)))

    def velocities(self, rows: MotionRows, like: Clip) -> Array:
        """(frames, 3) float64 root velocities of rows on the body of a clip."""
        velocities = rows.velocities.astype(np.float64)
        velocities[:, :2] *= self.size_of(like)
        return velocities

    def clip(
        self, rows: MotionRows, like: Clip, root: RootTrajectory, *, floor: float = 0.0
    ) -> Clip:
        """The clip of rows on constant bones, over a floor; joints not below the hips rest."""
        size = self.size_of(like)
        bones = _mean_bones(like)
        points = self.points.of_body(bones)
        local = points.rotations(rows.points)
        places = from_root_space(points.place(local, rows.points * size), root)
        local[:, 0] = quaternions.multiply(root.rotations, local[:, 0])
        frames, joints = len(rows), len(self.skeleton)
        rotations = np.tile(quaternions.IDENTITY, (frames, joints, 1))
        rotations[:, self.points.joints] = quaternions.sign_continuous(local)
        moving = np.unique([0, self.hips])
        translations = np.zeros((frames, len(moving), 3))
        translations[:, -1] = places + np.array([0.0, floor, 0.0])
        skeleton = like.in_order_of(self.skeleton).skeleton
        above = ancestors(skeleton, self.hips)
        bones[above] = skeleton.offsets[above]
        return replace(
            like,
            skeleton=replace(skeleton, offsets=bones),
            rotations=rotations,
            translations=translations,
            translated_joints=moving,
            fps=self.fps,
        )


@dataclass(frozen=True, eq=False)
class RowLayout:
    """Values of a row and the groups that are known or unknown together."""

    # (values,) group of each value: 0 is the root, j + 1 the points that joint j carries
    group: Array
    depends: Array  # (groups, groups) bool: which rotations each group depends on
    root: slice  # the values of the root

    @classmethod
    def from_space(cls, space: MotionSpace, feet: tuple[int, ...]) -> RowLayout:
        """The layout of a space's rows."""
        points = space.points
        place = {int(joint): index for index, joint in enumerate(points.joints)}
        body = np.repeat(points.carriers + 1, 3)
        contacts = np.array([place[foot] + 1 for foot in feet], np.int64)
        root = slice(len(body), len(body) + ROOT_VALUES)
        group = np.concatenate([body, np.zeros(ROOT_VALUES, np.int64), contacts])
        return cls(group, points.groups(), root)


@dataclass(frozen=True, eq=False)
class RowScale:
    """Mean and scale (values,) of each value of a row."""

    mean: Array
    scale: Array

    @classmethod
    def from_rows(cls, rows: Array, points: int) -> RowScale:
        """Of rows (frames, values): positions share one (Holden et al. 2016, section 4)."""
        mean = rows.mean(axis=0, dtype=np.float64)
        scale = rows.std(axis=0, dtype=np.float64)
        for alike in (slice(0, 3 * points), slice(3 * points, 3 * points + 2)):
            scale[alike] = np.sqrt(np.mean(scale[alike] ** 2))
        return cls(mean.astype(np.float32), np.maximum(scale, 1e-3).astype(np.float32))


@dataclass(frozen=True, eq=False)
class JointStatistics:
    """How the joints of the training clips turn, by which damage is found."""

    mean: Array  # (body joints, 4) mean local rotation
    spread: Array  # (body joints,) radians: root mean square angle from the mean
    roughness: Array  # (body joints + 1,) highest usual `roughness`

    @classmethod
    def from_clips(cls, clips: Sequence[Clip], space: MotionSpace) -> JointStatistics:
        """Statistics of clips at the editor's rate, on the hips."""
        rotations = np.concatenate([space.pose(clip)[0] for clip in clips])
        mean = quaternions.mean_rotation(rotations)
        angle = quaternions.angle_between(rotations, mean[None])
        rough = np.concatenate([roughness(clip, space) for clip in clips])
        usual = np.percentile(rough, _USUAL_PERCENTILE, axis=0)
        return cls(mean, np.sqrt(np.mean(angle**2, axis=0)), usual)


def pose_steps(clip: Clip, space: MotionSpace) -> tuple[Array, Array]:
    """(frames - 1, 3) metres that the hips move, (frames - 1, joints, 3) radians of the joints."""
    rotations, places = space.pose(clip)
    rotations = quaternions.sign_continuous(rotations)
    return np.diff(places, axis=0), quaternions.vectors_between(rotations[:-1], rotations[1:])


def roughness(clip: Clip, space: MotionSpace, order: int = 4) -> Array:
    """(frames, body joints + 1) root mean square difference of an even order around each frame."""
    if len(clip) < 5:
        return np.zeros((len(clip), len(space.joints) + 1))
    moved, turned = (np.diff(steps, n=order - 1, axis=0) for steps in pose_steps(clip, space))
    squares = np.square(np.concatenate([moved[:, None], turned], axis=1)).sum(axis=-1)
    squares = np.pad(squares, ((order // 2, order // 2), (0, 0)))
    return np.sqrt(np.maximum(uniform_filter1d(squares, _ROUGH_FRAMES, axis=0), 0.0))


@dataclass(frozen=True, eq=False)
class SampledMotion:
    """A clip on the hips, the same at the rate of a space, its rows, root, and floor in metres."""

    clip: Clip
    sampled: Clip
    rows: MotionRows
    root: RootTrajectory
    floor: float
    space: MotionSpace

    @classmethod
    def from_clip(cls, clip: Clip, space: MotionSpace) -> SampledMotion:
        """The rows of a clip of the body at any rate."""
        clip = space.on_hips(clip)
        sampled = resample(clip, space.fps)
        rows, root = space.rows(sampled)
        return cls(clip, sampled, rows, root, space.floor(rows, sampled), space)

    def clip_of(self, rows: MotionRows, root: RootTrajectory | None = None) -> Clip:
        """The clip of other rows and, optionally, of another root, at the frames of the clip."""
        path = self.root if root is None else root
        made = self.space.clip(rows, self.sampled, path, floor=self.floor)
        if self.clip.fps == self.space.fps:
            return made
        return at_frames(made, np.arange(len(self.clip)) * self.space.fps / self.clip.fps)


def root_velocities(root: RootTrajectory, fps: float) -> Array:
    """(frames, 3) x and z in m/s in the frame of each root, and rad/s, from a frame to the next."""
    steps = np.zeros((len(root), 3))
    if len(root) > 1:
        travel = quaternions.rotate(
            quaternions.conjugate(root.rotations[:-1]), np.diff(root.positions, axis=0)
        )
        steps[:-1, :2] = travel[:, ::2]
        steps[:-1, 2] = np.diff(root.angles)
        steps[-1] = steps[-2]
    return steps * fps


def integrated_root(velocities: Array, fps: float, place: Array, angle: float) -> RootTrajectory:
    """The trajectory that has these velocities (frames, 3) and begins at a place and an angle."""
    steps = np.asarray(velocities, np.float64) / fps
    angles = angle + np.concatenate([[0.0], np.cumsum(steps[:-1, 2])])
    sine, cosine = np.sin(angles[:-1]), np.cos(angles[:-1])
    x, z = steps[:-1, 0], steps[:-1, 1]
    travel = np.stack([cosine * x + sine * z, cosine * z - sine * x], axis=1)
    places = np.asarray(place) + np.concatenate([np.zeros((1, 2)), np.cumsum(travel, axis=0)])
    return RootTrajectory.from_ground(places, angles)


def smoothed_root(root: RootTrajectory, fps: float) -> RootTrajectory:
    """A root trajectory without the sway of steps, as drawn paths are."""
    values = np.column_stack([root.positions[:, ::2], root.angles]).astype(np.float64)
    margin = math.ceil(4.0 * SMOOTHING_S * fps)
    # Odd reflection: a body that travels at the edge of a clip does not slow down there.
    padded = np.pad(values, ((margin, margin), (0, 0)), "reflect", reflect_type="odd")
    smooth = gaussian_filter1d(padded, SMOOTHING_S * fps, axis=0)[margin : margin + len(values)]
    return RootTrajectory.from_ground(smooth[:, :2], smooth[:, 2])


def _mean_bones(clip: Clip) -> Array:
    """(joints, 3) metres: offsets, of translated joints their median over the clip."""
    bones = np.array(clip.skeleton.offsets)
    bones[clip.translated_joints] = np.median(clip.translations, axis=0)
    return bones
