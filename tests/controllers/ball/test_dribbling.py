"""Controllers with a ball: samples, training input, and balls of running characters."""

import html
import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.apps.cli import main
from deepphase.controllers.ball.dribbling import dribbling_measures
from deepphase.controllers.ball.fitting import fit_ball
from deepphase.controllers.ball.running_balls import (
    LOST_M,
    BallEvent,
    BallSettings,
    parse_ball_events,
)
from deepphase.controllers.data.samples import schema_of_store
from deepphase.controllers.schema.config import BALL_BLOCKS, SchemaConfig
from deepphase.controllers.schema.frame_blocks import FrameBlocks
from deepphase.controllers.training.closed_loop import ClipGoals, ClosedLoop, RootOffset
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.ball import Ball, BallState, advanced, ball_energy
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.steering.run import rollout
from deepphase.synthetic.gait_motion import locomotion
from tests.controllers.ball.made_dribbling import FIRST, dribbling

NOW, OFFSETS, LATER = 6, 13, 7


@pytest.fixture(scope="module")
def walk():
    return locomotion(3, 5.0, speed=1.2, turn_rate=0.3, variety=0.0).clip


@pytest.fixture(scope="module")
def track(walk):
    return fit_ball(walk)


@pytest.fixture(scope="module")
def schema(walk):
    config = SchemaConfig(ball=True)
    return schema_of_store(ClipStore.from_clips([walk]), "none", config, channels=0, tracks=None)


@pytest.fixture(scope="module")
def blocks(walk, schema, track):
    return FrameBlocks.from_clip(walk, schema, ball=track)


def test_rows_have_the_ball_relative_to_the_root(walk, schema, blocks, track):
    rows = blocks.rows(schema.inputs)
    block = rows[:, schema.inputs.slices["ball_position"]].reshape(len(walk), OFFSETS, 3)
    root = root_trajectory(walk, find_roles(walk.skeleton, clip=walk))
    frame = 120
    for at, offset in enumerate(schema.config.offsets_s):
        away = track.positions[frame + round(offset * 60)] - root.positions[frame]
        angle = root.angles[frame]
        expected = [
            away[0] * np.cos(angle) - away[2] * np.sin(angle),
            away[0] * np.sin(angle) + away[2] * np.cos(angle),
        ]
        np.testing.assert_allclose(block[frame, at, ::2], expected, atol=1e-5)
    speeds = rows[:, schema.inputs.slices["ball_velocity"]].reshape(len(walk), OFFSETS, 3)
    np.testing.assert_allclose(
        np.linalg.norm(speeds[:, NOW], axis=1), np.linalg.norm(track.velocities, axis=1), atol=1e-5
    )
    out = blocks.rows(schema.outputs)
    made = out[:, schema.outputs.slices["ball_position"]].reshape(len(walk), LATER, 3)
    np.testing.assert_allclose(made, block[:, NOW:], atol=1e-6)


def test_unrolled_training_goes_on_with_its_own_ball(schema, blocks):
    loop, frame = ClosedLoop(schema), 120
    inputs, outputs = (
        torch.from_numpy(blocks.rows(each)[[frame]]) for each in (schema.inputs, schema.outputs)
    )
    changed = outputs.clone()
    for name in BALL_BLOCKS:
        changed[:, schema.outputs.slices[name]] += 0.25
    none = torch.zeros(1, 0)
    made, _ = loop.next_frame(inputs, none, none, changed)
    for name in BALL_BLOCKS:
        found = made[0, schema.inputs.slices[name]].reshape(OFFSETS, 3)
        recorded = inputs[0, schema.inputs.slices[name]].reshape(OFFSETS, 3)
        np.testing.assert_allclose(found[:NOW], recorded[:NOW])
        np.testing.assert_allclose(found[NOW:], recorded[NOW:] + 0.25, atol=1e-6)
    # A body beside the recorded one sees the ball from where it is.
    offset = RootOffset(torch.tensor([0.2 + 0.1j]), torch.tensor([0.3]))
    seen = ClipGoals(schema).seen(inputs, offset)
    block = schema.inputs.slices["ball_position"]
    before, after = (each[0, block].reshape(OFFSETS, 3).numpy() for each in (inputs, seen))
    x, z = before[:, 0] - 0.2, before[:, 2] - 0.1
    ground = (x + 1j * z) * np.exp(0.3j)
    np.testing.assert_allclose(after[:, 0] + 1j * after[:, 2], ground, atol=1e-6)


