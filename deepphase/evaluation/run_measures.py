"""Measures of a run, of any runner, and the captured motion's own values beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.motion_measures import FEWEST_FRAMES, MeasuredMotion
from deepphase.evaluation.runs import FELT_S, foot_skating, joint_rotation_rates, near
from deepphase.evaluation.survival import frozen_share, limb_length_change, shares_of_band
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.limbs import bone_lengths
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Run

_IN_CONTACT = 0.5
# Of the speed that all but a hundredth of the data's travel exceeds.
_HARDLY = 0.5

RUN_MEASURES: dict[str, tuple[str, str]] = {
    "survived": ("", "share of the frames before the values left all bounds"),
    "joint_rotation": ("deg/s", "mean over joints, of local rotations; jitter raises it too"),
    "jerk": ("m/s3", "mean over joints and frames"),
    "skating": (
        "",
        "mean of v / v_max: v the speed of the slowest point of feet that the runner has in "
        "contact, v_max the data's largest",
    ),
    "contact_speed": ("m/s", "the mean of v"),
    "found_skating": ("", "the same of contacts found on the motion, as the data's are"),
    "found_contact_speed": ("m/s", "the mean of v at those"),
    "weaker": ("", "share of frames with less kinetic energy than 99 % of the data's"),
    "stronger": ("", "share of frames with more kinetic energy than 99 % of the data's"),
    "limb_change": ("", "largest change of a limb's length, as a share of it"),
    "limb_error": ("m", "between joints as predicted and as rotations and limbs have them"),
    "frozen": (
        "",
        "share of seconds with a desired speed in which the joints, seen from the root, are less "
        "than half as fast as in all but a hundredth of the data's travel",
    ),
    "speed": ("m/s", "mean of the root"),
    "turning_rate": ("rad/s", "mean size of the root's"),
    "path_error": ("m", "mean distance of the root from the nearest place on the path"),
    "largest_path_error": ("m", "its largest"),
    "clock_error": ("m", "mean distance from the path's place at its clock"),
    "jump_jerk": ("m/s3", "mean over joints, within 0.1 s of jumps"),
    "jump_acceleration": ("m/s2", "the largest of any joint within 0.1 s of jumps"),
    "over_usual": ("", "share of those frames over the data's 99.9th percentile"),
    "alignment": ("m", "mean distance of joints between the poses on both sides of jumps"),
    "jumps_per_s": ("1/s", "jumps in a second"),
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
        Share of the frames before the values left all bounds.
    joint_rotation
        Degrees a second, mean over joints and frames, of local rotations.
    jerk
        m/s^3, mean over joints and frames.
    skating
        Mean of v / v_max of feet that the runner has in contact; v is that of a foot's slowest
        point, v_max the data's largest.
    contact_speed
        m/s: the mean of v itself.
    found_skating, found_contact_speed
        The same of contacts that are found on the motion, as those of the data are.
    weaker, stronger
        Shares of frames whose kinetic energy is below and above the data's band.
    limb_change
        Largest change of a limb's length, as a share of it.
    limb_error
        Metres between joints as predicted and where rotations and limbs have them; None where
        joints are not predicted.
    frozen
        Share of seconds with a desired speed in which the joints, seen from the root, are less
        than half as fast as in all but a hundredth of the data's travel; None without goals.
    speed, turning_rate
        m/s and rad/s of the root, mean.
    path_error, largest_path_error
        Metres from the root to the nearest place of the path, mean and largest; None without one.
    clock_error
        Metres to the path's place at its clock, which waits for characters that lag; mean.
    jump_jerk, jump_acceleration
        m/s^3, mean over joints, and m/s^2, the largest, within 0.1 s of jumps. These and the
        following are None where the runner has no transitions.
    over_usual
        Share of those frames above the data's 99.9th percentile.
    alignment
        Metres: mean distance of corresponding joints between the pose before a jump and the one
        that it leads to.
    jumps_per_s
        Jumps of a character in a second.
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
        The captured motion's own measures, as `motion_measures.measured_data` gives them and a
        controller holds them.
    path, origins
        The path that was followed, and where each character's copy lies, (characters, 2) metres;
        the path's own place by default.
    moving
        Whether the goals were to move all the time; if left out, as fast as the path is at its
        times.

    Raises
    ------
    ParameterError
        Where no character lived for `FEWEST_FRAMES` frames, or `data` lacks the measures.
    """
    data, spec = checked_data(data), run.spec
    lived = [run.lived(character) for character in range(run.characters)]
    measured = [index for index, frames in enumerate(lived) if frames >= FEWEST_FRAMES]
    if not measured:
        raise ParameterError(f"no character lived for {FEWEST_FRAMES} frames")
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
    found = np.concatenate([motion.contact_speeds() for motion in motions])
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
        found_skating=foot_skating(found, largest) if largest > 0 else 0.0,
        found_contact_speed=float(found.mean()) if found.size else 0.0,
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
        **_jumps(run, measured, motions, data),
    )


