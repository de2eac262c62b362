"""Folders of point tracks, their shared hierarchy, and the songs beside them."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clips import agreed_point_sets, clips_in
from deepphase.corpus.motion_files import find_motion_files
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import open_store
from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.points import load_points, save_points
from deepphase.solving.point_structure import find_structure
from tests.real_data import real_clips
from tests.solving.point_bodies import points_of, walker


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "captures"
    folder.mkdir()
    for seed in (1, 2, 3):
        clip = walker(seed, seconds=4.0)
        # One order of the points for all, as in one capture.
        true = points_of(clip, seed=0, noise=0.005)
        save_points(true.track, folder / f"take_{seed}.npz")
    (folder / "take_2.ogg").write_bytes(b"a song")
    return folder


def test_a_folder_of_points_beside_bvh_is_prepared(folder, tmp_path):
    save_bvh(walker(seconds=2.0), folder / "rotations.bvh")
    report = prepare(folder, tmp_path / "all.store", fps=60.0)
    assert report.left_out == ()
    assert sorted(group.clips for group in report.groups) == [1, 3]
    name = next(group.name for group in report.groups if group.clips == 3)
    store = open_store(tmp_path / "all.store", name)
    assert [source.song for source in store.sources] == ["", "take_2.ogg", ""]
    assert [clip.has_rotations for clip in store] == [False] * 3
    assert store.skeleton.names[0] == "Hips"


def test_a_piece_of_a_clip_knows_where_its_song_begins(folder, tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("file,what,start_s,stop_s\ntake_2.npz,walk,1.5,3\n", "utf-8")
    prepare(folder / "take_2.npz", tmp_path / "piece.store", labels_csv=table)
    (source,) = open_store(tmp_path / "piece.store").sources
    assert source.song == "take_2.ogg"
    assert source.song_start_s == pytest.approx(1.5, abs=0.02)


def test_most_files_decide_what_is_left(folder):
    mirrored = load_points(folder / "take_3.npz")
    image = replace(mirrored, positions=mirrored.positions * [-1.0, 1.0, 1.0])
    save_points(image, folder / "take_3.npz")
    alone = find_structure(image)
    sets = agreed_point_sets(find_motion_files(folder))
    ((_, sentence),) = sets.notes
    assert "2 of 3 files" in sentence
    clips = [entry.load() for entry in clips_in([folder])]
    assert len({clip.skeleton.names for clip in clips}) == 1
    assert alone.points != sets.structures[image.names].points


def test_real_dances_agree_on_one_body():
    files = sorted(real_clips("dance_music").glob("*.npz"))[::4]
    structures = [find_structure(load_points(path)) for path in files]
    assert len(set(structures)) == 1
    assert min(structure.confidence for structure in structures) > 0.5
    points = dict(zip(structures[0].names, structures[0].points, strict=True))
    # Both legs and arms, from the trunk outwards, as the set's own table has them.
    assert {points["LeftKnee"], points["RightKnee"]} == {(8,), (17,)}
    assert {points["LeftToe"], points["RightToe"]} == {(11,), (20,)}
    assert {points["LeftShoulder"], points["RightShoulder"]} == {(3,), (12,)}
    assert np.ptp([len(structure.names) for structure in structures]) == 0
