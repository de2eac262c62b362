"""Measures of many captured clips together, with the durations of their own changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.measurement import (
    CHANGES,
    MIN_HEADING,
    REACHED,
    TURN_ANGLES,
    kind_of_change,
    reached,
)
from deepphase.evaluation.motion_measures import (
    BAND,
    BENT_BACK,
    FEET_APART,
    LOWEST_PERCENTILE,
    MIN_FRAMES,
    TRUNK,
    USUAL_PERCENTILE,
    MeasuredBody,
    MeasuredMotion,
    foot_skating,
    seconds_of,
    smoothed_velocities,
)
from deepphase.features.feature import BodyFrames
from deepphase.features.moment_kinds import IDLE, LOCOMOTION, moment_kinds
from deepphase.motion.clip import Clip
from deepphase.motion.foot_ik import LegChains, LimbSolver
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import bone_lengths

# Bins with fewer frames say little; data at 60 Hz has this many in a second.
_MIN_FRAMES = 60
_BEGUN = 0.1
# The data's own changes: half the time between the means before and after, the time of those
# means, and the largest change within them, as a share of the speed.
_HALF_S, _MEAN_S, _STEADY = 1.0, 0.5, 0.3


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
                            standing_speed wide; see `means_by_speed`. The first two also below 12,
                            8 and 4 Hz, see `below`. feet_aside and feet_ahead are metres between
                            the feet, of quadrupeds the hind ones, and `TRUNK` degrees in rest and
                            locomotion: 99.9th percentiles. Missing for bodies without legs
    changes, headings       median and number of the durations, in seconds, of the data's own
                            starts, stops and turns; see `own_changes`
    ======================  ================================================================

    A spread has the mean, the median, and the 1st and the 99th percentile as low and high.
    """
    first: tuple[Clip, MeasuredMotion] | None = None
    changes: dict[str, list[float]] = {}
    headings: dict[str, list[float]] = {}
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
            **{f"tip {name}": heights for name, heights in tip_heights(clip, body).items()},
        }.items():
            gathered.setdefault(name, []).append(values)
        own = own_changes(
            motion.root_positions, motion.root_angles, motion.fps, motion.standing_speed
        )
        for every, found in zip((changes, headings), own, strict=True):
            for kind, durations in found.items():
                every.setdefault(kind, []).extend(durations)
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
            name.removeprefix("tip "): float(np.percentile(heights, LOWEST_PERCENTILE))
            for name, heights in every_frame.items()
            if name.startswith("tip ")
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


def means_by_speed(
    speeds: Array, measures: Mapping[str, Array], width: float, of: Callable[..., Any] = np.mean
) -> dict[str, Any]:
    """Means in bins of speed from 0, 1, 2... times `width` m/s on, as plain values.

    `speeds` (frames,) m/s of the root. `measures`: name -> (frames,) values. Returns ``width``, and
    for each name a list with the mean, or `of`, of each bin; None in bins of fewer than 60 frames.
    """
    bins = (speeds / width).astype(np.int64)
    stops = np.cumsum(np.bincount(bins))
    groups = np.split(np.argsort(bins, kind="stable"), stops[:-1])
    found: dict[str, Any] = {"width": width}
    for name, values in measures.items():
        inside = [np.asarray(values, np.float64)[group] for group in groups]
        found[name] = [
            round(float(of(own)), 4) if len(own) >= _MIN_FRAMES else None for own in inside
        ]
    return found


def own_changes(
    positions: Array, angles: Array, fps: float, standing: float
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Durations in seconds of the changes of velocity and of heading in captured motion.

    Captured motion has no goal to measure from, so these are rise times: from 10 % to 90 % of the
    change between two half seconds of steady motion that lie 2 s apart.
    """
    rises: dict[str, list[float]] = {}
    turns: dict[str, list[float]] = {}
    smoothed = smoothed_velocities(positions, fps)
    facing = np.unwrap(np.asarray(angles, np.float64))
    for kind, frames, old, new in _steady_changes(smoothed, fps, standing):
        moving, difference = smoothed[frames], new - old
        share = (moving - old) @ difference / (difference @ difference)
        rise = _rise_s(share, reached(kind, old, new, moving), fps)
        if rise is not None:
            rises.setdefault(kind, []).append(rise)
        turned = facing[frames] - facing[frames][0]
        if kind in TURN_ANGLES and abs(turned[-1]) >= MIN_HEADING:
            share = turned / turned[-1]
            rise = _rise_s(share, share >= REACHED, fps)
            if rise is not None:
                turns.setdefault(kind, []).append(rise)
    return rises, turns


def _steady_changes(
    smoothed: Array, fps: float, standing: float
) -> Iterator[tuple[str, slice, Array, Array]]:
    """Changes of velocities (frames, 2) that do not overlap, the largest first."""
    half, span = round(_HALF_S * fps), round(_MEAN_S * fps)
    count = len(smoothed)
    if count < 2 * (half + span) + 1:
        return
    means = uniform_filter1d(smoothed, span, axis=0, mode="nearest")
    centres = np.arange(half + span, count - half - span)
    early, late = centres - half - span // 2, centres + half + span // 2
    old, new = means[early], means[late]
    fastest = np.maximum(np.linalg.norm(old, axis=1), np.linalg.norm(new, axis=1))
    unsteadiness = np.maximum(
        *(
            np.linalg.norm(smoothed[at - span // 2] - smoothed[at + span // 2], axis=1)
            for at in (early, late)
        )
    )
    steady = unsteadiness <= _STEADY * np.maximum(fastest, standing)
    size = np.where(steady, np.linalg.norm(new - old, axis=1), 0.0)
    covered = np.zeros(len(centres), bool)
    for index in np.argsort(-size, kind="stable"):
        if size[index] <= standing:
            break
        kind = None if covered[index] else kind_of_change(old[index], new[index], standing)
        if kind is not None:
            covered[max(0, index - 2 * half) : index + 2 * half + 1] = True
            yield kind, slice(early[index], late[index] + 1), old[index], new[index]


def summary(durations: Mapping[str, list[float]]) -> dict[str, dict[str, Any]]:
    """Kind -> its median in seconds and its number ``n``, for kinds that have durations."""
    return {
        kind: {"median": float(np.median(times)), "n": len(times)}
        for kind in CHANGES
        if (times := durations.get(kind))
    }


def _rise_s(share: Array, reached: Array, fps: float) -> float | None:
    """Seconds from the last frame with 10 % of the change to the first that has reached it."""
    ends = np.flatnonzero(reached)
    ends = ends[ends > 0]
    if not ends.size:
        return None
    begins = np.flatnonzero(share[: ends[0]] <= _BEGUN)
    return float((ends[0] - begins[-1]) / fps) if begins.size else None
