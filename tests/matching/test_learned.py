"""Learned motion matching: its poses, kept states, search, files and players."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, ParameterError
from deepphase.formats.array_file import read_arrays, write_arrays
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.matcher import FORMAT, VERSION, Matcher
from deepphase.matching.learned.motion import KeptStates
from deepphase.matching.learned.training import train_matcher
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.settings import MomentFilter
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import joint_positions
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.path import MADE_PATHS
from deepphase.steering.run import rollout, start_on_path, start_under_gamepad
from deepphase.synthetic.gait_motion import locomotion
from tests.matching.made_matchers import SPACING_S, deeper, small_matcher, styled_database
from tests.matching.test_player import LAYOUT, SPEED


@pytest.fixture(scope="module")
def database():
    return styled_database()


@pytest.fixture(scope="module")
def data(database):
    return LearnedData(database, SPACING_S)


@pytest.fixture(scope="module")
def matcher(database):
    return small_matcher(database)


def test_values_of_poses_make_the_poses_again(data):
    rows = data.rows_of(data.measured_rows[::50])
    poses, playback = data.poses(rows), data.playback
    again = data.values.poses(data.values.values(poses))
    # A joint above the hips has neither rotation nor translation of its own.
    places = playback.positions(poses.rotations, poses.translations)
    np.testing.assert_allclose(
        playback.positions(again.rotations, again.translations), places, atol=1e-5
    )
    np.testing.assert_allclose(again.steps, poses.steps, atol=1e-6)
    np.testing.assert_allclose(again.slips, poses.slips, atol=1e-6)


def test_rows_between_kept_states_lie_on_a_smooth_curve_near_them():
    times = np.concatenate([np.arange(0, 31, 5.0), [50.0, 20.0, 35.0]])
    states = np.stack([times, 2.0 * times], axis=1)
    kept = KeptStates(states[:, :1], states[:, 1:], 5, np.array([5, 5]))
    assert (kept.starts.tolist(), kept.stops.tolist()) == ([0, 21], [21, 42])
    assert kept.rows.tolist() == [0, 5, 10, 15, 20, 21, 26, 31, 36, 41]
    # Lines stay lines.
    np.testing.assert_allclose(kept.states(np.arange(5, 16))[:, 0], np.arange(5, 16), atol=1e-5)
    # The second stretch has nothing of the first, and its accelerations no steps.
    curve = kept.states(np.arange(21, 42))[:, 0]
    assert curve.min() >= 25.0 - 1e-5
    assert np.abs(np.diff(curve, 3)).max() < 0.25 * np.abs(np.diff(times[5:], 2)).max()


def test_a_matcher_is_a_database_of_the_rows_that_are_played(matcher, data, database):
    rows = np.arange(len(matcher.kept))
    own, stored = matcher.database, data.rows_of(rows)
    np.testing.assert_array_equal(own.kinds, data.database.kinds[stored])
    assert own.labels_of(rows[::99]) == database.labels_of(stored[::99])
    np.testing.assert_array_equal(matcher.motion.contacts, data.playback.contacts[stored])
    kept = matcher.kept.rows
    # 8-bit numbers: a hundredth of a deviation or so; and the rows between them, smoothed.
    np.testing.assert_allclose(matcher.kept.features, database.features[stored[kept]], atol=0.03)
    away = np.abs(own.features[rows] - database.features[stored])
    assert np.median(away) < 0.01
    inside = own.neighbourhood(rows, 0.1)
    near = (stored[inside[:, 1] - 1] - stored[inside[:, 0]])[inside[:, 1] < len(rows)]
    assert near.max() <= 12
    whole = Playback.from_database(database)
    ends = matcher.kept.starts[1:]
    here = np.setdiff1d(rows, np.concatenate([ends - 1, ends]))
    np.testing.assert_allclose(
        matcher.motion.support[here[:60]], whole.support[stored[here[:60]]], atol=1e-6
    )


def test_kept_states_are_found_as_by_a_search_of_all_rows(matcher):
    features = np.asarray(matcher.database.features)
    features[matcher.kept.rows] = matcher.kept.features
    database = replace(matcher.database, features=features)
    generator = np.random.default_rng(0)
    queries = database.features[generator.choice(len(database), 20)]
    queries = queries + generator.normal(0.0, 0.3, queries.shape).astype(np.float32)
    allowed = database.rows_with({"style": "left"})
    excluded = database.neighbourhood(generator.choice(len(database), 20), 0.3)
    options = {"allowed": allowed, "excluded": excluded, "cost_bound": 6.0}
    expected = open_searcher(database, "exact").search(queries, 4, **options)
    found = matcher.searcher.search(queries, 4, **options)
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4)
    assert (found[1] < 0).any()


def test_a_file_holds_the_matcher(matcher, tmp_path):
    path = matcher.save(tmp_path / "walk.matcher")
    again = Matcher.load(path)
    rows = np.arange(0, len(matcher.kept), 9)
    np.testing.assert_allclose(again.kept.states(rows), matcher.kept.states(rows), atol=1e-5)
    np.testing.assert_allclose(
        again.motion.translations[rows], matcher.motion.translations[rows], atol=0.02
    )
    for name in ("contacts", "kinds", "offered"):
        np.testing.assert_array_equal(getattr(again, name), getattr(matcher, name))
    assert again.labels == matcher.labels
    arrays, header = read_arrays(path, format=FORMAT, version=VERSION)
    for name, changed in (
        ("decompressor.0.weight", arrays["decompressor.0.weight"][:-1]),
        ("latents", arrays["latents"][:-1]),
        ("counts", arrays["counts"] - 3),
        ("labels", arrays["labels"] + 5),
        ("contacts", arrays["contacts"][:-1]),
        ("kinds.lengths", arrays["kinds.lengths"] + 1),
        ("offered", 0 * arrays["offered"]),
    ):
        write_arrays(path, arrays | {name: changed}, header, format=FORMAT, version=VERSION)
        with pytest.raises(CheckpointError, match="parts of this matcher"):
            Matcher.load(path)


def test_players_change_to_the_style_that_is_desired_and_rest(matcher):
    stick = Gamepad(
        [0.0, 1.0, 1.01, 2.0, 2.01, 9.0],
        [[0, 0.8]] * 4 + [[0, 0]] * 2,
        np.zeros((6, 2)),
        {"style": ("left", "left", "right", "right", "right", "right")},
    )
    source = matcher.source(seed=1)
    player, goals = start_under_gamepad(source, stick, characters=3)
    run = rollout(player, goals, 6.0)
    assert run.alive.all()
    for character in range(3):
        styles = source.columns(run, character)["label_style"]
        assert (styles[55], styles[110]) == ("left", "right")
    assert np.isfinite(joint_positions(run.clip(0))).all()
    # At the end all of them play moments of rest.
    assert player._rest.resting.all()
    with pytest.raises(ParameterError, match="sad"):
        start_under_gamepad(matcher.source(labels={"style": ["sad"]}), stick)


def test_poses_of_a_matcher_are_those_of_its_database_and_follow_a_path(database):
    matcher = train_matcher(database)
    health = matcher.health
    assert health["pose_error_cm"] < 0.3
    assert health["rotation_error_degrees"] < 1.0
    assert 0.98 < health["speed_ratio"] < 1.02
    path = MADE_PATHS["wave"](SPEED, 8.0, 6.0)
    player, goals = start_on_path(matcher.source(), path)
    run = rollout(player, goals, 6.0)
    away = np.linalg.norm(run.positions - run.desired_positions, axis=-1)
    assert away.mean() < 0.25


def test_more_latents_and_a_smaller_spacing_are_more_exact(database):
    errors = [
        train_matcher(database, latents=latents, spacing_s=spacing_s).health["pose_error_cm"]
        for latents, spacing_s in ((4, 0.1), (12, 0.1), (12, 0.05))
    ]
    assert errors[0] > 1.2 * errors[1] > 1.2 * 1.2 * errors[2]


def test_layers_with_smooth_relus_are_read_and_evaluated(matcher, tmp_path):
    """As in files of before, whose decompressors were networks."""
    again = Matcher.load(deeper(matcher).save(tmp_path / "deep.matcher"))
    assert len(again.decompressor) == 2
    states = matcher.kept.states(np.arange(0, len(matcher.kept), 9))
    for one, other in zip(again.decompressed(states), matcher.decompressed(states), strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3)


@pytest.mark.parametrize("spacing_s", [0.05, 1.0])
def test_one_clip_that_does_not_move_has_a_finite_matcher(spacing_s, tmp_path):
    """Features are constant, there are fewer kept states than latents, and nothing is left over."""
    clip = locomotion(0, 2.0, gait="idle").clip
    still = clip.sliced(0, 1)
    still = replace(
        clip,
        rotations=np.repeat(still.rotations, 120, axis=0),
        translations=np.repeat(still.translations, 120, axis=0),
    )
    clips = ClipStore.from_clips([replace(still, labels={"kind": "idle"})])
    made = train_matcher(MotionDatabase.build(clips, LAYOUT), spacing_s=spacing_s)
    assert all(np.isfinite(value) for value in made.health.values())
    assert made.health["pose_error_cm"] < 0.1
    again = Matcher.load(made.save(tmp_path / "still.matcher"))
    poses = again.decompressed(again.kept.states(np.arange(len(again.kept))))
    assert all(np.isfinite(each).all() for each in poses)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"latents": 0}, "0 latents"),
        ({"latents": 2000}, "2000 latents"),
        ({"spacing_s": 0.0}, "spacing"),
        ({"spacing_s": float("nan")}, "spacing"),
        ({"moments": MomentFilter(("lying",))}, "no moment"),
    ],
)
def test_what_cannot_be_made_is_refused(database, options, said):
    with pytest.raises(ParameterError, match=said):
        train_matcher(database, **options)


def test_moments_of_three_frames_are_refused(database):
    kinds = np.where(np.arange(len(database)) % 4 < 3, 1, 2).astype(np.uint8)
    with pytest.raises(ParameterError, match="4 frames in a row"):
        train_matcher(replace(database, kinds=kinds), spacing_s=0.01)


@pytest.mark.slow
def test_onnx_files_give_the_poses_of_rows_and_find_them(matcher, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    pytest.importorskip("onnxscript", reason="the extra `onnx` is not installed")
    from deepphase.matching.learned.onnx_export import export_matcher

    written = export_matcher(matcher, tmp_path / "walk.onnx")
    assert max(each.difference for parity in written.values() for each in parity) < 1e-4
    assert [path.name for path in written] == ["walk.motion.onnx", "walk.search.onnx"]
    motion, search = (onnxruntime.InferenceSession(path) for path in written)
    rows = np.arange(3, len(matcher.kept), 41)[:, None]
    (values,) = motion.run(None, {"rows": rows})
    poses = matcher.values.poses(values)
    np.testing.assert_allclose(
        poses.translations, matcher.motion.translations[rows[:, 0]], atol=1e-4
    )
    queries = matcher.database.features[rows[:, 0]] + np.float32(0.1)
    costs, found = matcher.searcher.search(queries)
    row, cost = search.run(None, {"query": queries})
    np.testing.assert_array_equal(row, found[:, 0])
    np.testing.assert_allclose(cost, costs[:, 0], rtol=1e-4)
