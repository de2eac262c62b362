"""`deepphase samples`: clips of the shipped characters, which the other commands read."""

import os

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.apps.samples import DOG, PERSON, sample_folder
from deepphase.corpus.prepare import prepare
from deepphase.corpus.store import open_store
from deepphase.formats.load import load

NAMES = {
    "person": {sample.name for sample in PERSON},
    "dog": {sample.name for sample in DOG},
    "dances": {"dance_01", "dance_02", "dance_03"},
}

LABELS = {
    "person": {
        "action": {"walk", "run", "backward", "sidestep", "turn", "stop", "idle"},
        "style": {"neutral", "angry", "elated", "rushed"},
    },
    "dog": {"action": {"walk", "trot"}},
    "dances": {},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    for kind in NAMES:
        assert main(["samples", str(folder / kind), "--of", kind, "--seconds", "4"]) == 0
    return folder


@pytest.mark.parametrize("kind", NAMES)
def test_clips_of_one_body_are_named_and_prepared(folder, tmp_path, kind):
    assert {path.stem for path in (folder / kind).glob("*.bvh")} == NAMES[kind]
    songs = {path.stem for path in (folder / kind).glob("*.flac")}
    assert songs == (NAMES[kind] if kind == "dances" else set())
    made = prepare(folder / kind, tmp_path / "mocap.store")
    assert not made.left_out
    assert [group.clips for group in made.groups] == [len(NAMES[kind])]
    store = open_store(tmp_path / "mocap.store")
    assert {name: set(store.label_column(name)) for name in store.label_names} == LABELS[kind]


def test_the_person_does_what_its_clips_are_called(folder):
    lengths = {}
    for name in ("idle", "walk", "run"):
        clip = load(folder / "person" / f"{name}_neutral_01.bvh")
        steps = np.diff(clip.translations[:, 0, ::2], axis=0)
        lengths[name] = np.linalg.norm(steps, axis=1).sum()
    assert lengths["idle"] < 0.5 < 2.0 < lengths["walk"] < lengths["run"]


def test_a_folder_that_has_files_is_left_alone(folder, capsys):
    before = sorted((folder / "dog").iterdir())
    assert main(["samples", str(folder / "dog")]) == 2
    assert "not an empty folder" in capsys.readouterr().err
    assert sorted((folder / "dog").iterdir()) == before


def test_the_dashboard_has_a_clip_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = sample_folder()
    (path,) = folder.glob("*/*.bvh")
    assert len(load(path)) == 480
    assert sample_folder() == folder
    # The pages then show synthetic motion.
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert sample_folder() is None
