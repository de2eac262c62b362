"""What a run of a controller is worth, beside the data that it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from controllers.controller import Controller
from controllers.measured_motion import FEWEST_FRAMES, MeasuredMotion
from controllers.rollout import Rollout
from deepphase.errors import ParameterError
from deepphase.evaluation.runs import foot_skating, joint_rotation_rates
from deepphase.evaluation.survival import frozen_share, limb_length_change, shares_of_band
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.limbs import bone_lengths
from deepphase.steering.path import Path

Array = np.ndarray

_IN_CONTACT = 0.5
# Of the speed that all but a hundredth of the data's travel exceeds.
_HARDLY = 0.5


@dataclass(frozen=True)
class RolloutMeasures:
    """Measures of a run, over all frames of all characters while they are alive.

    Parameters
    ----------
    survived
        Share of the wished frames before a network left all bounds.
    joint_rotation
        Degrees a second, mean over joints and frames, of local rotations.
    jerk
        m/s^3, mean over joints and frames.
    skating
        Mean of v / v_max of feet that the controller has in contact; v is that of a foot's
        slowest point, v_max the data's largest.
    contact_speed
        m/s: the mean of v itself.
    found_skating, found_contact_speed
        The same of contacts that are found on the motion, as those of the data are.
    weaker, stronger
        Shares of frames whose kinetic energy is below and above the data's band.
    limb_change
        Largest change of a limb's length, as a share of it.
    limb_error
        Metres between joints as predicted and where rotations and limbs have them.
    frozen
        Share of seconds wished to move in which the joints, seen from the root, are less than half
        as fast as in all but a hundredth of the data's travel; None without a wish.
    speed, turning_rate
        m/s and rad/s of the root, mean.
    path_error, largest_path_error
        Metres from the root to the nearest place of the path, mean and largest; None without one.
    clock_error
        Metres to the path's place at its clock, which waits for those who lag; mean.
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
    limb_error: float
    frozen: float | None
    speed: float
    turning_rate: float
    path_error: float | None
    largest_path_error: float | None
    clock_error: float | None


def rollout_measures(
    run: Rollout,
    controller: Controller,
    *,
    path: Path | None = None,
    origins: Array | None = None,
    moving: bool | None = None,
) -> RolloutMeasures:
    """Measure a run.

    Parameters
    ----------
    path, origins
        The path that was followed, and where each character's copy lies, (characters, 2) metres;
        the path's own place by default.
    moving
        Whether it was wished to move all the time; if left out, as fast as the path is at its
        times.

    Raises
    ------
    ParameterError
        Where no character lived for `FEWEST_FRAMES` frames, or the controller does not hold its
        data's measures.
    """
    data, schema = measured(controller), controller.schema
    motions, predicted, lengths = [], [], []
    lived = [_lived(alive) for alive in run.alive]
    for character, frames in enumerate(lived):
        if frames < FEWEST_FRAMES:
            continue
        clip = run.clip(character).sliced(0, frames)
        motion = MeasuredMotion.of_clip(clip, schema)
        motions.append(motion)
        predicted.append(motion.contact_speeds(run.contacts[character, :frames] > _IN_CONTACT))
        lengths.append(
            limb_length_change(joint_positions(clip)[:, _body(controller)], *_limbs(controller))
        )
    if not motions:
        raise ParameterError(f"no character lived for {FEWEST_FRAMES} frames")
    contact = np.concatenate(predicted)
    found = np.concatenate([motion.contact_speeds() for motion in motions])
    largest = data["largest_contact_speed"]
    band = data["kinetic_energy"]
    energies = np.concatenate([motion.energies for motion in motions])
    weaker, _, stronger = shares_of_band(energies, band["low"], band["high"])
    living = run.alive.astype(bool)
    nearest, at_clock = _path_errors(run, path, origins)
    return RolloutMeasures(
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
        limb_error=float(run.limb_errors[living].mean()),
        frozen=_frozen(motions, data, path, moving),
        speed=_mean_over([motion.speeds for motion in motions]),
        turning_rate=_mean_over([np.abs(motion.turn_rates) for motion in motions]),
        path_error=None if nearest is None else float(nearest[living].mean()),
        largest_path_error=None if nearest is None else float(nearest[living].max()),
        clock_error=None if at_clock is None else float(at_clock[living].mean()),
    )


