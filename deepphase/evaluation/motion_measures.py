"""Measures of a motion at every frame: smoothness, skating, bends of limbs, the trunk.

Captured clips and runs have the same measures, to be comparable. Velocities of the root are
smoothed by a Gaussian with a standard deviation of 0.12 s, which removes the sway of steps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import (
    Clip,
    derivative_sizes,
    end_positions,
    global_transforms,
    velocities,
)
from deepphase.motion.contacts import GRAVITY, foot_contacts
from deepphase.motion.resample import BANDS_HZ, low_passed, low_passed_rotations
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import RootTrajectory, root_trajectory, to_root_space
from deepphase.motion.skeleton import Skeleton, path_length, subtree_mask

MIN_FRAMES = 5
BAND = (1.0, 99.0)
"""Percentiles of the captured frames; values outside are rare in the data."""
LOWEST_PERCENTILE = 1.0
"""Percentile over frames of a foot's height that is its lowest usual place."""
USUAL_PERCENTILE = 99.9
"""Percentile over frames of what captured bodies do at most."""
FEET_APART = ("feet_aside", "feet_ahead")
"""Names of the distances between the feet in the data's measures by speed."""
TRUNK = ("lean_ahead", "lean_back", "lean_aside", "trunk_turn")
"""Names of the trunk's leans and turns in the data's measures by speed."""
TURN_S = 0.1
"""Seconds in which a trunk turns."""
LEAN_DEGREES, TURN_DEGREES, TURNS = 12.0, 15.0, 1.5
"""Degrees that are added to the data's leans, and to a multiple of their turns: the margins within
which captured people differ."""
BENT_BACK = 0.035
"""Share of a limb's length by which a knee lies behind the line from hip to ankle that is bent
backward: 3 cm of an adult's. Captured legs that stretch reach half of it."""
# Shorter end sites coincide with their joint.
_MIN_TIP_M = 1e-4
SMOOTHING_S = 0.12
# Speeds below this share of sqrt(g * leg length), which scales with the body, count as standing.
_STANDING = 0.12


def standing_speed(leg_length: float) -> float:
    """m/s below which a body with legs of this length in metres stands: a Froude number."""
    return _STANDING * float(np.sqrt(GRAVITY * leg_length))


def joint_accelerations(positions: Array, fps: float) -> Array:
    """(frames,) m/s^2: the largest acceleration of (frames, joints, 3) joints in each frame."""
    return derivative_sizes(positions, fps, order=2).max(axis=1)


def joint_jerks(positions: Array, fps: float) -> Array:
    """(frames,) m/s^3: mean over joints of the third derivative's size in each frame."""
    return derivative_sizes(positions, fps, order=3).mean(axis=1)


def below(name: str, edge_hz: float) -> str:
    """Name of a measure of what a low-pass at a frequency leaves of a motion."""
    return f"{name}_below_{edge_hz:g}_hz"


def jerks_in_bands(positions: Array, fps: float) -> dict[str, Array]:
    """``jerk`` by `joint_jerks`, and below each of `BANDS_HZ`, where captures have less noise."""
    positions = positions.astype(np.float64)
    return {"jerk": joint_jerks(positions, fps)} | {
        below("jerk", edge): joint_jerks(low_passed(positions, edge, fps), fps) for edge in BANDS_HZ
    }


def joint_rotation_rates(rotations: Array, fps: float) -> Array:
    """(frames - 1, joints) degrees per second: rotation rate of each joint.

    `rotations` (frames, joints, 4) quaternions. With local rotations a swinging arm counts once, at
    the shoulder; in the world or in root space it would count for every descendant. Starke et al.
    2022, table 2, which does not state space and unit.
    """
    if len(rotations) < 2:
        raise ParameterError(f"rotation rates need at least 2 frames, not {len(rotations)}")
    exact = quaternions.normalized(rotations.astype(np.float64))
    turns = quaternions.vectors_between(exact[:-1], exact[1:])
    return np.degrees(np.linalg.norm(turns, axis=-1)) * fps


