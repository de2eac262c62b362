"""Two users of one machine: what belongs to one is refused, or passed over, for the other."""

import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from deepphase import files
from deepphase.apps.cli import main
from deepphase.errors import CheckpointError
from deepphase.files import check_writable, remove_abandoned
from deepphase.formats.load import save
from deepphase.music import cache
from deepphase.synthetic.gait_motion import locomotion
from tests.compatibility.test_formats import _FILES as FILES

pytestmark = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 1)() != 0, reason="only root can be another user for a while"
)
_NOBODY = 65534


@contextmanager
def another_user():
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared(monkeypatch):
    """A folder as /tmp is, with files of root's that others may not read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    for name, mode in (("own", 0o700), ("open", 0o755), ("open/closed", 0o700)):
        (folder / name).mkdir(mode=mode)
    save(locomotion(0, 1.0).clip, folder / "open" / "walk.bvh")
    for name in ("own/walk.bvh", "open/closed.bvh", "captures.store"):
        shutil.copy(folder / "open" / "walk.bvh", folder / name)
        (folder / name).chmod(0o600)
    monkeypatch.chdir(folder)
    # Modules are imported while they can be.
    assert main(["inspect", "open"]) == 0
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "words",
    [
        *("inspect own", "inspect own/walk.bvh", "inspect open/closed.bvh"),
        *("inspect captures.store", "prepare own -o out.store", "convert own -o out"),
        *("convert open/walk.bvh -o own/out.bvh", "convert open/walk.bvh -o open/out.bvh"),
        *("prepare open -o captures.store --force", "play open/walk.bvh -o own/out.html"),
        "encode own -o out",
    ],
)
def test_what_is_another_users_is_one_sentence_and_status_2(words, shared, capsys):
    before = (shared / "captures.store").read_bytes()
    with another_user():
        assert main(words.split()) == 2
    assert (shared / "captures.store").read_bytes() == before
    assert "deepphase: error: " in capsys.readouterr().err


def test_what_cannot_be_read_in_a_folder_is_named(shared, capsys):
    with another_user():
        assert main(["inspect", "open"]) == 0
    said = "".join(capsys.readouterr())
    assert "closed.bvh" in said
    assert f"{shared / 'open' / 'closed'}: Permission denied" in said


def test_another_users_result_is_refused_before_long_work(shared):
    check_writable("captures.store")
    with another_user():
        with pytest.raises(CheckpointError, match="another user"):
            check_writable("captures.store")
        (shared / "mine").touch()
        check_writable("mine")


def test_a_link_of_another_user_does_not_lead_a_result_away(shared, capsys):
    (shared / "mine.bvh").symlink_to("own/mine.bvh")
    with another_user():
        (shared / "out.bvh").symlink_to("own/new.bvh")
    assert main(["convert", "open/walk.bvh", "-o", "out.bvh"]) == 2
    assert "another user" in capsys.readouterr().err
    assert not (shared / "own" / "new.bvh").exists()
    assert main(["convert", "open/walk.bvh", "-o", "mine.bvh"]) == 0
    assert (shared / "own" / "mine.bvh").exists()


def test_a_closed_cache_is_none(shared, monkeypatch):
    monkeypatch.setenv(cache.CACHE_VARIABLE, str(shared / "own"))
    monkeypatch.setattr(cache, "decoded", lambda content, path: None)
    monkeypatch.setattr(cache, "features_of", lambda samples, **given: given["sha256"])
    monkeypatch.setattr(cache, "_write", lambda features, path: check_writable(path))
    with another_user():
        assert cache.song_features(FILES / "song.ogg")
    assert [each.name for each in (shared / "own").iterdir()] == ["walk.bvh"]


def test_the_users_cache_is_closed_to_others(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert files.user_cache().stat().st_mode & 0o077 == 0
    with another_user():
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
        assert not os.path.exists(files.user_cache())


def test_temporary_files_of_another_user_are_not_looked_into(shared, monkeypatch):
    with another_user():
        for name in (".deepphase-1.tmp", ".deepphase-2.tmp"):
            (shared / name).mkdir()
            os.utime(shared / name, (0, 0))
        (shared / ".deepphase-3.tmp").symlink_to("/")
    os.chown(shared / ".deepphase-2.tmp", 0, 0)
    # Of a program that runs for days.
    (in_use := shared / f".deepphase-{os.getpid()}-5.tmp").touch()
    os.utime(in_use, (0, 0))
    (shared / ".deepphase-4.tmp").symlink_to("/")
    looked, rglob = [], Path.rglob
    monkeypatch.setattr(files, "_looked_through", set())
    monkeypatch.setattr(Path, "rglob", lambda path, like: looked.append(path) or rglob(path, like))
    remove_abandoned(shared)
    assert looked == [shared / ".deepphase-2.tmp"]
    assert not (shared / ".deepphase-2.tmp").exists()
    assert (shared / ".deepphase-1.tmp").exists()
    assert in_use.exists()
