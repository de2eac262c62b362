"""Array files of every kind: damage is refused, and headers that were made by hand as well."""

import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from controllers.dance.dancer import Dancer
from controllers.runtime.controller import Controller
from deepphase.corpus.store import open_store
from deepphase.errors import CheckpointError
from deepphase.formats import array_table
from deepphase.music import cache
from deepphase.music.audio import HOP, SAMPLE_RATE
from deepphase.phase.baselines.pca_phase import PcaPhase
from deepphase.phase.config import PhaseConfig
from deepphase.phase.extractor import load_extractor
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.presets import make_autoencoder
from deepphase.phase.song_signals import SongSignals
from matching.database.database import MotionDatabase
from matching.search import searcher
from matching.search.searcher import open_searcher
from tests.compatibility.test_formats import _FILES as FILES
from tests.matching.made_databases import swinging_store

READERS: dict[str, Callable[[Path], Any]] = {
    "clips.store": open_store,
    "default.model": load_extractor,
    "songs.model": PhaseModel.load,
    "contact.phases": load_extractor,
    "pca.phases": load_extractor,
    "experts.controller": Controller.load,
    "small.dancer": Dancer.load,
    "motion.db": MotionDatabase.load,
    "view.projection": ManifoldProjection.load,
}
ABSURD = (1e308, -1, 0, math.nan, 10**30, None, True, "x", [], {}, [[]], 1e14)


def _file(name: str, folder: Path) -> Path:
    if name == "view.projection":
        projection = PhaseModel.load(FILES / "default.model").projection
        assert projection is not None
        projection.save(folder / name)
        return folder / name
    if name == "pca.phases":
        PcaPhase.fit(swinging_store()).save(folder / name)
        return folder / name
    if name == "songs.model":
        _songs_model().save(folder / name)
        return folder / name
    return Path(shutil.copy(FILES / name, folder))


def _songs_model() -> PhaseModel:
    """A phase model of two features of songs, with the weights of its seed."""
    torch.manual_seed(0)
    config = PhaseConfig.load("default", **{"network.channels": 2, "network.hidden": 8})
    signals = SongSignals(("beat", "chroma"), (1.0,) * 13)
    network = make_autoencoder(13, SAMPLE_RATE / HOP, config.network)
    return PhaseModel(network, config, signals)


def damaged(whole: bytes, flips: int, cuts: int) -> Iterator[bytes]:
    """Copies with one bit flipped, or with their end cut off, evenly spaced."""
    for number in range(flips):
        content = bytearray(whole)
        bit = 8 * len(whole) * number // flips + number % 8
        content[bit // 8] ^= 1 << bit % 8
        yield bytes(content)
    for number in range(cuts):
        yield whole[: len(whole) * number // cuts]


def rewritten(content: bytes, change: Callable[[dict, dict], None]) -> bytes:
    """A file whose header and table `change` has altered, with the right hash."""
    length = int.from_bytes(content[:8], "little")
    rows = json.loads(content[8 : 8 + length])
    header = json.loads(rows.pop("__metadata__")["deepphase"])
    change(header, rows)
    text = json.dumps(header)
    metadata = {"deepphase": text, "deepphase_sha256": array_table._table_hash(rows, text)}
    table = json.dumps({"__metadata__": metadata, **rows}).encode()
    return len(table).to_bytes(8, "little") + table + content[8 + length :]


def leaves(value: Any, place: tuple = ()) -> Iterator[tuple]:
    """Places of all values in a header; of a list, the first and the last."""
    if place:
        yield place
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*place, key))
    elif isinstance(value, list) and value:
        for index in {0, len(value) - 1}:
            yield from leaves(value[index], (*place, index))


def replaced(place: tuple, value: Any) -> Callable[[dict, dict], None]:
    def change(header: dict, rows: dict) -> None:
        *front, last = place
        holder: Any = header
        for key in front:
            holder = holder[key]
        holder[last] = value

    return change