def foot_speeds(feet: Sequence[Array], fps: float) -> Array:
    """(frames - 1, feet) m/s over the ground of each foot's slowest point.

    A foot that rolls from heel to toe has a point at rest at any time, and does not slide. `feet`:
    for each foot (frames, points, 3) metres.
    """
    steps = [np.diff(points[..., ::2].astype(np.float64), axis=0) * fps for points in feet]
    return np.stack([np.linalg.norm(step, axis=-1).min(axis=1) for step in steps], axis=1)


def foot_skating(speeds: Array, largest: float) -> float:
    """Mean of v / v_max of feet in contact (Starke et al. 2022, table 3)."""
    if not largest > 0:
        raise ParameterError(f"the largest contact speed must be above 0, not {largest} m/s")
    return float(np.mean(speeds) / largest) if len(speeds) else 0.0


def seconds_of(values: Array, fps: float) -> Array:
    """(seconds,) means of values (frames,) over whole seconds, without the remainder."""
    length = max(1, round(fps))
    whole = len(values) // length
    return np.asarray(values, np.float64)[: whole * length].reshape(whole, length).mean(axis=1)


def smoothed_velocities(positions: Array, fps: float) -> Array:
    """(frames, 2) m/s of root positions (frames, 2) m, smoothed over 0.12 s."""
    rough = velocities(np.asarray(positions, np.float64), fps)
    return np.asarray(gaussian_filter1d(rough, SMOOTHING_S * fps, axis=0, mode="nearest"))


class MeasuredBody(Protocol):
    """The parts of a skeleton that are measured: a `RunnerSpec`, or a controller's schema."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints."""

    @property
    def feet(self) -> tuple[str, ...]:
        """Names of the joints of the feet."""

    @property
    def body(self) -> Mapping[str, str] | Sequence[tuple[str, str]]:
        """Role -> joint name, or pairs of them, as `find_roles` takes a description."""


