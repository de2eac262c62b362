"""Motion on terrain: a body that was captured on a flat floor is laid on ground.

Each stance foot gets the height and the slope of the ground beneath it, swinging feet move from
one stance to the next over what lies between, the hips follow so that the legs reach, and the limbs
are solved by two-joint inverse kinematics. Frames before and after a frame are used, so this is for
recorded motion. Places on the ground do not change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter1d, maximum_filter1d

from deepphase.arrays import Array, smoothstep, true_runs
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, velocities
from deepphase.motion.contacts import Contacts, foot_contacts
from deepphase.motion.foot_ik import LegChains, LimbSolver, LimbTransforms
from deepphase.motion.roles import Roles, find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.solving.feet import hips_drop
from deepphase.terrain.heightmap import Heightmap

# A foot follows slopes up to this angle; on steeper ground it stands on the highest point.
_MAX_TILT = np.radians(25.0)
# Half the width of a foot, and the length of a paw, as shares of the limb's length.
_HALF_WIDTH, _PAW = 0.04, 0.06
_ALONG, _ACROSS = np.linspace(0.0, 1.0, 4), np.array([-1.0, 0.0, 1.0])
# A foot that moves less than this share of the limb's length while in contact stands still.
_STANDS = 0.1
# A foot that steps up has its new height after this share of the swing; one that steps down
# leaves the old height that much before the end.
_EARLY = 0.65
_MARGIN_M, _ROLLING_M = 0.02, 0.01
_CLEARING_S, _HIPS_S, _PITCH_S = 0.06, 0.15, 0.2
# The share of a limb's length that the hips leave it at most.
_MAX_STRETCH = 0.985
_MAX_PITCH = np.radians(35.0)


@dataclass(frozen=True, eq=False)
class LaidMotion:
    """A motion on ground."""

    clip: Clip  # The motion
    lift: Array  # (frames,) metres by which the hips moved up
    chains: LegChains  # The limbs
    contacts: Array  # Contacts of the motion on the flat floor
    # (2, limbs) metres: heights of the limbs' last joints and tips over the floor while they stand.
    soles: Array
    floor: float


def lay_on_ground(
    clip: Clip, ground: Heightmap, *, roles: Roles | None = None, contacts: Contacts | None = None
) -> LaidMotion:
    """Lay a motion, captured on a flat floor, on ground.

    `roles` and `contacts` are the clip's, if known. Raises SkeletonError if no feet are found.
    """
    roles = roles or find_roles(clip.skeleton, clip=clip)
    contacts = contacts or foot_contacts(clip, roles)
    chains = LegChains.from_skeleton(clip.skeleton, roles)
    on_floor = _contacts_of(chains, contacts)
    solver = LimbSolver.from_poses(clip.skeleton, roles, chains, clip.rotations)
    rotations = clip.rotations.astype(np.float64)
    places = clip.local_positions().astype(np.float64)
    flat = solver.transforms(rotations, places)
    soles = _soles(flat, on_floor, contacts.floor)
    heights, slopes = _under_feet(flat, on_floor, ground, soles, contacts.floor, clip.fps)
    heights -= contacts.floor
    turned = flat
    if len(chains) == 4:
        _pitch_trunk(clip, rotations, roles, flat, heights)
        turned = solver.transforms(rotations, places)
    lift = _hips_lift(turned, flat, heights, clip.fps)
    places[:, 0, 1] += lift
    turned = solver.transforms(rotations, places)
    targets = flat.positions[2].copy()
    targets[..., 1] += heights
    solver.reach(rotations, turned, turned.within_reach(targets), _tilts(slopes))
    translations = clip.translations.copy()
    translations[:, 0, 1] += lift.astype(translations.dtype)
    laid = replace(
        clip, rotations=rotations.astype(clip.rotations.dtype), translations=translations
    )
    return LaidMotion(laid, lift, chains, on_floor, soles, contacts.floor)


def median_soles(clips: Iterable[Clip], body: Mapping[str, Any]) -> Array:
    """(2, limbs) metres of the limbs' last joints and tips over the floor while they stand.

    The median over clips that were captured on a flat floor.

    Raises SkeletonError if no feet are found.
    """
    found = []
    for clip in clips:
        roles = find_roles(clip.skeleton, description=body, clip=clip)
        contacts = foot_contacts(clip, roles)
        chains = LegChains.from_skeleton(clip.skeleton, roles).on_floor(clip.skeleton, roles)
        solver = LimbSolver(clip.skeleton, chains, chains.ends(clip.skeleton, roles))
        flat = solver.transforms(clip.rotations, clip.local_positions())
        found.append(_soles(flat, _contacts_of(chains, contacts), contacts.floor))
    return np.median(found, axis=0)


def _contacts_of(chains: LegChains, contacts: Contacts) -> Array:
    """(limbs, frames) bool: contacts in the order of the limbs."""
    place = {joint: index for index, joint in enumerate(contacts.joints)}
    return np.stack([contacts.flags[:, place[int(last)]] for last in chains.last])


def _soles(flat: LimbTransforms, on_floor: Array, floor: float) -> Array:
    """(2, limbs) metres of last joints and tips over the floor, in the median of contacts."""
    counted = on_floor | ~on_floor.any(axis=1, keepdims=True)
    heights = flat.positions[2:, ..., 1] - floor
    return np.nanmedian(np.where(counted, heights, np.nan), axis=2)


def _under_feet(
    flat: LimbTransforms, on_floor: Array, ground: Heightmap, soles: Array, floor: float, fps: float
) -> tuple[Array, Array]:
    """(limbs, frames) metres of the ground for each foot, and its slope (limbs, frames, 2)."""
    _, _, last, tips = flat.positions
    heights, slopes = np.empty(on_floor.shape), np.empty((*on_floor.shape, 2))
    for limb, flags in enumerate(on_floor):
        length = float(np.median(flat.lengths[limb]))
        heel, toe = _footprints(last[limb][:, ::2], tips[limb][:, ::2], flags, length)
        level, slope = _planes(ground, heel, toe, length)
        # A foot that rolls moves over the plane of its footprint.
        level += np.vecdot(slope, last[limb][:, ::2] - heel)
        level, slope = _between_stances(level, slope, flags, fps)
        points = np.stack([last[limb], 0.5 * (last[limb] + tips[limb]), tips[limb]])
        sole = np.array([soles[0, limb], 0.5 * soles[:, limb].sum(), soles[1, limb]])
        clearance = points[..., 1] - floor - sole[:, None]
        plane = level + np.vecdot(points[..., ::2] - points[0, :, ::2], slope)
        # How far the ground rises over the plane of the foot, less what the foot clears already.
        rises = ground.at(points[..., ::2]) - plane - np.maximum(clearance - _MARGIN_M, 0.0)
        heights[limb] = level + _clearing(rises.max(axis=0), flags, fps)
        # The sole of a tilted foot is as far from the joint as before, but not straight below it.
        heights[limb] += soles[0, limb] * (np.sqrt(1.0 + np.vecdot(slope, slope)) - 1.0)
        slopes[limb] = slope
    return heights, slopes


def _footprints(heel: Array, toe: Array, flags: Array, length: float) -> tuple[Array, Array]:
    """(frames, 2) places of heels and toes, at rest while a foot stands."""
    heel, toe = heel.copy(), toe.copy()
    for begin, end in true_runs(flags):
        spread = np.ptp(toe[begin:end], axis=0).max()
        if spread < _STANDS * length:
            heel[begin:end] = heel[begin:end].mean(axis=0)
            toe[begin:end] = toe[begin:end].mean(axis=0)
    return heel, toe


def _planes(ground: Heightmap, heel: Array, toe: Array, length: float) -> tuple[Array, Array]:
    """(frames,) metres at heels and slopes (frames, 2) of planes that feet stand on."""
    along = toe - heel
    size = np.linalg.norm(along, axis=1, keepdims=True)
    paw = _PAW * length
    forward = np.where(size > 1e-6, along / np.maximum(size, 1e-6), [[0.0, 1.0]])
    begin = np.where(size < paw, heel - 0.5 * paw * forward, heel)
    size = np.maximum(size, paw)
    side = np.stack([forward[:, 1], -forward[:, 0]], axis=1)
    # Points of a symmetric grid: along the foot from its middle, and across it.
    u = np.repeat(_ALONG - 0.5, len(_ACROSS))[:, None]
    v = np.tile(_ACROSS, len(_ALONG))[:, None]
    half = _HALF_WIDTH * length
    steps = (u + 0.5)[..., None] * (size * forward) + v[..., None] * (half * side)
    levels, size = ground.at(begin + steps), size[:, 0]
    middle = levels.mean(axis=0)
    # Slopes by least squares.
    rise = (u * levels).sum(axis=0) / (u * u).sum() / size
    list_ = (v * levels).sum(axis=0) / (v * v).sum() / half
    share = np.minimum(1.0, np.tan(_MAX_TILT) / np.maximum(np.hypot(rise, list_), 1e-9))
    rise, list_ = rise * share, list_ * share
    plane = middle + rise * size * u + list_ * half * v
    level = middle - 0.5 * rise * size + (levels - plane).max(axis=0)
    slope = rise[:, None] * forward + list_[:, None] * side
    return level + np.vecdot(slope, heel - begin), slope


def _between_stances(level: Array, slope: Array, flags: Array, fps: float) -> tuple[Array, Array]:
    """Levels and slopes that move from stance to stance while a foot swings."""
    stances = true_runs(flags)
    if not stances:
        width = max(1.0, _HIPS_S * fps)
        return gaussian_filter1d(level, width), gaussian_filter1d(slope, width, axis=0)
    level, slope = level.copy(), slope.copy()
    level[: stances[0][0]], slope[: stances[0][0]] = level[stances[0][0]], slope[stances[0][0]]
    level[stances[-1][1] :] = level[stances[-1][1] - 1]
    slope[stances[-1][1] :] = slope[stances[-1][1] - 1]
    for (_, begin), (end, _) in pairwise(stances):
        share = (np.arange(begin, end) - begin + 1.0) / (end - begin + 1.0)
        low, high = level[begin - 1], level[end]
        eased = share / _EARLY if high > low else 1.0 - (1.0 - share) / _EARLY
        level[begin:end] = low + (high - low) * smoothstep(np.clip(eased, 0.0, 1.0))
        change = smoothstep(share)[:, None]
        slope[begin:end] = slope[begin - 1] + (slope[end] - slope[begin - 1]) * change
    return level, slope


def _clearing(rises: Array, flags: Array, fps: float) -> Array:
    """(frames,) metres by which a foot is raised over what lies in its way."""
    need = np.where(flags, 0.0, np.maximum(rises, 0.0))
    width = max(1, round(_CLEARING_S * fps))
    raised = gaussian_filter1d(maximum_filter1d(need, 2 * width + 1), 0.5 * width)
    for begin, end in true_runs(~flags):
        count = end - begin
        share = (np.arange(count) + 1.0) / (count + 1.0)
        raised[begin:end] *= np.minimum(1.0, 8.0 * np.minimum(share, 1.0 - share))
        if begin == 0 or end == len(flags):
            # A swing that the clip cuts is not faded at its end.
            raised[begin:end] = np.maximum(raised[begin:end], need[begin:end])
    # A foot that rolls while it stands may leave the plane of its footprint.
    rolling = np.where(flags, np.maximum(rises - _ROLLING_M, 0.0), 0.0)
    return np.where(flags, 0.0, raised) + gaussian_filter1d(
        maximum_filter1d(rolling, 3), 0.25 * width
    )


def _hips_lift(turned: LimbTransforms, flat: LimbTransforms, heights: Array, fps: float) -> Array:
    """(frames,) metres: the mean of the feet's ground, lower where a limb would not reach."""
    width = _HIPS_S * fps
    lift = gaussian_filter1d(heights.mean(axis=0), width)
    upper, target = turned.positions[0].copy(), flat.positions[2].copy()
    target[..., 1] += heights
    upper[..., 1] += lift
    # At least as far as in the motion.
    stretched = np.linalg.norm(flat.positions[2] - flat.positions[0], axis=-1)
    reach = np.maximum(stretched, _MAX_STRETCH * flat.lengths)
    return lift - hips_drop(upper, target, reach, max(1, round(width)))


