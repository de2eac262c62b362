"""Measures of runs of any runner, and the values of the captured motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.motion_measures import MIN_FRAMES, MeasuredMotion
from deepphase.evaluation.runs import BLEND_S, foot_skating, joint_rotation_rates, near_marked
from deepphase.evaluation.survival import frozen_share, limb_length_change, shares_of_band
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.limbs import bone_lengths
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Run

_IN_CONTACT = 0.5
# Share of the data's `still_speed` below which a body counts as frozen.
_FROZEN_SHARE = 0.5

RUN_MEASURES: dict[str, tuple[str, str]] = {
    "survived": ("", "share of the frames before the values diverged"),
    "joint_rotation": ("deg/s", "mean over joints, of local rotations; jitter raises it too"),
    "jerk": ("m/s3", "mean over joints and frames"),
    "skating": (
        "",
        "mean of v / v_max: v the speed of the slowest point of feet that the runner has in "
        "contact, v_max the data's largest",
    ),
    "contact_speed": ("m/s", "the mean of v"),
    "found_skating": ("", "the same for contacts detected on the motion, as in the data"),
    "found_contact_speed": ("m/s", "the mean of v at those"),
    "weaker": ("", "share of frames with less kinetic energy than 99 % of the data's"),
    "stronger": ("", "share of frames with more kinetic energy than 99 % of the data's"),
    "limb_change": ("", "largest change of a limb's length, as a share of it"),
    "limb_error": (
        "m",
        "distance between predicted joints and those of the rotations and limb lengths",
    ),
    "frozen": (
        "",
        "share of seconds with a desired speed in which the joint speed relative to the root is "
        "below half of the data's 1st percentile in travel",
    ),
    "speed": ("m/s", "mean of the root"),
    "turning_rate": ("rad/s", "mean size of the root's"),
    "path_error": ("m", "mean distance of the root from the nearest place on the path"),
    "largest_path_error": ("m", "its largest"),
    "clock_error": ("m", "mean distance from the path's place at its clock"),
    "limited_goals": (
        "",
        "share of frames whose goals were faster than the data can be, and were limited",
    ),
    "jump_jerk": ("m/s3", "mean over joints, within 0.1 s of jumps"),
    "jump_acceleration": ("m/s2", "the largest of any joint within 0.1 s of jumps"),
    "over_usual": ("", "share of those frames over the data's 99.9th percentile"),
    "alignment": ("m", "mean distance of joints between the poses on both sides of jumps"),
    "jumps_per_s": ("1/s", "jumps per second"),
    "playing_on": ("", "share of time more than 0.1 s after a jump"),
    "longest_s": ("s", "longest stretch without a jump"),
}
"""Measure -> (unit, definition), in the order of tables."""


@dataclass(frozen=True)
class RunMeasures:
    """Measures of a run, over all frames of all characters while they are alive.

    Parameters
    ----------
    survived
        Share of the frames before the values diverged.
    joint_rotation
        Degrees per second, mean over joints and frames, of local rotations.
    jerk
        m/s^3, mean over joints and frames.
    skating
        Mean of v / v_max of feet that the runner has in contact; v is that of a foot's slowest
        point, v_max the data's largest.
    contact_speed
        m/s: the mean of v itself.
    found_skating, found_contact_speed
        The same for contacts detected on the motion, as in the data.
    weaker, stronger
        Shares of frames whose kinetic energy is below and above the data's band.
    limb_change
        Largest change of a limb's length, as a share of it.
    limb_error
        Distance in metres between predicted joints and those of the rotations and limb lengths;
        None if joints are not predicted.
    frozen
        Share of seconds with a desired speed in which the joint speed relative to the root is below
        half of the data's 1st percentile in travel; None without goals.
    speed, turning_rate
        m/s and rad/s of the root, mean.
    path_error, largest_path_error
        Metres from the root to the nearest place of the path, mean and largest; None without one.
    clock_error
        Metres to the path's place at its clock, which waits for characters that lag; mean.
    limited_goals
        Share of frames whose goals were out of `goal_limits.GoalLimits`; None without goals.
    jump_jerk, jump_acceleration
        m/s^3, mean over joints, and m/s^2, the largest, within 0.1 s of jumps. These and the
        following are None if the runner has no transitions.
    over_usual
        Share of those frames above the data's 99.9th percentile.
    alignment
        Metres: mean distance of corresponding joints between the pose before a jump and the one
        that it leads to.
    jumps_per_s
        Jumps per second of a character.
    playing_on
        Share of time more than 0.1 s after a jump.
    longest_s
        Seconds: the longest stretch without a jump.
    """

    survived: float
    joint_rotation: float
    jerk: float
    skating: float
    contact_speed: float
    found_skating: float
    found_contact_speed: float
    weaker: float
    stronger: float
    limb_change: float
    limb_error: float | None
    frozen: float | None
    speed: float
    turning_rate: float
    path_error: float | None
    largest_path_error: float | None
    clock_error: float | None
    limited_goals: float | None = None
    jump_jerk: float | None = None
    jump_acceleration: float | None = None
    over_usual: float | None = None
    alignment: float | None = None
    jumps_per_s: float | None = None
    playing_on: float | None = None
    longest_s: float | None = None


def run_measures(
    run: Run,
    data: Mapping[str, Any],
    *,
    path: GroundPath | None = None,
    origins: Array | None = None,
    moving: bool | None = None,
) -> RunMeasures:
    """Measure a run.

    Parameters
    ----------
    data
        Measures of the captured motion by `motion_measures.measured_data`, such as
        `Controller.data`.
    path, origins
        The path that was followed, and the origin of each character's copy, (characters, 2) metres,
        by default 0.
    moving
        Whether the goals required movement all the time; by default they have the path's speed.

    Raises
    ------
    ParameterError
        If no character was alive for `MIN_FRAMES` frames, or `data` lacks the measures.
    """
    data, spec = checked_data(data), run.spec
    lived = [run.lived(character) for character in range(run.characters)]
    measured = [index for index, frames in enumerate(lived) if frames >= MIN_FRAMES]
    if not measured:
        raise ParameterError(f"no character was alive for {MIN_FRAMES} frames")
    motions, contacts, lengths = [], [], []
    for character in measured:
        frames = lived[character]
        clip = run.clip(character).sliced(0, frames)
        motion = MeasuredMotion.of_clip(clip, spec)
        motions.append(motion)
        contacts.append(motion.contact_speeds(run.contacts[character, :frames] > _IN_CONTACT))
        lengths.append(
            limb_length_change(joint_positions(clip)[:, spec.joint_indices], *_limbs(run))
        )
    contact = np.concatenate(contacts)
    detected = np.concatenate([motion.contact_speeds() for motion in motions])
    largest, band = data["largest_contact_speed"], data["kinetic_energy"]
    energies = np.concatenate([motion.energies for motion in motions])
    weaker, _, stronger = shares_of_band(energies, band["low"], band["high"])
    living = run.alive.astype(bool)
    nearest, at_clock = _path_errors(run, path, origins)
    return RunMeasures(
        survived=float(living.mean()),
        joint_rotation=_mean_over([motion.rotation_rates.mean(axis=1) for motion in motions]),
        jerk=_mean_over([motion.jerks for motion in motions]),
        skating=foot_skating(contact, largest) if largest > 0 else 0.0,
        contact_speed=float(contact.mean()) if contact.size else 0.0,
        found_skating=foot_skating(detected, largest) if largest > 0 else 0.0,
        found_contact_speed=float(detected.mean()) if detected.size else 0.0,
        weaker=weaker,
        stronger=stronger,
        limb_change=max(lengths),
        limb_error=None if run.limb_errors is None else float(run.limb_errors[living].mean()),
        frozen=_frozen(motions, data, path, moving),
        speed=_mean_over([motion.speeds for motion in motions]),
        turning_rate=_mean_over([np.abs(motion.turn_rates) for motion in motions]),
        path_error=None if nearest is None else float(nearest[living].mean()),
        largest_path_error=None if nearest is None else float(nearest[living].max()),
        clock_error=None if at_clock is None else float(at_clock[living].mean()),
        limited_goals=None if run.limited is None else float(run.limited.mean()),
        **_jumps(run, measured, motions, data),
    )


def joint_rotations(run: Run) -> dict[str, float]:
    """Degrees per second of each joint by its name, mean over frames and living characters.

    The data's values are ``data["joint_rotations"]``. A joint that moves too little, such as a
    tail, is visible here and not in the mean (Starke et al. 2022, table 2).
    """
    spec = run.spec
    rates = [
        joint_rotation_rates(run.rotations[character][:frames, spec.joint_indices], run.fps)
        for character in range(run.characters)
        if (frames := run.lived(character)) > 1
    ]
    if not rates:
        return dict.fromkeys(spec.joints, 0.0)
    return dict(zip(spec.joints, np.concatenate(rates).mean(axis=0).tolist(), strict=True))


def data_values(data: Mapping[str, Any]) -> dict[str, float]:
    """The data's value of each measure that it has, by the measure's name."""
    data = checked_data(data)
    values = {
        "joint_rotation": data["joint_rotation"]["mean"],
        "jerk": data["jerk"]["mean"],
        "skating": data["skating"],
        "contact_speed": data["mean_contact_speed"],
        "found_skating": data["skating"],
        "found_contact_speed": data["mean_contact_speed"],
        "weaker": 0.01,
        "stronger": 0.01,
        "limb_change": 0.0,
        "turning_rate": data["turning_rate"],
        "jump_jerk": data["jerk"]["mean"],
        "over_usual": 0.001,
    }
    optional = {"speed": "mean_speed", "jump_acceleration": "usual_acceleration"}
    return values | {name: data[key] for name, key in optional.items() if key in data}


def checked_data(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The measures of captured motion; ParameterError if they are missing."""
    if "largest_contact_speed" not in data:
        raise ParameterError(
            "the controller has no measures of its training clips",
            hint="train it with `deepphase train controller`, or set Controller.data to the result "
            "of motion_measures.measured_data",
        )
    return data