def test_a_character_dribbles_the_ball_of_its_clip_again(walk, schema, blocks, track):
    characters = dribbling(walk, schema, blocks)
    run = rollout(characters, None, 2.0)
    made = run.tracks["ball"][0]
    recorded = track.positions[FIRST + 1 : FIRST + 1 + len(run)]
    assert np.linalg.norm(made - recorded, axis=1).max() < 0.35
    assert not run.tracks["ball_lost"].any()
    assert (run.tracks["ball_touch"] >= 0).any()
    # The inputs have the ball where it was.
    inputs, _ = characters.network_inputs
    place = inputs[0, schema.inputs.slices["ball_position"]].reshape(OFFSETS, 3)
    away = made[-2] - np.insert(run.positions[0, -2], 1, 0.0)
    ground = (away[0] + 1j * away[2]) * np.exp(1j * run.angles[0, -2])
    np.testing.assert_allclose(place[NOW, ::2], [ground.real, ground.imag], atol=1e-4)


@pytest.mark.parametrize("ball", [Ball(), Ball(0.15, 0.6, rolling=0.15)])
def test_energy_comes_from_feet_alone_and_feet_stay_out(walk, schema, blocks, ball):
    run = rollout(dribbling(walk, schema, blocks, balls=BallSettings(ball)), None, 2.5)
    states = BallState(run.tracks["ball"][0], run.tracks["ball_velocity"][0])
    energy, gap = ball_energy(states, ball), run.tracks["ball_gap"][0]
    free = np.minimum(gap[1:], gap[:-1]) > 0.13
    assert free.any()
    assert np.diff(energy)[free].max() < 0.02
    # Where no foot is near, the ball moves as physics has it.
    far = np.flatnonzero(np.minimum(gap[1:], gap[:-1]) > 0.55)
    for frame in far[:20].tolist():
        state = BallState(states.position[frame], states.velocity[frame])
        expected = advanced(state, ball, 1 / 60)
        np.testing.assert_allclose(states.position[frame + 1], expected.position, atol=1e-4)
    assert gap.min() > -0.08
    assert ball.height(states.position).min() > -1e-4


def test_kicks_passes_and_lost_balls(walk, schema, blocks):
    characters = dribbling(walk, schema, blocks, 2)
    balls = characters.balls
    balls.kick(0, np.array([0.0, 0.0, 9.0]))
    ahead = blocks.body.root.directions[FIRST + 30, ::2]
    target = balls.state.position[1, ::2] + 6.0 * ahead
    balls.pass_to(1, target)
    run = rollout(characters, None, 3.0)
    speeds = np.linalg.norm(run.tracks["ball_velocity"], axis=-1)
    assert speeds[0].max() == pytest.approx(9.0)
    assert run.tracks["ball_lost"][0].any()
    assert np.linalg.norm(run.tracks["ball"][1, :, ::2] - target, axis=1).min() < 1.0
    away = np.linalg.norm(run.tracks["ball"][0, :, ::2] - run.positions[0], axis=1)
    assert (away[run.tracks["ball_lost"][0]] > LOST_M - 0.7).all()
    balls.place(0, np.array([1.0, 2.0]))
    np.testing.assert_allclose(balls.state.position[0], [1.0, balls.ball.radius_m, 2.0])
    for bad in (lambda: balls.kick(0, np.array([0, 0, 90.0])), lambda: balls.kick(7, np.zeros(3))):
        with pytest.raises(ParameterError):
            bad()
    with pytest.raises(ParameterError, match="place"):
        balls.place(0, np.array([np.nan, 0.0]))


def test_feet_reach_for_a_ball_beside_the_way_and_send_it_ahead(walk, schema, blocks):
    root = blocks.body.root
    ahead, left = root.directions[FIRST, ::2], root.directions[FIRST, ::-2] * (1.0, -1.0)
    place = root.positions[FIRST, ::2] + 0.9 * ahead + 0.5 * left
    balls = {}
    for foot_ik in (False, True):
        characters = dribbling(walk, schema, blocks, foot_ik=foot_ik)
        characters.balls.place(0, place)
        run = rollout(characters, None, 2.0)
        balls[foot_ik] = run.tracks["ball"][0, -1, ::2]
        assert (characters.balls.reaching.offsets != 0).any() == foot_ik
    # Without, it passes the ball; with, the ball is in front of it.
    np.testing.assert_allclose(balls[False], place, atol=1e-6)
    there = balls[True] - run.positions[0, -1]
    assert np.linalg.norm(there) < 0.8
    assert there @ [np.sin(run.angles[0, -1]), np.cos(run.angles[0, -1])] > 0.3


