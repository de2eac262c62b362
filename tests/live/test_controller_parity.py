"""Characters in JavaScript against the same characters in Python."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live.assets import controller_asset
from deepphase.controllers.data.captured_rows import RestRows, rest_layout
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.features.layout import Normalisation
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.hinges import Hinges
from deepphase.motion.roles import find_roles
from deepphase.phase.parameters import PhaseParameters
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import RootStates
from deepphase.steering.run import Frame
from deepphase.steering.velocity_goals import GamepadGoals
from tests.live.node import ask_node, needs_node, python_run, wandering

pytestmark = needs_node

_MM = 1e-3
_MOMENTS = ("mean", "scale")


@pytest.fixture(scope="module")
def shipped() -> Controller:
    return Controller.load(CONTROLLER)


@pytest.fixture(scope="module")
def asset(shipped) -> bytes:
    return controller_asset(shipped)


def positions_of(controller: Controller, frames: list[Frame]) -> np.ndarray:
    """(frames, joints, 3) metres in the world of the first character."""
    clip = Clip(
        controller.skeleton,
        np.concatenate([frame.rotations for frame in frames]),
        np.concatenate([frame.translations for frame in frames]),
        60.0,
    )
    return joint_positions(clip)


def positions_in(frames: list[dict]) -> np.ndarray:
    """The same of the frames of `drive.mjs`."""
    return np.array([frame["positions"] for frame in frames]).reshape(len(frames), -1, 3)


def largest_distance(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.linalg.norm(first - second, axis=-1).max())


@pytest.mark.parametrize(
    ("blend", "biases"), [("natural", (0.5, 2.0)), ("responsive", (5.0, 10.0))]
)
def test_600_frames_with_facings_and_labels_stay_within_a_millimetre(
    shipped, asset, tmp_path, blend, biases
):
    settings = CharacterSettings(position_bias=biases[0], direction_bias=biases[1])
    source = CharacterSource(shipped, settings=settings)
    sticks = wandering(600, 3, {"gait": shipped.schema.label_values})
    made, goals = python_run(source, sticks, 600)
    options = {"blend": blend, "goal": goals[0]}
    frames = ask_node(tmp_path, asset, "run", goals=goals, options=options)
    python, script = positions_of(shipped, made), positions_in(frames)
    assert np.ptp(python[:, 0], axis=0)[[0, 2]].max() > 3.0
    assert largest_distance(python, script) < _MM


def test_the_lock_turns_no_leg_faster_than_the_file_s_clips_do(shipped, tmp_path):
    rates = dict.fromkeys(shipped.skeleton.names, 200.0)
    slow = replace(shipped, data={**shipped.data, "usual_rotations": rates})
    sticks = wandering(120, 3, {"gait": shipped.schema.label_values})
    (free, _), (made, goals) = (
        python_run(CharacterSource(each), sticks, 120) for each in (shipped, slow)
    )
    options = {"blend": "balanced", "goal": goals[0]}
    frames = ask_node(tmp_path, controller_asset(slow), "run", goals=goals, options=options)
    python, script = positions_of(slow, made), positions_in(frames)
    assert largest_distance(python, script) < _MM
    assert largest_distance(python, positions_of(shipped, free)) > 0.02


@pytest.mark.parametrize("foot_ik", [True, False])
def test_no_hinge_of_a_noisy_network_bends_beyond_its_range(shipped, tmp_path, foot_ik):
    network = deepcopy(shipped.network)
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.3 * parameter.std() * torch.randn_like(parameter)
    noisy = replace(shipped, network=network)
    roles = find_roles(noisy.skeleton, description=dict(noisy.schema.body))
    hinges = Hinges.from_poses(noisy.skeleton, roles, noisy.poses)
    assert len(hinges.joints) == 4
    least, largest = hinges.ranges.T
    rigid = ~np.isin(hinges.joints, [roles.left_foot, roles.right_foot])
    assert (np.abs(least[rigid] + 0.05) <= 0.05).all()
    source = CharacterSource(noisy, settings=CharacterSettings(foot_ik=foot_ik))
    made, goals = python_run(source, wandering(120, 7), 120)
    options = {"goal": goals[0], "footIk": foot_ik}
    frames = ask_node(tmp_path, controller_asset(noisy), "run", goals=goals, options=options)
    script = np.reshape([frame["localRotations"] for frame in frames], (120, -1, 4))
    for rotations in (np.concatenate([frame.rotations for frame in made]), script):
        bends = hinges.bends(rotations)
        assert (bends > least - 1e-4).all()
        assert (bends < largest + 1e-4).all()


def test_a_frame_has_all_that_python_s_frame_has(shipped, asset, tmp_path):
    sticks = wandering(40, 5)
    made, goals = python_run(CharacterSource(shipped), sticks, 40)
    frame = ask_node(tmp_path, asset, "run", goals=goals, options={"goal": goals[0]})[-1]
    last = made[-1]
    assert frame["root"]["position"] == pytest.approx(last.positions[0].tolist(), abs=1e-4)
    assert frame["root"]["heading"] == pytest.approx(float(last.angles[0]), abs=1e-4)
    assert frame["contacts"] == pytest.approx(last.contacts[0].tolist(), abs=1e-4)
    assert frame["gating"] == pytest.approx(last.gating[0].tolist(), abs=1e-4)
    assert sum(frame["gating"]) == pytest.approx(1.0, abs=1e-5)
    predicted = np.reshape(frame["trajectory"]["predicted"], (-1, 4))
    assert predicted[:, :2] == pytest.approx(last.trajectory[0], abs=1e-4)
    angles = np.arctan2(predicted[:, 2], predicted[:, 3])
    assert np.cos(angles - last.trajectory_angles[0]) == pytest.approx(1.0, abs=1e-6)
    desired = np.reshape(frame["trajectory"]["desired"], (-1, 4))
    assert desired[:, :2] == pytest.approx(last.desired[0], abs=1e-4)
    phases: PhaseParameters = last.phases
    assert frame["phases"]["phase"] == pytest.approx(phases.phase[0].tolist(), abs=1e-4)
    assert frame["phases"]["amplitude"] == pytest.approx(phases.amplitude[0].tolist(), abs=1e-4)
    assert frame["phases"]["frequency"] == pytest.approx(phases.frequency[0].tolist(), abs=1e-3)
    local = np.reshape(frame["localRotations"], (-1, 4))
    same = np.abs(np.sum(local * last.rotations[0], axis=1))
    assert same == pytest.approx(1.0, abs=1e-6)
    assert frame["rootPosition"] == pytest.approx(last.translations[0, 0].tolist(), abs=1e-4)
    assert frame["alive"] is True


def test_a_body_that_stands_stays_in_its_place_as_in_python(shipped, tmp_path):
    outputs = shipped.schema.outputs.slices["root_velocity"]
    inputs, gate, made_of = (
        Normalisation(*(shipped.network.get_buffer(f"{name}_{part}").numpy() for part in _MOMENTS))
        for name in ("inputs", "gate", "outputs")
    )
    # Its root is always predicted to creep backwards by some centimetres a second.
    mean, scale = made_of.mean.copy(), made_of.scale.copy()
    mean[outputs], scale[outputs] = [0.01, -0.07], 500.0
    network = NormalisedController(
        shipped.network.network, inputs, gate, Normalisation(mean, scale)
    )
    creeping = replace(shipped, network=network, rest=None)
    sticks = wandering(2, 0)
    sticks = replace(sticks, move=np.zeros_like(sticks.move), look=np.zeros_like(sticks.look))
    made, goals = python_run(CharacterSource(creeping), sticks, 240)
    places = np.concatenate([frame.positions for frame in made])
    # 28 cm without the mean being taken from it.
    assert np.linalg.norm(places[-1] - places[0]) < 0.06
    frames = ask_node(
        tmp_path, controller_asset(creeping), "run", goals=goals, options={"goal": goals[0]}
    )
    assert largest_distance(positions_of(creeping, made), positions_in(frames)) < _MM


def held(*sticks, look=(0.0, 0.0)) -> Gamepad:
    """Sticks that keep a value from a time on until the next one."""
    times, values = [], []
    for (time, move), (end, _) in pairwise([*sticks, (99.0, None)]):
        times += [time, end - 0.01]
        values += [move, move]
    return Gamepad(times, values, [look] * len(times), {})


def test_a_body_rests_and_starts_again_as_in_python(shipped, asset, tmp_path):
    sticks = held((0.0, (0.3, 0.4)), (2.0, (0.0, 0.0)), (14.0, (-0.4, 0.0)))
    made, goals = python_run(CharacterSource(shipped), sticks, 900)
    frames = ask_node(tmp_path, asset, "run", goals=goals, options={"goal": goals[0]})
    python = positions_of(shipped, made)
    assert largest_distance(python, positions_in(frames)) < _MM
    # Bodies that rest move, and do not travel.
    hips, moved = python[240:840, 0], np.ptp(python[240:840], axis=0).max()
    assert np.ptp(hips, axis=0).max() < 0.1
    assert 0.005 < moved < 0.3
    assert np.linalg.norm(python[-1, 0] - python[840, 0]) > 0.3


def test_a_label_with_another_posture_is_followed_as_in_python(shipped, tmp_path):
    """The network does not know how to sit: after four seconds the body rests as it is."""
    label, (stands, sits) = shipped.schema.config.label, shipped.schema.label_values[:2]
    outputs = shipped.rest.outputs[: shipped.rest.stops[0]]
    low = outputs.copy()
    block = rest_layout(shipped.schema).slices["joint_position"]
    low[:, block] -= np.resize([0.0, 0.5, 0.0], block.stop - block.start)
    stops = np.array([1, 2]) * len(outputs)
    rest = RestRows(np.concatenate([outputs, low]), stops, (stands, sits), captured=True)
    changed = replace(shipped, rest=rest)
    sticks = held((0.0, (0.0, 0.0)), (3.0, (0.0, 0.0)), (12.0, (0.0, 0.0)))
    sticks = replace(sticks, buttons={label: (stands,) * 2 + (sits,) * 4})
    source = CharacterSource(changed)
    made, goals = python_run(source, sticks, 600)
    frames = ask_node(
        tmp_path, controller_asset(changed), "run", goals=goals, options={"goal": goals[0]}
    )
    assert largest_distance(positions_of(changed, made), positions_in(frames)) < _MM
    plain, _ = python_run(source, replace(sticks, buttons={label: (stands,) * 6}), 600)
    apart = positions_of(changed, made) - positions_of(changed, plain)
    assert not apart[:180].any()
    assert np.abs(apart[200:400]).max() > 0.01


def test_facings_and_speeds_that_the_clips_lack_are_projected_as_in_python(
    shipped, asset, tmp_path
):
    sticks = held((0.0, (0.0, 0.6)), (2.0, (0.6, 0.0)), (4.0, (-0.3, -0.4)), look=(0.0, 1.0))
    made, goals = python_run(CharacterSource(shipped), sticks, 360)
    frames = ask_node(tmp_path, asset, "run", goals=goals, options={"goal": goals[0]})
    assert largest_distance(positions_of(shipped, made), positions_in(frames)) < _MM
    limited = np.array([frame.limited[0] for frame in made])
    assert not limited[60:110].any()
    assert limited[150:].mean() > 0.8
    assert [frame["limited"] for frame in frames] == limited.tolist()


def test_a_character_starts_anywhere_and_without_goals_follows_its_prediction(
    shipped, asset, tmp_path
):
    options = {"position": [3.0, -2.0], "heading": 1.0, "start": 5, "footIk": False}
    frames = ask_node(tmp_path, asset, "run", goals=[None] * 60, options=options)
    characters_of = CharacterSource(
        shipped, starts=shipped.starts.select([5]), settings=CharacterSettings(foot_ik=False)
    )
    rest = np.zeros((1, 2))
    roots = RootStates(np.array([[3.0, -2.0]]), rest, np.array([1.0]), np.zeros(1))
    characters = characters_of.start(GamepadGoals(wandering(2, 0), roots), roots)
    made = [characters.step() for _ in range(60)]
    assert largest_distance(positions_of(shipped, made), positions_in(frames)) < _MM


def test_poses_relative_to_the_current_one_are_those_of_python(shipped, tmp_path):
    """What is carried over fades away, and the mean makes up for it."""
    share = 0.3
    config = replace(shipped.schema.config, pose_residual=share)
    schema = replace(shipped.schema, config=config)
    inputs, gate, outputs = (
        Normalisation(*(shipped.network.get_buffer(f"{name}_{part}").numpy() for part in _MOMENTS))
        for name in ("inputs", "gate", "outputs")
    )
    columns, shares = schema.carried
    mean = outputs.mean - shares * inputs.mean[columns]
    network = NormalisedController(
        shipped.network.network, inputs, gate, Normalisation(mean, outputs.scale), (columns, shares)
    )
    relative = replace(shipped, schema=schema, network=network)
    sticks = wandering(120, 3)
    made, goals = python_run(CharacterSource(relative), sticks, 120)
    plain, _ = python_run(CharacterSource(shipped), sticks, 120)
    frames = ask_node(
        tmp_path, controller_asset(relative), "run", goals=goals, options={"goal": goals[0]}
    )
    python = positions_of(relative, made)
    assert largest_distance(python, positions_in(frames)) < _MM
    assert largest_distance(python, positions_of(shipped, plain)) > 0.01