def _pitch_trunk(
    clip: Clip, rotations: Array, roles: Roles, flat: LimbTransforms, heights: Array
) -> None:
    """Turn the hips of a four-legged body, in place, as the ground under its feet rises."""
    rise = heights[2:].mean(axis=0) - heights[:2].mean(axis=0)
    hips, shoulders = flat.positions[0][:2].mean(axis=0), flat.positions[0][2:].mean(axis=0)
    trunk = float(np.median(np.linalg.norm((shoulders - hips)[:, ::2], axis=1)))
    angle = np.arctan2(rise, max(trunk, 1e-3))
    angle = gaussian_filter1d(np.clip(angle, -_MAX_PITCH, _MAX_PITCH), _PITCH_S * clip.fps)
    ahead = root_trajectory(clip, roles).directions
    left = np.stack([ahead[:, 2], np.zeros(len(clip)), -ahead[:, 0]], axis=1)
    # A turn about the left side by a positive angle lowers the front.
    turn = quaternions.about_axis(left, -angle)
    parent = int(clip.skeleton.parents[roles.hips])
    if parent >= 0:
        above = global_transforms(clip)[0][:, parent].astype(np.float64)
        turn = quaternions.multiply(quaternions.conjugate(above), quaternions.multiply(turn, above))
    rotations[:, roles.hips] = quaternions.multiply(turn, rotations[:, roles.hips])


