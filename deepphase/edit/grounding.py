"""Floors that are levelled and feet that do not slide, by contacts and inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import gaussian_filter1d, minimum_filter1d, uniform_filter1d

from deepphase.arrays import Array, counted, smoothstep, true_runs
from deepphase.edit.motion_rows import MotionSpace
from deepphase.errors import SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, end_positions, global_transforms, joint_positions
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.resample import low_passed_clip
from deepphase.motion.roles import Roles
from deepphase.motion.skeleton import longest_chains, path_length
from deepphase.solving.feet import HOLD_BLEND_S, faded_corrections, with_tips_at

# Contacts are found on low-passed motion, in Hz, over a floor that is at first the lowest foot of
# so many seconds, and then the floor that was fitted, in so many rounds.
_SMOOTH_HZ, _LOWEST_S, _ROUNDS = 8.0, 1.2, 3
# Shares at the start and the end of a contact that are left out of fits: heels strike and rise.
_HEEL_STRIKE, _HEEL_RISE = 0.3, 0.2
# The floor's prior: standard deviations of its slope, of its height in metres, of the second
# derivative of its height in leg lengths/s^2, and of heights of feet around it in leg lengths;
# seconds between its knots.
_SLOPE, _DRIFT, _BEND, _HEIGHT, _KNOT_S = 0.05, 0.3, 0.06, 0.012, 0.5
# A simpler floor is taken where feet are this much further from it, as a factor and in leg lengths.
# A floor that drifts by less than the last share of a leg, or of a shorter clip, is left alone.
_BETTER, _LEVEL_SHARE, _FLAT_SHARE, _SHORTEST_S = 1.15, 0.0025, 0.02, 1.5
# A drift moves feet while they stand, by this share of the fitted curve at least; what only moves
# them between contacts are boxes and stairs. Feet that are farther from a plane than the second
# share of a leg stand on uneven ground.
_DRIFT_SHARE, _UNEVEN_SHARE = 0.5, 0.05
# Seconds over which feet slip alike, and in which they rest at least; the speed in leg lengths/s
# below which the body does not slip.
_SLIP_S, _REST_S, _SLIP_SPEED = 0.6, 0.12, 0.045
# Metres of slip that are said.
_NO_SLIP_M = 0.005
# In leg lengths: feet that land or leave are further than this from where they stand; feet that
# move by less are left alone; feet that slide further in a contact, too: their leg would not reach;
# feet that stand nearer to the floor are put onto it.
_LANDING, _STANDS_STILL, _SLIDE, _ONTO_FLOOR = 0.005, 0.002, 0.3, 0.03


@dataclass(frozen=True, eq=False)
class GroundedMotion:
    """A clip on a level floor whose feet do not slide."""

    clip: Clip
    # m/s: mean ground speed of feet in the contacts that are held, before and after
    sliding: tuple[float, float]
    # What was removed, in metres and radians
    drift: float
    tilt: float
    findings: tuple[str, ...]  # what was done, in one sentence each


def grounded(clip: Clip, space: MotionSpace | None = None, *, level: bool = True) -> GroundedMotion:
    """A clip on a level floor, whose feet stay in contacts.

    Contacts are found by height and speed over a floor that may drift, on a body that may slip. A
    plane and a slow curve over time are fitted to the heights of feet in contact, and removed from
    the whole body, as is the movement that all feet in contact share. The rest is removed by
    inverse kinematics of the legs: feet are held where they stand, and knees keep their direction.
    Bones do not change.

    Parameters
    ----------
    clip
        A clip of any body with legs; SkeletonError where no pairs of them are found.
    space
        Its body, if roles of joints are described; found by names and structure by default.
    level
        Level the floor; otherwise feet are held at their heights, as on stairs and slopes.
    """
    space = space or MotionSpace.from_clip(clip, clip.fps)
    clip = space.on_hips(clip)
    roles = space.roles_of(clip)
    limbs = standing_limbs(clip, roles)
    leg = path_length(clip.skeleton, int(limbs.upper[0]), int(limbs.last[0]))
    rotations, places = space.pose(clip)
    clip = space.with_pose(clip, quaternions.normalized(rotations), places)
    smooth = low_passed_clip(clip, _SMOOTH_HZ)
    tips = soles(smooth, limbs)
    low = np.zeros(len(clip))
    if level:
        window = max(1, round(_LOWEST_S * clip.fps))
        low = minimum_filter1d(tips[..., 1].min(axis=1), window, mode="nearest")
        low = gaussian_filter1d(low, 0.5 * window, mode="nearest")
    place = _Placement(_upward(low[0] - low))
    for _ in range(_ROUNDS):
        flags = _flags(place, smooth, space, limbs)
        place = _placement(tips, flags, clip.fps, leg, level=level)
    placed = place.applied(clip, space)
    flags = _flags(place, smooth, space, limbs)
    made, held, left = _held(placed, roles, limbs, flags, leg, level=level and not place.uneven)
    moved = np.linalg.norm(joint_positions(made) - joint_positions(clip), axis=-1)
    before, after = (
        sliding_speed(soles(version, limbs), held, clip.fps) for version in (clip, made)
    )
    findings = ["the floor was left as it is"]
    if place.uneven:
        findings = ["the ground is uneven, as boxes and stairs are: heights were left as they are"]
    if place.drift or place.tilt:
        findings = [
            f"the floor was levelled: {100 * place.drift:.1f} cm of drift and "
            f"{np.degrees(place.tilt):.1f} degrees of tilt were removed"
        ]
    if place.slip > _NO_SLIP_M:
        findings.append(
            f"all feet slip alike: the body was moved on the ground by {100 * place.slip:.1f} cm"
        )
    findings.append(
        f"{sum(len(true_runs(foot)) for foot in held.T)} contacts were held: feet slide at "
        f"{100 * before:.1f} cm/s before and {100 * after:.1f} cm/s after"
    )
    if left:
        findings.append(f"left as found: {counted(left, 'contact')} in which a foot slides far")
    findings.append(
        f"joints moved by {1000 * np.median(moved):.0f} mm (median) and "
        f"{1000 * moved.max():.0f} mm (at most)"
    )
    return GroundedMotion(made, (before, after), place.drift, place.tilt, tuple(findings))


def standing_limbs(clip: Clip, roles: Roles) -> LegChains:
    """Legs, then front legs, whose tips stand on the floor; SkeletonError without such pairs."""
    limbs = LegChains.from_skeleton(clip.skeleton, roles)
    if len(limbs) != (4 if roles.kind == "quadruped" else 2):
        raise SkeletonError(
            f"{clip.name}: feet cannot be held, because no pairs of legs of hip, knee and foot "
            "were found",
            hint="give joints names of the body, as in LeftUpLeg, LeftLeg, LeftFoot",
        )
    below = longest_chains(clip.skeleton)[1][limbs.last]
    return replace(
        limbs, tips=np.where((limbs.tips == limbs.last) & (below >= 0), below, limbs.tips)
    )


def soles(clip: Clip, limbs: LegChains) -> Array:
    """(frames, limbs, 3) metres: where feet stand; their ends, if they have no joint for toes."""
    transforms = global_transforms(clip)
    soles = transforms[1][:, limbs.tips].copy()
    ends = end_positions(clip, transforms)
    for limb in np.flatnonzero(limbs.tips == limbs.last).tolist():
        own = clip.skeleton.end_parents == limbs.last[limb]
        if own.any():
            soles[:, limb] = ends[:, own].mean(axis=1)
    return soles


@dataclass(frozen=True, eq=False)
class _Placement:
    """What is done to the whole body: a turn about a pivot, then a shift (frames, 3) in metres."""

    shift: Array
    turn: Array = field(default_factory=lambda: quaternions.IDENTITY)
    pivot: Array | float = 0.0
    drift: float = 0.0
    tilt: float = 0.0
    slip: float = 0.0
    uneven: bool = False  # feet stand at several heights, which no drift and no tilt explain

    def moved(self, points: Array) -> Array:
        """Points (frames, points, 3) of the body."""
        return quaternions.rotate(self.turn, points - self.pivot) + self.pivot + self.shift[:, None]

    def applied(self, clip: Clip, space: MotionSpace) -> Clip:
        """A clip of the space, with its travel on the hips."""
        rotations, places = space.pose(clip)
        rotations[:, 0] = quaternions.multiply(self.turn, rotations[:, 0])
        return space.with_pose(clip, rotations, self.moved(places[:, None])[:, 0])


def _flags(place: _Placement, smooth: Clip, space: MotionSpace, limbs: LegChains) -> Array:
    """(frames, limbs) bool: contacts of a low-passed clip where it is placed."""
    clip = place.applied(smooth, space)
    contacts = foot_contacts(clip, space.roles_of(smooth), at_any_height=place.uneven)
    return contacts.flags[:, : len(limbs)]


def _placement(tips: Array, flags: Array, fps: float, leg: float, *, level: bool) -> _Placement:
    """What levels the floor under feet in contact, and stops what they share of their slip."""
    core = _cores(flags)
    place = _Placement(np.zeros((len(tips), 3)))
    if not core.any():
        return place
    if level and len(tips) > _SHORTEST_S * fps:
        place = _levelled(tips, core, fps, leg)
    slipped = _slip(place.moved(tips)[..., ::2], core, fps, leg)
    shift = place.shift.copy()
    shift[:, ::2] -= slipped
    return replace(place, shift=shift, slip=float(np.linalg.norm(slipped, axis=1).max()))


def _cores(flags: Array) -> Array:
    """(frames, feet) bool: contacts without their starts and ends."""
    core = np.zeros_like(flags)
    for foot in range(flags.shape[1]):
        for start, stop in true_runs(flags[:, foot]):
            begin, end = start + _HEEL_STRIKE * (stop - start), stop - _HEEL_RISE * (stop - start)
            core[round(begin) : max(round(end), round(begin) + 1), foot] = True
    return core


def _levelled(tips: Array, core: Array, fps: float, leg: float) -> _Placement:
    """What levels the floor: a plane, and a slow curve over time, as far as they are not flat."""
    frames, feet = np.nonzero(core)
    points = tips[frames, feet]
    pivot = points[0]
    times = np.arange(len(tips)) / fps
    fits = [
        _fitted(points - pivot, times[frames], feet, times[-1], leg, sloped, drifts)
        for sloped, drifts in ((False, False), (True, False), (False, True), (True, True))
    ]
    if not _drifts_standing(tips, fits[-1][1](times)):
        fits = fits[:2]
    # The simplest floor that is nearly as good as the last.
    enough = _BETTER * fits[-1][2] + _LEVEL_SHARE * leg
    slope, curve, distance = next(fit for fit in fits if fit[2] <= enough)
    if distance > _UNEVEN_SHARE * leg:
        return _Placement(np.zeros((len(tips), 3)), uneven=True)
    height = curve(times)
    drift = float(np.ptp(height[frames]))
    if not slope.any() and drift < _FLAT_SHARE * leg:
        return _Placement(np.zeros((len(tips), 3)))
    steepness = float(np.hypot(*slope))
    tilt = float(np.arctan(steepness))
    # About this axis, the floor's normal (-slope x, 1, -slope z) turns up.
    axis = np.array([slope[1], 0.0, -slope[0]]) / max(steepness, 1e-12)
    turn = quaternions.about_axis(axis, np.array(tilt))
    return _Placement(_upward(height[frames[0]] - height), turn, pivot, drift, tilt)


def _drifts_standing(tips: Array, floor: Array) -> bool:
    """Whether the slower foot of (frames, feet, 3) rises and falls with a floor (frames,)."""
    steps, drift = np.diff(tips, axis=0), np.diff(floor)
    slower = np.linalg.norm(steps, axis=-1).argmin(axis=1)
    rises = steps[np.arange(len(steps)), slower, 1]
    return bool(drift @ rises >= _DRIFT_SHARE * (drift @ drift))


def _upward(heights: Array) -> Array:
    """(frames, 3) shifts up by heights (frames,)."""
    return heights[:, None] * np.array([0.0, 1.0, 0.0])


def _fitted(
    points: Array, times: Array, feet: Array, last: float, leg: float, sloped: bool, drifts: bool
) -> tuple[Array, CubicSpline, float]:
    """The floor under points (samples, 3): slope (2,), height over time, and distance of feet."""
    knots = np.linspace(0.0, max(last, 1e-3), max(4, round(last / _KNOT_S) + 1))
    hats = np.stack([np.interp(times, knots, unit) for unit in np.eye(len(knots))], axis=1)
    hats *= drifts
    ground = points[:, ::2] if sloped else np.zeros_like(points[:, ::2])
    columns = np.concatenate([np.eye(feet.max() + 1)[feet], ground, hats], axis=1)
    fixed = columns.shape[1] - len(knots)
    bends = np.zeros((len(knots) - 2, columns.shape[1]))
    bends[:, fixed:] = np.diff(np.eye(len(knots)), n=2, axis=0)
    bends /= _BEND * leg * (knots[1] - knots[0]) ** 2
    deviations = np.full(columns.shape[1], 1e3)
    deviations[fixed - 2 : fixed], deviations[fixed:] = _SLOPE, _DRIFT
    prior = np.concatenate([bends, np.diag(1.0 / deviations)])
    # Heights of a foot in one contact are one measurement.
    weight = np.full(len(points), 1.0 / (_HEIGHT * leg))
    weight *= np.sqrt(min(1.0, len(knots) / len(points)))
    target, huber = points[:, 1], np.ones(len(points))
    # Least squares with Huber weights.
    for _ in range(8):
        scaled = (weight * huber)[:, None] * columns
        normal = scaled.T @ scaled + prior.T @ prior
        found = np.linalg.solve(normal, scaled.T @ (weight * huber * target))
        apart = target - columns @ found
        huber = np.sqrt(1.0 / np.maximum(np.abs(apart) / (_HEIGHT * leg), 1.0))
    distance = float(np.sqrt(np.mean(apart**2)))
    return found[fixed - 2 : fixed], CubicSpline(knots, found[fixed:]), distance


def _slip(ground: Array, core: Array, fps: float, leg: float) -> Array:
    """(frames, 2) metres that feet (frames, feet, 2) carry the body along in contact."""
    speeds = np.gradient(ground, axis=0) * fps if len(ground) > 1 else np.zeros_like(ground)
    longest, rest = max(2, round(_SLIP_S * fps)), max(2, round(_REST_S * fps))
    at, velocity = [], []
    for foot in range(core.shape[1]):
        for start, stop in true_runs(core[:, foot]):
            for first in range(start, stop, longest):
                part = speeds[first : min(first + longest, stop), foot]
                # A foot that is put down or rolls is faster than where it rests.
                means = uniform_filter1d(part, min(rest, len(part)), axis=0, mode="nearest")
                velocity.append(means[np.linalg.norm(means, axis=1).argmin()])
                at.append(first + 0.5 * len(part))
    near = np.abs(np.arange(len(ground))[:, None] - np.array(at)) / (_SLIP_S * fps)
    # Frames far from all contacts have the velocity of the nearest ones.
    near = np.exp(-0.5 * (near**2 - near.min(axis=1, keepdims=True) ** 2))
    near /= near.sum(axis=1, keepdims=True)
    slips = np.array(velocity)
    shared = near @ slips
    # Feet that slip unlike each other slip by themselves: the mean's standard error counts.
    spread = np.maximum(near @ slips**2 - shared**2, 0.0).sum(axis=1, keepdims=True)
    error = np.sqrt(spread * (near**2).sum(axis=1, keepdims=True))
    speed = np.linalg.norm(shared, axis=1, keepdims=True)
    certain = speed / (_SLIP_SPEED * leg + 2.0 * error) - 1.0
    shared *= smoothstep(np.clip(certain, 0.0, 1.0))
    return np.asarray(np.cumsum(shared, axis=0) / fps)


def _held(
    clip: Clip, roles: Roles, limbs: LegChains, flags: Array, leg: float, *, level: bool
) -> tuple[Clip, Array, int]:
    """The clip with feet where they stand; (frames, feet) bool where they are held; slides left."""
    tips = soles(clip, limbs)
    shifts, held = np.zeros_like(tips), np.zeros_like(flags)
    blend, left = max(2, round(HOLD_BLEND_S * clip.fps)), 0
    for foot in range(len(limbs)):
        tip, core = tips[:, foot], _cores(flags[:, [foot]])[:, 0]
        floor, holds = np.median(tip[core, 1]) if core.any() else 0.0, []
        for start, stop in true_runs(flags[:, foot]):
            own = np.flatnonzero(core[start:stop]) + start
            place = np.median(tip[own], axis=0)
            away = np.linalg.norm((tip - place)[:, ::2], axis=-1)
            if away[own].max() > _SLIDE * leg:
                left += 1
                continue
            # Feet that land or leave are not held yet.
            near = away[start:stop] < 2.0 * np.percentile(away[own], 95) + _LANDING * leg
            first, last = start + int(near.argmax()), stop - int(near[::-1].argmax())
            shift = place - tip[first:last]
            # A foot that stands on something higher stays there.
            apart = floor - place[1]
            shift[:, 1] = apart if level and abs(apart) < _ONTO_FLOOR * leg else 0.0
            # The middle of a contact may reach beyond the frames that are near its place.
            middle = own[(own >= first) & (own < last)] - first
            if np.abs(shift[middle]).max(initial=0.0) < _STANDS_STILL * leg:
                shift[:] = 0.0
            shifts[first:last, foot], held[first:last, foot] = shift, True
            holds.append((first, last))
        shifts[:, foot] = faded_corrections(shifts[:, foot].copy(), holds, blend)
    moved = joint_positions(clip)[:, limbs.tips] + shifts
    return with_tips_at(clip, roles, limbs, moved), held, left
