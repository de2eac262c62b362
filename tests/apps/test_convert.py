"""`deepphase convert` and `deepphase retarget`: files in, files out."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.formats.load import load, save
from deepphase.motion.kinematics import joint_positions
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
            middle, end = tmp_path / f"a.{first}", tmp_path / f"b.{second}"
            assert main(["convert", str(source), "-o", str(middle)]) == 0
            assert main(["convert", str(middle), "-o", str(end)]) == 0
            np.testing.assert_allclose(joint_positions(load(end)), expected, atol=1e-4)


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


def test_retarget(folder, tmp_path, capsys):
    target = tmp_path / "tall.bvh"
    tall = scaled(locomotion(7, 1.0, gait="run").clip, 1.25)
    names = tuple(f"rig:{name}" for name in tall.skeleton.names)
    save(replace(tall, skeleton=replace(tall.skeleton, names=names)), target, unit="cm")
    out = tmp_path / "out"
    assert main(["retarget", str(folder), "--to", str(target), "-o", str(out)]) == 0
    shown = capsys.readouterr()
    assert "1.250" in shown.out + shown.err
    made, source = load(out / "walk_0.bvh"), load(folder / "walk_0.bvh")
    assert set(made.skeleton.names) == set(names)
    assert made.source.unit_m == 0.01
    expected = joint_positions(scaled(source, 1.25))
    order = [made.skeleton.index(f"rig:{name}") for name in source.skeleton.names]
    error = joint_positions(made)[:, order] - expected
    error -= error[..., 1:2].mean() * np.array([0.0, 1.0, 0.0])
    assert np.linalg.norm(error, axis=-1).max() < 0.01
