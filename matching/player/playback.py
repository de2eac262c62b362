"""Motion of a database's rows in root space, laid out for many characters at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.corpus.groups import check_one_body
from deepphase.errors import ParameterError, SkeletonError
from deepphase.evaluation.motion_measures import (
    LOWEST_PERCENTILE,
    USUAL_PERCENTILE,
    joint_accelerations,
    standing_speed,
)
from deepphase.features.feature import complex_of, pairs
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.stored_rows import StoredRotations, has_ground_heights
from deepphase.matching.player.settings import CONSTANTS
from deepphase.matching.player.trajectory_queries import FacingCoverage
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, Source, global_transforms, joint_positions
from deepphase.motion.contacts import GRAVITY, foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.skeleton import Skeleton, ancestors, bone_lengths, path_length, subtree_mask
from deepphase.steering.goal_limits import GoalLimits
from deepphase.steering.rest import CONSTANTS as REST
from deepphase.steering.rest import breathing
from deepphase.work import Progress, report


class RowValues(Protocol):
    """Values of the rows of a motion: an array, or what is indexed by rows like one."""

    def __getitem__(self, rows: Any, /) -> Array: ...


# Percentile of the rows' speeds that is their top speed.
_TOP_PERCENTILE = 99.0
# Share of the leg length up to which the lowest joints of a clip may be off a floor at height 0.
_SOLE_SHARE = 0.3
# Rows in which the soles are measured, and the quietest are looked for; and number of these.
_SOLE_ROWS, _QUIET_ROWS = 4_000, 8


@brief_repr
@dataclass(frozen=True, eq=False)
class Playback:
    """Poses, steps over the ground and contacts of every row of a database.

    Poses are relative to the root trajectory of their frame, so that they can be placed anywhere.

    Parameters
    ----------
    skeleton
        Skeleton of the output, which is the first clip's. Clips of other bodies are scaled to it.
    roles
        Roles of its joints.
    fps
        Frames per second.
    rotations
        (..., joints, 4) float32 local rotations by row; those of `carrier` in root space.
    translations
        (rows, translated joints, 3) float32 metres; the carrier's in root space, over the floor.
    translated_joints
        (translated joints,) rising; the root and the carrier are always among them.
    carrier
        The joint that carries the body, the hips. Joints above it lie on the root trajectory.
    steps
        (rows, 3) float32: root motion to the next row; m to the left (x) and front (z), and rad.
    contacts
        (rows, limbs) bool: the limb's tip is in contact with the floor.
    limbs
        Limbs that end in feet; may be empty.
    usual_acceleration
        m/s^2: 99.9th percentile over frames of the largest acceleration of a joint.
    support
        (rows, limbs) float32 from 0 to 1: how much each limb carries the body. It rises and falls
        within `CONSTANTS.support_s` of a contact's ends.
    slips
        (rows, limbs, 2) float32 metres, x and z in root space: motion of each limb's tip over the
        ground to the next row.
    fastest
        (3 * limbs,) radians/s: 99.9th percentile over frames of the rates of upper, middle and last
        joints; None if it is not known.
    source
        Unit, up axis and rotation orders of the first clip's file, for those that are written.
    """

    skeleton: Skeleton
    roles: Roles
    fps: float
    rotations: RowValues
    translations: RowValues
    translated_joints: Array
    carrier: int
    steps: RowValues
    contacts: RowValues
    limbs: LegChains
    usual_acceleration: float
    support: Array
    slips: RowValues
    fastest: Array | None = None
    source: Source = Source()  # noqa: RUF009 (frozen)

    def __len__(self) -> int:
        return len(self.translations[:])

    @classmethod
    def from_database(cls, database: MotionDatabase, progress: Progress | None = None) -> Playback:
        """Read all clips of a database from their stores.

        Raises
        ------
        CheckpointError
            Where a store is missing or has been replaced.
        SkeletonError
            Where the clips have different joints or rest frames.
        """
        first = database.clip(0)
        skeleton = first.skeleton
        roles = find_roles(skeleton, description=dict(database.body), clip=first)
        on_ground = has_ground_heights(database.layout)
        limbs = LegChains.from_skeleton(skeleton, roles).on_floor(skeleton, roles)
        carrier = roles.hips
        moving = np.unique([0, *ancestors(skeleton, carrier), *first.translated_joints.tolist()])
        rows = len(database)
        carriers = np.empty((rows, 4), np.float32)
        translations = np.empty((rows, len(moving), 3), np.float32)
        contacts = np.zeros((rows, len(limbs)), bool)
        steps = np.zeros((rows, 3), np.float32)
        support = np.zeros(contacts.shape, np.float32)
        slips = np.zeros((rows, len(limbs), 2), np.float32)
        ends = limbs.ends(skeleton, roles)
        legs = np.concatenate([limbs.upper, limbs.middle, limbs.last])
        rates = np.zeros((rows, len(legs)), np.float32)
        accelerations = np.zeros(rows, np.float32)
        body = subtree_mask(skeleton, carrier)
        size = _size(skeleton, limbs)
        count = len(database.clip_names)
        bodies = {skeleton}
        for index in range(count):
            clip = database.clip(index).in_order_of(skeleton)
            if clip.skeleton not in bodies:
                # A database of an older version may have clips of several.
                check_one_body([first, clip])
                bodies.add(clip.skeleton)
            start, stop = database.range_starts[index], database.range_stops[index]
            here = slice(int(start), int(stop))
            own_size = _size(clip.skeleton, limbs)
            scale = size / own_size if own_size > 0 else 1.0
            root = (database.root_positions[here], database.root_angles[here])
            transforms = global_transforms(clip)
            contacts[here], floor = _tip_contacts(
                clip, roles, limbs, transforms, any_height=on_ground
            )
            # The roots of clips on ground have its height, and most others stand at 0: their lowest
            # joints are over the floor by the thickness of soles.
            floor = 0.0 if on_ground or abs(floor) < _SOLE_SHARE * own_size else floor
            carriers[here], translations[here] = _in_root_space(
                clip, carrier, moving, transforms, (*root, floor), scale
            )
            if len(clip) > 2:
                moved = scale * transforms[1][:, body]
                accelerations[here] = joint_accelerations(moved, clip.fps)
            turns = clip.rotations[:, legs]
            rates[here][1:] = quaternions.angle_between(turns[:-1], turns[1:]) * clip.fps
            steps[here] = _steps(*root, scale)
            support[here] = supports(contacts[here], CONSTANTS.support_s * clip.fps)
            slips[here] = _slips(transforms, limbs.tips, ends, root[1], scale)
            report(progress, "reading motion", index + 1, count, clip.name)
        rotations = StoredRotations(
            database,
            [database.in_store(index) for index in range(count)],
            skeleton,
            carriers,
            ancestors(skeleton, carrier),
        )
        playback = cls(
            skeleton=skeleton,
            roles=roles,
            fps=database.fps,
            rotations=rotations,
            translations=translations,
            translated_joints=moving,
            carrier=carrier,
            steps=steps,
            contacts=contacts,
            limbs=limbs,
            usual_acceleration=float(np.percentile(accelerations, USUAL_PERCENTILE)),
            source=first.source.conventions,
            support=support,
            slips=slips,
            fastest=np.percentile(rates, USUAL_PERCENTILE, axis=0),
        )
        rotations.hinges = playback.limb_solver.hinges
        return playback

    @property
    def candidates(self) -> int:
        """Number of nearest rows whose transitions are compared at a jump."""
        return CONSTANTS.candidates

    @cached_property
    def body(self) -> Array:
        """(body,) joints from the carrier down, rising. Those above it are not part of the body."""
        return np.flatnonzero(subtree_mask(self.skeleton, self.carrier))

    def tips(self, rotations: Array, translations: Array) -> Array:
        """(n, limbs) complex x + i z, metres in root space: tips of the limbs in poses (n, ...)."""
        tips = self._limb_ends(rotations, translations)[1]
        return complex_of(tips[..., ::2])[..., 0].T

    def _limb_ends(self, rotations: Array, translations: Array) -> Array:
        """(2, limbs, n, 3) metres in root space: last joints and tips of the limbs in poses."""
        local = np.tile(self.skeleton.offsets, (len(rotations), 1, 1))
        local[:, self.translated_joints] = translations
        return self.limb_solver.transforms(rotations, local).positions[2:]

    @cached_property
    def limb_solver(self) -> LimbSolver:
        """Solver of the limbs, whose tips are the points that touch the floor."""
        ends = self.limbs.ends(self.skeleton, self.roles)
        poses = self.rotations[self._some_rows]
        return LimbSolver.from_poses(self.skeleton, self.roles, self.limbs, poses, ends)

    @property
    def _some_rows(self) -> Array:
        return np.unique(np.linspace(0, len(self) - 1, _SOLE_ROWS).astype(int))

    @cached_property
    def _foot_heights(self) -> tuple[Array, Array]:
        """(2, rows, limbs) metres of last joints and tips of some rows, and their contacts."""
        rows = self._some_rows
        ends = self._limb_ends(self.rotations[rows], self.translations[rows])
        return ends[..., 1].swapaxes(1, 2), self.contacts[rows]

    @cached_property
    def soles(self) -> Array:
        """(2, limbs) metres of last joints and tips over the ground, in the median of contacts."""
        heights, contacts = self._foot_heights
        contacts = contacts | ~contacts.any(axis=0)
        return np.nanmedian(np.where(contacts, heights, np.nan), axis=1)

    @cached_property
    def lowest_tips(self) -> Array | None:
        """(limbs,) metres: lowest usual places of the tips; None where they are not known."""
        return np.percentile(self._foot_heights[0][1], LOWEST_PERCENTILE, axis=0)

    @cached_property
    def trunk(self) -> Array:
        """(joints,) from the spine to the head, and the shoulders."""
        roles = self.roles
        spine = [roles.spine, roles.chest, roles.neck, roles.head, *(roles.both("shoulder") or ())]
        return np.array([joint for joint in spine if joint is not None], np.int64)

    @property
    def breathing(self) -> dict[str, Any]:
        """What `breathe` moves, for other runtimes."""
        sway = REST.sway * self.leg_length
        return {"carrier": self.carrier, "trunk": self.trunk, "sway": sway}

    def breathe(self, rotations: Array, translations: Array, seconds: Array) -> None:
        """Move poses that are held for some seconds (characters,) a little, in place.

        `rotations, translations` (characters, joints, 4) and (characters, translated joints, 3).
        """
        noise = breathing(seconds, 3 * (1 + len(self.trunk))).reshape(len(seconds), -1, 3)
        carrier = self.translated_joints.tolist().index(self.carrier)
        translations[:, carrier] += REST.sway * self.leg_length * noise[:, 0] * [1.0, 0.3, 1.0]
        turns = quaternions.from_rotation_vectors((REST.breath * noise[:, 1:]).astype(np.float32))
        rotations[:, self.trunk] = quaternions.multiply(turns, rotations[:, self.trunk])

    def quiet_rows(self, allowed: Array) -> Array:
        """(quiet,) up to eight of the allowed rows (rows,), rising, whose poses can be held best.

        Joints are slow, feet are on the floor and under the hips.
        """
        rows = np.flatnonzero(allowed)
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, _SOLE_ROWS).astype(int))]
        pair = np.stack([rows, np.minimum(rows + 1, len(self) - 1)])
        places = np.zeros((*pair.shape, len(self.skeleton), 3))
        places[..., self.body, :] = self.positions(self.rotations[pair], self.translations[pair])
        speeds = np.linalg.norm(places[1] - places[0], axis=-1).mean(axis=-1) * self.fps
        unrest = speeds / np.sqrt(GRAVITY * self.leg_length)
        if len(self.limbs):
            away = np.linalg.norm(places[0][:, self.limbs.last][..., ::2], axis=-1).mean(axis=1)
            unrest += away / self.leg_length + ~self.contacts[rows].all(axis=1)
        return np.sort(rows[np.argsort(unrest, kind="stable")[:_QUIET_ROWS]])

    def positions(self, rotations: Array, translations: Array) -> Array:
        """(..., body, 3) positions of the body's joints in poses, metres.

        `rotations, translations` (..., joints, 4) and (..., translated joints, 3), as the
        attributes of these names.
        """
        shape = rotations.shape[:-2]
        clip = Clip(
            self.skeleton,
            rotations.reshape(-1, *rotations.shape[-2:]),
            translations.reshape(-1, *translations.shape[-2:]),
            self.fps,
            self.translated_joints,
        )
        return joint_positions(clip)[:, self.body].reshape(*shape, -1, 3)

    @cached_property
    def leg_length(self) -> float:
        """Mean length of the limbs in metres, or total bone length where there are none."""
        return _size(self.skeleton, self.limbs)

    @property
    def travelling_speed(self) -> float:
        """Median speed of rows in locomotion, m/s; 0 where there are none."""
        moving = self._speeds[self._speeds > self.standing_speed]
        return float(np.median(moving)) if moving.size else 0.0

    @cached_property
    def goal_limits(self) -> GoalLimits:
        """Limits of goals, from the top speed of all rows."""
        return GoalLimits.from_top_speed(self.top_speed)

    @property
    def top_speed(self) -> float:
        """m/s: 99th percentile of the speeds of all rows; at least that of a body that stands."""
        return max(float(np.percentile(self._speeds, _TOP_PERCENTILE)), self.standing_speed)

    @property
    def _speeds(self) -> Array:
        """(rows,) m/s over the ground."""
        return np.linalg.norm(self.steps[:][:, :2], axis=1) * self.fps

    def facing_coverage(self, rows: Array | None = None) -> FacingCoverage:
        """Directions of travel of the rows that are played, (rows,) bool, or of all rows."""
        steps = self.steps[:] if rows is None else self.steps[rows]
        return FacingCoverage.from_velocities(
            steps[:, :2] * self.fps, self.fps, self.standing_speed
        )

    @property
    def standing_speed(self) -> float:
        """m/s: a body that moves more slowly stands."""
        return standing_speed(self.leg_length)


def _size(skeleton: Skeleton, limbs: LegChains) -> float:
    """Mean length of the limbs in metres, or total bone length where there are none."""
    if not len(limbs):
        return float(bone_lengths(skeleton).sum())
    ends = zip(limbs.upper.tolist(), limbs.tips.tolist(), strict=True)
    return float(np.mean([path_length(skeleton, *pair) for pair in ends]))


def _in_root_space(
    clip: Clip,
    carrier: int,
    moving: Array,
    transforms: tuple[Array, Array],
    root: tuple[Array, Array, float],
    scale: float,
) -> tuple[Array, Array]:
    """Rotations of the carrier, and translations, of a clip's frames in root space."""
    world_rotations, world_positions = transforms
    positions, angles, floor = root
    back = quaternions.about_axis(np.array([0.0, 1.0, 0.0]), -angles.astype(np.float64))
    relative = world_positions[:, carrier] - positions
    relative[:, 1] -= floor
    carried = quaternions.multiply(back, world_rotations[:, carrier].astype(np.float64))
    local = clip.local_positions().astype(np.float64)
    # Joints above the hips, such as a node at the origin, move with the root.
    local[:, ancestors(clip.skeleton, carrier)[1:]] = 0.0
    local[:, carrier] = quaternions.rotate(back, relative)
    carried = quaternions.sign_continuous(quaternions.normalized(carried))
    return carried.astype(np.float32), (scale * local[:, moving]).astype(np.float32)


