"""Motion matching in JavaScript against the player in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.live.asset import live_asset
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.features.moment_kinds import IDLE
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.moment_filter import MomentFilter
from deepphase.matching.player.player import PlayerSettings, runner_spec
from deepphase.matching.player.source import PlayerSource
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.root_states import RootStates
from deepphase.steering.velocity_goals import GamepadGoals
from tests.live.node import ask_node, needs_node, stick_goal, wandering
from tests.live.test_controller_parity import largest_distance, positions_in
from tests.matching.test_player import opened, walking_store
from tests.matching.test_rest import standing_walks

TOP_SPEED, FRAMES = 1.6, 600


def walks_with(label):
    """Five walks whose label says to which side they turn."""
    store = walking_store((-1.2, -0.5, 0.0, 0.5, 1.2), seconds=4.0)
    clips = (store.clip(index) for index in range(len(store)))
    return opened(
        ClipStore.from_clips([replace(clip, labels={label: clip.labels["way"]}) for clip in clips])
    )


@pytest.fixture(scope="module")
def walks():
    return walks_with("way")


def python_run(walks, sticks, frames):
    """Frames of one character in Python, the goals as JavaScript takes them, and its options."""
    rest = np.zeros((1, 2))
    roots = RootStates(rest, rest, np.zeros(1), np.zeros(1))
    goals = GamepadGoals(sticks, roots, GamepadSettings(top_speed=TOP_SPEED))
    options = {"topSpeed": TOP_SPEED, "goal": stick_goal(goals, TOP_SPEED)}
    settings = PlayerSettings(moments=None if walks[0].kinds is None else MomentFilter())
    player = PlayerSource(*walks, settings=settings).start(goals, roots)
    made, given = [], []
    for _ in range(frames):
        made.append(player.step(goals))
        given.append(stick_goal(goals, TOP_SPEED))
    return player, made, given, options


@needs_node
@pytest.mark.parametrize("label", ["way", "style"])
def test_600_frames_jump_to_the_same_rows_within_a_millimetre(label, tmp_path):
    # A style is kept where goals do not ask for another one.
    walks = walks_with(label)
    sticks = wandering(FRAMES, 4, {label: ("", "", "left", "right")})
    player, made, goals, options = python_run(walks, sticks, FRAMES)
    frames = ask_node(tmp_path, live_asset(walks[0]), "run", goals=goals, options=options)
    rows = [int(frame.tracks["row"][0]) for frame in made]
    assert [frame["row"]["index"] for frame in frames] == rows
    assert [frame["jumped"] for frame in frames] == [bool(frame.jumped[0]) for frame in made]
    assert 5 < sum(frame["jumped"] for frame in frames) < FRAMES / 4
    costs = [frame.tracks["cost"][0] for frame in made]
    assert [frame["cost"] for frame in frames] == pytest.approx(costs, rel=1e-4)
    spec = player.spec
    clip = Clip(
        spec.skeleton,
        np.concatenate([frame.rotations for frame in made]),
        np.concatenate([frame.translations for frame in made]),
        60.0,
        spec.translated_joints,
    )
    assert largest_distance(joint_positions(clip), positions_in(frames)) < 1e-3
    names, row = walks[0].clip_names, frames[-1]["row"]
    assert row["clip"] == names[int(walks[0].clip_of(np.array(rows[-1])))]
    assert row["time"] == pytest.approx(walks[0].frame_of(np.array(rows[-1])) / 60.0)


@needs_node
@pytest.mark.parametrize("rests", [True, False])
def test_a_character_that_stands_rests_and_starts_again_alike(rests, tmp_path):
    # Where no body rests, a pose is held.
    standing = standing_walks() if rests else walks_with("way")
    stick = Gamepad(
        [0.0, 1.5, 1.51, 9.0, 9.01, 12.0],
        [[0, 0.8]] * 2 + [[0, 0]] * 2 + [[0.6, 0]] * 2,
        np.zeros((6, 2)),
    )
    _, made, goals, options = python_run(standing, stick, 640)
    frames = ask_node(tmp_path, live_asset(standing[0]), "run", goals=goals, options=options)
    rows = [int(frame.tracks["row"][0]) for frame in made]
    assert [frame["row"]["index"] for frame in frames] == rows
    if rests:
        assert (standing[0].kinds[rows[200:500]] == IDLE).all()
        assert sum(frame["jumped"] for frame in frames[200:500]) > 1
    else:
        assert len(set(rows[200:500])) == 1
    spec = runner_spec(*standing[:2])
    clip = Clip(
        spec.skeleton,
        np.concatenate([frame.rotations for frame in made]),
        np.concatenate([frame.translations for frame in made]),
        60.0,
        spec.translated_joints,
    )
    assert largest_distance(joint_positions(clip), positions_in(frames)) < 1e-3
    touching = np.array([frame["contacts"] for frame in frames]) > 0.5
    np.testing.assert_array_equal(touching, np.stack([frame.contacts[0] for frame in made]) > 0.5)


@needs_node
def test_plain_loops_find_the_same_rows(walks, tmp_path):
    _, made, goals, options = python_run(walks, wandering(120, 9), 120)
    asset = live_asset(walks[0])
    frames = ask_node(tmp_path, asset, "run", goals=goals, options=options, withoutWebAssembly=True)
    rows = [int(frame.tracks["row"][0]) for frame in made]
    assert [frame["row"]["index"] for frame in frames] == rows


@needs_node
@pytest.mark.parametrize("without", [False, True], ids=["WebAssembly", "JavaScript"])
def test_the_search_is_exact_for_any_query(walks, without, tmp_path):
    database = walks[0]
    features = np.asarray(database.features[np.arange(len(database))], np.float32)
    generator = np.random.default_rng(2)
    rows = generator.choice(len(features), 30)
    queries = features[rows] + generator.normal(0.0, 0.3, (30, database.dims))
    # Beyond the range of the rows, which are rounded to bytes.
    queries[::3, generator.choice(database.dims)] = 40.0
    queries = queries.astype(np.float32)
    excluded, bound = [100, 140], 2.0 * float(np.linalg.norm(queries[1] - features[rows[1]]))
    answers = ask_node(
        tmp_path,
        live_asset(database),
        "search",
        queries=queries,
        excluded=excluded,
        bound=bound,
        withoutWebAssembly=without,
    )
    counts = set()
    for query, answer in zip(queries, answers, strict=True):
        apart = np.linalg.norm(features.astype(np.float64) - query, axis=1)
        apart[slice(*excluded)] = np.inf
        nearest = np.argsort(apart, kind="stable")[:16]
        nearest = nearest[apart[nearest] < bound]
        assert [each["row"] for each in answer] == nearest.tolist()
        assert [each["distance"] for each in answer] == pytest.approx(apart[nearest])
        counts.add(len(nearest))
    assert min(counts) == 0
    assert max(counts) == 16


def test_a_database_without_a_trajectory_is_refused():
    layout = FeatureLayout(Feature("foot_position", kind="joint_position", joints=("feet",)))
    with pytest.raises(ParameterError, match="no trajectory ahead"):
        live_asset(MotionDatabase.build(walking_store((0.0,), seconds=2.0), layout))
