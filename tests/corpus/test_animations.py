"""Files with several animations: each is a clip of its own, wherever clips are taken."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.corpus.clips import clips_in
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import open_store
from deepphase.errors import FormatError
from deepphase.formats.gltf.writer import save_gltf
from deepphase.formats.load import list_animations, load, load_all
from tests.corpus.made_clips import made_clip, write_bvh

NAMES = ("pack jump", "pack run", "walk")


@pytest.fixture
def folder(tmp_path):
    """One file of two animations, one of one, and one that is not glTF."""
    folder = tmp_path / "captures"
    write_bvh(folder / "old" / "walk.bvh", made_clip(0, 61, 30.0))
    clips = [made_clip(seed, 61, 30.0, name=name) for seed, name in ((1, "jump"), (2, "run"))]
    clips[1] = made_clip(2, 91, 30.0, name="run", labels={"speed": "fast"})
    save_gltf(clips, folder / "pack.glb")
    (folder / "broken.gltf").write_text("{")
    return folder


def test_entries_are_named_by_file_and_animation(folder):
    entries = clips_in([folder / "pack.glb", folder / "old"])
    assert sorted(entry.name for entry in entries) == sorted(NAMES)
    run = next(entry.load() for entry in entries if entry.name == "pack run")
    assert (run.name, len(run)) == ("pack run", 91)
    assert dict(run.labels) == {"speed": "fast", "animation": "run"}


def test_all_animations_come_into_the_store(folder, tmp_path):
    report = prepare(folder, tmp_path / "some.store")
    assert [(each.file, each.reason.partition(":")[0]) for each in report.left_out] == [
        ("broken.gltf", "the file has broken JSON")
    ]
    (group,) = report.groups
    store = open_store(tmp_path / "some.store", group.name)
    assert sorted(store.names) == sorted(NAMES)
    place = store.names.index("pack run")
    assert dict(store.labels[place]) == {"speed": "fast", "animation": "run"}
    assert store.provenance[place]["animation"] == "run"
    assert store.provenance[place]["captured_frames"] == 91
    assert store.sources[place].path == "pack.glb"
    assert dict(store.labels[store.names.index("walk")]) == {"folder": "old"}
    assert "animation" not in store.provenance[store.names.index("walk")]


def test_an_animation_that_is_only_a_pose_does_not_cost_the_others(folder, tmp_path):
    pose = made_clip(3, 1, 30.0, name="T-pose")
    save_gltf([pose, made_clip(4, 61, 30.0, name="walk")], folder / "posed.glb")
    report = prepare(folder, tmp_path / "some.store")
    assert "posed.glb" not in [each.file for each in report.left_out]
    assert (
        "posed.glb",
        "animation 'T-pose': left out: a single frame is a pose, not a motion",
    ) in (report.notes)
    assert "posed walk" in open_store(tmp_path / "some.store").names


def test_a_table_labels_all_animations_of_a_file_and_cuts_none(folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("file,who\npack.glb,Ann\n")
    prepare(folder / "pack.glb", tmp_path / "some.store", labels_csv=table)
    store = open_store(tmp_path / "some.store")
    assert store.label_column("who").tolist() == ["Ann", "Ann"]
    table.write_text("file,who,start_s,stop_s\npack.glb,Ann,0,1\n")
    with pytest.raises(FormatError, match="which holds 2 animations") as caught:
        prepare(folder / "pack.glb", tmp_path / "other.store", labels_csv=table)
    assert (caught.value.path, caught.value.line) == (table, 2)


def test_loading_all_or_one(folder):
    path = folder / "pack.glb"
    assert list_animations(path) == ((0, "jump"), (1, "run"))
    every = load_all(path, fps=30, allow_truncated=True)
    for (number, name), clip in zip(list_animations(path), every, strict=True):
        alone = load(path, animation=number)
        assert alone.name == clip.name == name
        np.testing.assert_array_equal(alone.rotations, clip.rotations)
        assert any("allow_truncated" in note for note in clip.source.notes)
    assert [clip.name for clip in load_all(path, animation="run")] == ["run"]
    assert list_animations(folder / "old" / "walk.bvh") == ()
    assert len(load_all(folder / "old" / "walk.bvh")) == 1