def travelling_speed(data: Mapping[str, Any]) -> float:
    """m/s: travelling speed of the data; ParameterError if no motion of it travels."""
    speed = float(checked_data(data)["travelling_speed"])
    if not speed > 0:
        raise ParameterError("no motion of the data travels", hint="give a speed")
    return speed


def _limbs(run: Run) -> tuple[Array, Array]:
    """The parent of each joint among the body's joints, and its distance."""
    joints, skeleton = run.spec.joint_indices, run.spec.skeleton
    place = {joint: index for index, joint in enumerate(joints.tolist())}
    parents = [place.get(int(skeleton.parents[joint]), -1) for joint in joints]
    return np.array(parents), bone_lengths(skeleton)[joints]


def _path_errors(
    run: Run, path: GroundPath | None, origins: Array | None
) -> tuple[Array | None, Array | None]:
    """(characters, frames) metres to the nearest point of the path, and to the target."""
    if path is None:
        return None, None
    origin = np.zeros((run.characters, 2)) if origins is None else origins
    nearest = path.distances(run.positions - origin[:, None])
    if run.desired_positions is None:
        return nearest, None
    return nearest, np.linalg.norm(run.positions - run.desired_positions, axis=-1)


def _frozen(
    motions: list[MeasuredMotion],
    data: Mapping[str, Any],
    path: GroundPath | None,
    moving: bool | None,
) -> float | None:
    if path is None and moving is None:
        return None
    shares, weights = [], []
    for motion in motions:
        times = np.arange(len(motion)) / motion.fps
        if moving is None and path is not None:
            desired = np.linalg.norm(path.velocities_at(path.times[0] + times), axis=-1)
        else:
            desired = np.full(len(motion), np.inf if moving else 0.0)
        share = frozen_share(
            motion.pose_speeds.mean(axis=1),
            desired,
            motion.fps,
            still=_FROZEN_SHARE * data["still_speed"],
            moving=motion.standing_speed,
        )
        shares.append(share)
        weights.append(len(motion))
    return float(np.average(shares, weights=weights))


