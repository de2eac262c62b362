"""What a killed program leaves is removed by the next one, and nothing that has an owner."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from deepphase import temporary_files
from deepphase.apps.training.command import work_folder
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.errors import CheckpointError
from deepphase.temporary_files import (
    ABANDONED_AFTER_S,
    mapped_array,
    remove_abandoned,
    temporary_file,
    temporary_folder,
)
from deepphase.training.resume import finish

# Holds a file, a store's spool and a folder until it is killed.
OWNER = """
import sys
from deepphase.atomic_write import atomic_write
from deepphase.corpus.store_writer import StoreWriter
from tests.corpus.made_clips import made_clip

with atomic_write("out.model") as file, StoreWriter("out.store") as writer:
    file.write(b"half a file")
    file.flush()
    writer.add(made_clip(0, 20))
    print("written", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def owner(tmp_path):
    root = Path(__file__).parent.parent
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"written\n"
    yield process
    process.kill()
    process.communicate()


def left(folder: Path) -> list[Path]:
    return sorted(folder.glob(".deepphase-*"))


def make_old(path: Path) -> None:
    before = time.time() - ABANDONED_AFTER_S - 60
    for each in (*path.rglob("*"), path):
        os.utime(each, (before, before))


@pytest.mark.skipif(temporary_files.fcntl is None, reason="the system has no locks")
def test_a_killed_owner_leaves_nothing_for_long_and_a_living_one_loses_nothing(owner, tmp_path):
    temporary = left(tmp_path)
    assert len(temporary) == 2
    for path in temporary:
        make_old(path)
    check_writable(tmp_path / "other.store")
    assert left(tmp_path) == temporary
    owner.kill()
    owner.wait()
    check_writable(tmp_path / "other.store")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(temporary_files.fcntl is None, reason="the system has no locks")
def test_the_first_file_that_a_program_writes_in_a_folder_removes_what_was_left(tmp_path):
    (tmp_path / temporary_files._new_name()).write_bytes(b"x")
    with atomic_write(tmp_path / "out") as file:
        file.write(b"whole")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.fixture(params=["another machine", "no locks"])
def of_unknown_owner(request, tmp_path, monkeypatch):
    """A file and a folder of which no lock says whether they have an owner."""
    for name in (temporary_files._new_name(), temporary_files._new_name()):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lock").touch()
    (tmp_path / temporary_files._new_name()).write_bytes(b"x")
    if request.param == "no locks":
        monkeypatch.setattr(temporary_files, "fcntl", None)
    else:
        monkeypatch.setattr(temporary_files, "_machine", lambda: "another1")
    return tmp_path


def test_a_file_of_an_unknown_owner_is_removed_after_a_day(of_unknown_owner):
    temporary = left(of_unknown_owner)
    remove_abandoned(of_unknown_owner)
    assert left(of_unknown_owner) == temporary
    for path in temporary:
        make_old(path)
    # The content of the folder counts, not the folder alone.
    newest = next(each for path in temporary for each in path.rglob("*"))
    newest.touch()
    remove_abandoned(of_unknown_owner)
    assert left(of_unknown_owner) == [newest.parent]


def test_other_files_stay(tmp_path):
    target = tmp_path / "target"
    target.write_text("mine")
    for name in (".deepphase-notes", "deepphase-0123456789abcdef.tmp", ".deepphase-made.json"):
        (tmp_path / name).write_text("mine")
    (tmp_path / temporary_files._new_name()).symlink_to(target)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / temporary_files._new_name())
    before = sorted(tmp_path.iterdir())
    remove_abandoned(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    assert target.read_text() == "mine"
    remove_abandoned(tmp_path / "nowhere")


@pytest.mark.skipif(temporary_files.fcntl is None, reason="the system has no locks")
def test_a_file_that_another_run_removes_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    lock, removed = temporary_files._lock, []

    def late(descriptor):
        if not removed:
            removed.extend(left(tmp_path))
            remove_abandoned(tmp_path)
        return lock(descriptor)

    monkeypatch.setattr(temporary_files, "_lock", late)
    monkeypatch.setattr(
        temporary_files,
        "_remove_if_abandoned",
        lambda path, _: (path / "lock" if path.is_dir() else path).unlink(),
    )
    with temporary_file(tmp_path) as (path, _):
        assert len(removed) == 1
        assert path.exists()
        assert path not in removed
    removed.clear()
    with temporary_folder(tmp_path) as folder:
        assert folder.parent not in removed
        assert (folder.parent / "lock").exists()
        assert list(folder.iterdir()) == []


@pytest.mark.skipif(temporary_files.fcntl is None, reason="the system has no locks")
def test_a_training_folder_goes_though_an_earlier_training_was_killed(tmp_path):
    work = tmp_path / "m.unfinished"
    work.mkdir()
    (work / temporary_files._new_name()).write_bytes(b"x")
    assert work_folder(tmp_path / "m", resume=False, restart=False) == work
    finish(work, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_removed_with_its_content(tmp_path):
    def use():
        with temporary_folder(tmp_path) as folder:
            (folder / "deep").mkdir()
            (folder / "deep" / "file").write_text("x")
            raise KeyError

    with pytest.raises(KeyError):
        use()
    assert list(tmp_path.iterdir()) == []


def test_a_mapped_array_has_no_name(tmp_path):
    array = mapped_array((3, 4), np.float32, tmp_path)
    array[1] = 2.0
    assert array.shape == (3, 4)
    assert float(array.sum()) == 8.0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="room is not reserved here")
def test_a_mapped_array_without_room_is_an_error(tmp_path):
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(CheckpointError, match="temporary data cannot be written"):
            mapped_array((1000, 1000), np.float32, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