def _tilts(slopes: Array) -> Array:
    """(limbs, frames, 4) rotations from the vertical to the normal of a slope."""
    steep = np.linalg.norm(slopes, axis=-1)
    # A rise along +Z turns about -X; along +X about +Z.
    axis = np.stack([-slopes[..., 1], np.zeros(steep.shape), slopes[..., 0]], axis=-1)
    axis = np.where(
        steep[..., None] > 1e-9, axis / np.maximum(steep, 1e-9)[..., None], [1.0, 0.0, 0.0]
    )
    return quaternions.about_axis(axis, np.arctan(steep))


DEEP_M, FLOATING_M = 0.02, 0.03
# Share of a leg's length by which the ground of a pair of feet differs on cliffs.
_CLIFF_SHARE = 0.5
GROUND_MEASURES: Mapping[str, tuple[str, str, str]] = {
    "deep": ("", "less", "contact frames with a foot more than 2 cm in the ground"),
    "floating": ("", "less", "contact frames with all of a foot more than 3 cm above the ground"),
    "depth": ("m", "less", "depth of feet in contact in the ground, on average"),
    "depth_95": ("m", "less", "the same, 95th percentile"),
    "gap": ("m", "less", "distance of feet in contact above the ground, on average"),
    "gap_95": ("m", "less", "the same, 95th percentile"),
    "swing_deep": ("", "less", "other frames with a foot more than 2 cm in the ground"),
    "sliding": ("m/s", "less", "horizontal speed of feet in contact, on average"),
    "slope": ("m/m", "", "rise of the ground under the feet, on average"),
    "cliffs": ("", "", "frames in which the ground of both feet differs by more than half a leg"),
}
"""Measure of the feet of a motion -> (unit, better values, definition)."""


