"""The judge on synthetic gaits: equal motion is not told apart, falsified motion is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from deepphase.apps.reports.page import write_table
from deepphase.errors import ParameterError
from deepphase.synthetic.gait_motion import locomotion
from tests.studies.motion_classifier.__main__ import takes_of
from tests.studies.motion_classifier.falsified import FALSIFIED
from tests.studies.motion_classifier.judge import told_apart
from tests.studies.motion_classifier.windows import windows_of

pytestmark = pytest.mark.slow


def _walks(seeds):
    return [locomotion(seed, 6.0, variety=0.0, profile="drift").clip for seed in seeds]


# A few walks that are played in several files each.
PLAYED = list(enumerate(_walks(range(20, 26))))


def _mean(captured, judged):
    seeds = range(4)
    return np.mean([_verdict(captured, judged, seed=seed).accuracy for seed in seeds])


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


def test_takes_that_are_played_again_give_nothing_away(captured, tmp_path):
    walks = [replace(walk, name=f"run-{run}-{n}") for run in range(6) for n, walk in PLAYED]
    for walk in walks:
        take = f"walk {walk.name[-1]} mirrored"
        rows = [["time_s", "clip"], *([0, take] for _ in range(len(walk)))]
        write_table(tmp_path / f"{walk.name}.frames.csv", rows[0], rows[1:])
    by_take = windows_of(walks, [takes_of(walk, tmp_path) for walk in walks])
    assert set(by_take.takes) == {f"walk {n}" for n, _ in PLAYED}
    assert _mean(captured, by_take) < 0.6
    # By their files, most windows of the test are in the training, too.
    assert _mean(captured, windows_of(walks)) > 0.7


@pytest.mark.parametrize("name", FALSIFIED)
def test_falsified_takes_are_told_apart(captured, name):
    judged = windows_of(map(FALSIFIED[name], _walks(range(20, 32))))
    assert _verdict(captured, judged).accuracy > 0.9


def test_one_clip_or_other_speeds_are_refused(captured):
    with pytest.raises(ParameterError, match="one clip"):
        told_apart(captured, captured.rows(captured.takes == captured.takes[0]))
    fast = captured.rows(np.ones(len(captured), bool))
    with pytest.raises(ParameterError, match="both sets"):
        told_apart(captured, type(fast)(**(vars(fast) | {"speeds": fast.speeds + 40.0})))
