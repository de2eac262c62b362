"""Measures of runs: those of a network that knows a clip by heart are the clip's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.errors import ParameterError
from deepphase.evaluation.captured_data import measured_data
from deepphase.evaluation.measurement import ObservedRun, travelling_speed, values_by_name
from deepphase.evaluation.motion_measures import MeasuredMotion
from deepphase.evaluation.run_measures import RUN_MEASURES, measure
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.replaying import replay_of

BEGIN, SECONDS = 90, 3.0
BARE = CharacterSettings(foot_ik=False)
# Straight ahead, and half a metre beside where the body goes.
BESIDE = GroundPath(np.array([0.0, 10.0]), np.array([[0.5, -5.0], [0.5, 20.0]]))


@pytest.fixture(scope="module")
def replayed():
    clip = locomotion(2, 6.0, speed=1.3).clip
    controller, starts, _ = replay_of(clip, "nn", [BEGIN])
    controller.data = measured_data([clip], controller.schema)
    run = rollout(Characters(controller, starts, settings=BARE), None, SECONDS)
    return clip, controller, run


class Found(dict):
    """Measures by name, None where a run does not have one."""

    __getattr__ = dict.get


def run_measures(run, data, path=None, origins=None, moving=None):
    if path is not None:
        origins = np.zeros((run.characters, 2)) if origins is None else origins
        run = replace(run, goals=PathGoals(path, origins))
    if moving is not None:
        commands = np.full((run.characters, len(run), 2), 9.0 if moving else 0.0)
        run = replace(run, commanded_velocities=commands)
    return Found(values_by_name(measure(run, data)))


def repeated(run, count):
    """The run of one character as that of several."""
    each = ("rotations", "translations", "positions", "angles", "contacts", "alive", "limb_errors")
    return replace(run, **{name: np.repeat(getattr(run, name), count, axis=0) for name in each})


def test_the_measures_of_a_clip_that_comes_back_are_its_own(replayed):
    clip, controller, run = replayed
    found = run_measures(run, controller.data)
    stop = BEGIN + 1 + round(SECONDS * 60)
    whole = MeasuredMotion(clip.sliced(BEGIN + 1, stop), controller.schema)
    assert found.joint_rotation == pytest.approx(whole.rotation_rates.mean(), rel=0.02)
    assert found.jerk == pytest.approx(whole.jerks.mean(), rel=0.05)
    assert found.speed == pytest.approx(whole.speeds.mean(), rel=0.01)
    assert found.found_contact_speed == pytest.approx(100 * whole.contact_speeds().mean(), abs=2)
    assert found.survived == 1.0
    assert found.frozen is found.path_error is found.clock_error is None


def test_a_path_beside_the_run_is_as_far_as_it_lies(replayed):
    _, controller, run = replayed
    found = run_measures(run, controller.data, path=BESIDE)
    assert found.path_error == pytest.approx(0.5, abs=0.1)
    moved = run_measures(run, controller.data, path=BESIDE, origins=np.array([[-0.5, 0.0]]))
    assert moved.path_error < 0.1
    desired = np.array(run.positions) + np.array([0.3, 0.4])
    at_clock = run_measures(replace(run, desired_positions=desired), controller.data, path=BESIDE)
    assert at_clock.clock_error == pytest.approx(0.5, abs=1e-6)


def test_sliding_of_the_data_is_that_at_the_same_speed(replayed):
    _, controller, run = replayed
    means = {**controller.data["by_speed"], "contact_speed": [0.0, 0.1] + 20 * [0.3, None]}
    for data, expected in (
        ({**controller.data, "by_speed": means}, 0.3),
        ({**controller.data, "by_speed": {}}, controller.data["mean_contact_speed"]),
    ):
        (found,) = [each for each in measure(run, data) if each.name == "contact_speed"]
        assert found.data == pytest.approx(100 * expected)


def test_a_body_that_glides_is_frozen_weak_and_skates(replayed):
    _, controller, run = replayed
    held = np.repeat(run.rotations[:, :1], len(run), axis=1)
    glides = replace(run, rotations=held, contacts=np.ones_like(run.contacts))
    found = run_measures(glides, controller.data, moving=True)
    assert found.frozen == 1.0
    assert found.joint_rotation == pytest.approx(0.0, abs=1e-3)
    assert found.contact_speed > 100.0
    assert found.skating > 1.0
    stands = replace(glides, translations=np.repeat(run.translations[:, :1], len(run), axis=1))
    still = run_measures(stands, controller.data, moving=True)
    assert still.frozen == 1.0
    assert still.contact_speed == pytest.approx(0.0, abs=1e-6)
    assert run_measures(run, controller.data, moving=True).frozen < 0.5
    assert run_measures(stands, controller.data, moving=False).frozen is None


def test_frames_after_a_death_do_not_count(replayed):
    _, controller, run = replayed
    alive = np.array(run.alive)
    alive[:, 60:] = False
    ruined = np.array(run.translations)
    ruined[:, 60:] += 100.0
    found = run_measures(replace(run, alive=alive, translations=ruined), controller.data)
    assert found.survived == pytest.approx(1 / 3)
    assert found.speed < 2.0
    with pytest.raises(ParameterError, match="no character lasted for 5 frames, which"):
        run_measures(replace(run, alive=np.zeros_like(alive)), controller.data)


def test_jumps_are_measured_where_there_are_some(replayed):
    _, controller, run = replayed
    assert run_measures(run, controller.data).jumps_per_s is None
    jumped = np.zeros(run.alive.shape, bool)
    jumped[:, [30, 150]] = True
    apart = np.where(jumped, 0.2, 0.0)
    jumping = replace(run, jumped=jumped, tracks={"jump_distance": apart})
    found = run_measures(jumping, controller.data)
    assert found.jumps_per_s == pytest.approx(2 / SECONDS)
    assert found.alignment == pytest.approx(0.2)
    none = run_measures(replace(jumping, jumped=np.zeros_like(jumped)), controller.data)
    assert none.jumps_per_s == 0.0
    assert none.alignment is None


def test_the_worst_character_and_runaways_are_found(replayed):
    _, controller, run = replayed
    three = repeated(run, 3)
    desired = np.array(three.positions)
    desired[1, :, 0] += 0.3
    desired[2, :, 0] += 0.9
    found = run_measures(replace(three, desired_positions=desired), controller.data, path=BESIDE)
    assert found.clock_error == pytest.approx(0.4)
    assert found.worst_clock_error == pytest.approx(0.9)
    assert found.runaways == pytest.approx(1 / 3)
    none = run_measures(run, controller.data)
    assert none.worst_clock_error is none.runaways is None


def test_ratios_compare_with_the_data_at_the_same_speed(replayed):
    _, controller, run = replayed
    found = run_measures(run, controller.data)
    assert found.rotation_ratio == pytest.approx(1.0, abs=0.05)
    assert found.jerk_ratio == pytest.approx(1.0, abs=0.1)
    held = replace(run, rotations=np.repeat(run.rotations[:, :1], len(run), axis=1))
    assert run_measures(held, controller.data).rotation_ratio == pytest.approx(0.0, abs=1e-4)
    for edge in (12, 8, 4):
        assert found[f"jerk_ratio_below_{edge}_hz"] == pytest.approx(1.0, abs=0.1)
        assert found[f"rotation_ratio_below_{edge}_hz"] == pytest.approx(1.0, abs=0.05)
    # Data of a noisier capture: the run has less jerk in all, and as much of the movement.
    noisy = dict(controller.data["by_speed"])
    noisy["jerk"] = [None if each is None else 4 * each for each in noisy["jerk"]]
    less = run_measures(run, dict(controller.data) | {"by_speed": noisy})
    assert less.jerk_ratio == pytest.approx(0.25, abs=0.05)
    assert less.jerk_ratio_below_8_hz == found.jerk_ratio_below_8_hz
    # Controllers whose data were measured without bands.
    wide = {name: own for name, own in controller.data["by_speed"].items() if "below" not in name}
    before = run_measures(run, dict(controller.data) | {"by_speed": wide})
    assert before.jerk_ratio == found.jerk_ratio
    assert before.jerk_ratio_below_8_hz is None
    # No frame of the data is as fast, or there are no bins.
    fast = dict(controller.data) | {"by_speed": dict(controller.data["by_speed"]) | {"width": 9.0}}
    assert run_measures(run, fast).jerk_ratio is None
    assert run_measures(run, {**controller.data, "by_speed": {}}).jerk_ratio is None


def test_responses_to_the_goals_are_medians_and_never_is_infinite(replayed):
    _, controller, run = replayed
    assert run_measures(run, controller.data).unanswered is None
    # The body walks on at 1.3 m/s; one goal starts, the other turns round.
    half = len(run) // 2
    goals = np.zeros((2, len(run), 2))
    goals[0, half:, 1] = goals[1, :half, 1] = 1.3
    goals[1, half:, 1] = -1.3
    facings = np.zeros((2, len(run)))
    facings[1, half:] = np.pi
    both = replace(repeated(run, 2), commanded_velocities=goals, commanded_angles=facings)
    found = run_measures(both, controller.data)
    assert found.start_s == pytest.approx(0.0, abs=0.2)
    assert found.turn_180_s == found.heading_180_s == np.inf
    assert found.stop_s is found.turn_90_s is found.heading_90_s is None
    assert found.unanswered == 0.5
    assert found.desired_speed == pytest.approx(0.75 * 1.3)


def test_sliding_is_known_without_foot_locking(replayed):
    _, controller, run = replayed
    assert run_measures(run, controller.data).unlocked_contact_speed is None
    legs = controller.skeleton.index("LeftUpLeg"), controller.skeleton.index("RightUpLeg")
    spec = replace(run.spec, locked_joints=np.array(legs))
    locked = replace(
        run,
        spec=spec,
        unlocked=run.rotations[:, :, list(legs)],
        rotations=np.repeat(run.rotations[:, :1], len(run), axis=1),
        contacts=np.ones_like(run.contacts),
    )
    legs_move = locked.without_foot_lock()
    np.testing.assert_array_equal(legs_move.rotations[:, :, legs[0]], run.rotations[:, :, legs[0]])
    found = run_measures(locked, controller.data)
    own = run_measures(legs_move, controller.data)
    assert found.unlocked_contact_speed == pytest.approx(own.contact_speed)
    assert found.unlocked_skating == pytest.approx(own.skating)
    assert found.contact_speed != pytest.approx(own.contact_speed, rel=0.05)


def test_frames_have_kinds_where_they_are_known(replayed):
    _, controller, run = replayed
    kinds = np.where(np.arange(len(run)) < 45, "idle", "locomotion")[None]
    found = run_measures(replace(run, tracks={"kind": kinds}), controller.data)
    assert (found.idle, found.locomotion, found.action) == (0.25, 0.75, 0.0)
    assert run_measures(run, controller.data).idle is None


def test_movement_while_standing_is_compared_with_the_datas_idle_frames(replayed):
    _, controller, run = replayed
    still = replace(
        run,
        **{
            name: np.repeat(getattr(run, name)[:, :1], len(run), 1)
            for name in ("rotations", "positions", "angles")
        },
        commanded_velocities=np.zeros((1, len(run), 2)),
        commanded_angles=np.zeros((1, len(run))),
    )
    times = np.arange(len(run)) / run.fps
    # Bobbing at 0.2 m/s on average.
    bobbing = np.repeat(still.translations[:, :1], len(run), 1)
    bobbing[..., 1] += 0.05 * np.sin(2 * np.pi * times)[:, None]
    still = replace(still, translations=bobbing)
    data = {**controller.data, "idle_speed": 0.1}
    assert run_measures(still, data).idle_ratio == pytest.approx(2.0, rel=0.02)
    assert RUN_MEASURES["idle_ratio"].data_value(ObservedRun(run, data)) == 1.0
    # Where the body should walk, or data have no idle frames, nothing is measured.
    walks = replace(still, commanded_velocities=np.ones((1, len(run), 2)))
    assert run_measures(walks, data).idle_ratio is None
    assert run_measures(still, controller.data).idle_ratio is None


def test_the_data_stands_beside_and_is_needed(replayed):
    _, controller, run = replayed
    measures = {each.name: each for each in measure(run, controller.data)}
    assert measures["joint_rotation"].data == controller.data["joint_rotation"]["mean"]
    assert all(each.sentence for each in measures.values())
    assert travelling_speed(controller.data) == pytest.approx(1.3, rel=0.05)
    with pytest.raises(ParameterError, match="has no measures of its training clips"):
        run_measures(run, {})
    with pytest.raises(ParameterError, match="travels"):
        travelling_speed({**controller.data, "travelling_speed": 0.0})
