"""A store gives back the clips that were put in, lazily, and selects among them."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import is_store, place_aside
from deepphase.corpus.store import open_store, store_groups
from deepphase.corpus.store_writer import StoreWriter, write_store
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError, SkeletonError
from deepphase.files import json_hash
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.skeleton import Skeleton
from tests.corpus.made_clips import OTHER_ORDER, contents, in_other_order, made_clip, made_skeleton

FILES = Path(__file__).parents[1] / "compatibility" / "files"


def with_moving_head(clip: Clip) -> Clip:
    head = np.full((len(clip), 1, 3), 0.5, np.float32)
    return Clip(
        clip.skeleton,
        clip.rotations,
        np.concatenate([clip.translations, head], axis=1),
        clip.fps,
        np.array([0, 8]),
        name="nodding",
    )


def varied_clips() -> list[Clip]:
    """One group: other body, other joint order, one more joint that is translated."""
    return [
        made_clip(0, 30, labels={"style": "old", "set": "a"}),
        made_clip(1, 50, skeleton=made_skeleton(0.8), labels={"style": "young"}),
        in_other_order(made_clip(2, 40, labels={"style": "old", "set": "b"}), OTHER_ORDER),
        with_moving_head(made_clip(3, 20)),
    ]


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path) -> ClipStore:
    if request.param == "memory":
        return ClipStore.from_clips(varied_clips())
    write_store(tmp_path / "some.store", iter(varied_clips()))
    return open_store(tmp_path / "some.store")


def test_every_clip_comes_back(store):
    given = varied_clips()
    assert len(store) == 4
    assert store.group == "Hips-9"
    assert store.frames == 140
    assert store.minutes == pytest.approx(140 / 3600)
    for clip, expected in zip(store, given, strict=True):
        same_order = expected.in_order_of(store.skeleton)
        assert clip.skeleton.names == store.skeleton.names
        assert (clip.name, clip.fps) == (expected.name, expected.fps)
        assert dict(clip.labels) == dict(expected.labels)
        assert clip.source == expected.source
        np.testing.assert_array_equal(clip.rotations, same_order.rotations)
        np.testing.assert_allclose(
            joint_positions(clip), joint_positions(same_order), rtol=0, atol=1e-6
        )
        np.testing.assert_array_equal(clip.skeleton.end_offsets, same_order.skeleton.end_offsets)
        np.testing.assert_array_equal(clip.skeleton.end_parents, same_order.skeleton.end_parents)


def test_translated_joints_are_those_of_any_clip_and_the_others_stand_at_rest(store):
    np.testing.assert_array_equal(store.translated_joints, [0, 8])
    for clip in list(store)[:3]:
        np.testing.assert_allclose(
            clip.translations[:, 1], np.tile(clip.skeleton.offsets[8], (len(clip), 1)), rtol=1e-6
        )
    np.testing.assert_array_equal(store.clip(3).translations[:, 1], 0.5)


def test_clips_are_views_of_the_file(tmp_path):
    write_store(tmp_path / "some.store", varied_clips())
    store = open_store(tmp_path / "some.store")
    assert isinstance(store.rotations, np.memmap)
    assert store.rotations.dtype == store.translations.dtype == np.float32
    for clip in store:
        assert isinstance(clip.rotations, np.memmap)
        assert np.shares_memory(clip.rotations, store.rotations)
        assert np.shares_memory(clip.translations, store.translations)
        assert not clip.rotations.flags.writeable


def test_selections(store):
    assert store.label_names == ("style", "set")
    assert store.label_column("set").tolist() == ["a", "", "b", ""]
    assert store.selected({"style": "old"}).names == ("walk0", "walk2")
    assert store.selected({"style": ["old", "young"], "set": "b"}).names == ("walk2",)
    assert store.selected(["walk2", "walk0"]).names == ("walk2", "walk0")
    assert store.selected("nodding").frames == 20
    long = store.selected(lambda clip: len(clip) >= 40)
    assert long.names == ("walk1", "walk2")
    assert long.frames == 90
    assert np.shares_memory(long.rotations, store.rotations)
    np.testing.assert_array_equal(long.clip(1).rotations, store.clip(2).rotations)
    assert long.selected("walk2").clip(0).labels["set"] == "b"


def test_several_groups_in_one_file(tmp_path):
    path = tmp_path / "some.store"
    # The same joint names under other parents are another skeleton.
    bent = Skeleton(made_skeleton().names, [-1, 0, 1, 2, 0, 4, 5, 0, 0], made_skeleton().offsets)
    clips = [
        made_clip(0, 3600),
        made_clip(1, 60, skeleton=made_skeleton(root="mixamorig:Hips")),
        made_clip(2, 60, skeleton=bent),
        made_clip(3, 60),
    ]
    write_store(path, clips)
    groups = store_groups(path)
    names = [group.name for group in groups]
    assert names[1] == "mixamorig_Hips-9"
    assert [group.clips for group in groups] == [2, 1, 1]
    assert groups[0].minutes == pytest.approx(61 / 60)
    assert len(set(names)) == 3
    write_store(path, clips[::-1])
    assert {group.name for group in store_groups(path)} == set(names)
    for wrong in (None, "horse"):
        with pytest.raises(ParameterError) as caught:
            open_store(path, wrong)
        assert f"--skeleton NAME: {names[0]}" in caught.value.hint.replace(names[2], names[0])
        assert "2 clips, 1.0 min" in caught.value.hint
    assert open_store(path, "mixamorig_Hips-9").names == ("walk1",)
    assert open_store(path, names[0]).names == ("walk3", "walk0")


def test_stores_in_memory_hold_one_skeleton_at_one_rate(tmp_path):
    horse = made_clip(1, skeleton=made_skeleton(root="Horse"))
    with pytest.raises(SkeletonError, match="Hips-9 and Horse-9"):
        ClipStore.from_clips([made_clip(0), horse])
    with pytest.raises(ParameterError, match="60 and 30 frames"):
        ClipStore.from_clips([made_clip(0), made_clip(1, fps=30.0)])
    with pytest.raises(ParameterError, match="30 frames"):
        write_store(tmp_path / "some.store", [made_clip(0), made_clip(1, fps=30.0)])
    for empty in (ClipStore.from_clips, lambda clips: write_store(tmp_path / "some.store", clips)):
        with pytest.raises(ParameterError, match="a store must have at least one clip"):
            empty([])
    assert list(tmp_path.iterdir()) == []


def test_equal_names_get_numbers(tmp_path):
    clips = [made_clip(seed, name=name) for seed, name in enumerate(["a", "a-2", "a", "a"])]
    assert ClipStore.from_clips(clips).names == ("a", "a-2", "a-3", "a-4")
    write_store(tmp_path / "some.store", clips)
    assert open_store(tmp_path / "some.store").names == ("a", "a-2", "a-3", "a-4")


def test_a_store_of_a_store_keeps_everything(tmp_path):
    with StoreWriter(tmp_path / "first.store") as writer:
        for clip in varied_clips():
            writer.add(clip, {"sha256": clip.name})
        writer.finish(left_out=[{"file": "bad.bvh", "reason": "empty", "line": 3}])
    first = open_store(tmp_path / "first.store")
    assert first.left_out == [{"file": "bad.bvh", "reason": "empty", "line": 3}]
    first.selected({"style": "old"}).save(tmp_path / "second.store")
    second = open_store(tmp_path / "second.store")
    assert second.left_out == first.left_out
    assert [each["sha256"] for each in second.provenance] == ["walk0", "walk2"]
    np.testing.assert_array_equal(second.clip(1).rotations, first.clip(2).rotations)
    # Onto itself: the frames are read from the file that is replaced.
    write_store(tmp_path / "first.store", first)
    np.testing.assert_array_equal(open_store(tmp_path / "first.store").rotations, first.rotations)


def test_replaced_clips_take_the_place_of_the_first(tmp_path):
    with StoreWriter(tmp_path / "some.store") as writer:
        numbers = [writer.add(made_clip(seed, 20 + seed)) for seed in range(3)]
        writer.replace(numbers[1], made_clip(7, 33), {"again": True})
        np.testing.assert_array_equal(writer.clip(1).rotations, made_clip(7, 33).rotations)
        writer.finish()
    store = open_store(tmp_path / "some.store")
    assert store.names == ("walk0", "walk7", "walk2")
    assert store.lengths.tolist() == [20, 33, 22]
    assert len(store.rotations) == store.frames
    for clip, seed in zip(store, (0, 7, 2), strict=True):
        np.testing.assert_array_equal(clip.rotations, made_clip(seed, len(clip)).rotations)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ParameterError])
def test_an_interrupted_writer_leaves_the_older_store_and_nothing_else(tmp_path, error):
    path = tmp_path / "some.store"
    write_store(path, varied_clips())
    before = contents(path)

    def clips():
        yield made_clip(0)
        assert len(list(tmp_path.iterdir())) == 2
        raise error("now")

    with pytest.raises(error):
        write_store(path, clips())
    assert contents(path) == before
    assert list(tmp_path.iterdir()) == [path]


def test_only_stores_are_replaced(tmp_path):
    (tmp_path / "some.store").mkdir()
    write_store(tmp_path / "some.store", varied_clips())
    write_store(tmp_path / "some.store", varied_clips()[:1])
    assert open_store(tmp_path / "some.store").names == ("walk0",)
    shutil.copy(FILES / "clips.store", tmp_path / "older.store")
    write_store(tmp_path / "older.store", open_store(tmp_path / "older.store"))
    assert (tmp_path / "older.store").is_dir()


@pytest.mark.parametrize("look", [open_store, is_store, lambda path: StoreWriter(path).__enter__()])
def test_the_older_store_of_a_writer_that_was_killed_is_put_back(tmp_path, look):
    path = tmp_path / "some.store"
    write_store(path, varied_clips())
    before = contents(path)
    # As between the two renames of a writer.
    path.rename(place_aside(path))
    look(path)
    assert contents(path) == before
    path.rename(place_aside(path))
    write_store(path, varied_clips()[:1])
    assert open_store(path).names == ("walk0",)
    assert list(tmp_path.iterdir()) == [path]


def test_damaged_stores_are_refused(tmp_path):
    path = tmp_path / "some.store"
    write_store(path, varied_clips())
    rng = np.random.default_rng(0)
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        data = file.read_bytes()
        for place in rng.integers(0, len(data), 8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << int(rng.integers(8))
            file.write_bytes(damaged)
            with pytest.raises(CheckpointError):
                open_store(path)
        file.write_bytes(data[:-7])
        with pytest.raises(CheckpointError):
            open_store(path, verify=False)
        file.unlink()
        with pytest.raises(CheckpointError):
            open_store(path)
        file.write_bytes(data)
    open_store(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda header, arrays: header.pop("groups"),
        lambda header, arrays: header.update(groups=[]),
        lambda header, arrays: header.update(groups={"name": 1}),
        lambda header, arrays: header.update(fps="fast"),
        lambda header, arrays: header.update(fps=0),
        lambda header, arrays: header["groups"][0].update(joints=["Hips"]),
        lambda header, arrays: header["groups"][0].update(parents=[0] * 9),
        lambda header, arrays: header["groups"][0]["clips"].pop(),
        lambda header, arrays: header["groups"][0]["clips"][0].pop("source"),
        lambda header, arrays: header["groups"][0]["clips"][0].update(labels=3),
        lambda header, arrays: header["groups"][0]["clips"][0].update(name="walk1"),
        lambda header, arrays: arrays.pop("Hips-9/rotations"),
        lambda header, arrays: arrays.update({"Hips-9/range_stops": np.arange(4) * 10**9}),
        lambda header, arrays: arrays.update({"Hips-9/range_starts": np.full(4, -1)}),
        lambda header, arrays: arrays.update({"Hips-9/offsets": np.zeros((3, 9, 3))}),
        lambda header, arrays: arrays.update({"Hips-9/end_starts": np.array([0, 9, 3, 6, 9])}),
        lambda header, arrays: arrays.update({"Hips-9/end_parents": np.full(9, 70)}),
        lambda header, arrays: arrays.update({"Hips-9/translated_joints": np.array([0, 60])}),
    ],
)
def test_stores_that_another_program_got_wrong_are_refused(tmp_path, spoil):
    path = tmp_path / "some.store"
    write_store(path, varied_clips())
    header = json.loads((path / "store.json").read_text())
    del header["json_sha256"]
    arrays = {
        file.relative_to(path).with_suffix("").as_posix(): np.load(file)
        for file in path.rglob("*.npy")
    }
    spoil(header, arrays)
    for file in path.rglob("*.npy"):
        file.unlink()
    for name, array in arrays.items():
        np.save(path / name, array)
        header["sha256"][name] = hashlib.sha256((path / f"{name}.npy").read_bytes()).hexdigest()
    (path / "store.json").write_text(json.dumps(header | {"json_sha256": json_hash(header)}))
    with pytest.raises(DeepPhaseError) as caught:
        open_store(path)
    assert isinstance(caught.value, CheckpointError)
