"""Dances of which a passage is danced again: what stays, and how the parts join."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.dances.redanced import redanced
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.kinematics import joint_positions
from deepphase.synthetic.gait_motion import locomotion


@pytest.fixture(scope="module")
def walk():
    return locomotion(1, 10.0, gait="walk", turn_rate=0.4).clip


@pytest.fixture(scope="module")
def jog():
    return locomotion(2, 4.0, gait="jog", turn_rate=-0.5).clip


def test_the_rest_stays_and_parts_join_without_a_jump(walk, jog):
    joined = redanced(walk, 120, jog)
    assert (len(joined), joined.name) == (len(walk), walk.name)
    before, after = joint_positions(walk), joint_positions(joined)
    np.testing.assert_allclose(after[:120], before[:120], atol=1e-6)
    # No joint is faster at a join than the parts are.
    steps = np.linalg.norm(np.diff(after, axis=0), axis=-1)
    usual = max(
        np.linalg.norm(np.diff(each, axis=0), axis=-1).max()
        for each in (before, joint_positions(jog))
    )
    assert steps.max() < 1.3 * usual
    # What follows is the same motion, elsewhere: once joined, joints lie to each other as before.
    settled = 120 + len(jog) + 150
    for frames in (before, after):
        frames -= frames[:, :1]
    np.testing.assert_allclose(
        np.linalg.norm(after[settled:], axis=-1),
        np.linalg.norm(before[settled:], axis=-1),
        atol=1e-3,
    )
    # The passage is the other motion.
    inside = slice(120 + 150, 120 + len(jog))
    other = joint_positions(jog)[150:]
    other -= other[:, :1]
    np.testing.assert_allclose(
        np.linalg.norm(after[inside], axis=-1), np.linalg.norm(other, axis=-1), atol=5e-3
    )


def test_a_passage_may_be_the_beginning_or_the_end(walk, jog):
    whole = redanced(walk, 0, jog)
    np.testing.assert_allclose(joint_positions(whole)[0], joint_positions(jog)[0], atol=1e-6)
    end = redanced(walk, len(walk) - 30, jog)
    assert len(end) == len(walk)


def test_what_does_not_belong_to_the_dance_is_refused(walk, jog):
    with pytest.raises(ParameterError, match="not in the dance"):
        redanced(walk, len(walk), jog)
    renamed = replace(jog.skeleton, names=tuple(f"x{name}" for name in jog.skeleton.names))
    with pytest.raises(SkeletonError):
        redanced(walk, 0, replace(jog, skeleton=renamed))
