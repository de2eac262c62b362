"""Databases: what their rows are, kept, searched through a cache, refused."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.corpus.store_writer import write_store
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.features.layout import Feature, FeatureLayout
from deepphase.features.moment_kinds import KINDS
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.search.exact import ExactSearcher
from deepphase.matching.search.moments import clip_queries, following, nearest_moments, placed
from deepphase.matching.search.searcher import open_searcher
from tests.matching.made_databases import swinging_store, untrained_model


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> ClipStore:
    path = tmp_path_factory.mktemp("store") / "swings.store"
    write_store(path, swinging_store())
    return open_store(path)


@pytest.fixture(scope="module")
def model(store):
    return untrained_model(store)


@pytest.fixture(scope="module")
def database(store, model) -> MotionDatabase:
    return MotionDatabase.build(store, "phase_trajectory", model)


def test_rows_are_the_frames(store, model, database):
    assert len(database) == store.frames
    assert database.dims == 6 + 24
    for index, clip in enumerate(store):
        rows = np.arange(database.range_starts[index], database.range_stops[index])
        assert (database.clip_of(rows) == index).all()
        np.testing.assert_array_equal(database.frame_of(rows), np.arange(len(clip)))
        np.testing.assert_array_equal(database.frames_left(rows), np.arange(len(clip))[::-1])
        phases = model.encode(clip)
        np.testing.assert_array_equal(database.phases.phase[rows], phases.parameters.phase)
        np.testing.assert_array_equal(database.interior[rows], phases.interior)
        raw = database.normalisation.inverse(database.features[rows])
        np.testing.assert_allclose(
            raw[:, database.layout.slices["phase_manifold"]],
            phases.parameters.manifold(),
            atol=1e-5,
        )


def test_normalised_by_block(database):
    """Mean 0, and a mean standard deviation of the weight in every block that changes."""
    np.testing.assert_allclose(database.features.mean(0), 0, atol=1e-4)
    phases = database.features[:, database.layout.slices["phase_manifold"]]
    assert phases.std(0).mean() == pytest.approx(1.0, rel=1e-3)
    # These bodies never turn and all have one speed.
    np.testing.assert_array_equal(database.normalisation.scale[6:], 1.0)


def test_offered_rows_look_ahead_within_their_clip(database):
    left = database.frames_left(np.arange(len(database)))
    np.testing.assert_array_equal(database.offered, left >= 60)


def test_query_takes_rows_and_desired_trajectories(database):
    rows = np.array([30, 300])
    np.testing.assert_array_equal(database.query(rows), database.features[rows])
    slices = database.layout.slices
    desired = np.ones((2, 12), np.float32)
    query = database.query(rows, {"trajectory_position": desired})
    raw = database.normalisation.inverse(query)
    np.testing.assert_allclose(raw[:, slices["trajectory_position"]], 1.0, atol=1e-5)
    directions = slices["trajectory_direction"]
    np.testing.assert_array_equal(query[:, directions], database.features[rows][:, directions])
    with pytest.raises(ParameterError, match="no feature 'way'"):
        database.query(rows, {"way": desired})
    with pytest.raises(
        ParameterError, match="feature 'trajectory_position' must have finite values"
    ):
        database.query(rows, {"trajectory_position": desired * np.nan})


def test_saved_and_loaded(database, tmp_path):
    path = database.save(tmp_path / "swings.database")
    again = MotionDatabase.load(path)
    np.testing.assert_array_equal(again.features, database.features)
    assert again.layout == database.layout
    assert again.arrays_sha256 == database.arrays_sha256
    assert again.arrays_sha256 == database.arrays_sha256
    assert [dict(labels) for labels in again.labels] == [dict(labels) for labels in database.labels]
    np.testing.assert_array_equal(again.clip(2).rotations, database.clip(2).rotations)
    assert isinstance(again.features.base, np.memmap)


def test_kinds_of_moments_are_kept_and_found_for_files_without_them(database, tmp_path):
    # Bodies that swing slowly walk.
    assert (database.kinds[: database.range_stops[0]] == 1).all()
    tagged = replace(database, kinds=np.arange(len(database), dtype=np.uint8) % 3)
    loaded = MotionDatabase.load(tagged.save(tmp_path / "tagged.db"))
    np.testing.assert_array_equal(loaded.kinds, tagged.kinds)
    np.testing.assert_array_equal(loaded.rows_of_kinds(["action"]), tagged.kinds == 2)
    earlier = MotionDatabase.load(replace(database, kinds=None).save(tmp_path / "earlier.db"))
    assert earlier.kinds is None
    with pytest.raises(ParameterError, match="no kinds of moments"):
        earlier.rows_of_kinds(["idle"])
    np.testing.assert_array_equal(earlier.with_kinds().kinds, database.kinds)
    with pytest.raises(ParameterError, match="is not a kind of moments"):
        replace(database, kinds=np.full(len(database), len(KINDS), np.uint8))


def test_a_store_that_moved_or_changed(store, model, tmp_path):
    path = tmp_path / "near.store"
    write_store(path, swinging_store())
    layout = FeatureLayout(Feature("hips_velocity", joints=("hips",)))
    saved = MotionDatabase.build(open_store(path), layout).save(tmp_path / "near.database")
    for away in (tmp_path / "away",):
        away.mkdir()
        path.rename(away / path.name)
        saved.rename(away / saved.name)
        # Both moved together: found again.
        assert MotionDatabase.load(away / saved.name).clip(0).name == store.names[0]
        shutil.rmtree(away / path.name)
        with pytest.raises(CheckpointError, match="is missing"):
            MotionDatabase.load(away / saved.name).clip(0)
        given = MotionDatabase.load(away / saved.name, store=store)
        np.testing.assert_array_equal(given.clip(1).rotations, store.clip(1).rotations)
        write_store(away / path.name, swinging_store(first=1))
        with pytest.raises(CheckpointError, match="not the store"):
            MotionDatabase.load(away / saved.name).clip(0)


def test_labels(database):
    fast = database.rows_with({"pace": "fast"})
    assert set(database.clip_of(np.flatnonzero(fast))) == {1, 3}
    assert database.rows_with({"pace": ["fast", "slow"]}).all()
    with pytest.raises(ParameterError, match="it has pace"):
        database.rows_with({"style": "old"})
    with pytest.raises(ParameterError, match="no clip has"):
        database.rows_with({"pace": "none"})


def test_refuses_what_does_not_fit(store, model):
    with pytest.raises(ParameterError, match="no phase model"):
        MotionDatabase.build(store, "phase_trajectory")
    slow = ClipStore.from_clips([replace(clip, fps=30.0) for clip in store])
    with pytest.raises(ParameterError, match="--fps 60"):
        MotionDatabase.build(slow, "phase_trajectory", model)
    short = ClipStore.from_clips([clip.sliced(0, 40) for clip in store])
    with pytest.raises(ParameterError, match=r"longest clip has 0\.67 s"):
        MotionDatabase.build(short, "phase_trajectory", model)
    with pytest.raises(ParameterError, match="end_margin_s"):
        MotionDatabase.build(store, "phase", model, end_margin_s=float("nan"))


def test_tracks(store):
    """A block of named per-frame tracks, as music is, beside or without a body's features."""
    layout = FeatureLayout(Feature("beat", kind="track", offsets_s=(0.0, 0.5)))
    built = MotionDatabase.build(
        store, layout, tracks=lambda clip: {"beat": np.arange(len(clip))[:, None] * 1.0}
    )
    raw = built.normalisation.inverse(built.features)[: len(store.clip(0))]
    np.testing.assert_allclose(
        raw[:, 1] - raw[:, 0], np.minimum(30, np.arange(len(raw))[::-1]), atol=1e-2
    )
    with pytest.raises(ParameterError, match="track 'beat'"):
        MotionDatabase.build(store, layout)


