"""`deepphase convert` and `deepphase retarget`: files in, files out."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.formats.load import load, save
from deepphase.motion.clip import joint_positions
from deepphase.motion.orientation import scaled
from deepphase.synthetic.gait_motion import locomotion


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("clips")
    for index in range(2):
        save(locomotion(index, 1.5).clip, place / f"walk_{index}.bvh")
    return place


def test_every_format_into_every_other(folder, tmp_path):
    source = folder / "walk_0.bvh"
    expected = joint_positions(load(source))
    for first in ("npz", "glb", "bvh"):
        for second in ("bvh", "npz", "glb"):
            middle = tmp_path / f"{first}_{second}.{first}"
            end = middle.with_name(f"to_{second}_from_{first}.{second}")
            assert main(["convert", str(source), "-o", str(middle)]) == 0
            assert main(["convert", str(middle), "-o", str(end)]) == 0
            np.testing.assert_allclose(joint_positions(load(end)), expected, atol=1e-4)


def test_the_skeleton_of_several_is_said(folder, tmp_path, capsys):
    words = ["convert", str(folder / "walk_0.bvh"), "-o", str(tmp_path / "a.bvh"), "--force"]
    words.append("--to")
    assert main([*words, str(folder / "walk_1.bvh")]) == 0
    assert "onto the skeleton" not in capsys.readouterr().out
    assert main([*words, str(folder)]) == 0
    assert "onto the skeleton of walk_0" in capsys.readouterr().out


def test_folders_and_stores(folder, tmp_path, capsys):
    store, out = tmp_path / "mocap.store", tmp_path / "out"
    assert main(["convert", str(folder), "-o", str(out), "--format", "glb"]) == 0
    assert sorted(each.name for each in out.iterdir()) == ["walk_0.glb", "walk_1.glb"]
    assert main(["prepare", str(folder), "-o", str(store)]) == 0
    assert main(["convert", str(store), "-o", str(tmp_path / "of_store")]) == 0
    assert len(list((tmp_path / "of_store").glob("*.bvh"))) == 2
    capsys.readouterr()
    assert main(["convert", str(folder), "-o", str(tmp_path / "one.glb")]) == 2
    assert "2 clips to write" in capsys.readouterr().err
    assert main(["convert", str(folder), "-o", str(folder)]) == 2
    assert "overwrite" in capsys.readouterr().err
    (folder / "bad.bvh").write_text("HIERARCHY")
    try:
        assert main(["convert", str(folder), "-o", str(tmp_path / "some")]) == 0
        assert "bad.bvh" in capsys.readouterr().err
    finally:
        (folder / "bad.bvh").unlink()


def test_a_piece_at_another_rate_without_some_joints(folder, tmp_path):
    source, out = folder / "walk_0.bvh", tmp_path / "out.bvh"
    words = ["convert", str(source), "-o", str(out), "--start", "0.5", "--stop", "1", "--fps", "30"]
    assert main([*words, "--without", "Spine1,Left*,RightToeBase"]) == 0
    whole, cut = load(source), load(out)
    names = [name for name in whole.skeleton.names if not name.startswith("Left")]
    names = [name for name in names if name not in ("Spine1", "RightToeBase")]
    assert (list(cut.skeleton.names), cut.fps, len(cut)) == (names, 30.0, 16)
    columns = [whole.skeleton.index(name) for name in names]
    expected = joint_positions(whole)[30:61:2, columns]
    np.testing.assert_allclose(joint_positions(cut), expected, atol=5e-3)
    for wrong in (["--start", "7"], ["--without", "Tail"], ["--without", "Hips"]):
        assert main(["convert", str(source), "-o", str(tmp_path / "wrong.bvh"), *wrong]) == 2
    assert not (tmp_path / "wrong.bvh").exists()


def test_places_of_joints_as_a_table(folder, tmp_path):
    source, out = folder / "walk_0.bvh", tmp_path / "places.csv"
    assert main(["convert", str(source), "-o", str(out)]) == 0
    clip = load(source)
    columns = out.read_text().splitlines()[0].split(",")
    assert columns[:4] == ["time", "Hips.x", "Hips.y", "Hips.z"]
    table = np.loadtxt(out, delimiter=",", skiprows=1)
    np.testing.assert_allclose(table[:, 0], np.arange(len(clip)) / clip.fps, atol=1e-6)
    np.testing.assert_allclose(
        table[:, 1:], joint_positions(clip).reshape(len(clip), -1), atol=1e-6
    )


def test_retarget(folder, tmp_path, capsys):
    target = tmp_path / "tall.bvh"
    tall = scaled(locomotion(7, 1.0, gait="run").clip, 1.25)
    names = tuple(f"rig.{name}" for name in tall.skeleton.names)
    save(replace(tall, skeleton=replace(tall.skeleton, names=names)), target, unit="cm")
    out = tmp_path / "out"
    assert main(["retarget", str(folder), "--to", str(target), "-o", str(out)]) == 0
    shown = capsys.readouterr()
    assert "1.250" in shown.out + shown.err
    made, source = load(out / "walk_0.bvh"), load(folder / "walk_0.bvh")
    assert set(made.skeleton.names) == set(names)
    assert made.source.unit_m == 0.01
    expected = joint_positions(scaled(source, 1.25))
    order = [made.skeleton.index(f"rig.{name}") for name in source.skeleton.names]
    error = joint_positions(made)[:, order] - expected
    error -= error[..., 1:2].mean() * np.array([0.0, 1.0, 0.0])
    assert np.linalg.norm(error, axis=-1).max() < 0.01
