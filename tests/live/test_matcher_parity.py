"""Learned motion matching in JavaScript against the player in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.live.assets import matcher_asset
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.motion.clip import Clip, joint_positions
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, RootStates
from deepphase.steering.velocity_goals import GamepadGoals
from tests.live.node import ask_node, needs_node, stick_goal, wandering
from tests.live.test_controller_parity import largest_distance, positions_in
from tests.matching.made_matchers import deeper, small_matcher, styled_database

TOP_SPEED = 1.6


def python_run(matcher, sticks, frames):
    """Frames of one character in Python, the goals as JavaScript takes them, and its options."""
    rest = np.zeros((1, 2))
    roots = RootStates(rest, rest, np.zeros(1), np.zeros(1))
    goals = GamepadGoals(sticks, roots, GamepadSettings(top_speed=TOP_SPEED))
    options = {"topSpeed": TOP_SPEED, "goal": stick_goal(goals, TOP_SPEED)}
    settings = PlayerSettings(moments=MomentFilter())
    source = PlayerSource(matcher.database, matcher.motion, matcher.searcher, settings=settings)
    player = source.start(goals, roots)
    made, given = [], []
    for _ in range(frames):
        made.append(player.step(goals))
        given.append(stick_goal(goals, TOP_SPEED))
    return player, made, given, options


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    matcher = small_matcher(styled_database())
    return matcher.save(tmp_path_factory.mktemp("matcher") / "walk.matcher")


STANDING = Gamepad(
    [0.0, 1.5, 1.51, 9.0, 9.01, 12.0],
    [[0, 0.8]] * 2 + [[0, 0]] * 2 + [[0.6, 0]] * 2,
    np.zeros((6, 2)),
)


@needs_node
@pytest.mark.parametrize(
    ("sticks", "frames", "share", "layers"),
    [
        (wandering(600, 4, {"style": ("", "", "left", "right")}), 600, 1.0, 1),
        (STANDING, 640, 1.0, 1),
        # As in files of before.
        (wandering(200, 6), 200, 1.0, 2),
        # Foot locks that slow the legs in many frames.
        (wandering(300, 7), 300, 0.2, 1),
    ],
)
def test_frames_play_the_same_rows_within_a_millimetre(
    sticks, frames, share, layers, file, tmp_path
):
    matcher = Matcher.load(file)
    if layers > 1:
        matcher = Matcher.load(deeper(matcher).save(tmp_path / "deep.matcher"))
    assert (matcher.motion.fastest > 0.1).all()
    vars(matcher)["motion"] = replace(matcher.motion, fastest=share * matcher.motion.fastest)
    player, made, given, options = python_run(matcher, sticks, frames)
    found = ask_node(tmp_path, matcher_asset(matcher), "run", goals=given, options=options)
    rows = [int(frame.tracks["row"][0]) for frame in made]
    assert [frame["row"]["index"] for frame in found] == rows
    assert sum(frame["jumped"] for frame in found) > 2
    touching = np.array([frame["contacts"] for frame in found]) > 0.5
    np.testing.assert_array_equal(touching, np.stack([frame.contacts[0] for frame in made]) > 0.5)
    spec = player.spec
    clip = Clip(
        spec.skeleton,
        np.concatenate([frame.rotations for frame in made]),
        np.concatenate([frame.translations for frame in made]),
        60.0,
        spec.translated_joints,
    )
    assert largest_distance(joint_positions(clip), positions_in(found)) < 1e-3
