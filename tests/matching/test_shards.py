"""Shards of a database: merged to the same bytes, searched as one, and refused unless complete."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.shards import Shard
from deepphase.corpus.store import open_store, write_store
from deepphase.errors import CheckpointError, ParameterError
from deepphase.matching.database.clip_sequence import ClipSequence
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.shards import build_shard
from deepphase.matching.search.searcher import open_searcher
from tests.matching.made_databases import swinging_store, untrained_model

OF = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two stores, the shards of their database, and the database built at once."""
    folder = tmp_path_factory.mktemp("shards")
    write_store(folder / "a.store", swinging_store(4))
    write_store(folder / "b.store", swinging_store(3, seconds=3.0, first=4))
    (folder / "parts").mkdir()
    stores, model = stores_in(folder), untrained_model(swinging_store(1))
    for number in range(1, OF + 1):
        shard(folder / "parts" / f"{number}.db", stores, model, number)
    # The rows of worker processes are those of one process, see the test of bytes.
    whole = MotionDatabase.build(stores, "phase_trajectory", model, spool=folder, workers=2)
    whole.save(folder / "whole.db")
    return folder


def stores_in(folder):
    return [open_store(folder / name) for name in ("a.store", "b.store")]


def shard(path, stores, model, number, of=OF, layout="phase_trajectory", margin=0.25):
    return build_shard(path, stores, layout, model, Shard(number, of), end_margin_s=margin)


@pytest.fixture(scope="module")
def joined(folder):
    return MotionDatabase.load(folder / "parts")


@pytest.fixture(scope="module")
def whole(folder):
    return MotionDatabase.load(folder / "whole.db")


def test_merged_shards_are_the_database_byte_for_byte(folder, joined):
    joined.save(folder / "merged.db")
    assert (folder / "merged.db").read_bytes() == (folder / "whole.db").read_bytes()
    one = MotionDatabase.build(
        stores_in(folder), "phase_trajectory", untrained_model(swinging_store(1))
    )
    one.save(folder / "one.db")
    assert (folder / "one.db").read_bytes() == (folder / "whole.db").read_bytes()


def test_shards_are_one_database_with_the_same_rows(folder, joined, whole):
    some = np.array([[3, 700], [-1, 1200]])
    assert (len(joined), joined.dims, len(joined.shards)) == (len(whole), whole.dims, OF)
    assert joined.clip_names == whole.clip_names
    np.testing.assert_array_equal(joined.offered_rows, whole.offered_rows)
    np.testing.assert_array_equal(joined.kinds, whole.kinds)
    assert [len(shard.kinds) for shard in joined.shards] == [len(each) for each in joined.shards]
    for rows in (some, slice(100, 900), slice(None, None, 7), -2, whole.offered):
        np.testing.assert_array_equal(joined.features[rows], whole.features[rows])
        np.testing.assert_array_equal(joined.root_angles[rows], whole.root_angles[rows])
    np.testing.assert_array_equal(joined.features[5:9, 2], whole.features[5:9, 2])
    np.testing.assert_array_equal(joined.phases[some].phase, whole.phases[some].phase)
    with pytest.raises(IndexError):
        joined.features[len(whole)]
    np.testing.assert_array_equal(joined.clip(5).rotations, whole.clip(5).rotations)
    paths = [folder / "parts" / f"{number}.db" for number in (3, 1, 2)]
    assert MotionDatabase.load(paths).clip_names == whole.clip_names


