"""Motion between clips and between keys."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.edit.curves import Cycle, continued, points_in_root_space
from deepphase.edit.inbetween import between_keys, in_between
from deepphase.edit.motion_rows import MotionSpace
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import joint_positions
from deepphase.synthetic import locomotion
from tests.formula_motion import swinging

pytestmark = pytest.mark.slow


def walk():
    return swinging(1.15, 4.0, seed=3)[0]


def test_both_clips_stay_and_the_motion_between_is_near_the_true_one(editor):
    clip = walk()
    first, second = clip.sliced(0, 100), clip.sliced(130, 240)
    made = in_between(first, second, 31 / 60, editor)
    assert len(made) == len(clip)
    whole = np.r_[0:100, 130:240]
    np.testing.assert_allclose(
        joint_positions(made)[whole], joint_positions(clip)[whole], atol=1e-6
    )
    apart = np.linalg.norm(joint_positions(made) - joint_positions(clip), axis=-1)[100:130].mean()
    # The chords between the poses at both ends, for comparison.
    share = np.linspace(0, 1, 32)[1:-1, None, None]
    ends = joint_positions(clip)[[99, 130]]
    straight = ends[0] + share * (ends[1] - ends[0])
    assert apart < 0.7 * np.linalg.norm(straight - joint_positions(clip)[100:130], axis=-1).mean()
    bones = np.linalg.norm(made.local_positions()[:, 1:], axis=-1)
    assert np.ptp(bones, axis=0).max() < 1e-9


def test_a_clip_of_another_rate_and_a_pose_are_joined(editor):
    clip = walk()
    pose = swinging(1.15, 4.0, 30.0, seed=3)[0].sliced(90, 91)
    made = in_between(clip.sliced(0, 120), pose, 0.5, editor)
    assert made.fps == 60.0
    assert len(made) == 120 + 29 + 1
    np.testing.assert_allclose(joint_positions(made)[-1], joint_positions(pose)[0], atol=1e-6)


def test_a_clip_from_elsewhere_follows_the_path_of_the_first(editor):
    clip = walk()
    first, second = clip.sliced(0, 100), clip.sliced(130, 240)
    turn = np.array([0.0, np.sin(0.6), 0.0, np.cos(0.6)])
    rotations, translations = second.rotations.copy(), second.translations.copy()
    rotations[:, 0] = quaternions.multiply(turn[None], rotations[:, 0])
    translations[:, 0] = quaternions.rotate(turn[None], translations[:, 0])
    translations[:, 0] += [3.0, 0.0, -2.0]
    elsewhere = replace(second, rotations=rotations, translations=translations)
    made = in_between(first, elsewhere, 31 / 60, editor, follow=True)
    # The body travels straight at one speed, so that it comes to its own place again.
    apart = np.linalg.norm(joint_positions(made) - joint_positions(clip), axis=-1)
    assert apart[130:].max() < 0.05
    assert apart[:100].max() < 1e-6


def test_keys_stay_at_their_times(editor):
    clip = walk()
    made = between_keys(clip, [10, 40, 100], editor)
    assert len(made) == 91
    np.testing.assert_allclose(
        made.rotations[[0, 30, 90]], clip.rotations[[10, 40, 100]], atol=1e-9
    )
    later = between_keys(clip, [10, 40, 100], editor, times=[0.0, 1.0, 2.5])
    assert len(later) == 151
    np.testing.assert_allclose(later.rotations[60], clip.rotations[40], atol=1e-9)


@pytest.mark.parametrize(
    ("keys", "times", "message"),
    [
        ([5], None, "two or more rising frames"),
        ([5, 5], None, "two or more rising frames"),
        ([5, 400], None, "the key at frame 400"),
        ([5, 9], [0.0, 0.0], "must rise by a frame"),
        ([5, 9], [0.0], "2 keys and 1 times"),
        ([5, 9], [0.0, 30.0], "at most 10 s"),
    ],
)
def test_impossible_keys_are_refused(editor, keys, times, message):
    with pytest.raises(ParameterError, match=message):
        between_keys(walk(), keys, editor, times=times)


@pytest.mark.parametrize("seconds", [0.0, -1.0, 11.0, float("nan")])
def test_impossible_durations_are_refused(editor, seconds):
    with pytest.raises(ParameterError, match="the time between the clips"):
        in_between(walk(), walk(), seconds, editor)


def test_a_cycle_that_drifts_is_entered_and_left_without_a_jump():
    clip, start, stop = locomotion(seed=3, seconds=6.0, profile="ramp").clip, 150, 210
    space = MotionSpace.from_clip(clip, clip.fps)
    clip = space.on_hips(clip)
    points, root = points_in_root_space(clip, space)
    whole = np.ones(len(clip), bool)
    whole[start:stop] = False
    cycle = Cycle.found(points, whole, start, stop, clip.fps)
    made = space.with_pose(clip, *continued(clip, space, root, cycle, start, stop))
    bends = np.diff(joint_positions(made), n=2, axis=0)
    edges = np.r_[start - 2 : start + 1, stop - 2 : stop + 1]
    usual = np.linalg.norm(np.diff(joint_positions(clip), n=2, axis=0), axis=-1).max()
    assert cycle.error > usual
    assert np.linalg.norm(bends[edges], axis=-1).max() < usual