class MeasuredMotion:
    """A motion of at least `MIN_FRAMES` frames with its measures, of the parts of a body."""

    def __init__(self, clip: Clip, body: MeasuredBody) -> None:
        names = clip.skeleton.names
        missing = [name for name in (*body.joints, *body.feet) if name not in names]
        if missing:
            raise SkeletonError(
                f"{clip.name}: the clip has another skeleton, without the joint {missing[0]!r}",
                hint=f"measured joints: {', '.join(body.joints)}; the clip has {', '.join(names)}",
                path=clip.source.path or None,
            )
        roles = find_roles(clip.skeleton, description=dict(body.body), clip=clip)
        transforms = global_transforms(clip)
        root = root_trajectory(clip, roles, positions=transforms[1])
        joints = [names.index(name) for name in body.joints]
        feet = [names.index(name) for name in body.feet]
        legs = [
            path_length(clip.skeleton, *leg)
            for leg in zip(roles.both("hip") or (), roles.both("foot") or (), strict=False)
        ]
        self.fps = clip.fps
        # (frames, joints, 4) local rotations; (frames, joints, 3) metres, world and root space.
        self.rotations = clip.rotations[:, joints]
        self.positions = transforms[1][:, joints].astype(np.float64)
        self.poses = to_root_space(self.positions, root)
        # (frames, 2) metres, x and z, and (frames,) radians.
        self.root_positions = root.positions[:, ::2].astype(np.float64)
        self.root_angles = root.angles.astype(np.float64)
        # (frames, feet) bool, feet on the floor by `foot_contacts`; (frames, feet, 3) metres; and
        # (frames - 1, feet) m/s over the ground of each foot's slowest point.
        self.contacts = _contacts(clip, roles, transforms, feet)
        self.feet = transforms[1][:, feet].astype(np.float64)
        points = foot_points(clip, feet, transforms)
        self.foot_speeds = foot_speeds(points, clip.fps) if feet else np.zeros((len(clip) - 1, 0))
        # (frames, 3) metres: the lowest point of the feet; and (frames,) metres of the hips over
        # the lowest joint; and the legs' length.
        lowest = np.concatenate(points or [self.positions], axis=1)
        self.lowest = lowest[np.arange(len(clip)), lowest[..., 1].argmin(axis=1)]
        heights = transforms[1][..., 1]
        self.hip_heights = heights[:, roles.hips] - heights.min(axis=1)
        self.leg = max(legs, default=0.0)
        # (frames, limbs) of the limbs' lengths, see `limb_bends`.
        self.bends = limb_bends(clip.skeleton, roles, transforms[1])
        self.trunk = trunk_motion(roles, transforms[1], root, clip.fps)
        # (frames, 2) metres between the feet, of quadrupeds the hind ones: sideways, and ahead.
        self.feet_apart = np.zeros((len(clip), 2))
        if (pair := roles.both("foot")) is not None:
            placed = to_root_space(transforms[1][:, list(pair)].astype(np.float64), root)
            self.feet_apart = np.abs(placed[:, 0] - placed[:, 1])[:, ::2]
        self.standing_speed = standing_speed(self.leg)

    def __len__(self) -> int:
        return len(self.positions)

    @cached_property
    def rotation_rates(self) -> Array:
        """(frames - 1, joints) degrees per second, of local rotations."""
        return joint_rotation_rates(self.rotations, self.fps)

    @cached_property
    def jerks(self) -> Array:
        """(frames,) m/s^3, mean over joints."""
        return joint_jerks(self.positions, self.fps)

    @cached_property
    def accelerations(self) -> Array:
        """(frames,) m/s^2, of the joint that accelerates most."""
        return joint_accelerations(self.positions, self.fps)

    @cached_property
    def pose_speeds(self) -> Array:
        """(frames, joints) m/s, relative to the root."""
        return np.linalg.norm(velocities(self.poses, self.fps), axis=-1)

    @cached_property
    def speeds(self) -> Array:
        """(frames,) m/s of the root over the ground."""
        return np.linalg.norm(velocities(self.root_positions, self.fps), axis=-1)

    @cached_property
    def smoothed_speeds(self) -> Array:
        """(frames,) m/s of the root over the ground, smoothed over 0.12 s."""
        return np.linalg.norm(smoothed_velocities(self.root_positions, self.fps), axis=-1)

    @cached_property
    def by_speed(self) -> dict[str, Array]:
        """Name -> (frames,) values that are compared with the data's at the same speed."""
        rates = {"joint_rotation": self.rotation_rates}
        for edge in BANDS_HZ:
            low = low_passed_rotations(self.rotations, edge, self.fps)
            rates[below("joint_rotation", edge)] = joint_rotation_rates(low, self.fps)
        means = {name: own.mean(axis=1) for name, own in rates.items()}
        return (
            {name: np.append(own, own[-1]) for name, own in means.items()}
            | jerks_in_bands(self.positions, self.fps)
            | {"acceleration": self.accelerations}
        )

    @property
    def turn_rates(self) -> Array:
        """(frames,) rad/s of the facing."""
        return velocities(self.root_angles, self.fps)

    def contact_speeds(self, contacts: Array | None = None) -> Array:
        """(n,) m/s of feet on the floor in two consecutive frames."""
        return self.contact_pairs(contacts)[0]

    def contact_pairs(self, contacts: Array | None = None) -> Array:
        """(2, n) m/s: `contact_speeds`, and the smoothed speed of the root at each."""
        flags = self.contacts if contacts is None else contacts
        root = np.broadcast_to(self.smoothed_speeds[1:, None], self.foot_speeds.shape)
        return np.stack([self.foot_speeds, root])[:, flags[1:] & flags[:-1]]


def most_at_speed(motion: MeasuredMotion, name: str, data: Mapping[str, Any]) -> Array:
    """(frames,) the data's 99.9th percentile of a measure at the speed of the root, or at speeds
    around it; infinite at speeds that the data lack."""
    reference = data.get("by_speed", {})
    known = np.array(reference.get(name) or [None], np.float64)
    most = maximum_filter1d(np.nan_to_num(known, nan=-np.inf), 3)
    most[np.isneginf(most)] = np.inf
    bins = (motion.smoothed_speeds / reference.get("width", 1.0)).astype(np.int64)
    return np.asarray(np.append(most, np.inf)[np.minimum(bins, len(most))])


def trunk_beyond(motion: MeasuredMotion, data: Mapping[str, Any]) -> Array:
    """(frames, 4) degrees of `TRUNK` beyond `most_at_speed` and a margin."""
    most = np.stack([most_at_speed(motion, name, data) for name in TRUNK], axis=1)
    return np.asarray(motion.trunk - most * [1, 1, 1, TURNS] - [*[LEAN_DEGREES] * 3, TURN_DEGREES])


