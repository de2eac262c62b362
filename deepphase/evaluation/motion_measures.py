"""Measures of a motion at every frame, and of many captured clips together.

Captured clips and runs have the same measures, to be comparable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from scipy.ndimage import maximum_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError, SkeletonError
from deepphase.evaluation.runs import (
    below,
    foot_skating,
    foot_speeds,
    jerks_in_bands,
    joint_accelerations,
    joint_jerks,
    joint_rotation_rates,
    means_by_speed,
    own_changes,
    seconds_of,
    smoothed_velocities,
    standing_speed,
    summary,
)
from deepphase.features.feature import BodyFrames
from deepphase.features.moment_kinds import IDLE, LOCOMOTION, moment_kinds
from deepphase.motion.clip import Clip, end_positions, global_transforms, velocities
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.resample import BANDS_HZ, low_passed_rotations
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import RootTrajectory, root_trajectory, to_root_space
from deepphase.motion.skeleton import Skeleton, bone_lengths, path_length, subtree_mask

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


def measured_data(clips: Iterable[Clip], body: MeasuredBody) -> dict[str, Any]:
    """Measures of captured motion as plain numbers, for the headers of files.

    ======================  ================================================================
    clips, frames           number of measured clips and frames
    joint_rotation          degrees per second, mean over joints: a spread over frames
    usual_rotations         degrees per second of each joint: 99.9th percentile over frames
    jerk                    m/s^3, mean over joints: a spread over frames
    usual_acceleration      m/s^2: 99.9th percentile over frames of the joint that accelerates most
    largest_contact_speed   m/s over the ground of the slowest point of feet in contact
    mean_contact_speed      m/s: the same on average
    bent_back               share of the limbs' frames in which a knee bends backward
    skating                 the second over the first (Starke et al. 2022, table 3)
    mean_, top_speed        m/s of the root, over all frames: mean, and 99th percentile
    travelling_speed        m/s: the median of frames that travel; 0 if none does
    turning_rate, top_...   rad/s: mean size of the facing's rate, and its 99th percentile
    standing_speed          m/s: slower motion counts as standing
    still_speed             m/s: 1st percentile, over seconds of travel, of the mean joint speed
                            relative to the root; 0 without such seconds
    idle_speed              m/s: mean joint speed relative to the root in the frames that
                            `features.moment_kinds` finds idle; 0 where they are less than a second
    limb_lengths            metres of each joint to its parent by its name
    by_speed                means of joint_rotation, jerk, contact_speed and acceleration (m/s^2, of
                            the joint that accelerates most) in bins of speed that are
                            standing_speed wide; see
                            `runs.means_by_speed`. The first two also below 12, 8 and 4 Hz, see
                            `runs.below`. feet_aside and feet_ahead are metres between the feet, of
                            quadrupeds the hind ones, and `TRUNK` degrees in rest and
                            locomotion: 99.9th percentiles. Missing for bodies without legs
    changes, headings       median and number of the durations, in seconds, of the data's own
                            starts, stops and turns; see `response.own_changes`
    ======================  ================================================================

    A spread has the mean, the median, and the 1st and the 99th percentile as low and high.
    """
    first: tuple[Clip, MeasuredMotion] | None = None
    changes: dict[str, list[float]] = {}
    headings: dict[str, list[float]] = {}
    tips: dict[str, list[Array]] = {}
    gathered: dict[str, list[Array]] = {}
    for clip in clips:
        if len(clip) < MIN_FRAMES:
            continue
        motion = MeasuredMotion(clip, body)
        first = first or (clip, motion)
        kinds = moment_kinds(clip, BodyFrames.from_clip(clip, dict(body.body)), dict(body.body))
        travels = seconds_of(motion.speeds, motion.fps) > motion.standing_speed
        moved = motion.pose_speeds.mean(axis=1)
        for name, values in {
            "rates": motion.rotation_rates,
            "jerks": motion.jerks,
            "accelerations": motion.accelerations,
            "contact_pairs": motion.contact_pairs().T,
            "speeds": motion.speeds,
            "turn_rates": np.abs(motion.turn_rates),
            "bends": motion.bends.ravel(),
            "feet_apart": motion.feet_apart,
            "trunk": motion.trunk,
            "walks": np.isin(kinds, (IDLE, LOCOMOTION)),
            "travelling_seconds": seconds_of(moved, motion.fps)[travels],
            "smoothed_speeds": motion.smoothed_speeds,
            "idle": moved[kinds == IDLE],
            **{f"by {name}": values for name, values in motion.by_speed.items()},
        }.items():
            gathered.setdefault(name, []).append(values)
        own = own_changes(
            motion.root_positions, motion.root_angles, motion.fps, motion.standing_speed
        )
        for every, found in zip((changes, headings), own, strict=True):
            for kind, durations in found.items():
                every.setdefault(kind, []).extend(durations)
        for name, heights in tip_heights(clip, body).items():
            tips.setdefault(name, []).append(heights)
    if first is None:
        raise ParameterError(
            f"no clip has {MIN_FRAMES} frames, which measures need", hint="give longer clips"
        )
    every_frame = {name: np.concatenate(values) for name, values in gathered.items()}
    skeleton, standing = first[0].skeleton, first[1].standing_speed
    lengths = dict(zip(skeleton.names, bone_lengths(skeleton).tolist(), strict=True))
    rates, bends = every_frame["rates"], every_frame["bends"]
    contact, at_contacts = every_frame["contact_pairs"].T
    speed, turn = every_frame["speeds"], every_frame["turn_rates"]
    seconds, resting = every_frame["travelling_seconds"], every_frame["idle"]
    travelling, largest = speed[speed > standing], float(contact.max(initial=0.0))
    at_speeds: dict[str, Any] = {}
    if standing > 0:
        by_speed = {n.removeprefix("by "): v for n, v in every_frame.items() if n[:3] == "by "}
        smoothed = every_frame["smoothed_speeds"]
        apart = dict(zip(FEET_APART, every_frame["feet_apart"].T, strict=True))
        # Leans of cartwheels and of bodies that crawl are not those of steered bodies.
        walks, usual = every_frame["walks"], partial(np.percentile, q=USUAL_PERCENTILE)
        trunk = dict(zip(TRUNK, every_frame["trunk"][walks].T, strict=True))
        at_speeds["by_speed"] = {
            **means_by_speed(smoothed, by_speed, standing),
            **means_by_speed(at_contacts, {"contact_speed": contact}, standing),
            **means_by_speed(smoothed, apart, standing, usual),
            **means_by_speed(smoothed[walks], trunk, standing, usual),
        }
    return {
        "clips": len(gathered["idle"]),
        "frames": len(speed),
        "joint_rotation": _spread(rates.mean(axis=1)),
        "usual_rotations": dict(
            zip(body.joints, np.percentile(rates, USUAL_PERCENTILE, axis=0).tolist(), strict=True)
        ),
        "jerk": _spread(every_frame["jerks"]),
        "usual_acceleration": float(np.percentile(every_frame["accelerations"], USUAL_PERCENTILE)),
        "largest_contact_speed": largest,
        "mean_contact_speed": float(contact.mean()) if contact.size else 0.0,
        "skating": foot_skating(contact, largest) if largest > 0 else 0.0,
        "bent_back": float((bends < -BENT_BACK).mean()) if bends.size else 0.0,
        "mean_speed": float(speed.mean()),
        "travelling_speed": float(np.median(travelling)) if travelling.size else 0.0,
        "top_speed": float(np.percentile(speed, BAND[1])),
        "turning_rate": float(turn.mean()),
        "top_turning_rate": float(np.percentile(turn, BAND[1])),
        "standing_speed": standing,
        "idle_speed": float(resting.mean()) if len(resting) >= clip.fps else 0.0,
        "still_speed": float(np.percentile(seconds, BAND[0])) if seconds.size else 0.0,
        "limb_lengths": {name: round(lengths[name], 6) for name in body.joints[1:]},
        "lowest_tips": {
            name: float(np.percentile(np.concatenate(heights), LOWEST_PERCENTILE))
            for name, heights in tips.items()
        },
        **at_speeds,
        "changes": summary(changes),
        "headings": summary(headings),
    }


def tip_heights(clip: Clip, body: MeasuredBody) -> dict[str, Array]:
    """Last joint of each limb -> (frames,) metres: height of the tip that touches the floor."""
    skeleton = clip.skeleton
    roles = find_roles(skeleton, description=dict(body.body), clip=clip)
    limbs = LegChains.from_skeleton(skeleton, roles).on_floor(skeleton, roles)
    solver = LimbSolver(skeleton, limbs, limbs.ends(skeleton, roles))
    places = solver.transforms(clip.rotations, clip.local_positions()).positions[3, ..., 1]
    return dict(zip((skeleton.names[int(last)] for last in limbs.last), places, strict=True))


def _spread(values: Array) -> dict[str, float]:
    low, high = np.percentile(values, BAND)
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "low": float(low),
        "high": float(high),
    }