def joint_rotations(run: Rollout, controller: Controller) -> dict[str, float]:
    """Degrees a second of each joint by its name, mean over frames and characters while alive.

    The data's own are `Controller.data["joint_rotations"]`. A joint that idles where the data's
    moves, such as a tail, shows here and not in the mean (Starke et al. 2022, table 2).
    """
    names = controller.schema.joints
    joints = _body(controller)
    rates = [
        joint_rotation_rates(rotations[: _lived(alive), joints], run.fps)
        for rotations, alive in zip(run.rotations, run.alive, strict=True)
        if _lived(alive) > 1
    ]
    if not rates:
        return dict.fromkeys(names, 0.0)
    return dict(zip(names, np.concatenate(rates).mean(axis=0).tolist(), strict=True))


def data_values(controller: Controller) -> dict[str, float]:
    """The data's own value of each measure that it has one of, by the measure's name."""
    data = measured(controller)
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
    }
    return values | ({"speed": data["mean_speed"]} if "mean_speed" in data else {})


def measured(controller: Controller) -> Mapping[str, Any]:
    """The measures of a controller's training clips; ParameterError where it holds none."""
    if "largest_contact_speed" not in controller.data:
        raise ParameterError(
            "the controller does not hold what its training clips measure",
            hint="train it with `deepphase train controller`, or give Controller.data what "
            "data_measures.measured_data finds",
        )
    return controller.data


def travelling_speed(controller: Controller) -> float:
    """m/s of paths that suit the data; ParameterError where no motion of it travels."""
    speed = float(measured(controller)["travelling_speed"])
    if not speed > 0:
        raise ParameterError("no motion of the controller's data travels", hint="tell a speed")
    return speed


def _lived(alive: Array) -> int:
    return len(alive) if alive.all() else int(alive.argmin())


def _body(controller: Controller) -> list[int]:
    return [controller.skeleton.names.index(name) for name in controller.schema.joints]


def _limbs(controller: Controller) -> tuple[Array, Array]:
    """Of the schema's joints the parent among them, and the length to it."""
    body, skeleton = _body(controller), controller.skeleton
    place = {joint: index for index, joint in enumerate(body)}
    parents = [place.get(int(skeleton.parents[joint]), -1) for joint in body]
    return np.array(parents), bone_lengths(skeleton)[body]


def _path_errors(
    run: Rollout, path: Path | None, origins: Array | None
) -> tuple[Array | None, Array | None]:
    """(characters, frames) metres to the nearest place of the path, and to that of its clock."""
    if path is None:
        return None, None
    origin = np.zeros((run.characters, 2)) if origins is None else origins
    nearest = path.distances(run.positions - origin[:, None])
    if run.wished_positions is None:
        return nearest, None
    return nearest, np.linalg.norm(run.positions - run.wished_positions, axis=-1)


def _frozen(
    motions: list[MeasuredMotion], data: Mapping[str, Any], path: Path | None, moving: bool | None
) -> float | None:
    if path is None and moving is None:
        return None
    shares, weights = [], []
    for motion in motions:
        times = np.arange(len(motion)) / motion.fps
        if moving is None and path is not None:
            wished = np.linalg.norm(path.velocities_at(path.times[0] + times), axis=-1)
        else:
            wished = np.full(len(motion), np.inf if moving else 0.0)
        share = frozen_share(
            motion.pose_speeds.mean(axis=1),
            wished,
            motion.fps,
            still=_HARDLY * data["still_speed"],
            moving=motion.standing_speed,
        )
        shares.append(share)
        weights.append(len(motion))
    return float(np.average(shares, weights=weights))


def _mean_over(values: list[Array]) -> float:
    return float(np.concatenate(values).mean())