def test_clip_queries_are_rows(store, model, database):
    queries, clip = clip_queries(database, store.clip(1), model)
    start, stop = database.range_starts[1], database.range_stops[1]
    np.testing.assert_allclose(queries, database.features[start:stop], atol=1e-5)
    assert len(clip) == len(queries)
    with pytest.raises(ParameterError, match="none is given"):
        clip_queries(database, store.clip(1))


def test_nearest_moments_are_apart_and_elsewhere(database):
    searcher = ExactSearcher(database)
    row = 100
    own = database.neighbourhood(row, 0.5)
    found = nearest_moments(database, searcher, database.features[row], 6, excluded=own)
    assert [each.distance for each in found] == sorted(each.distance for each in found)
    for index, each in enumerate(found):
        assert not own[0] <= each.row < own[1]
        assert database.row_of(each.clip, each.frame) == each.row
        for other in found[:index]:
            assert each.clip != other.clip or abs(each.frame - other.frame) > 30
    assert found[0].row == searcher.search(database.features[row], excluded=own[None])[1][0, 0]
    frames = nearest_moments(database, searcher, database.features[row], 3, apart_s=0.0)
    rows = searcher.search(database.features[row], 3)[1][0]
    assert [each.row for each in frames] == rows.tolist()
    every = nearest_moments(database, searcher, database.features[row], 10_000, apart_s=0.5)
    assert len(every) < 40


def test_placed_moves_a_moment_to_a_place(database):
    row = 150
    clip = following(database, row, 0.5, before_s=0.25)
    moved = placed(
        clip,
        database.root_positions[row],
        float(database.root_angles[row]),
        np.array([2, 0, 1]),
        1.0,
    )
    built = MotionDatabase.build(
        ClipStore.from_clips([moved]),
        FeatureLayout(Feature("hips_velocity", joints=("hips",))),
        end_margin_s=0.0,
    )
    np.testing.assert_allclose(built.root_positions[15], [2, 0, 1], atol=1e-4)


# --- files that are not what they seem ---


@pytest.mark.parametrize("name", ["exact", "HNSW16"])
def test_a_cache_is_used_only_where_it_is_right(database, model, tmp_path, name):
    saved = MotionDatabase.load(database.save(tmp_path / "a.database"))
    notes = []
    queries = saved.features[::50] + np.float32(0.1)
    expected = open_searcher(saved, name, note=notes.append).search(queries, 3)
    cache = tmp_path / f"a.database.{name}.index"
    written = cache.read_bytes()
    open_searcher(saved, name, note=notes.append)
    assert cache.read_bytes() == written
    assert not notes

    def check(says):
        found = open_searcher(saved, name, note=notes.append).search(queries, 3)
        np.testing.assert_array_equal(found[1], expected[1])
        assert says in notes.pop()
        # Built again, and kept again.
        open_searcher(saved, name, note=notes.append)
        assert not notes

    cache.write_bytes(b"no index at all")
    check("built again")
    other = MotionDatabase.build(swinging_store(3), "phase_trajectory", model)
    open_searcher(other, name, cache=cache)
    check("other rows")
    open_searcher(saved, "Flat", cache=cache)
    check("another kind")


def test_headers_that_lie_are_refused(database, tmp_path):
    """Rows of another width than the layout that stands beside them."""
    wrong = replace(database, layout=database.layout)
    object.__setattr__(wrong, "layout", FeatureLayout(*database.layout.features[:2]))
    wrong.save(tmp_path / "b.database")
    with pytest.raises(DeepPhaseError, match="the layout has"):
        MotionDatabase.load(tmp_path / "b.database")
