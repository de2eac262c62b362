"""Findings of runs: characters that run away, stand still or are lost, and no others."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from deepphase.controllers.runtime.characters import Characters
from deepphase.evaluation.captured_data import measured_data
from deepphase.evaluation.findings import _skips, ground_findings
from deepphase.evaluation.findings import run_findings as findings_of_run
from deepphase.evaluation.measurement import ObservedRun, values_by_name
from deepphase.evaluation.run_measures import measure
from deepphase.steering.goal_sources import PathGoals
from deepphase.steering.laid_run import FeetOnGround
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.laying import GROUND_MEASURES
from tests.controllers.replaying import replay_of

SPEED, SECONDS = 1.3, 3.0
_MOTION = ("rotations", "translations", "positions", "angles")


@pytest.fixture(scope="module")
def walked():
    """Three characters that walk as desired, and the measures of the data."""
    clip = locomotion(2, 6.0, speed=SPEED).clip
    controller, starts, _ = replay_of(clip, "nn", [60, 70, 80])
    data = measured_data([clip], controller.schema)
    run = rollout(Characters(controller, starts), None, SECONDS)
    return replace(run, desired_positions=run.positions.copy()), data, np.full(len(run), SPEED)


def test_a_body_that_has_stopped_begins_on_either_foot():
    contacts, speeds = np.zeros((180, 2), bool), np.ones(180)
    for foot, start in ((0, 10), (1, 40), (1, 70), (0, 100), (0, 130)):
        contacts[start : start + 20, foot] = True
    body = SimpleNamespace(fps=60, contacts=contacts, smoothed_speeds=speeds, standing_speed=0.1)
    assert _skips(body) == 2 / 5
    speeds[[62, 122]] = 0.0
    assert _skips(body) == 0.0


def test_characters_that_do_as_desired_are_no_finding(walked):
    assert run_findings(*walked) == []


def test_a_knee_that_bends_backward_is_a_finding_and_a_measure(walked):
    run, data, speeds = walked
    assert data["bent_back"] == 0.0
    knee = run.spec.skeleton.index("LeftLeg")
    rotations = run.rotations.copy()
    # The inverse of a bend by 60 degrees about the knee's own axis, for a tenth of a second.
    rotations[1, 60:66, knee] = [np.sin(-np.pi / 6), 0.0, 0.0, np.cos(np.pi / 6)]
    bent = replace(run, rotations=rotations)
    found = run_findings(bent, data, speeds)[0]
    assert found.startswith("1 of 3 characters bent a knee backward: the worst by ")
    values = [values_by_name(measure(each, data))["bent_back"] for each in (run, bent)]
    assert values == [0.0, pytest.approx(6 / (3 * 2 * len(run)), rel=1e-6)]


def run_findings(run, data, speeds):
    """Of a run that is asked for these speeds, unless it has commands of its own."""
    if run.commanded_velocities is None:
        commands = np.zeros((run.characters, len(run), 2))
        commands[..., 1] = speeds
        run = replace(run, commanded_velocities=commands)
    return findings_of_run(ObservedRun(run, data))


def walked_on(run, data, speeds):
    return [each for each in run_findings(run, data, speeds) if "walked on" in each]


def test_bodies_that_walk_where_they_should_stand_are_a_finding(walked):
    run, data, speeds = walked
    stops = np.where(np.arange(len(run)) < 60, speeds, 0.0)
    positions = run.positions.copy()
    # One walks on; two stop within a second of the goal.
    positions[1:, 120:] = positions[1:, 119:120]
    stopped = replace(run, positions=positions, desired_positions=None)
    (found,) = walked_on(stopped, data, stops)
    assert found.startswith("1 of 3 characters walked on where standing was desired: at up to 1.29")
    assert "in the slowest half second, or after they stood; try" in found
    # The commands of each character count before the desired speeds.
    commands = np.zeros((3, len(run), 2))
    commands[0], commands[:, :60] = [0.0, SPEED], [0.0, SPEED]
    assert walked_on(replace(stopped, commanded_velocities=commands), data, stops) == []
    # A goal that has stood for less than a second leaves time to stop.
    late = np.where(np.arange(len(run)) < 150, speeds, 0.0)
    assert walked_on(run, data, late) == []


def test_runaways_are_those_off_the_goal_or_faster_than_it(walked):
    run, data, speeds = walked
    desired = run.positions.copy()
    desired[2] += 2.0
    (found,) = run_findings(replace(run, desired_positions=desired), data, speeds)
    assert found.startswith("1 of 3 characters ran away: the worst at 1.3")
    assert "1.30 m/s was desired, 2.83 m from the desired place" in found
    lost = np.zeros(run.alive.shape, bool)
    lost[2, 30:90] = True
    fetching = replace(run, desired_positions=desired, tracks={"ball_lost": lost})
    assert "; its ball was lost for 1.0 s; try" in run_findings(fetching, data, speeds)[0]
    (found,) = run_findings(replace(run, desired_positions=None), data, speeds / 1.5)
    assert found.startswith("3 of 3 characters ran away")


def test_what_is_seen_first_is_a_finding(walked):
    run, data, speeds = walked
    # One does as another, and one jumps for a frame.
    same = replace(run, **{name: getattr(run, name)[[0, 0, 2]] for name in _MOTION})
    (alike,) = (each for each in run_findings(same, data, speeds) if "move as 2" in each)
    assert alike.endswith("exactly alike; there are no more start poses; try more clips")
    # Start poses that differ are not the reason.
    same.rotations[1, 0] = run.rotations[1, 0]
    (alike,) = (each for each in run_findings(same, data, speeds) if "move as 2" in each)
    assert "; 3 start poses differ" in alike
    moved = run.translations.copy()
    moved[1, 90, 0] += 0.2
    found = run_findings(replace(run, translations=moved), data, speeds)
    assert any(each.startswith("joints of 1 of 3 characters jumped") for each in found)
    # One leaps by 60 cm for .2 s, and another goes with its hips at half their height.
    high, low = run.translations.copy(), run.rotations.copy()
    high[1, 60:72, 0, 1] += 0.6
    found = run_findings(replace(run, translations=high), data, speeds)
    assert any(each.startswith("1 of 3 characters leaped: all feet") for each in found)
    for joint, angle in (("UpLeg", -80), ("Leg", 150), ("Foot", -70)):
        for side in ("Left", "Right"):
            low[2, 60:90, run.spec.skeleton.index(side + joint)] = Rotation.from_euler(
                "x", angle, degrees=True
            ).as_quat()
    found = run_findings(replace(run, rotations=low), data, speeds)
    assert any(each.startswith("1 of 3 characters crouched where travel") for each in found)
    # Two with legs that are turned aside, or ahead and back, for half a second.
    splayed = ("z", 35, "splayed the legs: feet up to 104 cm apart sideways at 1.2 m/s (1.1 s)")
    for axis, angle, did in (splayed, ("x", -50, "lunged: feet up to 118 cm apart lengthways")):
        wide = run.rotations.copy()
        for side, sign in (("Left", 1), ("Right", -1)):
            joint = run.spec.skeleton.index(f"{side}UpLeg")
            wide[1:, 60:90, joint] = Rotation.from_euler(axis, sign * angle, degrees=True).as_quat()
        found = run_findings(replace(run, rotations=wide), data, speeds)
        assert any(each.startswith(f"2 of 3 characters {did}") for each in found)
    # One hops on the right foot.
    hop = run.rotations.copy()
    raised = Rotation.from_euler("x", -70, degrees=True).as_quat()
    hop[0, :, run.spec.skeleton.index("LeftUpLeg")] = raised
    found = run_findings(replace(run, rotations=hop), data, speeds)
    assert any(each.startswith("1 of 3 characters skipped or hopped: ") for each in found)
    # Two seconds away from the goal; the path of a run without one is the goal's.
    commands = np.zeros((3, len(run), 2))
    commands[..., 1] = SPEED
    commands[2, 30:] = [0.0, -SPEED]
    found = run_findings(replace(run, commanded_velocities=commands), data, speeds)
    (said,) = [each for each in found if "ignored the goal" in each]
    assert said.startswith("1 of 3 characters ignored the goal for 2 s")
    assert "180 degrees off its facing" in said
    # Slow goals, which wait, as well where the body is not near its path.
    beside, slow = np.array([0.0, 0.8, 0.0])[:, None, None] + run.positions, -0.1 * commands[:1]
    slow = replace(run, desired_positions=beside, commanded_velocities=slow.repeat(3, axis=0))
    found = run_findings(slow, data, speeds)
    assert any(each.startswith("1 of 3 characters ignored the goal for 2 s") for each in found)


@pytest.mark.parametrize(
    ("axis", "angle", "frames", "did", "name"),
    [
        ("x", 30, 30, "leaned the trunk ahead: by up to 3", "leans"),
        ("x", -30, 30, "leaned the trunk back: by up to 2", "leans"),
        ("z", 30, 30, "leaned the trunk aside: by up to 3", "leans"),
        ("y", 60, 4, "turned the trunk suddenly: by up to 6", "trunk_turns"),
    ],
)
def test_a_trunk_leans_or_turns_as_no_data_do(walked, axis, angle, frames, did, name):
    run, data, speeds = walked
    turned = replace(run, rotations=run.rotations.copy())
    own = turned.rotations[1, 60 : 60 + frames, 0]
    own[:] = (Rotation.from_euler(axis, angle, degrees=True) * Rotation.from_quat(own)).as_quat()
    (found,) = [each for each in run_findings(turned, data, speeds) if did[:8] in each]
    assert found.startswith(f"1 of 3 characters {did}")
    values = [values_by_name(measure(each, data))[name] for each in (run, turned)]
    assert values[0] == 0.0 < values[1] < 0.1
    # Files from before these measures say nothing.
    assert "trunk" not in " ".join(run_findings(turned, {**data, "by_speed": {}}, speeds))


def test_who_runs_past_a_corner_left_the_path(walked):
    run, data, speeds = walked
    places = np.array([[0.0, 0.0], [0.0, 3.0], [2.0, 3.0]])
    corner = PathGoals(GroundPath(np.arange(3) * 2.0, places, name="corner"), run.positions[:, 0])
    # They go 3.9 m ahead, and the path turns aside after 3.
    (found,) = run_findings(replace(run, goals=corner), data, speeds)
    assert found.startswith("3 of 3 characters left the path by up to 90 cm (3.0 s); try")


def test_a_body_that_glides_and_one_that_walks_on_the_spot_are_statues(walked):
    run, data, speeds = walked
    rotations, positions = run.rotations.copy(), run.positions.copy()
    rotations[0], positions[1] = rotations[0, :1], positions[1, :1]
    glides = replace(run, rotations=rotations, positions=positions, desired_positions=positions)
    found = next(each for each in run_findings(glides, data, speeds) if "statue" in each)
    assert found.startswith("2 of 3 characters stood like a statue in more than 25%")
    rested = run_findings(replace(run, rotations=rotations), data, 0.0 * speeds)
    assert not any("statue" in each for each in rested)


def test_lost_characters_are_counted_once(walked):
    run, data, speeds = walked
    alive, desired = run.alive.copy(), run.positions + 9.0
    alive[1, 30:] = False
    found = run_findings(replace(run, alive=alive, desired_positions=desired), data, speeds)
    assert found[0].startswith("1 of 3 characters was lost, first after 0.5 s")
    assert found[1].startswith("2 of 3 characters ran away")
    lost = replace(run.part(0, 30), alive=np.zeros((3, 30), bool))
    (alone,) = run_findings(lost, data, speeds[:30])
    assert alone.startswith("3 of 3 characters were lost, first after 0.0 s")


def test_a_body_that_stands_as_it_should_and_does_not_move_is_lifeless(walked):
    run, data, _ = walked
    still = replace(
        run,
        **{name: np.repeat(getattr(run, name)[:, :1], len(run), 1) for name in _MOTION},
        desired_positions=None,
    )
    stands = np.zeros(len(run))
    idle = {**data, "idle_speed": 0.04}
    (found,) = run_findings(still, idle, stands)
    assert found.startswith("3 of 3 characters stood without life")
    assert "data's idle frames (4.0 cm/s)" in found
    # Bodies that breathe live, and those that walk on do not stand without life.
    bobbing = still.translations.copy()
    bobbing[..., 1] += 0.05 * np.sin(np.arange(len(run)) / 10)[:, None]
    assert run_findings(replace(still, translations=bobbing), idle, stands) == []
    walks = run_findings(replace(run, desired_positions=None), idle, stands)
    assert not any("life" in each for each in walks)
    # Data without idle frames say nothing about them.
    assert data["idle_speed"] == 0.0
    assert run_findings(still, data, stands) == []


def test_feet_that_cannot_stand_on_the_ground_are_said():
    good = dict.fromkeys(GROUND_MEASURES, 0.0)
    nothing = FeetOnGround(None, None)
    assert ground_findings([FeetOnGround(good, None), nothing], laid=True) == []
    assert ground_findings([nothing], laid=True) == []
    cliffs = FeetOnGround(good | {"cliffs": 0.3}, None)
    (said,) = ground_findings([cliffs, nothing], laid=True)
    assert said.startswith("in 30% of the frames the ground under both feet differs")
    off = FeetOnGround(good | {"deep": 0.2, "floating": 0.3}, None)
    (laid,) = ground_findings([off], laid=True)
    assert "in the ground in 20% of the frames and above it in 30%" in laid
    assert laid.endswith("laid on the ground")
    (walked,) = ground_findings([off], laid=False)
    assert walked.endswith("30%")