def _tip_contacts(
    clip: Clip, roles: Roles, limbs: LegChains, transforms: tuple[Array, Array], *, any_height: bool
) -> tuple[Array, float]:
    """(frames, limbs) contacts of each limb's tip, by speed alone on ground, and the floor."""
    flags = np.zeros((len(clip), len(limbs)), bool)
    # Tips only: at heel strike the toe is not yet down.
    as_feet, toes = roles, roles.both("toe")
    if toes is not None:
        # A pair without its left joint is none.
        as_feet = replace(
            roles, left_foot=toes[0], right_foot=toes[1], left_toe=None, left_foot_end=None
        )
    try:
        floor = foot_contacts(clip, roles, transforms=transforms).floor
        contacts = foot_contacts(clip, as_feet, transforms=transforms, at_any_height=any_height)
    except SkeletonError:
        # Without feet, the lowest joint of each frame gives the floor.
        return flags, float(np.percentile(transforms[1][..., 1].min(axis=1), 5))
    column = {joint: index for index, joint in enumerate(contacts.joints)}
    for limb, joints in enumerate(zip(limbs.tips.tolist(), limbs.last.tolist(), strict=True)):
        found = next((column[joint] for joint in joints if joint in column), None)
        if found is not None:
            flags[:, limb] = contacts.flags[:, found]
    return flags, floor


