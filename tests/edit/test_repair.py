"""Repair of clips: what is found, what stays, and what comes back."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.edit.curves import bridged
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.missing import NOISY
from deepphase.edit.repair import repaired
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.skeleton import Skeleton
from deepphase.shipped import SHIPPED
from deepphase.synthetic.gait_motion import locomotion
from tests.formula_motion import NAMES, swinging
from tests.studies.repair import interpolated

pytestmark = pytest.mark.slow


def walk(fps: float = 60.0, rate: float = 1.15):
    return swinging(rate, 4.0, fps, seed=3)[0]


def without(clip, joint: str, frames=slice(None)):
    """The clip with a joint at rest, as where its data was lost."""
    rotations = clip.rotations.copy()
    rotations[frames, NAMES.index(joint)] = quaternions.IDENTITY
    return replace(clip, rotations=rotations)


def error(made, true, which=slice(None)) -> float:
    return float(
        np.linalg.norm(joint_positions(made) - joint_positions(true), axis=-1)[which].mean()
    )


def stepped(clip, every: int):
    held = np.arange(len(clip)) // every * every
    return replace(clip, rotations=clip.rotations[held], translations=clip.translations[held])


def noisy(clip, joint: str, frames: slice, degrees: float):
    rotations = clip.rotations.copy()
    index = clip.skeleton.index(joint)
    vectors = np.radians(degrees) * np.random.default_rng(0).standard_normal((len(clip), 3))
    turned = quaternions.multiply(rotations[:, index], Rotation.from_rotvec(vectors).as_quat())
    rotations[frames, index] = turned[frames]
    return replace(clip, rotations=rotations)


@pytest.mark.parametrize("fps", [30.0, 60.0, 120.0])
def test_whole_clips_are_left_alone(editor, fps):
    clip = walk(fps)
    damage = find_damage(clip, editor)
    assert not damage.any, damage.findings
    assert repaired(clip, editor, damage) is clip
    assert repaired(clip) is clip


def test_stepped_keys_are_found_and_smoothed(editor):
    clip = walk()
    given = stepped(clip, 12)
    damage = find_damage(given, editor)
    inner = slice(0, 216)  # after the last key the clip's end is not known
    assert (damage.known[inner].max(axis=1) > 0).tolist() == [i % 12 == 0 for i in range(216)]
    made = repaired(given, editor, damage)
    assert error(made, clip, inner) < 0.5 * error(given, clip, inner)
    np.testing.assert_array_equal(made.rotations[::12], clip.rotations[::12])


def test_pauses_are_not_dropped_frames(editor):
    clip = walk()
    # A body that slows down, stands still and moves on.
    speed = np.clip(np.abs(np.linspace(-1.5, 1.5, len(clip))) - 0.25, 0, 1)
    from deepphase.motion.resample import at_frames

    paused = at_frames(clip, np.cumsum(speed))
    assert not find_damage(paused, editor).any


def test_missing_joint_is_found_and_comes_back(editor):
    clip = walk()
    given = without(clip, "LeftUpLeg")
    damage = find_damage(given, editor)
    assert damage.findings == ("LeftUpLeg does not turn in the whole clip",)
    made = repaired(given, editor, damage)
    assert error(made, clip) < 0.5 * error(given, clip)
    others = [joint for joint, name in enumerate(NAMES) if name != "LeftUpLeg"]
    np.testing.assert_array_equal(made.rotations[:, others], given.rotations[:, others])
    np.testing.assert_array_equal(made.translations, given.translations)


def test_noise_is_found_where_it_is(editor):
    clip = walk()
    given = noisy(clip, "RightArm", slice(80, 160), 12.0)
    damage = find_damage(given, editor)
    column = NAMES.index("RightArm") + 1
    assert (damage.known[:, column] == NOISY)[85:155].all()
    assert (np.delete(damage.known, column, axis=1) == 1).all()
    assert (damage.known[:60] == 1).all()
    made = repaired(given, editor, damage)
    assert error(made, clip) < 0.5 * error(given, clip)


def test_the_shipped_editor_finds_noise_of_two_degrees():
    editor, clip = MotionEditor.load(SHIPPED["editor"].path), locomotion(5, 4.0).clip
    column = editor.space.joints.index("Neck") + 1
    found = find_damage(noisy(clip, "Neck", slice(60, 150), 2.0), editor).known[:, column]
    assert (found[65:145] == NOISY).all()
    assert (find_damage(clip, editor).known[:, column] == 1).all()


def test_livelier_movement_is_said_and_left(editor):
    clip = walk(rate=1.15)
    joint = NAMES.index("LeftArm")
    rotations = clip.rotations.copy()
    # A shake at 4 Hz, livelier than all training clips and smooth.
    shake = 0.6 * np.sin(2 * np.pi * 4 * np.arange(len(clip)) / clip.fps)[:, None] * [0, 0, 1]
    rotations[:, joint] = quaternions.multiply(
        rotations[:, joint], Rotation.from_rotvec(shake).as_quat()
    )
    shaken = replace(clip, rotations=rotations)
    damage = find_damage(shaken, editor)
    assert not damage.any
    assert damage.findings[0].startswith("livelier than in the editor's training clips")
    assert repaired(shaken, editor) is shaken


def test_a_body_that_hangs_from_a_root_keeps_what_is_not_named():
    """The travel is on a joint above the hips, and joints are in another order."""
    clip, _ = swinging(1.15, 4.0, seed=3)
    root = np.pad(clip.skeleton.parents + 1, (1, 0))
    root[0] = -1
    travel = clip.translations[:, :1]
    joints = 1 + len(NAMES)
    turned = np.tile(Rotation.from_rotvec([0.0, 0.4, 0.0]).as_quat(), (len(clip), 1, 1))
    skeleton = Skeleton(
        ("Reference", *NAMES), root, np.pad(clip.skeleton.offsets, ((1, 0), (0, 0)))
    )
    hung = Clip(skeleton, np.concatenate([turned, clip.rotations], axis=1), travel, clip.fps)
    damage = Damage.stated(len(hung), NAMES, stretches=[(100, 140)])
    made = repaired(hung, None, damage)
    outside = np.r_[0:100, 141 : len(hung)]
    assert len(made.skeleton) == joints
    np.testing.assert_array_equal(made.rotations[outside], hung.rotations[outside])
    np.testing.assert_array_equal(made.local_positions()[outside], hung.local_positions()[outside])
    steps = np.linalg.norm(np.diff(joint_positions(made), axis=0), axis=-1).max(axis=1)
    assert steps[95:145].max() < 2.0 * steps[:95].max()


def test_a_second_of_another_rate_goes_on_in_its_cycle(editor):
    clip = walk(120.0)
    damage = Damage.stated(len(clip), NAMES, stretches=[(180, 299)])
    rotations = clip.rotations.copy()
    rotations[180:300] = quaternions.IDENTITY
    made = repaired(replace(clip, rotations=rotations), editor, damage)
    assert len(made) == len(clip)
    straight = interpolated(replace(clip, rotations=rotations), editor, damage)
    gap = slice(180, 300)
    assert error(made, clip, gap) < 0.2 * error(straight, clip, gap)
    # No jump at the edges of the gap.
    steps = np.linalg.norm(np.diff(joint_positions(made), axis=0), axis=-1).max(axis=1)
    assert steps[170:310].max() < 2.0 * steps[:170].max()


def test_single_lost_frames_follow_a_smooth_curve(editor):
    clip = walk()
    damage = Damage.stated(len(clip), NAMES, stretches=[(f, f) for f in range(5, 230, 7)])
    rotations = clip.rotations.copy()
    rotations[5:230:7] = quaternions.IDENTITY
    made = repaired(replace(clip, rotations=rotations), editor, damage)
    assert error(made, clip) < 1e-3


def test_bridged_values_continue_both_sides():
    times = np.linspace(0.0, 1.0, 61)[:, None]
    broken = np.zeros(61, bool)
    broken[20:40] = True
    result = bridged(np.sin(6 * times) + 0.4 + times, np.sin(6 * times), broken, 60.0)
    assert np.abs(np.diff(result, axis=0)).max() < 0.16
    assert np.abs(result - np.sin(6 * times)).max() < 0.05
    start = np.arange(61) < 10
    # At an end there is one neighbour, whose difference is kept.
    np.testing.assert_allclose(bridged(times + 3.0, times, start, 60.0), times, atol=1e-12)


def test_stated_damage_is_checked():
    with pytest.raises(SkeletonError, match="no joint 'Tail'"):
        Damage.stated(10, NAMES, joints=["Tail"])
    with pytest.raises(
        ParameterError, match="frames 4-12 are not in the clip, which has frames 0-9"
    ):
        Damage.stated(10, NAMES, stretches=[(4, 12)])
    with pytest.raises(ParameterError, match="the damage covers every joint of every frame"):
        Damage.stated(10, NAMES, stretches=[(0, 9)])
    known = Damage.stated(10, NAMES, joints=["Head"], stretches=[(2, 3)]).known
    assert np.argwhere(known == 0).tolist() == [[2, NAMES.index("Head") + 1], [3, 13]]