def ground_measures(
    laid: LaidMotion, ground: Heightmap, ends: Array | None = None
) -> dict[str, float] | None:
    """The `GROUND_MEASURES` of a laid motion; None if no foot is ever in contact.

    The points of a foot lie between the last joint and the tip of its limb, less their heights over
    the floor while they stand on it. The tips' `ends` are those of `LegChains.ends`.
    """
    clip, flags = laid.clip, laid.contacts
    if not flags.any():
        return None
    solver = LimbSolver(clip.skeleton, laid.chains, ends)
    limbs = solver.transforms(clip.rotations, clip.local_positions())
    last, tips = limbs.positions[2:]
    points = last + _ALONG[:, None, None, None] * (tips - last)
    soles = laid.soles[0] + _ALONG[:, None] * (laid.soles[1] - laid.soles[0])
    over = points[..., 1] - soles[..., None] - ground.at(points[..., ::2])
    depth, gap = np.maximum(-over, 0.0).max(axis=0), np.maximum(over, 0.0).min(axis=0)
    nearest = np.take_along_axis(points, over.argmin(axis=0)[None, ..., None], axis=0)[0]
    speeds = np.linalg.norm(
        np.stack([velocities(points[:, None, ::2], clip.fps)[:, 0] for points in nearest]), axis=-1
    )
    # The ground of a pair differs by more than half a leg.
    heights = ground.at(last[..., ::2])
    apart = np.abs(heights[:-1:2] - heights[1::2])
    cliffs = (apart > _CLIFF_SHARE * limbs.lengths[: 2 * len(apart) : 2]).any(axis=0)
    found = {
        "deep": depth[flags] > DEEP_M,
        "floating": gap[flags] > FLOATING_M,
        "depth": depth[flags],
        "gap": gap[flags],
        "swing_deep": depth[~flags] > DEEP_M if not flags.all() else np.zeros(1),
        "sliding": speeds[flags],
        "slope": np.linalg.norm(ground.gradients(points[0][..., ::2], 0.2), axis=-1),
        "cliffs": cliffs,
    }
    means = {name: float(values.mean()) for name, values in found.items()}
    tails = {f"{name}_95": float(np.percentile(found[name], 95)) for name in ("depth", "gap")}
    return means | tails