def _jumps(
    run: Run, characters: list[int], motions: list[MeasuredMotion], data: Mapping[str, Any]
) -> dict[str, float]:
    """The measures of transitions; none if the runner has no transitions."""
    if run.jumped is None:
        return {}
    jumped = [
        run.jumped[character, : len(motion)]
        for character, motion in zip(characters, motions, strict=True)
    ]
    blended = np.concatenate([near_marked(flags, round(BLEND_S * run.fps)) for flags in jumped])
    acceleration = np.concatenate([motion.accelerations for motion in motions])
    jerk = np.concatenate([motion.jerks for motion in motions])
    stretches = [np.diff([0, *np.flatnonzero(flags), len(flags)]).max() for flags in jumped]
    measures = {
        "jump_jerk": float(jerk[blended].mean()) if blended.any() else 0.0,
        "jump_acceleration": float(acceleration[blended].max(initial=0.0)),
        "jumps_per_s": float(np.concatenate(jumped).sum() * run.fps / len(blended)),
        "playing_on": float(1.0 - blended.mean()),
        "longest_s": float(max(stretches) / run.fps),
    }
    if "usual_acceleration" in data:
        over = acceleration[blended] > data["usual_acceleration"]
        measures["over_usual"] = float(over.mean()) if blended.any() else 0.0
    if "jump_distance" in run.tracks:
        apart = run.tracks["jump_distance"][run.jumped]
        measures["alignment"] = float(apart.mean()) if apart.size else 0.0
    return measures


def _mean_over(values: list[Array]) -> float:
    return float(np.concatenate(values).mean())
