"""Foot locking on floors and ground: feet in contact stay, with smooth transitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.motion import quaternions
from deepphase.motion.contacts import GRAVITY
from deepphase.motion.foot_ik import LimbSolver, LimbTransforms
from deepphase.steering.springs import check_settings, faded, spring_rate
from deepphase.terrain.heightmap import Heightmap

# Points of a foot from the last joint to the tip.
_ALONG = np.linspace(0.0, 1.0, 4)
# A swinging foot clears the ground that it comes over within these times, seconds.
_AHEAD_S = (0.0, 0.04, 0.08, 0.12)
_CLEARANCE_M = 0.01
# Half-lives in seconds with which standing feet, swinging feet and the hips move.
_STANDING_S, _SWINGING_S, _HIPS_S = 0.02, 0.04, 0.05
# Feet are moved, and hips lowered, by at most these shares of the limb's length.
_MAX_LIFT, _MAX_DROP = 0.6, 0.35
# Share of a limb's length to which the hips let it stretch.
_HIP_STRETCH = 0.985


class FootGround:
    """Heights of the feet of many characters over ground.

    Standing feet are moved up or down until their lowest point touches the ground, and swinging
    feet up where they would pass through it. The hips are lowered where a standing foot cannot be
    reached. All moves are eased by springs.

    `soles` (2, limbs) metres of the limbs' last joints and tips over the ground while they stand.
    """

    def __init__(self, ground: Heightmap, soles: Array, characters: int) -> None:
        self._ground = ground
        limbs = np.asarray(soles).shape[1]
        self._soles = soles[0] + _ALONG[:, None] * (soles[1] - soles[0])
        self._lift, self._lift_speed = np.zeros((2, limbs, characters))
        self._drop, self._drop_speed = np.zeros((2, characters))
        self._before: Array | None = None
        self._rates = [spring_rate(time) for time in (_STANDING_S, _SWINGING_S, _HIPS_S)]

    def moved(
        self, transforms: LimbTransforms, shift: Array, touching: Array, seconds: float
    ) -> tuple[Array, Array]:
        """Metres by which the feet move up and the hips move down.

        `shift` (limbs, characters, 2) metres along x and z by which the feet are moved as well;
        `touching` (limbs, characters) bool: the foot stands.
        """
        upper, _, last, tips = transforms.positions
        length = transforms.lengths
        points = last + _ALONG[:, None, None, None] * (tips - last)
        places = points[..., ::2] + shift
        bottom = points[..., 1] - self._soles[..., None]
        speed = np.zeros_like(places)
        if self._before is not None:
            speed = (places - self._before) / seconds
        self._before = places
        here = self._ground.at(places)
        ahead = np.max(
            [self._ground.at(places + time * speed) for time in _AHEAD_S[1:]] + [here], axis=0
        )
        standing = (here - bottom).max(axis=0)
        swinging = np.maximum((ahead - bottom).max(axis=0) + _CLEARANCE_M, 0.0)
        goal = np.where(touching, standing, swinging)
        goal = np.clip(goal, -_MAX_LIFT * length, _MAX_LIFT * length)
        rate = np.where(touching, self._rates[0], self._rates[1])
        offset, self._lift_speed = faded(self._lift - goal, self._lift_speed, rate, seconds)
        self._lift = goal + offset
        # The highest place of the hips from which a standing foot is reached.
        across2 = np.square((last - upper)[..., ::2] + shift).sum(axis=-1)
        own = np.sqrt(np.vecdot(last - upper, last - upper))
        reach = np.maximum(_HIP_STRETCH * length, own)
        top = last[..., 1] + self._lift + np.sqrt(np.maximum(reach**2 - across2, 0.0))
        lower = np.where(touching, upper[..., 1] - top, 0.0)
        drop = np.clip(lower, 0.0, _MAX_DROP * length).max(axis=0, initial=0.0)
        offset, self._drop_speed = faded(
            self._drop - drop, self._drop_speed, self._rates[2], seconds
        )
        self._drop = drop + offset
        return self._lift, self._drop


# Limbs are stretched beyond the motion softly, up to this share of their length, and where their
# feet are moved from up to this share of it before: a knee that straightens, or bends again, within
# a frame or two pops.
_MAX_STRETCH, _GIVE = 0.99, 0.02
# The lock turns joints at most this many times as fast as is usual, which the fastest captured
# frames do as well: at less, limbs lag with a jerk and overtake.
_FASTER = 1.25
# Feet that do not reach the ground point their toes down: by at most this angle, and to at most
# this one, radians. Feet that point straight down have no side to turn about.
_MAX_TURN, _MAX_POINTED, _LEAST_FOOT = 0.6, 1.1, 0.3


@dataclass(frozen=True)
class FootLockSettings:
    """Settings of foot locking."""

    # Half-life in seconds of a foot's remaining motion when it is locked.
    catch_halflife_s: float = 0.05
    # Half-life in seconds of the distance to the motion when a foot is released.
    release_halflife_s: float = 0.1
    # Maximum speed of a foot to be locked, as a share of sqrt(g * limb length), which scales with
    # the size of the body. Faster feet are considered swinging.
    catch_speed: float = 0.3
    # Maximum distance of a locked foot from the motion, as a share of the limb's length. A foot
    # beyond it is released, and locked again within half of it.
    release_share: float = 0.45
    # Share of the motion's own velocity with which a locked foot moves: captured feet on the floor
    # roll and slide a little.
    follow_share: float = 0.5
    follow_speed: float = 0.025  # Maximum of that velocity, as a share of sqrt(g * limb length)
    # Distance of a locked foot from the motion, as a share of the limb's length, from which on a
    # body at rest takes a step.
    step_share: float = 0.08
    step_s: float = 0.35  # Seconds of such a step
    step_lift: float = 0.3  # Height of such a step as a share of its length

    def __post_init__(self) -> None:
        check_settings(self, ("catch_speed", "release_share", "step_share", "step_s"))

    def largest_follow_speed(self, length: float | Array) -> float | Array:
        """`follow_speed` in m/s, of limbs of a length in metres."""
        return self.follow_speed * np.sqrt(GRAVITY * length)


class FootLock:
    """Foot locking for many characters, frame by frame.

    A foot in contact keeps its place on the ground; its height remains that of the motion, or is
    that of uneven ground. It is released when the contact ends or the motion is too far away. Feet
    of bodies at rest step to the places that the motion has for them, half of them at a time.

    `lowest` (limbs,) metres: lowest places of the tips on a flat floor, to which feet that are
    lower are lifted. By default feet may be at any height. `fastest` (joints,) radians/s: the lock
    turns no joint of the solver more than a quarter faster, unless the motion does.
    """

    def __init__(
        self,
        solver: LimbSolver,
        characters: int,
        settings: FootLockSettings | None = None,
        ground: FootGround | None = None,
        lowest: Array | None = None,
        fastest: Array | None = None,
    ) -> None:
        self._solver, self._ground, self._fastest = solver, ground, fastest
        # Rotations of the last frame: of the motion, and with locked feet.
        self._turned: tuple[Array, Array] | None = None
        self._lowest = None if lowest is None else np.asarray(lowest, np.float64)[:, None]
        self._settings = settings or FootLockSettings()
        # (limbs, characters), as in the solver.
        shape = (len(solver.limbs), characters)
        self._locked = np.zeros(shape, bool)
        self._point, self._offset, self._speed, self._placed = np.zeros((4, *shape, 2))
        self._lift, self._rise = np.zeros((2, *shape))
        self._moving: Array | None = None
        # Seconds that are left of a step at rest, and its height in metres.
        self._step_left, self._step_height = np.zeros((2, *shape))
        self._rates = tuple(
            spring_rate(time)
            for time in (self._settings.catch_halflife_s, self._settings.release_halflife_s)
        )

    @property
    def stepping(self) -> Array:
        """(characters, limbs) bool: feet in a step that began while their body was at rest."""
        return self._step_left.T > 0

    def apply(
        self,
        rotations: Array,
        local_positions: Array,
        contacts: Array,
        seconds: float,
        offsets: Array | None = None,
        resting: Array | None = None,
        slips: Array | None = None,
        heights: Array | None = None,
    ) -> Array | None:
        """Lock the feet of one frame.

        `rotations` (characters, joints, 4) are changed in place. `contacts` (characters, limbs) are
        those of the motion. `offsets` (characters, first limbs, 2) metres, x and z, by which feet
        are moved from the motion before they are locked; `resting` (characters,) bodies at rest. Of
        all others, locked feet move by `slips` (characters, limbs, 2) metres a frame, or else by a
        share of the motion's own, and on flat floors their tips have `heights` (characters, limbs)
        metres. Returns (characters,) metres by which the whole body is then to be lowered; None on
        a flat floor.
        """
        solver = self._solver
        if not len(solver.limbs):
            return None
        captured = rotations[:, solver.joints]
        transforms = solver.transforms(rotations, local_positions)
        upper, _, last, tips = transforms.positions
        ground, length = tips[..., ::2], transforms.lengths
        targets = last.copy()
        moving = ground
        if offsets is not None:
            moving = ground.copy()
            moving[: offsets.shape[1]] += offsets.swapaxes(0, 1)
        flags = contacts.T
        if resting is not None:
            flags = flags & ~self._steps(moving, resting, length, seconds)
        own = np.zeros_like(moving) if self._moving is None else moving - self._moving
        slid = self._settings.follow_share * own
        most = self._settings.largest_follow_speed(length) * seconds
        size = np.maximum(np.sqrt(np.vecdot(slid, slid)), 1e-12)
        slid *= np.minimum(most / size, 1.0)[..., None]
        if slips is not None:
            stands = flags if resting is None else flags & ~resting
            # A foot that the motion lifts at once would be flung.
            slid = np.where(stands[..., None], slips.swapaxes(0, 1), slid)
        shift = self._held(moving, flags, length, seconds, slid) - ground
        targets[..., ::2] += shift
        step = 1.0 - self._step_left / self._settings.step_s
        targets[..., 1] += self._step_height * np.sin(np.pi * step) ** 2
        floor = tips[..., 1]
        if heights is not None and self._ground is None:
            lift = self._lifted(heights.T - floor, resting, seconds)
            targets[..., 1] += lift
            floor = floor + lift
        drops = None
        if self._lowest is not None:
            targets[..., 1] += np.maximum(self._lowest - floor, 0.0)
        if self._ground is not None:
            lifts, drops = self._ground.moved(transforms, shift, flags, seconds)
            targets[..., 1] += lifts + drops
        reached, tilts = within_reach(upper, last, targets, length), None
        if self._ground is not None:
            tilts = _toes_down(last, tips, (reached - targets)[..., 1])

        def goals(now: LimbTransforms, which: slice | Array = slice(None)) -> Array:
            # Where hinges turned feet, their tips go where they were to go.
            turned = now.positions[2] - now.positions[3] + (tips - last)[:, which]
            return reached[:, which] + (turned if tilts is None else 0.0)

        if solver.hinges.constrain(rotations).any():
            transforms = solver.transforms(rotations, local_positions)
        kept = solver.reach(rotations, transforms, goals(transforms), tilts)
        if kept.any():
            # Once more, from where hinges left the limbs.
            own = rotations[kept]
            transforms = solver.transforms(own, local_positions[kept])
            solver.reach(own, transforms, goals(transforms, kept))
            rotations[kept] = own
        if self._fastest is not None:
            self._slow(rotations, captured, _FASTER * seconds * self._fastest)
        return drops

    def _slow(self, rotations: Array, captured: Array, most: Array) -> None:
        """Turn limbs from their last rotations by `most` (joints,) radians, or as captured."""
        joints, before = self._solver.joints, self._turned
        locked = rotations[:, joints]
        if before is not None:
            turns = quaternions.vectors_between(before[1], locked)
            most = np.maximum(most, quaternions.angle_between(before[0], captured))
            shares = most / np.maximum(np.sqrt(np.vecdot(turns, turns)), most)
            # All joints of a limb by the same share, so that its foot goes towards its place.
            shares = np.tile(shares.reshape(len(locked), 3, -1).min(axis=1), 3)[..., None]
            way = quaternions.from_rotation_vectors(shares * turns)
            slowed = quaternions.multiply(way, before[1])
            rotations[:, joints] = locked = np.where(shares < 1.0, slowed, locked)
        self._turned = captured, locked

    def _lifted(self, missing: Array, resting: Array | None, seconds: float) -> Array:
        """(limbs, characters) metres by which tips are moved towards the heights of locked ones."""
        held = self._locked if resting is None else self._locked & ~resting
        goal = np.where(held, missing, 0.0)
        rate = np.where(held, *self._rates)
        apart, self._rise = faded(self._lift - goal, self._rise, rate, seconds)
        self._lift = goal + apart
        return self._lift

    def _steps(self, ground: Array, resting: Array, length: Array, seconds: float) -> Array:
        """(limbs, characters) bool: feet that step, of which some begin."""
        settings = self._settings
        self._step_left = np.maximum(self._step_left - seconds, 0.0)
        stepping = self._step_left > 0
        free = resting & (stepping.sum(axis=0) < max(1, len(stepping) // 2))
        if not (free.any() and self._locked.any()):
            return stepping
        gaps = self._point - ground
        gap = np.where(self._locked & ~stepping, np.sqrt(np.vecdot(gaps, gaps)), 0.0)
        farthest = np.arange(len(gap))[:, None] == gap.argmax(axis=0)
        begins = farthest & free & (gap > settings.step_share * length)
        self._step_left = np.where(begins, settings.step_s, self._step_left)
        self._step_height = np.where(begins, settings.step_lift * gap, self._step_height)
        return stepping | begins

    def _held(
        self, ground: Array, contacts: Array, length: Array, seconds: float, slips: Array
    ) -> Array:
        """(limbs, characters, 2) metres: target places of the tips, x and z."""
        settings = self._settings
        if self._moving is None:
            self._moving, self._placed = ground, ground
        held = self._locked[..., None]
        self._point += np.where(held, slips, 0.0)
        # Offset and its velocity: of free feet from the motion, of locked feet from their place.
        gap = np.where(held, self._point - ground, self._offset)
        gap2 = np.vecdot(gap, gap)
        release2 = (settings.release_share * length) ** 2
        ends = self._locked & (~contacts | (gap2 > release2))
        begins = contacts & ~self._locked & (gap2 < 0.25 * release2)
        if begins.any() or ends.any():
            moving = (ground - self._moving) / seconds
            velocity = np.where(held, slips / seconds, moving) + self._speed
            slow2 = settings.catch_speed**2 * GRAVITY * length
            begins &= np.vecdot(velocity, velocity) < slow2
            change = (begins | ends)[..., None]
            # The spring starts from the last place and velocity of the foot.
            holds = begins[..., None]
            self._point = np.where(holds, self._placed, self._point)
            offset = np.where(holds, 0.0, self._placed - self._moving)
            self._offset = np.where(change, offset, self._offset)
            speed = velocity - np.where(holds, slips / seconds, moving)
            self._speed = np.where(change, speed, self._speed)
            self._locked = (self._locked | begins) & ~ends
        held = self._locked[..., None]
        rate = np.where(held, *self._rates)
        self._offset, self._speed = faded(self._offset, self._speed, rate, seconds)
        self._moving = ground
        self._placed = np.where(held, self._point, ground) + self._offset
        return self._placed


def within_reach(upper: Array, last: Array, targets: Array, length: Array) -> Array:
    """Targets, moved towards the limb's upper joint where they would overstretch the limb."""
    drawn, natural = targets - upper, last - upper
    distance, own = np.sqrt(np.vecdot(drawn, drawn)), np.sqrt(np.vecdot(natural, natural))
    moved = targets - last
    own -= np.minimum(np.sqrt(np.vecdot(moved, moved)), _GIVE * length)
    over = distance - own
    if not (over > 0).any():
        return targets
    room = np.maximum(_MAX_STRETCH * length - own, 1e-6)
    soft = np.where(over > 0, own + room * np.tanh(over / room), distance)
    return upper + drawn * (soft / np.maximum(distance, 1e-9))[..., None]


def _toes_down(last: Array, tips: Array, missing: Array) -> Array:
    """(limbs, characters, 4) rotations that lower the tips of feet which do not reach the ground.

    `missing` (limbs, characters) metres by which the last joints stay above their targets.
    """
    foot = tips - last
    along = np.sqrt(np.vecdot(foot[..., ::2], foot[..., ::2]))
    length = np.maximum(np.sqrt(np.vecdot(foot, foot)), 1e-6)
    own = np.arcsin(np.clip(-foot[..., 1] / length, -1.0, 1.0))
    lower = np.clip(np.sin(own) + np.maximum(missing, 0.0) / length, -1.0, np.sin(_MAX_POINTED))
    turn = np.clip(np.arcsin(lower) - own, 0.0, _MAX_TURN)
    # About the foot's left side, by a positive angle.
    left = np.stack([foot[..., 2], np.zeros_like(along), -foot[..., 0]], axis=-1)
    left /= np.maximum(along, 1e-6)[..., None]
    return quaternions.about_axis(left, np.where(along > _LEAST_FOOT * length, turn, 0.0))