@pytest.mark.parametrize("name", READERS)
def test_flips_and_cuts_are_refused(name, tmp_path):
    path = _file(name, tmp_path)
    whole = path.read_bytes()
    READERS[name](path)
    for content in damaged(whole, flips=40, cuts=10):
        path.write_bytes(content)
        with pytest.raises(CheckpointError):
            READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_absurd_headers_are_refused_or_read(name, tmp_path):
    path = _file(name, tmp_path)
    whole = path.read_bytes()
    header = array_table.read_array_table(path, None, None).header
    refused = 0
    for number, place in enumerate(leaves(header)):
        path.write_bytes(rewritten(whole, replaced(place, ABSURD[number % len(ABSURD)])))
        # Another exception than this one is a bug.
        try:
            READERS[name](path)
        except CheckpointError:
            refused += 1
    assert refused


@pytest.mark.parametrize("name", READERS)
def test_arrays_of_another_type_are_refused(name, tmp_path):
    path = _file(name, tmp_path)
    whole = path.read_bytes()
    other = {"F32": "I32", "F64": "I64", "I64": "U64", "BOOL": "U8", "U8": "I8"}
    entries = array_table.read_array_table(path, None, None).entries

    def relabelled(array: str) -> Callable[[dict, dict], None]:
        def change(header: dict, rows: dict) -> None:
            rows[array]["dtype"] = other[rows[array]["dtype"]]

        return change

    for array in entries:
        path.write_bytes(rewritten(whole, relabelled(array)))
        with pytest.raises(CheckpointError):
            READERS[name](path)


FIELDS = [
    ("clips.store", ("fps",)),
    ("default.model", ("signals", "fps")),
    ("contact.phases", ("signals", "fps")),
    ("experts.controller", ("schema", "fps")),
    ("small.dancer", ("schema", "fps")),
    ("motion.db", ("fps",)),
    ("clips.store", ("groups", 0, "joints")),
    ("clips.store", ("groups", 0, "frames")),
    ("clips.store", ("groups", 0, "clips", 0, "source", "unit_m")),
    ("default.model", ("signals", "joints")),
    ("default.model", ("signals", "partners", 0)),
    ("experts.controller", ("schema", "joints")),
    ("experts.controller", ("skeleton", "names")),
    ("experts.controller", ("skeleton", "names", 0)),
    ("experts.controller", ("schema", "feet", 0)),
    ("motion.db", ("version",)),
    ("motion.db", ("clips", 0, "store")),
    ("motion.db", ("layout",)),
]


@pytest.mark.parametrize(("name", "place"), FIELDS, ids=str)
def test_impossible_values_are_refused(name, place, tmp_path):
    path = tmp_path / name
    whole = (FILES / name).read_bytes()
    values = [1e308, -5, math.nan, 10**30, None, True, "60", [], [1], {}]
    if place[-1] == "fps":
        values += [0, 0.001, 1e6]
    for value in values:
        path.write_bytes(rewritten(whole, replaced(place, value)))
        with pytest.raises(CheckpointError):
            READERS[name](path)


@pytest.mark.parametrize("index", ["exact", "hnsw"])
def test_a_damaged_index_is_built_again_with_a_word(index, tmp_path, monkeypatch):
    database = MotionDatabase.load(FILES / "motion.db")
    path = tmp_path / "index"
    built = open_searcher(database, index, cache=path)
    whole = path.read_bytes()
    write = monkeypatch.setattr
    write(type(built), "build", lambda *_, **__: built, raising=False)
    if index == "exact":
        write(searcher, "ExactSearcher", lambda *_, **__: built)
    write(searcher, "write_arrays", lambda *_, **__: None)
    for content in damaged(whole, flips=40, cuts=10):
        path.write_bytes(content)
        notes: list[str] = []
        assert open_searcher(database, index, cache=path, note=notes.append) is built
        assert "is not used and built again" in notes[0]


def test_a_damaged_song_of_the_cache_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(tmp_path))
    song = FILES / "song.ogg"
    digest = cache.song_features(song).sha256
    (path,) = (tmp_path / "songs").iterdir()
    whole = path.read_bytes()
    cache._read(path, digest, song)
    for content in damaged(whole, flips=40, cuts=10):
        path.write_bytes(content)
        with pytest.raises(CheckpointError):
            cache._read(path, digest, song)
