"""Live assets of motion databases: feature rows with the motion that they are of."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from deepphase.apps.live.asset_file import asset_bytes, manifold_arrays
from deepphase.arrays import Array
from deepphase.controllers.runtime.engine_description import describe_skeleton, goal_settings
from deepphase.errors import ParameterError
from deepphase.evaluation.runs import BLEND_S
from deepphase.features.layout import FeatureLayout
from deepphase.features.trajectory import TRAJECTORY_DIRECTION, TRAJECTORY_PATH
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.on_ground import GROUND_HEIGHTS
from deepphase.matching.player.constants import CONSTANTS
from deepphase.matching.player.moment_filter import MomentFilter
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.player import PlayerSettings
from deepphase.matching.player.resting import rest_moments
from deepphase.matching.player.trajectory_search import KEEPING, max_improvement
from deepphase.steering.foot_lock import FootLockSettings

# Rotations of this many rows are read at once, and a view of the manifold has so many points.
_ROWS_AT_ONCE, _MANIFOLD_POINTS, _HEIGHT_ROWS = 1 << 14, 20_000, 200
# Labels that a page offers first.
_FIRST_LABELS = ("style", "gait")


def database_asset(database: MotionDatabase, motion: str) -> bytes:
    """The asset of a motion database; moments that are neither idle nor locomotion are left out.

    Parameters
    ----------
    motion
        "float32" or "float16": type of the rotations. Features stay float32.

    Raises
    ------
    ParameterError
        If the features have no trajectory ahead, or no moment may be played.
    CheckpointError
        If a store of the clips is missing or was replaced.
    """
    playback = Playback.of_database(database)
    name = "database" if database.path is None else database.path.stem
    header, arrays, played = described_rows(database, playback, "database", name)
    arrays |= {
        "features": np.ascontiguousarray(database.features[np.arange(len(database))], np.float32),
        "rotations": _rotations(playback).astype(motion),
        "translations": playback.translations[:],
        "steps": playback.steps[:],
        "contacts": playback.contacts[:].astype(np.float32),
        "support": playback.support,
        "slips": playback.slips[:],
        "offered": database.offered.astype(np.int32),
        "played": played.astype(np.int32),
    }
    if database.kinds is not None:
        arrays["idle"] = database.rows_of_kinds(["idle"]).astype(np.int32)
    if database.phases is not None:
        for name in ("phase", "amplitude", "frequency"):
            arrays[f"phases.{name}"] = np.asarray(getattr(database.phases, name), np.float32)
        spread = np.linspace(0, len(database) - 1, min(len(database), _MANIFOLD_POINTS)).astype(int)
        arrays |= manifold_arrays(database.phases[spread].manifold())
    return asset_bytes(header, arrays)


_LEG_PARTS = ("upper", "middle", "last", "tips")


def described_rows(
    database: MotionDatabase, motion: Playback, kind: str, name: str
) -> tuple[dict[str, Any], dict[str, Array], Array]:
    """Header and arrays of an asset that do not depend on how rows are stored.

    Parameters
    ----------
    database, motion
        The rows and their motion.
    kind, name
        Kind of the asset, and what a page calls it.

    Returns
    -------
    The header, the arrays, and the rows that are played, (rows,) bool.

    Raises
    ------
    ParameterError
        As `database_asset` does.
    """
    moments = None if database.kinds is None else MomentFilter()
    played = np.ones(len(database), bool) if moments is None else moments.rows(database)
    if not (played & database.offered).any():
        raise ParameterError(
            "the database has no moment that can be searched for and played",
            hint="build it of longer clips, with idle or locomotion",
        )
    arrays = {"mean": database.normalisation.mean, "scale": database.normalisation.scale}
    header = {
        "kind": kind,
        "name": name,
        **_motion_header(motion, database.layout, played),
        "label": _label(database),
        "channels": 0 if database.phases is None else database.phases.channels,
        "clips": {
            "names": database.clip_names,
            "starts": database.range_starts,
            "stops": database.range_stops,
            "labels": [dict(labels) for labels in database.labels],
        },
    }
    rest = rest_moments(database, motion, played, PlayerSettings().keep)
    if len(rest):
        header["rest"], arrays["rest_poses"] = rest.described(), rest.poses
        header["breathing"] = motion.breathing
    return header, arrays, played


def _motion_header(motion: Playback, layout: FeatureLayout, played: Array) -> dict[str, Any]:
    """The entries of an asset about a motion of which rows (rows,) bool are played.

    The height of the body is the median height of the highest joint.
    """
    rows = np.unique(np.linspace(0, len(motion) - 1, _HEIGHT_ROWS).astype(int))
    poses = motion.positions(motion.rotations[rows], motion.translations[rows])
    heights = poses[..., 1].max(axis=1)
    coverage = motion.facing_coverage(played)
    settings = {name: each for name, each in asdict(PlayerSettings()).items() if name != "moments"}
    return {
        "frame_rate": motion.fps,
        "skeleton": describe_skeleton(motion.skeleton, motion.roles),
        "height": float(np.median(heights)),
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
        "ground": {"soles": motion.soles, "step_m": motion.step_m},
        "ground_heights": _ground_heights(layout),
        "foot_lock": asdict(FootLockSettings(release_halflife_s=PlayerSettings().foot_halflife_s)),
    }


def _rotations(playback: Playback) -> Array:
    """(rows, joints, 4) float32."""
    rows = range(0, len(playback), _ROWS_AT_ONCE)
    parts = [
        playback.rotations[np.arange(start, min(start + _ROWS_AT_ONCE, len(playback)))]
        for start in rows
    ]
    return np.concatenate(parts)


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
            "the database's features have no trajectory ahead",
            hint="build it with --config phase_trajectory or another layout with a trajectory",
        )
    return samples
