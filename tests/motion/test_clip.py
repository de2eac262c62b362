"""Clips: what they refuse, reordering, crossing to another process."""

import pickle

import numpy as np
import pytest

from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.skeleton import Skeleton
from tests.formula_motion import swinging


def test_pickling_keeps_everything():
    clip, _ = swinging(1.0, 1.0)
    clip = Clip(clip.skeleton, clip.rotations, clip.translations, clip.fps, labels={"style": "old"})
    again = pickle.loads(pickle.dumps(clip))
    np.testing.assert_array_equal(again.rotations, clip.rotations)
    assert again.labels == {"style": "old"}
    assert again.skeleton.names == clip.skeleton.names


def test_another_order_of_joints_is_the_same_motion():
    clip, _ = swinging(1.0, 1.0)
    body = clip.skeleton
    order = np.array([0, 7, 12, 10, 11, 8, 9, 4, 5, 6, 1, 2, 3])
    place = np.argsort(order)
    shuffled = Skeleton(
        tuple(body.names[joint] for joint in order),
        np.array([-1 if body.parents[j] < 0 else place[body.parents[j]] for j in order]),
        body.offsets[order],
    )
    other = clip.in_order_of(shuffled)
    np.testing.assert_allclose(joint_positions(other)[:, place], joint_positions(clip), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fps": 0.0}, "frames a second"),
        ({"fps": float("nan")}, "frames a second"),
        ({"translations": np.zeros((60, 2, 3))}, "translations"),
        ({"rotations": np.zeros((60, 13, 4))}, "quaternion of length 0"),
        ({"rotations": np.full((60, 13, 4), np.nan)}, "not finite"),
        ({"translated_joints": np.array([1])}, "rise from the root"),
        ({"translated_joints": np.array([99])}, "root"),
    ],
)
def test_what_does_not_fit_is_refused(change, words):
    clip, _ = swinging(1.0, 1.0)
    values = {
        "skeleton": clip.skeleton,
        "rotations": clip.rotations,
        "translations": clip.translations,
        "fps": clip.fps,
    }
    with pytest.raises(ParameterError, match=words):
        Clip(**(values | change))


@pytest.mark.parametrize(
    ("names", "parents", "words"),
    [
        ((), [], "without joints"),
        (("a", "a"), [-1, 0], "occur twice"),
        (("a", "b"), [0, 0], "root"),
        (("a", "b", "c"), [-1, 2, 0], "before its parent"),
        (("a", "b"), [-1, -1], "before its parent"),
    ],
)
def test_what_is_no_tree_is_refused(names, parents, words):
    with pytest.raises(SkeletonError, match=words):
        Skeleton(names, np.array(parents), np.zeros((len(names), 3)))
