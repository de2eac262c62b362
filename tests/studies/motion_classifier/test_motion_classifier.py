"""The judge on synthetic gaits: equal motion is not told apart, falsified motion is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.synthetic.gait_motion import locomotion
from tests.studies.motion_classifier.falsified import FALSIFIED
from tests.studies.motion_classifier.judge import told_apart
from tests.studies.motion_classifier.windows import windows_of

pytestmark = pytest.mark.slow


def _walks(seeds):
    return [locomotion(seed, 6.0, variety=0.0, profile="drift").clip for seed in seeds]


_verdict = partial(told_apart, trees=50)


@pytest.fixture(scope="module")
def captured():
    return windows_of(_walks(range(12)))


def test_other_takes_of_the_same_gait_are_not_told_apart(captured):
    verdict = _verdict(captured, windows_of(_walks(range(20, 32))))
    assert verdict.accuracy < 0.65
    assert verdict.covered > 0.5
    assert set(verdict.by_group) == {"dynamics", "feet", "posture"}


def test_the_place_in_the_world_gives_nothing_away(captured):
    far = np.array([16.0, 0.0, -8.0], np.float32)
    walks = [replace(clip, translations=clip.translations + far) for clip in _walks(range(20, 32))]
    assert _verdict(captured, windows_of(walks)).accuracy < 0.65


@pytest.mark.parametrize("name", FALSIFIED)
def test_falsified_takes_are_told_apart(captured, name):
    judged = windows_of(map(FALSIFIED[name], _walks(range(20, 32))))
    assert _verdict(captured, judged).accuracy > 0.9


def test_one_clip_or_other_speeds_are_refused(captured):
    with pytest.raises(ParameterError, match="one clip"):
        told_apart(captured, captured.rows(captured.clips == 0))
    fast = captured.rows(np.ones(len(captured), bool))
    with pytest.raises(ParameterError, match="both sets"):
        told_apart(captured, type(fast)(**(vars(fast) | {"speeds": fast.speeds + 40.0})))
