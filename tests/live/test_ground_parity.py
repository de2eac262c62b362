"""Characters on ground in JavaScript against the same characters in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.apps.live.assets import controller_asset
from deepphase.controllers.data.samples import schema_of_store
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import make_network, network_kind
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.roles import find_roles
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, RootStates
from deepphase.steering.velocity_goals import GamepadGoals
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.grounded_clip import GroundedClip
from deepphase.terrain.heightmap import ground_level, made_ground
from tests.controllers.replaying import unchanged
from tests.controllers.test_heights import FIRST, replayed
from tests.live.node import TOP_SPEED, ask_node, needs_node, stick_goal

pytestmark = needs_node

_MM, _FRAMES = 1e-3, 100


@pytest.fixture(scope="module")
def walk():
    return locomotion(3, 5.0, speed=1.2, variety=0.0).clip


@pytest.fixture(scope="module")
def schema(walk):
    config = SchemaConfig(heights=True)
    return schema_of_store(ClipStore.from_clips([walk]), "none", config, channels=0, tracks=None)


def as_request(ground):
    return {
        "heights": ground.heights.reshape(-1),
        "columns": ground.heights.shape[1],
        "spacing": ground.spacing_m,
        "origin": ground.origin,
    }


def walking_on(ground, walk, schema):
    grounded = GroundedClip.from_clip(walk, ground, find_roles(walk.skeleton, clip=walk), laid=True)
    return replayed(grounded, walk, schema, ground=ground)


def silent_asset(controller):
    """The asset with a network that always says 0: outputs are given."""
    dims = controller.schema.dims
    network = make_network("nn", dims, network_kind("nn").make_config(hidden=8))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
    running = NormalisedController(
        network, unchanged(dims.inputs), unchanged(0), unchanged(dims.outputs)
    )
    return controller_asset(replace(controller, network=running))


def test_feet_hips_and_inputs_on_ground_are_those_of_python(tmp_path, walk, schema):
    ground = made_ground("stairs", seed=2, size_m=20.0, spacing_m=0.1)
    characters, blocks = walking_on(ground, walk, schema)
    asset = silent_asset(characters.controller)
    root = blocks.body.root
    start = {
        "start": 0,
        "position": root.positions[FIRST, ::2],
        "heading": float(root.angles[FIRST]),
    }
    rest = RootStates(
        root.positions[[FIRST]][:, ::2].astype(float),
        np.zeros((1, 2)),
        root.angles[[FIRST]].astype(float),
        np.zeros(1),
    )
    sticks = Gamepad([0.0, 9.0], [(0.1, 0.5)] * 2, [(0.0, 0.0)] * 2, {})
    goals = GamepadGoals(sticks, rest, GamepadSettings(top_speed=TOP_SPEED))
    made, given, rows = [], [], []
    for _ in range(_FRAMES):
        given.append(stick_goal(goals, TOP_SPEED))
        made.append(characters.step(goals))
        rows.append(characters.network_inputs[0][0].copy())
    outputs = blocks.rows(schema.outputs)[FIRST + 1 :][:_FRAMES]
    frames = ask_node(
        tmp_path, asset, "run", goals=given, options=start, outputs=outputs, rows=True,
        ground=as_request(ground),
    )  # fmt: skip
    clip = Clip(
        walk.skeleton,
        np.concatenate([frame.rotations for frame in made]),
        np.concatenate([frame.translations for frame in made]),
        60.0,
        translated_joints=characters.spec.translated_joints,
    )
    python = joint_positions(clip)
    script = np.reshape([frame["positions"] for frame in frames], python.shape)
    assert np.ptp(python[:, 0, 1]) > 0.05
    np.testing.assert_allclose(script, python, atol=_MM)
    np.testing.assert_allclose([frame["inputs"] for frame in frames], rows, atol=_MM)


def test_heights_and_levels_are_those_of_python(tmp_path, walk, schema):
    ground = made_ground("stairs", seed=3, size_m=12.0, spacing_m=0.1)
    characters, _ = walking_on(ground, walk, schema)
    places = np.random.default_rng(5).uniform(-7, 7, (40, 2))
    asset = silent_asset(characters.controller)
    found = ask_node(tmp_path, asset, "ground", ground=as_request(ground), places=places)
    np.testing.assert_allclose(found["heights"], ground.at(places), atol=1e-6)
    angles = np.arange(40)
    directions = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    np.testing.assert_allclose(found["levels"], ground_level(ground, places, directions), atol=1e-6)
    # Stairs are drawn by few lines across their treads, and have the same heights between them.
    xs, zs = (np.array(lines) for lines in found["lines"])
    assert len(xs) < 8 < len(zs) < len(ground.heights)
    places = ground.origin + ground.spacing_m * np.arange(len(ground.heights))[:, None]
    kept = ground.at(np.stack([np.zeros(len(zs)), zs], axis=-1))
    np.testing.assert_allclose(np.interp(places[:, 1], zs, kept), ground.heights[:, 0], atol=2e-3)
    # Few enough points, though lines are then farther apart.
    assert len(found["fewLines"][0]) * len(found["fewLines"][1]) <= 9
