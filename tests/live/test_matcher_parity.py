"""Learned motion matching in JavaScript against the player in Python."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.apps.live.sources import asset_of
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.learned.source import MatcherSource
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.root_states import RootStates
from deepphase.steering.velocity_goals import GamepadGoals
from tests.live.node import ask_node, needs_node, stick_goal, wandering
from tests.live.test_controller_parity import largest_distance, positions_in
from tests.matching.made_matchers import styled_database, untrained

TOP_SPEED = 1.6


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    matcher = untrained(styled_database())[1]
    return matcher.save(tmp_path_factory.mktemp("matcher") / "walk.matcher")


STANDING = Gamepad(
    [0.0, 1.5, 1.51, 9.0, 9.01, 12.0],
    [[0, 0.8]] * 2 + [[0, 0]] * 2 + [[0.6, 0]] * 2,
    np.zeros((6, 2)),
)


@needs_node
@pytest.mark.parametrize(
    ("sticks", "frames"),
    [(wandering(600, 4, {"style": ("", "", "left", "right")}), 600), (STANDING, 640)],
)
def test_frames_are_the_same_within_a_millimetre(sticks, frames, file, tmp_path):
    roots = RootStates.at_rest(np.zeros((1, 2)))
    goals = GamepadGoals(sticks, roots, GamepadSettings(top_speed=TOP_SPEED))
    options = {"topSpeed": TOP_SPEED, "goal": stick_goal(goals, TOP_SPEED)}
    player = MatcherSource(Matcher.load(file)).start(goals, roots)
    made, given = [], []
    for _ in range(frames):
        made.append(player.step(goals))
        given.append(stick_goal(goals, TOP_SPEED))
    found = ask_node(tmp_path, asset_of(file), "run", goals=given, options=options)
    jumped = [bool(frame.jumped[0]) for frame in made]
    assert [frame["jumped"] for frame in found] == jumped
    assert sum(jumped) > 2
    names = player._frames.matcher.styles
    styles = [names[int(frame.tracks["style"][0])] for frame in made]
    assert [frame["row"]["clip"] for frame in found] == styles
    spec = player.spec
    clip = Clip(
        spec.skeleton,
        np.concatenate([frame.rotations for frame in made]),
        np.concatenate([frame.translations for frame in made]),
        60.0,
        spec.translated_joints,
    )
    assert largest_distance(joint_positions(clip), positions_in(found)) < 1e-3