def _contacts(clip: Clip, roles: Roles, transforms: tuple[Array, Array], feet: list[int]) -> Array:
    """(frames, feet) bool."""
    flags = np.zeros((len(clip), len(feet)), bool)
    try:
        found = foot_contacts(clip, roles, transforms=transforms)
    except SkeletonError:
        return flags
    columns = {joint: column for column, joint in enumerate(found.joints)}
    for place, foot in enumerate(feet):
        if foot in columns:
            flags[:, place] = found.flags[:, columns[foot]]
    return flags


def limb_bends(skeleton: Skeleton, roles: Roles, positions: Array) -> Array:
    """(frames, limbs): how far the middle joints of limbs lie on their side, which is ahead of a
    knee and behind an elbow, of the line between the joints around them, over the limb's length.

    Ahead is across the limb and the line from the right hip to the left one.
    """
    # Imported here: it loads the compiled solver of limbs, which measures of dances do without.
    from deepphase.motion.foot_ik import LegChains

    limbs = LegChains.from_skeleton(skeleton, roles)
    upper, middle, last = (
        positions[:, joints].astype(np.float64)
        for joints in (limbs.upper, limbs.middle, limbs.last)
    )
    left = np.zeros_like(upper)
    for pair in (roles.both("hip"), roles.both("shoulder")):
        if pair is not None:
            to_left = positions[:, pair[0]] - positions[:, pair[1]]
            left[:, np.isin(limbs.upper, pair)] = to_left[:, None]
    way, own = last - upper, middle - upper
    along = np.vecdot(own, way) / np.maximum(np.vecdot(way, way), _MIN_TIP_M**2)
    ahead = np.cross(way, left)
    ahead /= np.maximum(
        np.linalg.norm(way, axis=-1) * np.linalg.norm(left, axis=-1), _MIN_TIP_M**2
    )[..., None]
    beside = np.vecdot(own - along[..., None] * way, ahead)
    lengths = np.linalg.norm(own, axis=-1) + np.linalg.norm(last - middle, axis=-1)
    return limbs.bends * beside / np.maximum(lengths, _MIN_TIP_M)


def trunk_motion(roles: Roles, positions: Array, root: RootTrajectory, fps: float) -> Array:
    """(frames, 4) degrees of `TRUNK`, of (frames, joints, 3) metres in the world; 0 without parts.

    The line from the hips to the neck, or to the head, leans from the vertical; with the line
    between the shoulders it has turned about any axis since `TURN_S` before.
    """
    top, shoulders = roles.head if roles.neck is None else roles.neck, roles.both("shoulder")
    if top is None or shoulders is None:
        return np.zeros((len(positions), 4))
    points = positions[:, [top, roles.hips, *shoulders]].astype(np.float64)
    up, left = points[:, 0] - points[:, 1], points[:, 2] - points[:, 3]
    placed = to_root_space(points[:, :2], root)
    aside, rise, ahead = (placed[:, 0] - placed[:, 1]).T
    pitch, roll = np.arctan2(ahead, rise), np.arctan2(np.abs(aside), np.hypot(rise, ahead))
    forward = np.cross(left, up)
    axes = np.stack([np.cross(up, forward), up, forward], axis=1)
    axes /= np.maximum(np.linalg.norm(axes, axis=-1, keepdims=True), _MIN_TIP_M**3)
    before = axes[np.maximum(np.arange(len(axes)) - max(1, round(TURN_S * fps)), 0)]
    turned = np.arccos(np.clip(0.5 * (np.vecdot(axes, before).sum(axis=1) - 1.0), -1.0, 1.0))
    return np.degrees(np.stack([pitch, -pitch, roll, turned], axis=1))


def foot_points(clip: Clip, feet: list[int], transforms: tuple[Array, Array]) -> list[Array]:
    """(frames, points, 3) joints and tips from the ankle on, for each foot."""
    skeleton = clip.skeleton
    ends = end_positions(clip, transforms)
    long = np.linalg.norm(skeleton.end_offsets, axis=1) > _MIN_TIP_M
    found = []
    for foot in feet:
        inside = subtree_mask(skeleton, foot)
        tips = inside[skeleton.end_parents] & long
        found.append(np.concatenate([transforms[1][:, inside], ends[:, tips]], axis=1))
    return found
