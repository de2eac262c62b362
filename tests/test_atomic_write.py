"""Files are written whole or not at all, and nothing but files is replaced."""

import gc
import os
import socket
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.reports.page import Page, write_table
from deepphase.controllers.runtime.controller import Controller
from deepphase.corpus.store import open_store
from deepphase.corpus.store_writer import StoreWriter, write_store
from deepphase.errors import CheckpointError
from deepphase.files import atomic_write, check_writable
from deepphase.formats.array_file import write_arrays
from deepphase.formats.load import save
from deepphase.formats.points import save_points
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion.point_track import PointTrack
from deepphase.phase.extractor import load_extractor
from deepphase.phase.parameters import load_phases, save_csv, save_phases
from tests.compatibility.test_formats import _FILES as FILES
from tests.corpus.made_clips import contents


def _store():
    return open_store(FILES / "clips.store")


def _points():
    return PointTrack(("a", "b"), np.ones((99, 2, 3)), 60.0)


def _phases(writer: Callable[..., None], path: Path, **options: object) -> None:
    writer(load_phases(FILES / "walk_1.phases.npz")[0], path, **options)


def _spooled(path: Path) -> None:
    with StoreWriter(path) as writer:
        clip = _store().clip(0)
        writer.replace(writer.add(clip), clip, {})
        writer.finish()


WRITERS: dict[str, Callable[[Path], object]] = {
    "array file": lambda path: write_arrays(path, {"a": np.ones(999)}, {}, format="x", version=1),
    "store": lambda path: write_store(path, _store()),
    "store of a replaced clip": _spooled,
    "phase model": lambda path: load_extractor(FILES / "default.model").save(path),
    "baseline": lambda path: load_extractor(FILES / "contact.phases").save(path),
    "database": lambda path: MotionDatabase.load(FILES / "motion.db").save(path),
    "controller": lambda path: Controller.load(FILES / "experts.controller").save(path),
    "phases": lambda path: _phases(save_phases, path, window_s=1.0, model_sha256=""),
    "table of phases": lambda path: _phases(save_csv, path),
    "BVH": lambda path: save(_store().clip(0), path.with_suffix(".bvh")),
    "glb": lambda path: save(_store().clip(0), path.with_suffix(".glb")),
    "glTF": lambda path: save(_store().clip(0), path.with_suffix(".gltf")),
    "motion": lambda path: save(_store().clip(0), path.with_suffix(".npz")),
    "points": lambda path: save_points(_points(), path),
    "page": lambda path: Page("title", "look").write(path),
    "table": lambda path: write_table(path, ["a"], [["x" * 2000]]),
}


@contextmanager
def full_disk():
    """As on a full disk, no file may grow beyond some bytes."""
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_disk_is_one_error_and_the_earlier_file_is_whole(name, tmp_path, monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    path = tmp_path / "file"
    WRITERS[name](path)
    (path,) = tmp_path.iterdir()
    before = contents(tmp_path)
    with full_disk(), pytest.raises(CheckpointError, match="cannot be written: File too large"):
        WRITERS[name](path)
    assert contents(tmp_path) == before
    gc.collect()
    assert not ignored


@pytest.mark.parametrize("name", ["array file", "store"])
def test_what_only_the_user_may_read_stays_so(name, tmp_path):
    WRITERS[name](tmp_path / "file")
    everything = [tmp_path / "file", *(tmp_path / "file").rglob("*")]
    modes = {path: 0o700 if path.is_dir() else 0o600 for path in everything}
    for path, mode in modes.items():
        path.chmod(mode)
    WRITERS[name](tmp_path / "file")
    assert {path: path.stat().st_mode & 0o777 for path in everything} == modes


def test_a_full_disk_is_seen_before_long_work(tmp_path):
    with full_disk(), pytest.raises(CheckpointError, match="cannot be written: File too large"):
        check_writable(tmp_path / "file")
    assert not list(tmp_path.iterdir())


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        # The path of a socket has a limit of some hundred bytes.
        os.chdir(path.parent)
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "device": (lambda path: path.symlink_to("/dev/null"), "is a device"),
    "full device": (lambda path: path.symlink_to("/dev/full"), "is a device"),
    "pipe": (lambda path: os.mkfifo(path), "a device, a pipe or a socket"),
    "socket": (_socket, "a device, a pipe or a socket"),
    "folder": (lambda path: path.mkdir(), "is a folder"),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no such files")
@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("name", PLACES)
def test_nothing_but_files_is_replaced(name, linked, tmp_path):
    make, fact = PLACES[name]
    path = place = tmp_path / "place"
    make(place)
    if linked:
        path = tmp_path / "link"
        path.symlink_to(place)
    before = os.lstat(place)
    for write in (WRITERS["array file"], WRITERS["table"], check_writable):
        with pytest.raises(CheckpointError, match=fact) as caught:
            write(path)
        assert caught.value.path == path
    assert os.path.samestat(before, os.lstat(place))
    assert not list(tmp_path.glob(".deepphase*"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system has no /proc")
def test_a_pipe_of_a_program_is_not_a_file():
    reader, writer = os.pipe()
    with pytest.raises(CheckpointError, match="a device, a pipe or a socket"):
        check_writable(f"/proc/self/fd/{writer}")
    os.close(reader)
    os.close(writer)


def test_a_device_that_comes_while_a_file_is_written_stays(tmp_path):
    path = tmp_path / "out"

    def write():
        with atomic_write(path) as file:
            file.write(b"x")
            path.mkdir()

    with pytest.raises(CheckpointError, match="is a folder"):
        write()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("parts", [("index.html",), ("deep", "index.html")])
def test_a_file_where_a_folder_is_needed(parts, tmp_path):
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", Path(os.devnull)):
        with pytest.raises(CheckpointError, match=f"{path} is not a folder"):
            check_writable(path.joinpath(*parts))
    assert (tmp_path / "file").read_text() == "mine"


def test_a_link_leads_to_the_file(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "to" / "file")
    for content in (b"one", b"two"):
        with atomic_write(tmp_path / "link") as file:
            file.write(content)
        assert (tmp_path / "to" / "file").read_bytes() == content
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(CheckpointError, match="cannot be written"):
        check_writable(tmp_path / "loop")