def joint_rotations(run: Run) -> dict[str, float]:
    """Degrees a second of each joint by its name, mean over frames and characters while alive.

    The data's own are ``data["joint_rotations"]``. A joint that idles where the data's moves, such
    as a tail, shows here and not in the mean (Starke et al. 2022, table 2).
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
    """The data's own value of each measure that it has one of, by the measure's name."""
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
    """Measures of captured motion; ParameterError where they are missing."""
    if "largest_contact_speed" not in data:
        raise ParameterError(
            "the controller does not hold what its training clips measure",
            hint="train it with `deepphase train controller`, or give Controller.data what "
            "motion_measures.measured_data finds",
        )
    return data


def travelling_speed(data: Mapping[str, Any]) -> float:
    """m/s of paths that suit the data; ParameterError where no motion of it travels."""
    speed = float(checked_data(data)["travelling_speed"])
    if not speed > 0:
        raise ParameterError("no motion of the data travels", hint="give a speed")
    return speed


def _limbs(run: Run) -> tuple[Array, Array]:
    """Of the body's joints the parent among them, and the length to it."""
    joints, skeleton = run.spec.joint_indices, run.spec.skeleton
    place = {joint: index for index, joint in enumerate(joints.tolist())}
    parents = [place.get(int(skeleton.parents[joint]), -1) for joint in joints]
    return np.array(parents), bone_lengths(skeleton)[joints]


def _path_errors(
    run: Run, path: GroundPath | None, origins: Array | None
) -> tuple[Array | None, Array | None]:
    """(characters, frames) metres to the nearest place of the path, and to that of its clock."""
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
            still=_HARDLY * data["still_speed"],
            moving=motion.standing_speed,
        )
        shares.append(share)
        weights.append(len(motion))
    return float(np.average(shares, weights=weights))


def _jumps(
    run: Run, characters: list[int], motions: list[MeasuredMotion], data: Mapping[str, Any]
) -> dict[str, float]:
    """The measures of transitions; none where the runner has no transitions."""
    if run.jumped is None:
        return {}
    jumped = [
        run.jumped[character, : len(motion)]
        for character, motion in zip(characters, motions, strict=True)
    ]
    felt = np.concatenate([near(flags, round(FELT_S * run.fps)) for flags in jumped])
    acceleration = np.concatenate([motion.accelerations for motion in motions])
    jerk = np.concatenate([motion.jerks for motion in motions])
    stretches = [np.diff([0, *np.flatnonzero(flags), len(flags)]).max() for flags in jumped]
    found = {
        "jump_jerk": float(jerk[felt].mean()) if felt.any() else 0.0,
        "jump_acceleration": float(acceleration[felt].max(initial=0.0)),
        "jumps_per_s": float(np.concatenate(jumped).sum() * run.fps / len(felt)),
        "playing_on": float(1.0 - felt.mean()),
        "longest_s": float(max(stretches) / run.fps),
    }
    if "usual_acceleration" in data:
        over = acceleration[felt] > data["usual_acceleration"]
        found["over_usual"] = float(over.mean()) if felt.any() else 0.0
    if "jump_distance" in run.tracks:
        apart = run.tracks["jump_distance"][run.jumped]
        found["alignment"] = float(apart.mean()) if apart.size else 0.0
    return found


def _mean_over(values: list[Array]) -> float:
    return float(np.concatenate(values).mean())