def test_events_are_read_from_texts():
    events = parse_ball_events("pass@10:0:6, kick@5:8")
    assert events == [BallEvent(5.0, "kick", (8.0,)), BallEvent(10.0, "pass", (0.0, 6.0))]
    assert parse_ball_events(None) == []
    for bad in ("kick", "kick@5", "pass@1:2", "throw@1:2", "kick@-1:3", "kick@x:3", "kick@1:nan"):
        with pytest.raises(ParameterError, match="of the ball"):
            parse_ball_events(bad)


@pytest.mark.slow
def test_the_program_trains_and_dribbles(tmp_path, capsys):
    store = ClipStore.from_clips(
        [replace(locomotion(seed, 5.0, speed=1.2 + 0.1 * seed).clip, name=f"walk_{seed}")
         for seed in range(4)]
    )  # fmt: skip
    store.save(tmp_path / "walk.store")
    words = [str(tmp_path / name) for name in ("walk.store", "ball", "d.controller", "run")]
    assert main(["fit", "ball", words[0], "-o", words[1]]) == 0
    small = ["--set=network.hidden=16", "--set=network.experts=2", "--set=training.samples=2560"]
    small += [
        "--set=training.unroll_frames=2",
        "--set=training.made_stops=0",
        "--set=trainer.devices=1",
    ]
    train = ["train", "controller", words[0], "--ball", words[1], "--config", "ball_no_phase"]
    assert (
        main(
            [
                *train,
                *small,
                "--set=trainer.accelerator=cpu",
                "--set=trainer.devices=1",
                "-o",
                words[2],
            ]
        )
        == 0
    )
    events = ["--ball", "kick@0.5:6"]
    run = ["control", words[2], "--path", "wave", "--seconds", "2", *events, "-o", words[3]]
    assert main(run) == 0, capsys.readouterr().err
    page = (tmp_path / "run" / "index.html").read_text()
    assert '"ball":{' in html.unescape(page)
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    found = {each["name"]: each for each in report["measures"] if each["name"].startswith("ball_")}
    assert set(found) >= {"ball_distance", "ball_touches", "ball_losses", "ball_depth"}
    assert found["ball_touches"]["data"] > 0.3
    assert "within 1 m of the nearest foot" in page
    assert main([*run[:-2], "--terrain", "rocks", "-o", words[3]]) == 2
    assert main([*run[:-2], "--ball", "throw@1", "-o", words[3]]) == 2


def test_measures_of_a_run_with_known_touches(walk, schema, blocks):
    run = rollout(dribbling(walk, schema, blocks), None, 2.0)
    frames = len(run)
    gap = np.full((1, frames), 0.2, np.float32)
    gap[0, 30] = -0.05
    gap[0, 60:90] = 1.2
    touch = np.full((1, frames), -1)
    touch[0, [10, 11, 30, 50]] = [0, 0, 1, 0]
    lost = gap > 1.0
    speed = np.zeros((1, frames, 3), np.float32)
    speed[0, 70:, 2] = 1.0
    tracks = {"ball": np.tile([0, 0.11, 0], (1, frames, 1)), "ball_velocity": speed}
    tracks |= {"ball_gap": gap, "ball_touch": touch, "ball_lost": lost}
    found = dribbling_measures(replace(run, tracks=tracks), Ball())
    assert found["touches"] == pytest.approx(3 / 2.0)
    assert found["left"] == pytest.approx(2 / 3)
    assert found["near"] == pytest.approx(0.5)
    assert found["depth"] == pytest.approx(0.05)
    assert found["deep"] == pytest.approx(1 / frames)
    assert found["energy"] == pytest.approx(0.5 * 0.43)
    assert found["losses"] == pytest.approx(30.0)
    assert found["fetching"] == pytest.approx(0.5)
    assert found["never_fetched"] == 0
    with pytest.raises(ParameterError, match="no ball"):
        dribbling_measures(replace(run, tracks={}), Ball())
