"""`deepphase samples`: clips of the shipped characters, which the other commands read."""

import numpy as np
import pytest

from deepphase.apps.cli import main
from deepphase.apps.samples import DOG, PERSON
from deepphase.corpus.prepare import prepare
from deepphase.formats.load import load


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples") / "captures"
    assert main(["samples", str(folder), "--seconds", "4"]) == 0
    return folder


def test_clips_are_named_and_prepared(folder, tmp_path):
    people = {sample.name for samples in PERSON.values() for sample in samples}
    names = people | {sample.name for sample in DOG}
    assert {path.stem for path in folder.glob("*.bvh")} == names
    dances = {path.stem for path in (folder / "dances").glob("*.bvh")}
    assert dances == {path.stem for path in (folder / "dances").glob("*.flac")} != set()
    made = prepare(folder, tmp_path / "mocap.store")
    assert not made.left_out
    clips = sorted(group.clips for group in made.groups)
    assert clips == sorted([len(people), len(DOG), len(dances)])


def test_the_person_does_what_its_clips_are_called(folder):
    lengths = {}
    for name in ("idle_01", "walk_01", "run_01"):
        clip = load(folder / f"{name}.bvh")
        steps = np.diff(clip.translations[:, 0, ::2], axis=0)
        lengths[name] = np.linalg.norm(steps, axis=1).sum()
    assert lengths["idle_01"] < 0.5 < 2.0 < lengths["walk_01"] < lengths["run_01"]


def test_a_folder_that_has_files_is_left_alone(folder, capsys):
    before = sorted(folder.iterdir())
    assert main(["samples", str(folder)]) == 2
    assert "not an empty folder" in capsys.readouterr().err
    assert sorted(folder.iterdir()) == before
