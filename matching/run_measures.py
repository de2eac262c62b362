"""What a run is worth, beside the data that it is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.evaluation.runs import (
    contact_speeds,
    foot_skating,
    joint_accelerations,
    joint_jerks,
    near,
    pose_distances,
)
from deepphase.motion.kinematics import joint_positions
from deepphase.steering.path import Path
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.run import Run
from matching.transitions import FELT_S

Array = np.ndarray

_SAMPLED_CLIPS = 80


@dataclass(frozen=True)
class DataMeasures:
    """The same quantities of captured motion, on clips spread over a database.

    Parameters
    ----------
    usual_acceleration
        m/s^2: 99.9th percentile over frames of the fastest-changing joint's acceleration.
    jerk
        m/s^3: mean over frames and joints.
    largest_contact_speed, mean_contact_speed
        m/s over the ground of feet in contact.
    """

    usual_acceleration: float
    jerk: float
    largest_contact_speed: float
    mean_contact_speed: float

    @classmethod
    def of_database(cls, database: MotionDatabase, playback: Playback) -> DataMeasures:
        """Measure some clips of a database, without what stands above their hips."""
        count = len(database.clip_names)
        spread = np.linspace(0, count - 1, min(count, _SAMPLED_CLIPS))
        chosen = np.unique(spread.round().astype(int))
        jerks, speeds = [], []
        for index in chosen.tolist():
            positions = joint_positions(database.clip(index).in_order_of(playback.skeleton))
            if len(positions) < 4:
                continue
            here = slice(int(database.range_starts[index]), int(database.range_stops[index]))
            jerks.append(joint_jerks(positions[:, playback.body], playback.fps))
            tips = positions[:, playback.limbs.tips]
            speeds.append(contact_speeds(tips, playback.contacts[here], playback.fps))
        speed = np.concatenate(speeds) if speeds else np.zeros(0)
        return cls(
            playback.usual_acceleration,
            float(np.concatenate(jerks).mean()),
            float(speed.max(initial=0.0)),
            float(speed.mean()) if speed.size else 0.0,
        )


@dataclass(frozen=True)
class RunMeasures:
    """Measures of a run, over all its characters.

    Parameters
    ----------
    path_error, largest_path_error
        Metres from the root to the nearest place on the path, mean and largest; None where there
        was no path.
    skating
        Mean speed over the ground of feet in contact, over the data's largest.
    contact_speed
        m/s: the same mean, as it is.
    jump_jerk, jerk
        m/s^3: mean over joints, within 0.1 s of jumps, and over all frames.
    jump_acceleration
        m/s^2: the largest within 0.1 s of jumps.
    over_usual
        Share of those frames above the data's 99.9th percentile.
    alignment
        Metres: mean distance of corresponding joints between the pose that played and the one
        that was jumped to.
    jumps_per_s
        Jumps of a character in a second.
    playing_on
        Share of time that no blend is felt: more than 0.1 s after a jump.
    longest_s
        Seconds: the longest stretch without a jump.
    """

    path_error: float | None
    largest_path_error: float | None
    skating: float
    contact_speed: float
    jump_jerk: float
    jerk: float
    jump_acceleration: float
    over_usual: float
    alignment: float
    jumps_per_s: float
    playing_on: float
    longest_s: float


def run_measures(
    run: Run, playback: Playback, data: DataMeasures, path: Path | None, origins: Array
) -> RunMeasures:
    """Measure a run.

    Parameters
    ----------
    path
        That was followed; None where a stick was.
    origins
        (characters, 2) metres: where each character's path begins.
    """
    body, fps = playback.body, run.fps
    felt = round(FELT_S * fps)
    accelerations, jerks, at_jumps, speeds, away, stretches = [], [], [], [], [], []
    for character in range(run.characters):
        positions = joint_positions(run.clip(playback, character))
        accelerations.append(joint_accelerations(positions[:, body], fps))
        jerks.append(joint_jerks(positions[:, body], fps))
        at_jumps.append(near(run.jumped[character], felt))
        tips = positions[:, playback.limbs.tips]
        speeds.append(contact_speeds(tips, playback.contacts[run.rows[character]], fps))
        if path is not None:
            away.append(path.distances(run.positions[character] - origins[character]))
        jumps = np.flatnonzero(run.jumped[character])
        stretches.append(np.diff([0, *jumps.tolist(), len(run)]).max())
    acceleration, jerk = np.concatenate(accelerations), np.concatenate(jerks)
    jumping, speed = np.concatenate(at_jumps), np.concatenate(speeds)
    seconds = run.characters * len(run) / fps
    largest = data.largest_contact_speed
    return RunMeasures(
        path_error=float(np.mean(away)) if away else None,
        largest_path_error=float(np.max(away)) if away else None,
        skating=foot_skating(speed, largest) if largest > 0 else 0.0,
        contact_speed=float(speed.mean()) if speed.size else 0.0,
        jump_jerk=float(jerk[jumping].mean()) if jumping.any() else 0.0,
        jerk=float(jerk.mean()),
        jump_acceleration=float(acceleration[jumping].max(initial=0.0)),
        over_usual=float((acceleration[jumping] > data.usual_acceleration).mean())
        if jumping.any()
        else 0.0,
        alignment=_alignment(run, playback),
        jumps_per_s=float(run.jumped.sum() / seconds),
        playing_on=float(1.0 - jumping.mean()),
        longest_s=float(max(stretches) / fps),
    )


def _alignment(run: Run, playback: Playback) -> float:
    """Metres between the poses on both sides of jumps; 0 without jumps."""
    characters, frames = np.nonzero(run.jumped)
    later = frames > 0
    characters, frames = characters[later], frames[later]
    if not frames.size:
        return 0.0
    # The row that was found stands for the frame before the first one that plays of it.
    left, found = run.rows[characters, frames - 1], run.rows[characters, frames] - 1
    poses = [
        playback.positions(playback.rotations[rows], playback.translations[rows])
        for rows in (left, found)
    ]
    return float(pose_distances(*poses).mean())
