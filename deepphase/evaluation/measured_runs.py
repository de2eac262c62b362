"""Measures of runs of any runner, and the values of the captured motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.label_discriminants import LabelDiscriminants
from deepphase.evaluation.motion_measures import MIN_FRAMES, MeasuredMotion
from deepphase.evaluation.response import Responses, goal_changes
from deepphase.evaluation.runs import (
    BLEND_S,
    below,
    foot_skating,
    frozen_share,
    joint_rotation_rates,
    limb_length_change,
    near_marked,
    ratio_at_speed,
    seconds_of,
    shares_of_band,
)
from deepphase.features.moment_kinds import KINDS, LYING, RESTS, SITTING
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.limbs import bone_lengths
from deepphase.motion.resample import BANDS_HZ
from deepphase.steering.path import GroundPath
from deepphase.steering.run import Run

_IN_CONTACT = 0.5
# Kinds of moments that most runs do not have, and those in which bodies rest.
_LOW_RESTS = (KINDS[SITTING], KINDS[LYING])
_RESTS = tuple(KINDS[each] for each in RESTS)
# Share of the data's `still_speed` below which a body counts as frozen.
_FROZEN_SHARE = 0.5
DESIRED_LABEL = "desired_label"
"""Track of runs: (characters, frames) str, the desired value of the label."""
# Ratio -> the measure of `MeasuredMotion.by_speed`.
_RATIOS = {"acceleration_ratio": "acceleration"} | {
    (below(ratio, edge) if edge else ratio): (below(name, edge) if edge else name)
    for ratio, name in (("rotation_ratio", "joint_rotation"), ("jerk_ratio", "jerk"))
    for edge in (0.0, *BANDS_HZ)
}
# Goals that are slower stand.
AT_REST_M_S = 0.05
# Metres from the path's place at its clock, on average, beyond which a character ignores its goal.
RUNAWAY_M = 0.5
_CM = 100.0


def _measured(unit: str, definition: str, **default: Any) -> Any:
    """A field of `RunMeasures`, which every run has."""
    return field(metadata={"unit": unit, "definition": definition}, **default)


def _optional(unit: str, definition: str) -> Any:
    """A field of `RunMeasures` that is None where a run, its goals or the data do not have it."""
    return _measured(unit, definition, default=None)


def _below(edge_hz: int) -> Any:
    """The field of a ratio whose motion, and the data's, are low-passed."""
    return _optional("", f"the same of both without what is faster than {edge_hz} Hz")


