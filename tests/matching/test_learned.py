"""Learned motion matching: its poses, states, queries, files and players."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.array_file import read_arrays, write_arrays
from deepphase.matching.learned.matcher import FORMAT, VERSION, Layer, Matcher
from deepphase.matching.learned.nearest import NearestStates, Queries, random_queries
from deepphase.matching.learned.rows import DecompressedFrames, DecompressedMotion
from deepphase.matching.learned.source import MatcherSource
from deepphase.matching.learned.training import train_matcher
from deepphase.motion.kinematics import joint_positions
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.made_paths import MADE_PATHS
from deepphase.steering.run import rollout, start_on_path, start_under_gamepad
from tests.matching.made_matchers import config, styled_database, untrained
from tests.matching.test_player import SPEED


@pytest.fixture(scope="module")
def database():
    return styled_database()


@pytest.fixture(scope="module")
def made(database):
    return untrained(database)


def test_values_of_poses_make_the_poses_again(made):
    data = made[0].data
    rows = data.measured_rows[::50]
    poses, playback = data.poses(rows), data.playback
    again = data.values.poses(data.values.values(poses))
    # A joint above the hips has neither rotation nor translation of its own.
    places = playback.positions(poses.rotations, poses.translations)
    np.testing.assert_allclose(
        playback.positions(again.rotations, again.translations), places, atol=1e-5
    )
    np.testing.assert_allclose(again.steps, poses.steps, atol=1e-6)
    np.testing.assert_array_equal(again.contacts, poses.contacts)
    np.testing.assert_array_equal(again.idle, poses.idle)


def test_kinematics_of_tensors_are_those_of_clips(made):
    module, _ = made
    data, rows = module.data, module.data.measured_rows[::50]
    poses = data.poses(rows)
    places, axes = module.body(data.pose_values(rows))
    expected = data.playback.positions(poses.rotations, poses.translations)
    np.testing.assert_allclose(places.numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(np.linalg.det(axes.numpy()), 1.0, atol=1e-5)


def test_layers_without_normalisation_give_what_the_networks_give(made):
    module, matcher = made
    rows = module.data.measured_rows[::40]
    raw = module.raw_states()[rows]
    normal = module.states[rows]
    count = module.data.database.dims
    latents = normal[:, count:] * module.latent_scale + module.latent_mean
    with torch.no_grad():
        values = module.network.decompressor(torch.cat([normal[:, :count], latents], -1))
        rates = module.network.stepper(normal) * module.rate_scale
        conditions = torch.tensor([[1.0, 0.0, 1.0]]).expand(len(rows), -1)
        found = module.network.project(normal, conditions)
    expected = matcher.values.poses((values * module.pose_scale + module.pose_mean).numpy())
    poses = matcher.decompressed(raw.numpy())
    np.testing.assert_allclose(poses.translations, expected.translations, atol=1e-5)
    np.testing.assert_allclose(poses.rotations, expected.rotations, atol=1e-4)
    later = module.states[rows] + rates / matcher.fps
    scale = torch.cat([module.feature_scale, torch.ones(matcher.latents)])
    mean = torch.cat([module.feature_mean, torch.zeros(matcher.latents)])
    unlimited = replace(matcher, limits=np.float32([[-np.inf], [np.inf]]).repeat(len(mean), 1))
    np.testing.assert_allclose(
        unlimited.stepped(raw.numpy()), (later * scale + mean).numpy(), atol=1e-4
    )
    asked = raw.numpy()
    np.testing.assert_allclose(
        unlimited.projected(
            asked[:, :count], asked[:, count:], np.zeros(len(rows), int), np.ones(len(rows), bool)
        ),
        (found * scale + mean).numpy(),
        atol=1e-4,
    )


def test_the_nearest_states_are_those_of_a_full_comparison(made):
    module, _ = made
    data, states = module.data, module.states
    metric = torch.linspace(0.2, 1.0, states.shape[1])
    queries = random_queries(
        data, states, torch.from_numpy(data.measured_rows[::20]), torch.Generator().manual_seed(1)
    )
    assert queries.starts.any()
    assert len(queries.styles.unique()) == 2
    found = NearestStates(data, states, metric)(queries).numpy()
    idle = data.database.idle(data.targets)
    for query, style, starts, row in zip(
        queries.states.numpy(), queries.styles.tolist(), queries.starts.tolist(), found, strict=True
    ):
        allowed = (data.style_of[data.targets] == style) & ~(idle & starts)
        rows = data.targets[allowed]
        away = np.linalg.norm((states[rows].numpy() - query) * metric.numpy(), axis=1)
        own = np.linalg.norm((states[row].numpy() - query) * metric.numpy())
        assert row in rows
        assert own == pytest.approx(away.min(), rel=1e-3)


def test_queries_have_goals_of_other_rows_and_noise(made):
    module, _ = made
    data, states = module.data, module.states
    rows = torch.from_numpy(data.measured_rows)
    queries = random_queries(data, states, rows, torch.Generator().manual_seed(0))
    moved = (queries.states - states[rows]).abs()
    others = np.setdiff1d(np.arange(data.database.dims), data.goal_columns)
    little = (moved[:, others] < 0.5).all(dim=1) & (moved[:, data.goal_columns] > 1.0).any(dim=1)
    assert little.float().mean() > 0.05
    assert isinstance(queries, Queries)
    assert queries.conditions.shape == (len(rows), len(data.styles) + 1)


def test_rows_of_a_stretch_are_stepped_once_from_its_first_state(made):
    _, matcher = made
    frames = DecompressedFrames(matcher, 3)
    motion = DecompressedMotion.of_frames(frames)
    which, states = np.array([0, 2]), matcher.starts.states[:2]
    rows = frames.begin(which, states, np.array([0, 1]))
    assert (rows >= len(matcher.rest)).all()
    np.testing.assert_array_equal(frames.characters(rows), which)
    np.testing.assert_array_equal(frames.ranges_of(rows)[0], rows)
    expected = states
    for step in range(6):
        np.testing.assert_allclose(frames.read("states", rows + step), expected, atol=1e-6)
        np.testing.assert_array_equal(
            motion.rotations[rows + step], matcher.decompressed(expected).rotations
        )
        expected = matcher.stepped(expected)
    # Both the row that plays and the first ones after a jump are kept.
    jumped = frames.begin(which[:1], states[1:], np.array([1]))
    np.testing.assert_array_equal(frames.read("states", jumped), states[1:])
    ahead = frames.read("states", jumped + 1)
    np.testing.assert_allclose(ahead, matcher.stepped(states[1:]), atol=1e-6)
    assert frames.labels_of(rows[1:]) == [{"style": "right"}]
    rest = np.arange(2)
    np.testing.assert_array_equal(frames.read("states", rest), matcher.rest.states[:2])
    mixed = frames.read("idle", np.array([0, int(jumped[0])]))
    assert mixed[0]


def test_a_file_holds_the_matcher_in_half_precision(made, tmp_path):
    _, matcher = made
    path = matcher.save(tmp_path / "walk.matcher")
    again = Matcher.load(path)
    states = matcher.starts.states[:20]
    np.testing.assert_allclose(
        again.decompressed(states).translations,
        matcher.decompressed(states).translations,
        atol=0.01,
    )
    assert again.styles == ("left", "right")
    assert again.rest.styles == matcher.rest.styles
    np.testing.assert_allclose(np.linalg.norm(again.rest.poses.rotations, axis=-1), 1.0, atol=1e-5)
    arrays, header = read_arrays(path, format=FORMAT, version=VERSION)
    for name, changed in (
        ("stepper.0.weight", arrays["stepper.0.weight"][:-1]),
        ("rest.stops", arrays["rest.stops"][:-1]),
        ("starts.styles", arrays["starts.styles"] + 5),
    ):
        write_arrays(path, arrays | {name: changed}, header, format=FORMAT, version=VERSION)
        with pytest.raises(CheckpointError, match="not a matcher"):
            Matcher.load(path)


def test_layers_that_do_not_fit_are_refused(made):
    _, matcher = made
    short = (*matcher.stepper[:-1], Layer(matcher.stepper[-1].weight[:, 1:], np.zeros(2)))
    with pytest.raises(ValueError, match="stepper"):
        replace(matcher, stepper=short).check()


def test_players_change_to_the_style_that_is_desired_and_rest(made):
    _, matcher = made
    stick = Gamepad(
        [0.0, 1.0, 1.01, 2.0, 2.01, 9.0],
        [[0, 0.8]] * 4 + [[0, 0]] * 2,
        np.zeros((6, 2)),
        {"style": ("left", "left", "right", "right", "right", "right")},
    )
    player, goals = start_under_gamepad(MatcherSource(matcher, seed=1), stick, characters=3)
    run = rollout(player, goals, 6.0)
    assert run.alive.all()
    styles = run.tracks["style"]
    assert (styles[:, 40] == 0).all()
    assert (styles[:, 100] == 1).all()
    assert np.isfinite(joint_positions(run.clip(0))).all()
    # At the end all of them play moments of rest.
    assert player._rest.resting.all()
    assert MatcherSource(matcher).columns(run, 0)["label_style"][100] == "right"
    with pytest.raises(ParameterError, match="not among"):
        start_under_gamepad(MatcherSource(matcher, labels={"style": ["sad"]}), stick)


@pytest.mark.slow
def test_a_small_training_learns_poses_steps_and_projections(database, tmp_path):
    before = untrained(database)[1]
    options = {
        "network.width": 96,
        "network.projector_width": 96,
        "network.latents": 12,
        "training.windows": 16_000,
        "training.decompressor": 0.5,
    }
    matcher = train_matcher(database, config(**options), folder=tmp_path / "work")
    health = matcher.health
    assert health["pose_error_cm"] < 5.0
    assert health["step_error_cm"]["0.25"] < 0.7 * health["still_error_cm"]["0.25"]
    assert health["projected_cost"] < 1.3
    assert before.health == {}
    path = MADE_PATHS["wave"](SPEED, 8.0, 6.0)
    player, goals = start_on_path(MatcherSource(matcher), path)
    run = rollout(player, goals, 6.0)
    away = np.linalg.norm(run.positions - run.desired_positions, axis=-1)
    assert away.mean() < 0.25


@pytest.mark.slow
def test_a_training_that_was_interrupted_ends_in_the_same_weights(database, tmp_path):
    whole = train_matcher(database, config(), folder=tmp_path / "whole")

    def stop(*progress: object) -> None:
        # In the stepper's share.
        if progress[0] == "training" and progress[1] > 0.6 * progress[2]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_matcher(database, config(), folder=tmp_path / "work", progress=stop)
    again = train_matcher(database, config(), folder=tmp_path / "work", resume=True)
    for name in ("decompressor", "stepper", "projector"):
        for one, other in zip(getattr(whole, name), getattr(again, name), strict=True):
            np.testing.assert_array_equal(one.weight, other.weight)


@pytest.mark.slow
def test_networks_as_onnx_give_poses_steps_and_projections(made, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    pytest.importorskip("onnxscript", reason="the extra `onnx` is not installed")
    from deepphase.matching.learned.onnx_export import export_matcher

    _, matcher = made
    written = export_matcher(matcher, tmp_path / "walk.onnx")
    assert max(each.difference for parity in written.values() for each in parity) < 1e-4
    assert [path.name for path in written] == [
        "walk.decompressor.onnx",
        "walk.stepper.onnx",
        "walk.projector.onnx",
    ]
    states = matcher.starts.states[-9:]
    conditions = np.float32([[0.0, 1.0, 1.0]] * 9)
    found = [
        onnxruntime.InferenceSession(path).run(None, inputs)[0]
        for path, inputs in zip(
            written,
            ({"state": states}, {"state": states}, {"query": states, "conditions": conditions}),
            strict=True,
        )
    ]
    poses, own = matcher.values.poses(found[0]), matcher.decompressed(states)
    np.testing.assert_allclose(poses.translations, own.translations, atol=1e-5)
    np.testing.assert_allclose(found[1], matcher.stepped(states), atol=1e-5)
    split = states[:, : matcher.features], states[:, matcher.features :]
    projected = matcher.projected(*split, np.ones(9, int), np.ones(9, bool))
    np.testing.assert_allclose(found[2], projected, atol=1e-5)