def supports(contacts: Array, frames: float) -> Array:
    """(frames, limbs) float32: frames to the nearer end of the contact, as a share of `frames`."""
    inside, found = np.pad(contacts, ((1, 1), (0, 0))), np.zeros(contacts.shape, np.float32)
    for _ in range(max(1, round(frames))):
        found += inside[1:-1]
        inside[1:-1] &= inside[:-2] & inside[2:]
    return found / max(1, round(frames))


def _slips(
    transforms: tuple[Array, Array], tips: Array, ends: Array, angles: Array, scale: float
) -> Array:
    """(frames, limbs, 2) motion of the tips to the next frame, in root space; the last is 0."""
    rotations, positions = (each[:, tips].astype(np.float64) for each in transforms)
    places = complex_of((positions + quaternions.rotate(rotations, ends))[..., ::2])[..., 0]
    moved = np.diff(places, axis=0, append=places[-1:]) * np.exp(1j * angles)[:, None]
    return (scale * pairs(moved)).astype(np.float32)


def _steps(positions: Array, angles: Array, scale: float) -> Array:
    """(frames, 3) root motion to the next frame, in root space; the last repeats the one before."""
    steps = np.zeros((len(positions), 3), np.float32)
    if len(positions) > 1:
        places = complex_of(positions[:, ::2].astype(np.float64))[:, 0]
        moved = scale * np.diff(places) * np.exp(1j * angles[:-1].astype(np.float64))
        steps[:-1] = np.column_stack([pairs(moved), np.diff(angles)])
        steps[-1] = steps[-2]
    return steps


def check_same_rows(database: MotionDatabase, playback: Playback) -> None:
    """Raise ParameterError unless the playback has the database's rows at its rate."""
    if len(database) != len(playback) or database.fps != playback.fps:
        raise ParameterError(
            f"a database of {len(database)} rows and the motion of {len(playback)} do not match",
            hint="Playback.from_database reads the motion of a database",
        )