@pytest.mark.parametrize("index", ["exact", "ivf", "flat"])
def test_shards_are_searched_as_one(joined, whole, index, monkeypatch):
    rng = np.random.default_rng(0)
    queries = whole.features[rng.integers(0, len(whole), 40)] + np.float32(0.05)
    allowed = rng.random(len(whole)) < 0.5
    starts = rng.integers(0, len(whole), 40)
    excluded = np.stack([starts, starts + 300], -1)
    options = [
        {},
        {"k": 7, "allowed": allowed, "excluded": excluded},
        {"k": 5, "cost_bound": 0.8},
        {"k": len(whole) + 3},
        {"k": 3, "allowed": whole.rows_with({"pace": "slow"}) & (np.arange(len(whole)) < 200)},
    ]
    notes = []
    shards = open_searcher(joined, index, note=notes.append)
    again = open_searcher(
        MotionDatabase.load([each.path for each in joined.shards]), index, note=notes.append
    )
    assert not notes
    expected = open_searcher(whole, "exact")
    for each in options:
        found, kept = shards.search(queries, **each), again.search(queries, **each)
        np.testing.assert_array_equal(kept[1], found[1])
        if shards.exact:
            true = expected.search(queries, **each)
            np.testing.assert_array_equal(found[1], true[1])
            np.testing.assert_array_equal(found[0], true[0])
    if index == "ivf":
        assert shards.recall == again.recall
        assert {name.rsplit("_", 1)[0] for name in shards.recall} >= {"held_out", "unusual"}
        assert shards.recall["held_out_1"] >= 0.99
        assert again.effort == shards.effort > 0
        # Lists that are empty in one shard and not in another do not make it look at every row.
        monkeypatch.setattr("deepphase.matching.search.approximate.scan", None)
        assert (shards.search(queries)[1] >= 0).all()


def test_equal_rows_of_two_shards_come_in_order(tmp_path):
    """Ties at the end of the results, with the same clip in two shards."""
    clips = list(swinging_store(2))
    twins = [replace(each, name=f"{name} {each.name}") for name in "ab" for each in clips]
    write_store(tmp_path / "twins.store", twins)
    store = open_store(tmp_path / "twins.store")
    for number in (1, 2):
        shard(tmp_path / f"{number}.db", [store], None, number, 2, "pose_trajectory")
    joined = MotionDatabase.load(tmp_path)
    searcher = open_searcher(joined, "exact")
    half = len(joined) // 2
    for k in (1, 2, 3):
        _, rows = searcher.search(joined.features[[20, 20 + half]], k)
        assert (rows[:, 0] == 20).all()
        if k > 1:
            assert (rows[:, 1] == 20 + half).all()


def test_clips_are_cut_by_their_frames():
    stores = [swinging_store(3, seconds=1.0), swinging_store(2, seconds=6.0, first=3)]
    clips = ClipSequence.of(stores)
    cut = [clips.shard(Shard(number, 3)) for number in (1, 2, 3)]
    assert [len(each) for each in cut] == [3, 1, 1]
    assert sum((each.names for each in cut), ()) == clips.names
    assert [len(clips.shard(Shard(number, 5))) for number in range(1, 6)] == [1] * 5
    with pytest.raises(ParameterError, match="5 clips cannot be cut into 6"):
        clips.shard(Shard(1, 6))
    with pytest.raises(ParameterError, match="two stores have a clip"):
        ClipSequence.of([stores[0], stores[0]])


def test_sets_that_are_not_one_database(folder, tmp_path):
    parts = folder / "parts"
    stores, model = stores_in(folder), untrained_model(swinging_store(1))

    def says(*paths):
        with pytest.raises(CheckpointError) as caught:
            MotionDatabase.load(list(paths))
        return str(caught.value)

    first, second, third = (parts / f"{number}.db" for number in (1, 2, 3))
    assert "shards 1, 3 of 3 are given" in says(first, third)
    assert "shards 1 of 3 are given" in says(first)
    shutil.copy(second, tmp_path / "copy.db")
    assert "shards 1, 2, 2, 3 of 3 are given" in says(first, second, third, tmp_path / "copy.db")
    other = tmp_path / "other.db"
    write_store(tmp_path / "b.store", swinging_store(3, seconds=3.0, first=7))
    for wrong, options in (
        ("other features", {"layout": "phase"}),
        ("another end margin", {"margin": 0.1}),
        ("another number of shards", {"of": 2}),
        ("other clips of the store", {"stores": [stores[0].selected({"pace": "slow"}), stores[1]]}),
        ("another store", {"stores": [stores[0], open_store(tmp_path / "b.store")]}),
    ):
        shard(other, **{"stores": stores, "model": model, "number": 2, **options})
        assert wrong in says(first, other, third)
    assert "this motion database is not a shard" in says(first, folder / "whole.db")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CheckpointError, match="no shard of a motion database"):
        MotionDatabase.load(empty)
    data = bytearray(second.read_bytes())
    data[len(data) // 2] ^= 1
    other.write_bytes(data)
    assert "not the one that was written" in says(first, other, third)