@dataclass(frozen=True, kw_only=True)
class RunMeasures:
    """Measures of a run, over all frames of all characters while they are alive.

    Each field has its unit and definition, which `RUN_MEASURES` lists. Response times are infinite
    if most changes of the goal are never answered; see `response` and `label_discriminants`.
    """

    survived: float = _measured("", "share of the frames before the values diverged")
    joint_rotation: float = _measured(
        "deg/s", "mean over joints, of local rotations; jitter raises it too"
    )
    jerk: float = _measured("m/s3", "mean over joints and frames")
    rotation_ratio: float | None = _optional(
        "", "joint rotation over the data's at the same speeds of the root"
    )
    rotation_ratio_below_12_hz: float | None = _below(12)
    rotation_ratio_below_8_hz: float | None = _below(8)
    rotation_ratio_below_4_hz: float | None = _below(4)
    jerk_ratio: float | None = _optional("", "jerk over the data's at the same speeds")
    jerk_ratio_below_12_hz: float | None = _below(12)
    jerk_ratio_below_8_hz: float | None = _below(8)
    jerk_ratio_below_4_hz: float | None = _below(4)
    acceleration_ratio: float | None = _optional(
        "", "acceleration of the joint that accelerates most over the data's at the same speeds"
    )
    skating: float | None = _optional(
        "",
        "mean of v / v_max: v the speed of the slowest point of feet that the runner has in "
        "contact, v_max the data's largest",
    )
    contact_speed: float | None = _optional("cm/s", "the mean of v")
    unlocked_skating: float | None = _optional("", "the same as skating without foot IK")
    unlocked_contact_speed: float | None = _optional("cm/s", "the mean of v without foot IK")
    found_skating: float | None = _optional(
        "", "skating at contacts detected on the motion, as in the data"
    )
    found_contact_speed: float | None = _optional("cm/s", "the mean of v at those")
    weaker: float = _measured(
        "", "share of frames with less kinetic energy than 99 % of the data's"
    )
    stronger: float = _measured(
        "", "share of frames with more kinetic energy than 99 % of the data's"
    )
    limb_change: float = _measured("", "largest change of a limb's length, as a share of it")
    limb_error: float | None = _optional(
        "m", "distance between predicted joints and those of the rotations and limb lengths"
    )
    frozen: float | None = _optional(
        "",
        "share of seconds with a desired speed in which the joint speed relative to the root is"
        " below half of the data's 1st percentile in travel",
    )
    speed: float = _measured("m/s", "mean of the root")
    desired_speed: float | None = _optional("m/s", "mean of the goal")
    turning_rate: float = _measured("rad/s", "mean size of the root's")
    path_error: float | None = _optional(
        "m", "mean distance of the root from the nearest place on the path"
    )
    largest_path_error: float | None = _optional("m", "its largest")
    clock_error: float | None = _optional("m", "mean distance from the path's place at its clock")
    worst_clock_error: float | None = _optional("m", "the same of the worst character")
    runaways: float | None = _optional("", "share of characters for which it is above 0.5 m")
    start_s: float | None = _optional(
        "s",
        "median time to 90 % of the new velocity after a start of the goal; of the data: from "
        "10 to 90 % of its own",
    )
    stop_s: float | None = _optional(
        "s",
        "median time to 90 % of the new velocity after a stop of the goal; of the data: from 10"
        " to 90 % of its own",
    )
    turn_90_s: float | None = _optional(
        "s",
        "median time to 90 % of the new velocity after a turn by 60 to 120 degrees of the goal;"
        " of the data: from 10 to 90 % of its own",
    )
    turn_180_s: float | None = _optional(
        "s",
        "median time to 90 % of the new velocity after a turn by 150 to 180 degrees of the "
        "goal; of the data: from 10 to 90 % of its own",
    )
    heading_90_s: float | None = _optional(
        "s", "median time to 90 % of the new heading after turn 90"
    )
    heading_180_s: float | None = _optional(
        "s", "median time to 90 % of the new heading after turn 180"
    )
    changes: float | None = _optional("", "number of these changes of the goal")
    unanswered: float | None = _optional(
        "", "share of them whose velocity never comes: not in 4 s, nor before the next change"
    )
    label_s: float | None = _optional(
        "s", "median time until poses look like those of a new label, by linear discriminants"
    )
    idle: float | None = _optional("", "share of frames of idle")
    locomotion: float | None = _optional("", "share of frames of locomotion")
    action: float | None = _optional("", "share of frames of action")
    sitting: float | None = _optional("", "share of frames of sitting")
    lying: float | None = _optional("", "share of frames of lying")
    style_changes: float | None = _optional(
        "1/s", "changes of the label style per second, of bodies that are not at rest"
    )
    idle_ratio: float | None = _optional(
        "",
        "joint speed relative to the root where standing is desired and the root stands, over "
        "that of the data's idle frames",
    )
    limited_goals: float | None = _optional(
        "", "share of frames whose goals were faster than the data can be, and were limited"
    )
    jump_jerk: float | None = _optional("m/s3", "mean over joints, within 0.1 s of jumps")
    jump_acceleration: float | None = _optional(
        "m/s2", "the largest of any joint within 0.1 s of jumps"
    )
    over_usual: float | None = _optional(
        "", "share of those frames over the data's 99.9th percentile"
    )
    alignment: float | None = _optional(
        "m", "mean distance of joints between the poses on both sides of jumps"
    )
    jumps_per_s: float | None = _optional("1/s", "jumps per second")
    playing_on: float | None = _optional("", "share of time more than 0.1 s after a jump")
    longest_s: float | None = _optional("s", "longest stretch without a jump")


