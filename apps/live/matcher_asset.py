"""Live assets of matchers: kept states, and the network that makes poses of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from deepphase.apps.live.asset_file import asset_bytes
from deepphase.arrays import Array
from deepphase.controllers.runtime.engine_export import describe_skeleton, goal_settings
from deepphase.errors import ParameterError
from deepphase.evaluation.runs import BLEND_S
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import TRAJECTORY_DIRECTION, TRAJECTORY_PATH
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.on_ground import GROUND_HEIGHTS
from deepphase.matching.learned.matcher import Matcher, rounded
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import CONSTANTS, MomentFilter, PlayerSettings
from deepphase.matching.player.trajectory_search import KEEPING, max_improvement, rest_moments
from deepphase.steering.foot_lock import FootLockSettings

# Labels that a page offers first.
_FIRST_LABELS = ("style", "gait")
_LEG_PARTS = ("upper", "middle", "last", "tips")


def matcher_asset(matcher: Matcher) -> bytes:
    """The asset of a matcher, with 8-bit states and 16-bit weights.

    Moments that are neither idle nor locomotion are left out.
    """
    database, motion = matcher.database, matcher.motion
    kept, values = matcher.kept, matcher.values
    played = MomentFilter().rows(database)
    if not (played & database.offered).any():
        raise ParameterError(
            "the matcher has no moment that can be searched for and played",
            hint="train it on longer clips, with idle or locomotion",
        )
    header = {
        "kind": "matcher",
        **_motion_header(motion, database.layout, played),
        "label": _label(database),
        "clips": {
            "names": database.clip_names,
            "starts": database.range_starts,
            "stops": database.range_stops,
            "labels": [dict(labels) for labels in database.labels],
        },
        "spacing": kept.spacing,
        "counts": kept.counts,
        "values": {name: columns.start for name, columns in values.slices.items()},
        "moved": list(values.moved),
    }
    arrays = {
        "mean": database.normalisation.mean,
        "scale": database.normalisation.scale,
        "kept.weights": kept.weights,
        "played.bits": _bits(played),
        "idle.bits": _bits(database.rows_of_kinds(["idle"])),
        "offered.bits": _bits(matcher.offered),
        "contacts.bits": _bits(matcher.contacts),
    }
    for part in ("features", "latents"):
        arrays[part], arrays[f"{part}.step"] = rounded(getattr(kept, part))
    for index, layer in enumerate(matcher.decompressor):
        arrays[f"decompressor.{index}.weight"] = layer.weight.astype(np.float16)
        arrays[f"decompressor.{index}.bias"] = layer.bias
    rest = rest_moments(database, motion, played, PlayerSettings().keep)
    if len(rest):
        header |= {"rest": rest.described(), "breathing": motion.breathing}
        arrays["rest_poses"] = rest.poses
    return asset_bytes(header, arrays)


def _bits(flags: Array) -> Array:
    """Flags as int8, eight in each."""
    return np.packbits(flags).view(np.int8)


def _motion_header(motion: Playback, layout: FeatureLayout, played: Array) -> dict[str, Any]:
    """The entries of an asset about a motion of which rows (rows,) bool are played."""
    coverage = motion.facing_coverage(played)
    settings = {name: each for name, each in asdict(PlayerSettings()).items() if name != "moments"}
    return {
        "frame_rate": motion.fps,
        "skeleton": describe_skeleton(motion.skeleton, motion.roles)
        | {"tail": list(motion.roles.tail)},
        "feet": motion.limbs.last,
        "dims": layout.dims,
        "trajectory": _trajectory(layout),
        "legs": {
            "joints": np.stack([getattr(motion.limbs, part) for part in _LEG_PARTS], axis=1),
            "bends": motion.limbs.bends,
            "ends": motion.limbs.ends(motion.skeleton, motion.roles),
            "contacts": np.arange(len(motion.limbs)),
            "lowest": motion.lowest_tips,
        },
        "body": motion.body,
        "translated_joints": motion.translated_joints,
        "usual_acceleration": motion.usual_acceleration,
        "blend_s": BLEND_S,
        "limits": {"speed": motion.goal_limits.speed},
        "speeds": {"walk": motion.travelling_speed, "run": motion.goal_limits.top_speed},
        "facing_coverage": {
            "covered": coverage.covered,
            "standing_speed": coverage.standing_speed,
        },
        "settings": {
            **goal_settings(),
            **settings,
            "max_improvement": max_improvement(layout),
            "keeping": KEEPING,
        },
        "player": asdict(CONSTANTS) | {"candidates": motion.candidates},
        "ground": {"soles": motion.soles},
        "ground_heights": _ground_heights(layout),
        "foot_lock": asdict(FootLockSettings(release_halflife_s=PlayerSettings().foot_halflife_s)),
    }


def _label(database: MotionDatabase) -> dict[str, Any]:
    """The label to steer by: one with several values; style or gait if there is one."""
    names = {name for labels in database.labels for name in labels}
    for name in sorted(names, key=lambda each: (each not in _FIRST_LABELS, each)):
        values = {labels[name] for labels in database.labels if name in labels}
        if len(values) > 1:
            return {"name": name, "values": sorted(values)}
    return {"name": "", "values": []}


def _ground_heights(layout: FeatureLayout) -> int | None:
    """First column of the heights of the ground ahead; None without them."""
    for feature in layout.of_kind("track"):
        if feature.track == GROUND_HEIGHTS:
            return layout.slices[feature.name].start
    return None


def _trajectory(layout: FeatureLayout) -> list[dict[str, Any]]:
    """Every future sample of the trajectory features: its time, first column, and what it holds."""
    samples = []
    for kind in TRAJECTORY_PATH:
        for feature in layout.of_kind(kind):
            start = layout.slices[feature.name].start
            samples += [
                {
                    "time": time,
                    "column": start + 2 * index,
                    "direction": kind == TRAJECTORY_DIRECTION,
                }
                for index, time in enumerate(feature.offsets_s)
                if time > 0
            ]
    if not samples:
        raise ParameterError(
            "the matcher's features have no trajectory ahead",
            hint="build its database with --config phase_trajectory or another layout with one",
        )
    return samples
