"""Measures of rest on bodies that breathe and sway by formula, freeze, lean and wave."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d
from scipy.spatial.transform import Rotation

from deepphase.errors import ParameterError
from deepphase.features.moment_kinds import IDLE, clip_kinds
from deepphase.features.pose import BodyFrames
from deepphase.motion.clip import Clip
from tests.formula_motion import NAMES, body
from tests.studies.rest_measures import RestReference, rest_measures

FPS = 60.0
BODY = SimpleNamespace(joints=NAMES, feet=("LeftFoot", "RightFoot"), body={})


def resting(seed, seconds=20.0, sway=0.02, **angles):
    """A body that stands for some seconds: slow noise on all joints, and its own posture.

    `angles` are added, joint name -> radians about X.
    """
    generator = np.random.default_rng(seed)
    frames = round(seconds * FPS)
    noise = gaussian_filter1d(
        generator.standard_normal((frames + 400, len(NAMES), 3)), 30, axis=0, mode="wrap"
    )[200:-200]
    vectors = sway * noise / noise.std() + 0.03 * generator.standard_normal((1, len(NAMES), 3))
    for joint in ("Hips", "LeftUpLeg", "RightUpLeg", "LeftLeg", "RightLeg"):
        vectors[:, NAMES.index(joint)] *= 0.2
    for name, values in angles.items():
        vectors[:, NAMES.index(name), 0] += values
    rotations = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_quat().reshape(frames, -1, 4)
    heights = np.broadcast_to([0.0, 0.95, 0.0], (frames, 1, 3))
    return Clip(body(), rotations, heights, FPS, np.array([0]), name=f"rest {seed}")


def poses(*clips):
    return np.stack([BodyFrames.of_clip(clip).positions for clip in clips])


@pytest.fixture(scope="module")
def reference():
    clips = [resting(seed) for seed in range(8)]
    assert all((clip_kinds(clip) == IDLE).all() for clip in clips)
    return RestReference.of_clips(clips, BODY)


def test_captured_rest_has_no_fault(reference):
    measures = rest_measures(poses(resting(20), resting(21)), reference)
    assert measures.faults() == ()
    assert measures.variance == pytest.approx(1.0, abs=0.3)


def test_a_frozen_body_is_dead(reference):
    still = resting(22, sway=0.0)
    measures = rest_measures(poses(resting(20), still), reference)
    assert measures.dead == 0.5
    assert {"variance", "dead"} <= set(rest_measures(poses(still), reference).faults())


@pytest.mark.parametrize("degrees", [-10.0, 10.0])
def test_a_body_that_leans_from_the_ankles_is_found(reference, degrees):
    upright = rest_measures(poses(resting(20)), reference)
    leaning = rest_measures(poses(resting(20, Hips=np.radians(degrees))), reference)
    assert "lean_degrees" in leaning.faults()
    assert leaning.lean_degrees == pytest.approx(10.0, abs=4.0)
    assert leaning.distance > upright.distance


def test_a_gesture_is_far_from_rest(reference):
    times = np.arange(round(20.0 * FPS)) / FPS
    raised = np.interp(times % 5.0, [0, 0.5, 1.5, 2.0, 5.0], [0, -2.2, -2.2, 0, 0])
    measures = rest_measures(poses(resting(20, LeftArm=raised)), reference)
    assert {"distance", "variance"} <= set(measures.faults())


def test_a_loop_of_four_seconds_repeats_and_one_of_twelve_does_not(reference):
    for seconds, expected in ((4.0, 1.0), (12.0, 0.0)):
        loop = poses(resting(20, seconds=seconds))
        motion = np.concatenate([loop] * 5, axis=1)[:, : round(24 * FPS)]
        repeated = rest_measures(motion, reference).repeated
        assert repeated == pytest.approx(expected, abs=0.3)


def test_clips_without_rest_and_short_runs_are_refused(reference):
    held = resting(1, LeftArm=-1.2)
    with pytest.raises(ParameterError, match="no body of the clips stands at rest"):
        RestReference.of_clips([held], BODY)
    with pytest.raises(ParameterError, match=r"rest of 1\.0 s"):
        rest_measures(poses(resting(20))[:, :60], reference)