RUN_MEASURES: dict[str, tuple[str, str]] = {
    each.name: (each.metadata["unit"], each.metadata["definition"]) for each in fields(RunMeasures)
}
"""Measure -> (unit, definition), in the order of tables."""


def run_measures(
    run: Run,
    data: Mapping[str, Any],
    *,
    path: GroundPath | None = None,
    origins: Array | None = None,
    moving: bool | None = None,
    kinds: Array | None = None,
    styles: Array | None = None,
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
    kinds
        (characters, frames) kind of each frame: "idle", "locomotion" or "action".
    styles
        (characters, frames) style of each frame, empty where it is not known.

    Raises
    ------
    ParameterError
        If no character was alive for `MIN_FRAMES` frames, or `data` lacks the measures.
    """
    data, spec = checked_data(data), run.spec
    lived = [run.lived(character) for character in range(run.characters)]
    measured = [index for index, frames in enumerate(lived) if frames >= MIN_FRAMES]
    if not measured:
        raise ParameterError(
            f"no character lasted for {MIN_FRAMES} frames, which measures need",
            hint="run the controller for longer, or train it further",
        )
    motions, contacts, unlocked, lengths = [], [], [], []
    free = run.without_foot_lock()
    for character in measured:
        frames = lived[character]
        clip = run.clip(character).sliced(0, frames)
        motion = MeasuredMotion.of_clip(clip, spec)
        motions.append(motion)
        contacts.append(motion.contact_speeds(run.contacts[character, :frames] > _IN_CONTACT))
        lengths.append(
            limb_length_change(joint_positions(clip)[:, spec.joint_indices], *_limbs(run))
        )
        if free is not None:
            unlocked.append(
                MeasuredMotion.of_clip(free.clip(character).sliced(0, frames), spec).contact_speeds(
                    run.contacts[character, :frames] > _IN_CONTACT
                )
            )
    contact = np.concatenate(contacts)
    detected = np.concatenate([motion.contact_speeds() for motion in motions])
    largest, band = data["largest_contact_speed"], data["kinetic_energy"]
    energies = np.concatenate([motion.energies for motion in motions])
    weaker, _, stronger = shares_of_band(energies, band["low"], band["high"])
    living = run.alive.astype(bool)
    nearest, at_clock = _path_errors(run, path, origins)
    worst = None
    if at_clock is not None:
        worst = np.array([at_clock[index, : lived[index]].mean() for index in measured])
    skating, contact_speed = _sliding(contact, largest)
    found_skating, found_contact_speed = _sliding(detected, largest)
    unlocked_skating, unlocked_contact_speed = _sliding(
        np.concatenate(unlocked) if unlocked else np.zeros(0), largest
    )
    return RunMeasures(
        survived=float(living.mean()),
        joint_rotation=_mean_over([motion.rotation_rates.mean(axis=1) for motion in motions]),
        jerk=_mean_over([motion.jerks for motion in motions]),
        **_ratios(motions, data),
        skating=skating,
        contact_speed=contact_speed,
        unlocked_skating=unlocked_skating,
        unlocked_contact_speed=unlocked_contact_speed,
        found_skating=found_skating,
        found_contact_speed=found_contact_speed,
        weaker=weaker,
        stronger=stronger,
        limb_change=max(lengths),
        limb_error=None if run.limb_errors is None else float(run.limb_errors[living].mean()),
        frozen=_frozen(motions, data, path, moving),
        speed=_mean_over([motion.speeds for motion in motions]),
        desired_speed=None
        if run.commanded_velocities is None
        else float(np.linalg.norm(run.commanded_velocities, axis=-1)[living].mean()),
        turning_rate=_mean_over([np.abs(motion.turn_rates) for motion in motions]),
        path_error=None if nearest is None else float(nearest[living].mean()),
        largest_path_error=None if nearest is None else float(nearest[living].max()),
        clock_error=None if at_clock is None else float(at_clock[living].mean()),
        worst_clock_error=None if worst is None else float(worst.max()),
        runaways=None if worst is None else float((worst > RUNAWAY_M).mean()),
        **_responses(run, measured, motions),
        label_s=_label_answer(run, measured, motions, data),
        **_kinds(kinds, styles, living, run.fps),
        idle_ratio=_idle_ratio(run, measured, motions, data),
        limited_goals=None if run.limited is None else float(run.limited.mean()),
        **_jumps(run, measured, motions, data),
    )


def joint_rotations(run: Run) -> dict[str, float]:
    """Degrees per second of each joint by its name, mean over frames and living characters.

    The data's values are ``data["joint_rotations"]``. A joint that moves too little, such as a
    tail, is visible here and not in the mean (Starke et al. 2022, table 2). Empty if no character
    was alive for two frames.
    """
    spec = run.spec
    rates = [
        joint_rotation_rates(run.rotations[character][:frames, spec.joint_indices], run.fps)
        for character in range(run.characters)
        if (frames := run.lived(character)) > 1
    ]
    if not rates:
        return {}
    return dict(zip(spec.joints, np.concatenate(rates).mean(axis=0).tolist(), strict=True))


def data_values(data: Mapping[str, Any]) -> dict[str, float]:
    """The data's value of each measure that it has, by the measure's name."""
    data = checked_data(data)
    values = {
        "joint_rotation": data["joint_rotation"]["mean"],
        "jerk": data["jerk"]["mean"],
        **dict.fromkeys(_RATIOS, 1.0),
        "weaker": 0.01,
        "stronger": 0.01,
        "limb_change": 0.0,
        "turning_rate": data["turning_rate"],
        "jump_jerk": data["jerk"]["mean"],
        "over_usual": 0.001,
    }
    for name in ("", "unlocked_", "found_"):
        values[f"{name}skating"] = data["skating"]
        values[f"{name}contact_speed"] = _CM * data["mean_contact_speed"]
    for kind, found in data.get("changes", {}).items():
        values[f"{kind}_s"] = found["median"]
    for kind, found in data.get("headings", {}).items():
        values[f"{_heading(kind)}_s"] = found["median"]
    if data.get("idle_speed"):
        values["idle_ratio"] = 1.0
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
        raise ParameterError(
            "no motion of the data travels, so the run has no speed", hint="give a speed"
        )
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


def _sliding(speeds: Array, largest: float) -> tuple[float | None, float | None]:
    """Mean of v / v_max, and of v in cm/s; None without contacts."""
    if not speeds.size:
        return None, None
    share = foot_skating(speeds, largest) if largest > 0 else None
    return share, _CM * float(speeds.mean())


def _ratios(motions: list[MeasuredMotion], data: Mapping[str, Any]) -> dict[str, float | None]:
    if "by_speed" not in data:
        return dict.fromkeys(_RATIOS)
    speeds = np.concatenate([motion.smoothed_speeds for motion in motions])
    found = [motion.by_speed for motion in motions]
    return {
        ratio: ratio_at_speed(
            speeds, np.concatenate([each[name] for each in found]), name, data["by_speed"]
        )
        # Data that were measured before have no bands.
        if name in data["by_speed"]
        else None
        for ratio, name in _RATIOS.items()
    }


def _responses(run: Run, characters: list[int], motions: list[MeasuredMotion]) -> dict[str, Any]:
    """Median response times, and the number of changes of the goals; none without changes."""
    desired, facings = run.commanded_velocities, run.commanded_angles
    if desired is None or facings is None:
        return {}
    times = Responses()
    for character, motion in zip(characters, motions, strict=True):
        frames = slice(0, len(motion))
        times.add(
            goal_changes(
                desired[character, frames], facings[character, frames], run.fps,
                motion.standing_speed,
            ),
            run.positions[character, frames],
            run.angles[character, frames],
            run.fps,
        )  # fmt: skip
    every = [time for each in times.velocity.values() for time in each]
    if not every:
        return {}
    return {
        **{f"{kind}_s": _median(each) for kind, each in times.velocity.items()},
        **{f"{_heading(kind)}_s": _median(each) for kind, each in times.heading.items()},
        "changes": len(every),
        "unanswered": float(np.isinf(every).mean()),
    }


def _label_answer(
    run: Run, characters: list[int], motions: list[MeasuredMotion], data: Mapping[str, Any]
) -> float | None:
    desired = run.tracks.get(DESIRED_LABEL)
    if desired is None or not data.get("labels"):
        return None
    discriminants = LabelDiscriminants.from_mapping(data["labels"])
    times = [
        time
        for character, motion in zip(characters, motions, strict=True)
        for time in discriminants.answers_s(
            motion.poses, desired[character, : len(motion)], run.fps
        )
    ]
    return _median(times) if times else None


def _heading(kind: str) -> str:
    return kind.replace("turn", "heading")


def _median(times: list[float]) -> float:
    # Of an even number, the later of the two in the middle: infinite times have no mean.
    return sorted(times)[len(times) // 2]


def _kinds(
    kinds: Array | None, styles: Array | None, living: Array, fps: float
) -> dict[str, float]:
    """Shares of frames by kind, and changes of style per second."""
    found: dict[str, float] = {}
    if kinds is not None:
        shares = {kind: float((kinds[living] == kind).mean()) for kind in KINDS}
        found = {kind: each for kind, each in shares.items() if each or kind not in _LOW_RESTS}
    if styles is not None and living[:, 1:].any():
        shown = living & (styles != "")
        if kinds is not None:
            shown &= ~np.isin(kinds, _RESTS)
        changed = [
            int((each[1:] != each[:-1]).sum())
            for each in (styles[index, shown[index]] for index in range(len(styles)))
        ]
        found["style_changes"] = float(sum(changed) * fps / living[:, 1:].sum())
    return found


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
        required = int((seconds_of(desired, motion.fps) > motion.standing_speed).sum())
        share = frozen_share(
            motion.pose_speeds.mean(axis=1),
            desired,
            motion.fps,
            still=_FROZEN_SHARE * data["still_speed"],
            moving=motion.standing_speed,
        )
        shares.append(share)
        weights.append(required)
    if not any(weights):
        return None
    return float(np.average(shares, weights=weights))


def _idle_ratio(
    run: Run, characters: list[int], motions: list[MeasuredMotion], data: Mapping[str, Any]
) -> float | None:
    idle = float(data.get("idle_speed", 0.0))
    if run.commanded_velocities is None or not idle > 0:
        return None
    found = []
    for character, motion in zip(characters, motions, strict=True):
        desired = np.linalg.norm(run.commanded_velocities[character, : len(motion)], axis=-1)
        found.append(idle_speeds(motion, desired))
    speeds = np.concatenate(found)
    return float(speeds.mean() / idle) if speeds.size else None


def idle_speeds(motion: MeasuredMotion, desired: Array) -> Array:
    """(seconds,) m/s: mean joint speed in each second in which a body stands as it should.

    Parameters
    ----------
    desired : (frames,)
        m/s of the goal.
    """
    fps, limit = motion.fps, motion.standing_speed
    stands = (seconds_of(desired, fps) < AT_REST_M_S) & (seconds_of(motion.speeds, fps) < limit)
    return seconds_of(motion.pose_speeds.mean(axis=1), fps)[stands]


def _jumps(
    run: Run, characters: list[int], motions: list[MeasuredMotion], data: Mapping[str, Any]
) -> dict[str, float]:
    """The measures of transitions; none if the runner has no transitions, or made none."""
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
        "jumps_per_s": float(np.concatenate(jumped).sum() * run.fps / len(blended)),
        "playing_on": float(1.0 - blended.mean()),
        "longest_s": float(max(stretches) / run.fps),
    }
    if not blended.any():
        return measures
    measures["jump_jerk"] = float(jerk[blended].mean())
    measures["jump_acceleration"] = float(acceleration[blended].max())
    if "usual_acceleration" in data:
        over = acceleration[blended] > data["usual_acceleration"]
        measures["over_usual"] = float(over.mean())
    if "jump_distance" in run.tracks:
        measures["alignment"] = float(run.tracks["jump_distance"][run.jumped].mean())
    return measures


def _mean_over(values: list[Array]) -> float:
    return float(np.concatenate(values).mean())
