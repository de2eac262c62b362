"""A file of each format is read, and gives what it gave when it was written."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import generate_dances
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.corpus.store import open_store
from deepphase.formats.load import load
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import joint_positions
from deepphase.music import cache
from deepphase.phase.extractor import load_extractor
from deepphase.phase.parameters import load_phases
from deepphase.steering.dance import DanceRequest

_FILES = Path(__file__).parent / "files"
_FRAMES = 10


def _clip():
    return open_store(_FILES / "clips.store").clip(1)


def _manifold(phases, step):
    """Every step-th frame; NaN where no whole window lies, whose phases later versions improve."""
    manifold = phases.parameters.manifold()
    return np.where(phases.interior[:, None], manifold, np.nan)[::step]


def _rolled_out(name):
    """Rotations of the pose after some frames that a network made, without the lock of feet."""
    controller = Controller.load(_FILES / name)
    settings = CharacterSettings(foot_ik=False)
    character = Characters(controller, controller.starts.select(np.arange(2)), settings=settings)
    for _ in range(_FRAMES):
        frame = character.step()
    return frame.rotations


def _decompressed(name):
    """Joint rotations of some rows of a matcher, and those that a search finds for others."""
    matcher = Matcher.load(_FILES / name)
    rows = np.arange(0, len(matcher.kept), 40)
    _, found = matcher.searcher.search(matcher.database.features[rows + 3])
    return matcher.motion.rotations[np.concatenate([rows, found[:, 0]])]


def _searched(name, index, folder):
    """Distances and rows of the nearest rows, out of the index that lies beside the database."""
    database = MotionDatabase.load(_FILES / name)
    notes = []
    copy = shutil.copy(_FILES / f"{name}.{index}.index", folder)
    searcher = open_searcher(database, index, cache=copy, note=notes.append)
    assert not notes
    distances, rows = searcher.search(database.features[database.offered_rows[:40:8]], k=3)
    return np.stack([distances, rows])


def _song(folder, monkeypatch):
    """The features of a song as a cache holds them: they are not computed again."""
    (folder / "songs").mkdir()
    for kept in _FILES.glob("*.song"):
        shutil.copy(kept, folder / "songs")
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(folder))
    monkeypatch.delattr(cache, "features_of")
    return cache.song_features(_FILES / "song.ogg")


def _contents(name, folder, monkeypatch):
    """Some numbers out of a file."""
    kind = name.split(".")[-1]
    if kind in ("model", "phases"):
        return _manifold(load_extractor(_FILES / name).encode(_clip()), 20)
    if kind == "controller":
        return _rolled_out(name)
    if kind == "matcher":
        return _decompressed(name)
    if kind == "index":
        database, index, _ = name.rsplit(".", 2)
        return _searched(database, index, folder)
    if kind == "dancer":
        requests = [(_song(folder, monkeypatch), DanceRequest(start_s=1.0, seconds=0.5))]
        (dance,) = generate_dances(Dancer.load(_FILES / name), requests)
        return joint_positions(dance.clip)[::10]
    if kind == "song":
        return _song(folder, monkeypatch).blocks["mel"][::40]
    if kind == "store":
        return joint_positions(_clip())[::40]
    if kind == "db":
        return MotionDatabase.load(_FILES / name).features[::40]
    if name.endswith(".phases.npz"):
        return load_phases(_FILES / name)[0].parameters.manifold()[::20]
    return joint_positions(load(_FILES / name))[::20]


_OTHER = ("README.md", "song.ogg", "contents.npz")
_NAMES = sorted(path.name for path in _FILES.iterdir() if path.name not in _OTHER)


@pytest.mark.parametrize("name", _NAMES)
def test_a_file_gives_what_it_gave(name, tmp_path, monkeypatch):
    with np.load(_FILES / "contents.npz") as contents:
        expected = contents[name]
    found = _contents(name, tmp_path, monkeypatch)
    assert np.abs(expected).max() > 0
    compared = np.isfinite(found)
    assert compared.any()
    np.testing.assert_allclose(found[compared], expected[compared], atol=1e-4, rtol=1e-4)


def test_a_database_finds_its_clips_in_the_store_beside_it():
    database = MotionDatabase.load(_FILES / "motion.db")
    np.testing.assert_array_equal(database.clip(1).rotations, _clip().rotations)
