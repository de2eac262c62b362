"""Answers to changes of a label, against poses made to change at known times."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.runtime.characters import Characters
from deepphase.evaluation.label_discriminants import LabelDiscriminants
from deepphase.evaluation.measure import measure, values_by_name
from deepphase.evaluation.motion_measures import measured_data
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion, perform
from deepphase.synthetic.program import Segment
from tests.controllers.replaying import replay_of

FPS = 60.0


def poses(kind, seconds, seed=0):
    """Two joints; the second is higher by the kind, and both swing."""
    time = np.arange(round(seconds * FPS)) / FPS
    swing = 0.1 * np.sin(2 * np.pi * time)[:, None] * [1.0, 0.0, 0.5]
    noise = 0.01 * np.random.default_rng(seed).standard_normal((len(time), 2, 3))
    made = noise + swing[:, None]
    made[:, 1, 1] += kind
    return made


@pytest.fixture(scope="module")
def discriminants():
    made = [poses(kind, 5.0, seed) for seed, kind in enumerate((0.0, 0.2, 0.4))]
    return LabelDiscriminants.of_poses(made, ["low", "middle", "high"], FPS)


def test_frames_of_the_data_are_told_apart(discriminants):
    assert discriminants.values == ("high", "low", "middle")
    assert discriminants.accuracy > 0.99


@pytest.mark.parametrize("late_s", [0.0, 0.5, 1.2])
def test_the_answer_comes_when_the_pose_changes(discriminants, late_s):
    desired = np.repeat(["low", "high"], [120, 180])
    late = round(late_s * FPS)
    run = np.concatenate([poses(0.0, 2.0 + late_s), poses(0.4, 3.0, 5)])[: len(desired)]
    (answer,) = discriminants.answers_s(run, desired, FPS)
    assert answer == pytest.approx(late / FPS, abs=0.1)


def test_a_change_that_never_comes_is_infinite_and_one_to_an_unknown_value_is_left_out(
    discriminants,
):
    desired = np.repeat(["low", "high", "other"], [120, 120, 120])
    assert discriminants.answers_s(poses(0.0, 6.0), desired, FPS) == [float("inf")]


def test_the_next_change_ends_the_time(discriminants):
    desired = np.repeat(["low", "high", "low"], [120, 60, 120])
    run = np.concatenate([poses(0.0, 3.2), poses(0.4, 1.8)])
    assert discriminants.answers_s(run, desired, FPS)[0] == float("inf")


def test_values_survive_the_header(discriminants):
    again = LabelDiscriminants.from_mapping(discriminants.as_mapping())
    desired = np.repeat(["low", "middle"], [120, 120])
    run = np.concatenate([poses(0.0, 2.0), poses(0.2, 2.0)])
    assert again.answers_s(run, desired, FPS) == discriminants.answers_s(run, desired, FPS)
    assert again.accuracy == discriminants.accuracy


def test_one_value_has_no_discriminants():
    assert LabelDiscriminants.of_poses([poses(0.0, 1.0)], ["low"], FPS) is None


def test_a_run_is_measured_by_when_it_walks_and_jogs_as_desired():
    gaits = {
        name: locomotion(3, 6.0, gait=name, profile="constant").clip for name in ("walk", "jog")
    }
    clips = [replace(clip, name=name, labels={"gait": name}) for name, clip in gaits.items()]
    program = [Segment("walk", 4.0), Segment("jog", 4.0)]
    clip = perform(program, 5).clip
    controller, starts, _ = replay_of(clip, "nn", [60, 60])
    data = measured_data(clips, controller.schema, "gait")
    assert data["labels"]["accuracy"] > 0.95
    run = rollout(Characters(controller, starts), None, 5.0)
    # The clip begins to change after 3 s of the run, for a second and a half.
    desired = np.tile(np.repeat(["walk", "jog"], [180, 120]), (2, 1))
    desired[1] = "walk"
    measured = values_by_name(measure(replace(run, tracks={"desired_label": desired}), data))
    assert 0.2 < measured["label_s"] < 1.5
    assert "label_s" not in values_by_name(measure(run, data))
    never = np.tile(np.repeat(["jog", "walk"], [180, 120]), (2, 1))
    measured = values_by_name(measure(replace(run, tracks={"desired_label": never}), data))
    assert measured["label_s"] == 0.0
    assert "labels" not in measured_data(clips, controller.schema)
