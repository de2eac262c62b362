"""`deepphase solve`: point tracks become clips with rotations and one skeleton."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.corpus.store import open_store
from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.load import load
from deepphase.formats.points import save_points
from deepphase.motion.clip import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.solving.point_structure import plain_names
from deepphase.synthetic.gait_motion import locomotion
from tests.viewer.player_pages import wav_bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two unnamed tracks, one of them of a larger person and with a song."""
    place = tmp_path_factory.mktemp("points")
    for index, size in enumerate((1.0, 1.2)):
        clip = locomotion(3 + index, 3.0, fps=30.0).clip
        positions = size * joint_positions(clip)
        save_points(
            PointTrack(plain_names(positions.shape[1]), positions, clip.fps),
            place / f"walk_{index}.npz",
        )
    (place / "walk_1.wav").write_bytes(wav_bytes(1.0))
    return place


def test_one_file(folder, tmp_path, capsys):
    points = folder / "walk_0.npz"
    for suffix in (".bvh", ".glb", ".npz"):
        assert main(["solve", str(points), "-o", str(tmp_path / f"walk{suffix}")]) == 0
        clip = load(tmp_path / f"walk{suffix}")
        assert clip.has_rotations
        assert "LeftForeArm" in clip.skeleton.names
        assert clip.fps == pytest.approx(30.0, abs=0.01)
    said = capsys.readouterr().out
    assert "cm at the 95th percentile" in said
    assert "feet in contact slid at" in said
    assert "RightHand" in said


def test_folder_becomes_one_group(folder, tmp_path):
    assert main(["solve", str(folder), "-o", str(tmp_path / "solved")]) == 0
    first, second = (load(tmp_path / "solved" / f"walk_{i}.bvh") for i in range(2))
    assert np.allclose(first.skeleton.offsets, second.skeleton.offsets)
    assert main(["prepare", str(tmp_path / "solved"), "-o", str(tmp_path / "a.store")]) == 0
    store = open_store(tmp_path / "a.store")
    assert len(store.names) == 2
    songs = [store.clip(index).source.song for index in range(2)]
    assert songs == ["", "walk_1.wav"]


def test_mistakes(folder, tmp_path, capsys):
    rotated = tmp_path / "rotated.bvh"
    save_bvh(replace(locomotion(0, 2.0).clip, name="walk"), rotated)
    target = str(tmp_path / "out.bvh")

    def refused(*words):
        assert main(["solve", *map(str, words)]) == 2
        return capsys.readouterr().err

    assert "rotations" in refused(rotated, "-o", target)
    assert "name a folder" in refused(folder, "-o", target)
    own = folder / "walk_0.npz"
    assert "would overwrite a file that is read" in refused(own, "-o", own)
    broken = tmp_path / "broken.npz"
    np.savez(broken, positions=np.full((20, 5, 3), np.nan), fps=30.0)
    assert "broken.npz" in refused(broken, "-o", target)
    few = tmp_path / "few.npz"
    np.savez(few, positions=np.random.default_rng(0).normal(size=(20, 5, 3)), fps=30.0)
    assert "two legs" in refused(few, "-o", target)
    assert not (tmp_path / "out.bvh").exists()
