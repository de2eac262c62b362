"""Kinds of moments of bodies that stand, walk, wave and bow by formula."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.features.feature import BodyFrames
from deepphase.features.moment_kinds import KINDS, moment_kinds
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton
from tests.formula_motion import NAMES, body, swinging

FPS = 60.0


def posed(turns, seconds=8.0, travel=None, size=1.0):
    """A body whose joints turn about X by name -> radians (frames,), breathing a little."""
    frames = round(seconds * FPS)
    times = np.arange(frames) / FPS
    vectors = np.zeros((frames, len(NAMES), 3))
    vectors[:, NAMES.index("Chest"), 0] = 0.01 * np.sin(2 * np.pi * 0.25 * times)
    for name, values in turns.items():
        vectors[:, NAMES.index(name), 0] = values
    rotations = Rotation.from_rotvec(vectors.reshape(-1, 3)).as_quat().reshape(frames, -1, 4)
    roots = np.zeros((frames, 1, 3))
    roots[:, 0, 1] = 0.95
    roots[:, 0, 2] = 0.0 if travel is None else travel
    skeleton = body()
    skeleton = Skeleton(NAMES, skeleton.parents, size * skeleton.offsets)
    return Clip(skeleton, rotations, size * roots, FPS, np.array([0]), name="posed")


def kinds_of(clip):
    return moment_kinds(clip, BodyFrames.from_clip(clip))


def only(clip):
    """The kind of all frames."""
    (kind,) = np.unique(kinds_of(clip))
    return KINDS[kind]


TIMES = np.arange(480) / FPS
# An arm that hangs, is raised over the head, waves for two seconds and hangs again.
RAISED = np.interp(TIMES, [0, 2.0, 2.5, 4.5, 5.0, 8.0], [0, 0, -2.6, -2.6, 0, 0])
WAVING = RAISED + np.where((TIMES > 2.5) & (TIMES < 4.5), 0.4 * np.sin(2 * np.pi * 2 * TIMES), 0)
BOWING = np.interp(TIMES, [0, 2.0, 2.8, 4.2, 5.0, 8.0], [0, 0, 0.9, 0.9, 0, 0])


@pytest.mark.parametrize("size", [0.4, 1.0, 3.0])
def test_a_standing_body_is_idle_and_a_walking_one_in_locomotion(size):
    assert only(posed({}, size=size)) == "idle"
    # Froude: a body of another size walks alike at a speed that grows with the root of its size.
    walking, _ = swinging(np.sqrt(1 / size))
    skeleton = walking.skeleton
    walking = Clip(
        Skeleton(NAMES, skeleton.parents, size * skeleton.offsets),
        walking.rotations,
        size * walking.translations,
        FPS,
        walking.translated_joints,
    )
    travelled = walking.translations.copy()
    travelled[:, 0, 2] /= np.sqrt(size)
    assert only(replace(walking, translations=travelled)) == "locomotion"


@pytest.mark.parametrize("turns", [{"RightArm": WAVING}, {"Chest": BOWING}], ids=["wave", "bow"])
def test_a_gesture_while_standing_is_an_action_for_as_long_as_it_lasts(turns):
    kinds = kinds_of(posed(turns))
    seconds = np.flatnonzero(kinds == KINDS.index("action")) / FPS
    assert 1.2 < seconds.min() < 2.1
    assert 4.7 < seconds.max() < 5.8
    # Without a gap: an arm held up, or a bow held, goes on with the action.
    assert len(seconds) == round((seconds.max() - seconds.min()) * FPS) + 1
    assert (kinds[kinds != KINDS.index("action")] == KINDS.index("idle")).all()


def test_a_blow_with_a_step_is_an_action():
    # One step forward of 0.5 m, the arm swung about faster than any walk swings it.
    step = np.interp(TIMES, [0, 2.5, 3.2, 8.0], [0, 0, 0.5, 0.5])
    blow = np.interp(TIMES, [0, 2.4, 2.8, 3.0, 3.6], [0, 0, -2.8, 0.6, 0])
    kinds = kinds_of(posed({"RightArm": blow}, travel=step))
    assert set(kinds[(TIMES > 2.4) & (TIMES < 3.2)]) == {KINDS.index("action")}
    assert KINDS.index("locomotion") not in kinds


def test_arms_over_the_head_are_an_action_of_a_walking_body():
    walking, _ = swinging(1.0)
    rotations = walking.rotations.copy()
    for arm in ("LeftArm", "RightArm"):
        rotations[:, NAMES.index(arm)] = Rotation.from_rotvec([3.0, 0, 0]).as_quat()
    assert only(replace(walking, rotations=rotations)) == "action"


def held(**angles):
    """A pose that is held, by joint name -> radians about X."""
    return posed({name: np.full(480, angle) for name, angle in angles.items()})


@pytest.mark.parametrize(
    "angles",
    [
        {"LeftArm": -1.2},
        {"Hips": 0.6, "LeftUpLeg": -0.6, "RightUpLeg": -0.6},
        {"LeftUpLeg": 0.6, "RightUpLeg": -0.6},
        {"Hips": 1.1} | dict.fromkeys(("LeftUpLeg", "RightUpLeg"), -2.2),
    ],
    ids=["an arm held out", "a bow", "a lunge", "bent over, with bent legs"],
)
def test_a_pose_that_is_held_is_no_rest(angles):
    assert only(held()) == "idle"
    assert only(held(**angles)) == "action"


def test_a_body_on_the_floor_sits_or_lies():
    assert only(held(LeftUpLeg=-1.5, RightUpLeg=-1.5)) == "sitting"
    assert only(held(Hips=-1.5)) == "lying"


def test_a_jump_is_an_action_and_the_flight_of_a_run_is_not():
    walking, _ = swinging(1.0)
    times = np.arange(len(walking)) / FPS
    heights = np.where(np.abs(times - 3.0) < 0.25, 1.0 - (4.0 * (times - 3.0)) ** 2, 0.0)
    for height, actions in ((0.08, 0.0), (0.3, 0.5)):
        translations = walking.translations.copy()
        translations[:, 0, 1] += height * heights
        kinds = kinds_of(replace(walking, translations=translations))
        assert (kinds[(times > 2.6) & (times < 3.4)] == 2).mean() >= actions
        assert (kinds == 2).any() == (actions > 0)


def test_the_label_kind_sets_the_kind():
    waving = posed({"RightArm": WAVING})
    assert only(replace(waving, labels={"kind": "locomotion"})) == "locomotion"
    unknown = replace(waving, labels={"kind": "greeting"})
    np.testing.assert_array_equal(kinds_of(unknown), kinds_of(waving))
