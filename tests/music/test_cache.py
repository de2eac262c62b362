import numpy as np
import pytest

from deepphase.formats.array_file import read_arrays, write_arrays
from deepphase.music import cache
from deepphase.music.cache import CACHE_VARIABLE, FORMAT, VERSION, cache_folder, song_features
from deepphase.synthetic.song import make_song
from tests.music.made_sounds import clicks, file_bytes


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "songs"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "song.wav"
    path.write_bytes(file_bytes(make_song(1, 8.0).samples))
    return path


@pytest.fixture
def made(monkeypatch):
    """How often features were made and not read."""
    calls = []
    make = cache.features_of
    monkeypatch.setattr(
        cache, "features_of", lambda *args, **given: calls.append(1) or make(*args, **given)
    )
    return calls


def assert_same(one, other):
    for name, block in one.blocks.items():
        np.testing.assert_array_equal(block, other.blocks[name])
    np.testing.assert_array_equal(one.beats_s, other.beats_s)
    assert (one.downbeats_s is None) == (other.downbeats_s is None)
    if one.downbeats_s is not None:
        np.testing.assert_array_equal(one.downbeats_s, other.downbeats_s)
    for field in ("duration_s", "beats_per_bar", "tempo_bpm", "beat_confidence", "sha256", "fps"):
        assert getattr(one, field) == getattr(other, field)
    assert one.bar_confidence == other.bar_confidence


def test_what_is_kept_is_what_was_made(folder, path, made):
    first = song_features(path)
    second = song_features(path)
    assert len(made) == 1
    assert_same(first, second)
    # The same bytes under another name are the same song.
    other = path.with_name("other.ogg")
    other.write_bytes(path.read_bytes())
    again = song_features(other)
    assert len(made) == 1
    assert_same(first, song_features(path, cache=False))
    assert len(made) == 2
    assert (again.name, again.source) == ("other", str(other))
    # Other bytes are another.
    other.write_bytes(file_bytes(clicks(90, 5.0)[0]))
    assert song_features(other).tempo_bpm == pytest.approx(90, rel=0.02)
    assert len(made) == 3
    assert len(list(folder.iterdir())) == 2


def broken(content):
    return content[: len(content) // 2]


def altered(content):
    return content[:-100] + bytes(100)


@pytest.mark.parametrize("spoil", [broken, altered, lambda content: b"", lambda content: b"abc"])
def test_a_broken_file_is_made_again(folder, path, made, spoil):
    first = song_features(path)
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(spoil(whole))
    assert_same(first, song_features(path))
    assert len(made) == 2
    assert kept.read_bytes() == whole


@pytest.mark.parametrize("change", ["version", "song", "values", "shape", "key"])
def test_a_file_of_another_kind_is_made_again(folder, path, made, change):
    first = song_features(path)
    (kept,) = folder.iterdir()
    arrays, header = read_arrays(kept, format=FORMAT, version=VERSION)
    version = VERSION
    if change == "version":
        version = VERSION + 1
    elif change == "song":
        header["song_sha256"] = "0" * 64
    elif change == "values":
        header["values"]["mel"] = header["values"]["mel"][:-1]
    elif change == "shape":
        arrays["blocks.mfcc"] = arrays["blocks.mfcc"][:-1]
    else:
        del header["tempo_bpm"]
    write_arrays(kept, arrays, header, format=FORMAT, version=version)
    assert_same(first, song_features(path))
    assert len(made) == 2


def test_no_cache(monkeypatch, path, tmp_path):
    monkeypatch.setenv(CACHE_VARIABLE, "")
    assert cache_folder() is None
    assert len(song_features(path))
    # A folder that cannot be made is not a reason to fail.
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "file"))
    assert len(song_features(path))
    monkeypatch.delenv(CACHE_VARIABLE)
    assert cache_folder().name == "songs"
    assert "deepphase" in str(cache_folder())
