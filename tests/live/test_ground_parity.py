"""Characters on ground in JavaScript against the same characters in Python."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.live.asset import live_asset
from deepphase.controllers.data.samples import schema_of_store
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.corpus.clip_store import ClipStore
from deepphase.features.feature import Feature
from deepphase.features.layout import FeatureLayout
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.on_ground import GROUND_HEIGHTS, ClipsOnGround
from deepphase.matching.player.moment_filter import MomentFilter
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.player import PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.matching.player.trajectory_queries import future_offsets
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.root_states import RootStates
from deepphase.steering.steep_ground import STEP_SHARE, SteepGround
from deepphase.steering.velocity_goals import GamepadGoals
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.ground_shapes import made_ground
from deepphase.terrain.grounded_clip import ClipGround, ClipGrounds, GroundedClip
from deepphase.terrain.underfoot import ground_level
from tests.controllers.test_heights import FIRST, replayed
from tests.live.made_ball import asset_of
from tests.live.node import TOP_SPEED, ask_node, needs_node, stick_goal
from tests.matching.test_player import LAYOUT, walking_store

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
    grounded = GroundedClip.of_clip(walk, ground, find_roles(walk.skeleton, clip=walk), laid=True)
    return replayed(grounded, walk, schema, ground=ground)


@pytest.mark.parametrize("kind", ["stairs", "rocks"])
def test_feet_hips_and_inputs_on_ground_are_those_of_python(tmp_path, walk, schema, kind):
    ground = made_ground(kind, seed=2, size_m=20.0, spacing_m=0.1)
    characters, blocks = walking_on(ground, walk, schema)
    asset = asset_of(characters.controller)
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


@pytest.fixture(scope="module")
def climbs():
    """Walks on their floor and on stairs, with the heights ahead among the features."""
    store = walking_store((-0.5, 0.5), seconds=4.0)
    stairs = made_ground("stairs", seed=1, size_m=16.0, spacing_m=0.1)
    grounds = ClipGrounds([ClipGround(stairs, name, laid=True) for name in store.names])
    heights = Feature(GROUND_HEIGHTS, kind="track", weight=0.5)
    layout = FeatureLayout(*LAYOUT, heights)
    on_ground = ClipsOnGround(store, grounds, future_offsets(layout))
    database = MotionDatabase.build(on_ground.store, layout, tracks=on_ground)
    return database, Playback.of_database(database), open_searcher(database, "exact")


@pytest.mark.parametrize("kind", ["stairs", "platforms"])
def test_databases_walk_on_ground_as_in_python(tmp_path, climbs, kind):
    ground = made_ground(kind, seed=3, size_m=20.0, spacing_m=0.1)
    rest = np.zeros((1, 2))
    roots = RootStates(rest, rest, np.zeros(1), np.zeros(1))
    sticks = Gamepad([0.0, 9.0], [(0.1, 0.5)] * 2, [(0.0, 0.0)] * 2, {})
    goals = GamepadGoals(sticks, roots, GamepadSettings(top_speed=TOP_SPEED))
    options = {"topSpeed": TOP_SPEED, "goal": stick_goal(goals, TOP_SPEED)}
    settings = PlayerSettings(moments=MomentFilter())
    player = PlayerSource(*climbs, settings=settings, ground=ground).start(goals, roots)
    made, given = [], []
    for _ in range(_FRAMES):
        given.append(stick_goal(goals, TOP_SPEED))
        made.append(player.step(goals))
    clip = Clip(
        player.spec.skeleton,
        np.concatenate([frame.rotations for frame in made]),
        np.concatenate([frame.translations for frame in made]),
        60.0,
        translated_joints=player.spec.translated_joints,
    )
    python = joint_positions(clip)
    frames = ask_node(
        tmp_path,
        live_asset(climbs[0]),
        "run",
        goals=given,
        options=options,
        ground=as_request(ground),
    )
    rows = [int(frame.tracks["row"][0]) for frame in made]
    assert [frame["row"]["index"] for frame in frames] == rows
    script = np.reshape([frame["positions"] for frame in frames], python.shape)
    np.testing.assert_allclose(script, python, atol=_MM)
    if kind == "stairs":
        assert np.ptp(python[:, 0, 1]) > 0.3
        # Clips that climb are found where the ground ahead rises.
        names = {climbs[0].clip_names[each] for each in climbs[0].clip_of(np.array(rows)).tolist()}
        assert any("ground" in name for name in names)


@pytest.mark.parametrize("kind", ["platforms", "pits", "beam"])
def test_paths_avoid_walls_ledges_and_pits_as_in_python(tmp_path, walk, schema, kind):
    ground = made_ground(kind, seed=3, size_m=12.0, spacing_m=0.1)
    characters, _ = walking_on(made_ground("noise", size_m=8.0, spacing_m=0.2), walk, schema)
    step = STEP_SHARE * characters._feet.longest
    generator = np.random.default_rng(5)
    places = generator.uniform(-7, 7, (40, 2))
    starts = places[:20] * [0.01 if kind == "beam" else 0.7, 0.7]
    ways = starts[:, None] + np.cumsum(generator.normal(0, 0.12, (20, 6, 2)) + 0.1, axis=1)
    found = ask_node(
        tmp_path,
        asset_of(characters.controller),
        "ground",
        ground=as_request(ground),
        places=places,
        paths=[[start, way.reshape(-1)] for start, way in zip(starts, ways, strict=True)],
    )
    np.testing.assert_allclose(found["heights"], ground.at(places), atol=1e-6)
    angles = np.arange(40)
    directions = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    np.testing.assert_allclose(found["levels"], ground_level(ground, places, directions), atol=1e-6)
    steep, turned = SteepGround(ground, step), 0
    for start, way, kept in zip(starts, ways, found["kept"], strict=True):
        path = (way[:, 0] + 1j * way[:, 1])[None]
        expected = steep.kept_off(np.array([start[0] + 1j * start[1]]), path)[0]
        turned += not np.allclose(expected, path)
        np.testing.assert_allclose(np.array(kept)[::2], expected.real, atol=1e-6)
        np.testing.assert_allclose(np.array(kept)[1::2], expected.imag, atol=1e-6)
    assert turned
