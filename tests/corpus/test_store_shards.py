"""Shards of a preparation: merged they are the store that one run makes, byte for byte."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from deepphase.corpus import prepared_file
from deepphase.corpus.prepare import prepare
from deepphase.corpus.shards import Shard
from deepphase.corpus.store import open_store, store_groups
from deepphase.errors import CheckpointError, DeepPhaseError, FormatError, ParameterError
from deepphase.motion.clip import Clip
from tests.corpus.made_clips import OTHER_ORDER, in_other_order, made_clip, made_skeleton, write_bvh


@pytest.fixture
def captures(tmp_path) -> Path:
    """Two skeletons, two orders of joints, other joints that move, twins, a damaged file."""
    folder = tmp_path / "captures"
    for number in range(6):
        write_bvh(folder / "a" / f"walk_{number}.bvh", made_clip(number, 61, 30.0))
    write_bvh(folder / "b" / "walk_1.bvh", in_other_order(made_clip(8, 60), OTHER_ORDER))
    write_bvh(folder / "b" / "dog.bvh", made_clip(9, skeleton=made_skeleton(root="Pelvis")))
    write_bvh(folder / "b" / "stretching.bvh", _stretching(made_clip(10, 50)))
    (folder / "b" / "same.bvh").write_bytes((folder / "a" / "walk_2.bvh").read_bytes())
    (folder / "b" / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{\n")
    return folder


def _stretching(clip: Clip) -> Clip:
    """The clip with a head that is translated, as no other clip's is."""
    rng = np.random.default_rng(0)
    head = clip.skeleton.offsets[8] + 0.01 * rng.standard_normal((len(clip), 3))
    return Clip(
        clip.skeleton,
        clip.rotations,
        np.stack([clip.translations[:, 0], head], axis=1).astype(np.float32),
        clip.fps,
        translated_joints=np.array([0, 8]),
        source=clip.source,
        name=clip.name,
    )


def sharded(captures: Path, folder: Path, count: int, **options: object) -> list[Path]:
    paths = []
    for number in range(1, count + 1):
        paths.append(folder / f"{number}.shard")
        prepare(captures, paths[-1], shard=Shard(number, count), **options)
    return paths


@pytest.mark.parametrize("count", [1, 3, 9])
@pytest.mark.parametrize(
    "options",
    [{"mirror": True}, {"labels": "{gait}_{take}", "fps": 30.0}, {"clean": True, "clean_hz": 9.0}],
)
def test_merged_shards_are_the_store_of_one_run(captures, tmp_path, count, options):
    whole = prepare(captures, tmp_path / "whole", **options)
    paths = sharded(captures, tmp_path, count, **options)
    merged = prepare(captures, tmp_path / "merged", merge=paths[::-1], **options)
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()
    assert merged.notes == whole.notes
    assert [str(each) for each in merged.left_out] == [str(each) for each in whole.left_out]
    assert merged.glitches == whole.glitches
    assert merged.groups == whole.groups


def test_a_file_of_another_unit_is_read_again_by_the_merge(captures, tmp_path, monkeypatch):
    read = prepared_file.load_clips

    def sometimes_wrong(path, name, point_sets, **options):
        if path.stem == "walk_4" and "unit" not in options:
            return read(path, name, point_sets, unit=0.0254, **options)
        return read(path, name, point_sets, **options)

    monkeypatch.setattr(prepared_file, "load_clips", sometimes_wrong)
    whole = prepare(captures, tmp_path / "whole", workers=1)
    assert any("alone it looked like 0.0254 m" in note for _, note in whole.notes)
    paths = sharded(captures, tmp_path, 4, workers=1)
    merged = prepare(captures, tmp_path / "merged", merge=paths)
    assert merged.notes == whole.notes
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()


def test_pieces_of_a_label_table(captures, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("file,start_s,stop_s,pace\na/walk_0,0.5,1.5,slow\na/walk_0,1.5,,fast\n")
    prepare(captures, tmp_path / "whole", labels_csv=table)
    paths = sharded(captures, tmp_path, 3, labels_csv=table)
    prepare(captures, tmp_path / "merged", merge=paths, labels_csv=table)
    assert (tmp_path / "merged").read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_does_not_fit_together(captures, tmp_path):
    def refused(kind: type[DeepPhaseError], fact: str, **options: object) -> None:
        with pytest.raises(kind, match=fact):
            prepare(captures, tmp_path / "merged", **options)
        assert not (tmp_path / "merged").exists()

    paths = sharded(captures, tmp_path, 2)
    refused(ParameterError, "files are in no shard", merge=paths[:1])
    refused(ParameterError, "is in two shards", merge=[paths[0], *paths])
    refused(ParameterError, "another fps: 60.0, not 30.0", merge=paths, fps=30.0)
    refused(ParameterError, "another unit: None, not 'cm'", merge=paths, unit="cm")
    refused(
        ParameterError,
        "--merge takes all shards, and --shard names one",
        merge=paths,
        shard=Shard(1, 2),
    )
    prepare(captures, tmp_path / "store")
    refused(CheckpointError, "not a shard", merge=[tmp_path / "store"])
    content = bytearray(paths[0].read_bytes())
    content[-9] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    refused(CheckpointError, "not the one that was written", merge=[tmp_path / "damaged", paths[1]])
    write_bvh(captures / "new.bvh", made_clip(30))
    refused(ParameterError, "1 of 12 files are in no shard, such as new.bvh", merge=paths)
    (captures / "new.bvh").unlink()
    (captures / "b" / "dog.bvh").unlink()
    refused(
        ParameterError, "in a shard, but no longer among the files, such as b/dog.bvh", merge=paths
    )


def test_a_shard_is_a_store_of_its_files(captures, tmp_path):
    (path,) = sharded(captures, tmp_path, 1)
    prepare(captures, tmp_path / "whole")
    for group in store_groups(path):
        some, whole = (open_store(each, group.name) for each in (path, tmp_path / "whole"))
        assert some.names == whole.names
        np.testing.assert_array_equal(some.rotations, whole.rotations)
        assert len(some.left_out) == 1


def test_merged_shards_without_a_usable_file(tmp_path):
    for number in range(4):
        (tmp_path / "captures").mkdir(exist_ok=True)
        (tmp_path / "captures" / f"{number}.bvh").write_text("HIERARCHY\nnothing\n")
    paths = sharded(tmp_path / "captures", tmp_path, 2)
    with pytest.raises(FormatError, match="none of 4 files can be used"):
        prepare(tmp_path / "captures", tmp_path / "merged", merge=paths)
