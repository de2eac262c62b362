"""Balls in JavaScript against the same balls in Python."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deepphase.apps.live.driven_run import driven_run, read_driven
from deepphase.controllers.ball.ball_track import ball_as_mapping
from deepphase.controllers.ball.fitting import fit_ball
from deepphase.controllers.evaluation.dribbling import dribbling_measures
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.errors import FormatError
from deepphase.motion.ball import Ball, BallState, advanced, touched
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.root_states import RootStates
from deepphase.steering.velocity_goals import GamepadGoals
from tests.controllers.ball.made_dribbling import FIRST, dribbling
from tests.live.made_ball import asset_of, ball_schema, walking
from tests.live.node import TOP_SPEED, ask_node, needs_node, stick_goal

pytestmark = needs_node

_MM, _FRAMES = 1e-3, 180


@pytest.fixture(scope="module")
def walk():
    return walking()


@pytest.fixture(scope="module")
def schema(walk):
    return ball_schema(walk)


@pytest.fixture(scope="module")
def blocks(walk, schema):
    return FrameBlocks.of_clip(walk, schema, ball=fit_ball(walk))


@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.05, -0.1)])
def test_balls_fly_bounce_roll_and_are_touched_as_in_python(tmp_path, walk, schema, blocks, slope):
    ball = Ball(restitution=0.7, rolling=0.1, slope=slope)
    generator = np.random.default_rng(4)
    places = generator.uniform((-2, 0.2, -2), (2, 4.2, 2), (20, 3))
    places[:8] = ball.resting(places[:8, ::2])
    speeds = generator.uniform(-4, 4, (20, 3))
    speeds[4:8, 1] = 0
    states = BallState(places, speeds)
    # The feet are around the first ball.
    points = places[0] + generator.uniform(-0.15, 0.15, (3, 3))
    moving = generator.uniform(-3, 3, (3, 3))
    found = ask_node(
        tmp_path,
        asset_of(dribbling(walk, schema, blocks).controller),
        "ball",
        ball=ball_as_mapping(ball),
        states=[
            {"position": place, "velocity": speed}
            for place, speed in zip(places, speeds, strict=True)
        ],
        seconds=1.7,
        points=points,
        speeds=moving,
    )
    many = (np.broadcast_to(each, (20, 3, 3)) for each in (points, moving))
    met, impulses = touched(states, ball, *many)
    assert impulses[0].max() > 0
    # One by one: on a slope, steps of a batch depend on the longest roll.
    later = [advanced(BallState(*each), ball, 1.7) for each in zip(places, speeds, strict=True)]
    for part in ("position", "velocity"):
        values = [each["touched"][part] for each in found]
        np.testing.assert_allclose(values, getattr(met, part), atol=1e-9)
        values = [each["advanced"][part] for each in found]
        expected = [getattr(each, part) for each in later]
        np.testing.assert_allclose(values, expected, atol=1e-9)
    given = [each["touched"]["impulse"] for each in found]
    np.testing.assert_allclose(given, impulses.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("foot_ik", [False, True])
def test_a_dribbled_kicked_passed_and_fetched_ball_goes_as_in_python(
    tmp_path, walk, schema, blocks, foot_ik
):
    characters = dribbling(walk, schema, blocks, foot_ik=foot_ik)
    asset = asset_of(characters.controller)
    root = characters.root_states
    sticks = Gamepad([0.0, 1.0], [(0.1, 0.5), (-0.4, 0.2)], [(0.0, 0.0)] * 2, {})
    rest = RootStates(root.positions.copy(), np.zeros((1, 2)), root.angles.copy(), np.zeros(1))
    goals = GamepadGoals(sticks, rest, GamepadSettings(top_speed=TOP_SPEED))
    ahead = np.array([3.0 * np.sin(root.angles[0]), 1.0, 3.0 * np.cos(root.angles[0])])
    way = blocks.body.root
    place = (way.positions + 0.4 * way.directions)[FIRST + 101, ::2].tolist()
    events = [(40, "kick", ahead.tolist()), (100, "place", place), (130, "passTo", [2.0, 5.0])]
    made, given, rows, reached = [], [], [], []
    for frame in range(_FRAMES):
        for at, name, argument in events:
            if at == frame:
                method = {"kick": "kick", "place": "place", "passTo": "pass_to"}[name]
                getattr(characters.balls, method)(0, np.array(argument))
        given.append(stick_goal(goals, TOP_SPEED))
        made.append(characters.step(goals))
        rows.append(characters.network_inputs[0][0].copy())
        reached.append(np.abs(characters.balls.reaching.offsets).max())
    options = {
        "start": 0,
        "position": blocks.body.root.positions[FIRST, ::2],
        "heading": float(blocks.body.root.angles[FIRST]),
        "footIk": foot_ik,
    }
    outputs = blocks.rows(schema.outputs)[FIRST + 1 :][:_FRAMES]
    frames = ask_node(
        tmp_path, asset, "run", goals=given, options=options, events=events, outputs=outputs,
        rows=True,
    )  # fmt: skip
    tracks = {name: np.array([frame.tracks[name][0] for frame in made]) for name in made[0].tracks}
    balls = [frame["ball"] for frame in frames]
    lost = np.array([ball["lost"] for ball in balls])
    # Feet reach for the ball where their places may be changed.
    assert (max(reached) > 0.05) == foot_ik
    # Kicked away, and put back.
    assert lost.any()
    assert not lost.all()
    assert (tracks["ball_touch"] >= 0).sum() > 3
    for name, track in (("position", "ball"), ("velocity", "ball_velocity"), ("gap", "ball_gap")):
        python, script = tracks[track], np.array([ball[name] for ball in balls])
        np.testing.assert_allclose(script, python, atol=_MM)
    np.testing.assert_array_equal([ball["touch"] for ball in balls], tracks["ball_touch"])
    np.testing.assert_array_equal(lost, tracks["ball_lost"])
    # All that the network reads, where it goes after its ball, too.
    np.testing.assert_allclose([frame["inputs"] for frame in frames], rows, atol=_MM)


def test_a_drawn_ball_turns_as_far_as_it_rolls(tmp_path, walk, schema, blocks):
    characters = dribbling(walk, schema, blocks)
    asset = asset_of(characters.controller)
    root = blocks.body.root
    options = {
        "start": 0,
        "position": root.positions[FIRST, ::2],
        "heading": float(root.angles[FIRST]),
    }
    outputs = blocks.rows(schema.outputs)[FIRST + 1 :][:10]
    frames = ask_node(
        tmp_path, asset, "run", goals=[None] * 10, options=options, outputs=outputs,
        events=[(0, "place", [9.0, 9.0])],
    )  # fmt: skip
    assert frames[-1]["ball"]["rotation"] == pytest.approx(frames[0]["ball"]["rotation"])
    moved = ask_node(tmp_path, asset, "run", goals=[None] * 10, options=options, outputs=outputs)
    first, last = (np.array(moved[at]["ball"]["rotation"]) for at in (0, 1))
    turned = 2 * np.arccos(np.clip(abs(first @ last), 0, 1))
    way = np.subtract(moved[1]["ball"]["position"], moved[0]["ball"]["position"])
    assert turned == pytest.approx(np.linalg.norm(way[::2]) / 0.11, rel=1e-3)


def test_what_is_kept_of_a_ball_is_measured_as_a_run_s(walk, schema, blocks):
    frames = len(walk)
    rows = np.zeros((frames, 9))
    rows[:, 6], rows[:, 8] = -1, 0.3
    rows[60:90, 7], rows[60:90, 8] = 1, 2.0
    rows[[10, 40], 6] = 0, 1
    rest, still = np.zeros((frames, 2)).tolist(), [0.0] * frames
    message = {"bvh": "", "positions": rest, "angles": still, "velocities": rest}
    message |= {"facings": [None] * frames, "balls": rows.tolist()}
    message["contacts"] = np.zeros((frames, len(schema.feet))).tolist()
    _, arrays = read_driven(json.dumps(message), len(schema.feet))
    run = driven_run(walk, arrays, dribbling(walk, schema, blocks).spec)
    found = dribbling_measures(run, run.spec.ball)
    assert (found.left, found.losses * frames / 3600) == (0.5, pytest.approx(1.0))
    assert found.fetching == pytest.approx(0.5)
    message["balls"][3] = [0.0] * 8
    with pytest.raises(FormatError, match="not a motion"):
        read_driven(json.dumps(message), len(schema.feet))
