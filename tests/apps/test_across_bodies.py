"""A model that bodies share, from training to a dog that follows a person, on the command line."""

from __future__ import annotations

import pytest

from deepphase.formats.load import load, save
from deepphase.phase.phase_file import load_phases
from deepphase.synthetic.gait_motion import locomotion
from tests.apps.test_any_skeleton import run

pytestmark = pytest.mark.slow

_TINY = ("network.hidden=12", "network.codes=4", "training.windows=640", "training.batch_size=64")


def test_a_dog_is_found_by_a_person_and_follows_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for body, gaits in (("biped", ("walk", "run")), ("quadruped", ("walk", "trot"))):
        for seed, gait in enumerate(gaits):
            clip = locomotion(seed, 5.0, body=body, gait=gait).clip
            save(clip, tmp_path / body / f"{gait}.bvh")
        assert run("prepare", body, "-o", f"{body}.store") == 0
    settings = [word for each in _TINY for word in ("--set", each)]
    train = ("train", "phase", "biped.store", "quadruped.store", "--config", "shared", *settings)
    assert run(*train, "-o", "both.model") == 0
    assert "codes in use" in capsys.readouterr().out
    assert run("encode", "both.model", "biped/run.bvh", "-o", "phases") == 0
    phases, _ = load_phases(tmp_path / "phases" / "run.phases.npz")
    assert phases.codes.shape == (300, 3)

    assert run("match", "build", "quadruped.store", "--config", "reduced_pose", "-o", "dog.db") == 0
    words = ("match", "query", "dog.db", "biped/run.bvh", "--frame", 100, "-k", 3)
    assert run(*words, "--model", "both.model", "-o", "found", "--why") == 0
    assert "stride" in capsys.readouterr().out
    header = (tmp_path / "found" / "matches.csv").read_text("utf-8").splitlines()[0]
    assert header.endswith("squared_codes,squared_stride,squared_speed")

    words = ("match", "run", "dog.db", "--follow", "biped/run.bvh", "-o", "run")
    assert run(*words, "--model", "both.model") == 0
    followed = load(tmp_path / "run" / "run_followed.bvh")
    assert len(followed) == 300
    assert followed.skeleton.names == load(tmp_path / "quadruped" / "walk.bvh").skeleton.names
    assert (tmp_path / "run" / "index.html").is_file()

    # Without a model, by the shipped one.
    words = ("match", "query", "dog.db", "biped/walk.bvh", "--frame", 100, "-k", 3, "-o", "shipped")
    assert run(*words) == 0
    assert "stride" in (tmp_path / "shipped" / "matches.csv").read_text("utf-8")
    assert run("match", "run", "dog.db", "--follow", "biped/walk.bvh", "-o", "followed") == 0
    assert (tmp_path / "followed" / "index.html").is_file()
