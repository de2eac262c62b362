"""A dance as it is shown: calm where the network trembles, its feet held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from controllers.character_feet import CharacterFeet
from controllers.character_pose import BodyPoses
from controllers.controller import Controller
from deepphase.motion import quaternions
from deepphase.motion.low_pass import low_passed
from deepphase.steering.run import Run

Array = np.ndarray


def finished(run: Run, controller: Controller, bandwidth_hz: float, feet: bool) -> Run:
    """A run without what is faster than the dances that were learnt from, forth and back in time.

    A network gives every frame anew, each a little beside the last: that trembling, to which no
    movement of the recorded dances belongs, is most of what its dances jerk more than those.

    Parameters
    ----------
    run
        Of characters whose feet were not held.
    bandwidth_hz
        As `DanceReference` has it.
    feet
        Whether feet in contact are held where they stand, afterwards.
    """
    calm = [
        low_passed(quaternions.sign_continuous(each.astype(np.float64)), bandwidth_hz, run.fps)
        for each in run.rotations
    ]
    rotations = quaternions.normalized(np.stack(calm)).astype(np.float32)
    translations = np.stack(
        [low_passed(each.astype(np.float64), bandwidth_hz, run.fps) for each in run.translations]
    ).astype(np.float32)
    if feet:
        poses = BodyPoses(controller.skeleton, controller.schema)
        held = CharacterFeet(controller.skeleton, controller.schema, run.characters)
        for frame in range(len(run)):
            # Changed in place.
            shown = rotations[:, frame].copy()
            local = poses.local_positions(translations[:, frame])
            held.hold(shown, local, run.contacts[:, frame], run.angles[:, frame], 1.0 / run.fps)
            rotations[:, frame] = shown
    return replace(run, rotations=rotations, translations=translations)
