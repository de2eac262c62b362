"""What the training clips measure: a run's measures stand beside these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from controllers.measured_motion import FEWEST_FRAMES, MeasuredMotion
from controllers.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.evaluation.runs import foot_skating
from deepphase.evaluation.survival import seconds_of
from deepphase.motion.clip import Clip
from deepphase.motion.limbs import bone_lengths

Array = np.ndarray

# Of all frames: what lies outside is rare in the data.
BAND = (1.0, 99.0)


def measured_data(clips: Iterable[Clip], schema: ControllerSchema) -> dict[str, Any]:
    """Measures of captured motion, as plain numbers that a file's header holds.

    ======================  ================================================================
    clips, frames           how many were measured
    joint_rotation          degrees a second, mean over joints: a spread over frames
    joint_rotations         degrees a second of each joint by its name, mean over frames
    jerk                    m/s^3, mean over joints: a spread over frames
    kinetic_energy          m^2/s^2: a spread over frames
    largest_contact_speed   m/s over the ground of the slowest point of feet in contact
    mean_contact_speed      m/s: the same on average
    skating                 the second over the first (Starke et al. 2022, table 3)
    mean_speed              m/s of the root, over all frames
    travelling_speed        m/s: the median of frames that travel; 0 where none does
    top_speed               m/s: 99th percentile
    turning_rate, top_...   rad/s: mean size of the facing's rate, and its 99th percentile
    standing_speed          m/s: what goes slower, stands
    still_speed             m/s: mean joint speed seen from the root that only one in a hundred
                            seconds of travel stays below; 0 where there is no such second
    limb_lengths            metres of each joint to its parent by its name
    ======================  ================================================================

    A spread has the mean, the median, and the 1st and the 99th percentile as low and high.

    Raises
    ------
    SkeletonError
        Where a clip has another skeleton than the schema.
    ParameterError
        Where no clip has frames enough.
    """
    rotations, jerks, energies, contacts, speeds, turns, stills = ([] for _ in range(7))
    lengths: dict[str, float] = {}
    standing = 0.0
    for clip in clips:
        if len(clip) < FEWEST_FRAMES:
            continue
        motion = MeasuredMotion.of_clip(clip, schema)
        rotations.append(motion.rotation_rates)
        jerks.append(motion.jerks)
        energies.append(motion.energies)
        contacts.append(motion.contact_speeds())
        speeds.append(motion.speeds)
        turns.append(np.abs(motion.turn_rates))
        stills.append(_travelling_seconds(motion))
        if not lengths:
            lengths, standing = _limb_lengths(clip, schema), motion.standing_speed
    if not energies:
        raise ParameterError(f"no clip of {FEWEST_FRAMES} frames or more to measure")
    rates, contact = np.concatenate(rotations), np.concatenate(contacts)
    speed, turn, seconds = np.concatenate(speeds), np.concatenate(turns), np.concatenate(stills)
    travelling = speed[speed > standing]
    largest = float(contact.max(initial=0.0))
    return {
        "clips": len(energies),
        "frames": len(speed),
        "joint_rotation": _spread(rates.mean(axis=1)),
        "joint_rotations": dict(zip(schema.joints, _rounded(rates.mean(axis=0)), strict=True)),
        "jerk": _spread(np.concatenate(jerks)),
        "kinetic_energy": _spread(np.concatenate(energies)),
        "largest_contact_speed": largest,
        "mean_contact_speed": float(contact.mean()) if contact.size else 0.0,
        "skating": foot_skating(contact, largest) if largest > 0 else 0.0,
        "mean_speed": float(speed.mean()),
        "travelling_speed": float(np.median(travelling)) if travelling.size else 0.0,
        "top_speed": float(np.percentile(speed, BAND[1])),
        "turning_rate": float(turn.mean()),
        "top_turning_rate": float(np.percentile(turn, BAND[1])),
        "standing_speed": standing,
        "still_speed": float(np.percentile(seconds, BAND[0])) if seconds.size else 0.0,
        "limb_lengths": lengths,
    }


def _travelling_seconds(motion: MeasuredMotion) -> Array:
    """(seconds,) m/s: mean joint speed, seen from the root, of the seconds that travel."""
    travels = seconds_of(motion.speeds, motion.fps) > motion.standing_speed
    return seconds_of(motion.pose_speeds.mean(axis=1), motion.fps)[travels]


def _limb_lengths(clip: Clip, schema: ControllerSchema) -> dict[str, float]:
    lengths = dict(zip(clip.skeleton.names, bone_lengths(clip.skeleton).tolist(), strict=True))
    return {name: round(lengths[name], 6) for name in schema.joints[1:]}


def _spread(values: Array) -> dict[str, float]:
    low, high = np.percentile(values, BAND)
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "low": float(low),
        "high": float(high),
    }


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 4) for value in values]
