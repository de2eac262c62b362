import io
import os

import numpy as np
import pytest
import soundfile

from deepphase.errors import FormatError
from deepphase.music import audio
from deepphase.music.audio import read_sound
from deepphase.music.decoding import both_halves, is_sound
from tests.music.made_sounds import file_bytes

RATE, SECONDS = 22_050, 17.3


def stereo(seconds=SECONDS):
    generator = np.random.default_rng(3)
    time = np.arange(round(seconds * RATE)) / RATE
    tones = 0.3 * np.sin(2 * np.pi * np.array([[220.0], [331.0]]) * time)
    return (tones.T + 0.1 * generator.standard_normal((len(time), 2))).astype(np.float32)


@pytest.fixture(scope="module", params=["OGG", "FLAC"])
def content(request):
    return file_bytes(stereo(), RATE, request.param)


def halves(content):
    with soundfile.SoundFile(io.BytesIO(content)) as file:
        return both_halves(content, file)


def test_halves_are_the_whole_bit_for_bit(content, tmp_path, monkeypatch):
    samples, _ = soundfile.read(io.BytesIO(content), dtype="float32")
    np.testing.assert_array_equal(halves(content), samples.mean(axis=1))
    path = tmp_path / "song"
    path.write_bytes(content)
    at_once = read_sound(path)
    monkeypatch.setattr(audio, "both_halves", lambda *args: None)
    monkeypatch.setattr(audio, "_PIECE_S", 3)
    np.testing.assert_array_equal(read_sound(path), at_once)


def test_halves_that_meet_in_silence_are_not_sure(tmp_path):
    samples = stereo()
    middle = len(samples) // 2
    samples[middle - 5000 : middle + 30_000] = 0
    content = file_bytes(samples, RATE, "FLAC")
    assert halves(content) is None
    (tmp_path / "song").write_bytes(content)
    assert len(read_sound(tmp_path / "song")) == pytest.approx(30_720 * SECONDS, abs=2)


def without(content, share):
    """A file whose bytes around a share of it are missing: in an Ogg, one page."""
    if content[:4] == b"OggS":
        start = content.index(b"OggS", int(share * len(content)))
        return content[:start] + content[content.index(b"OggS", start + 4) :]
    start = int(share * len(content))
    return content[:start] + content[start + 20_000 :]


@pytest.mark.parametrize("share", [0.1, 0.25, 0.49, 0.51, 0.8])
def test_what_is_missing_is_an_error_as_without_halves(content, share, tmp_path, monkeypatch):
    damaged = without(content, share)
    assert len(damaged) < len(content)
    path = tmp_path / "song"
    path.write_bytes(damaged)
    said = []
    for _ in range(2):
        try:
            said.append(read_sound(path).tobytes())
        except FormatError as error:
            said.append((error.fact, error.hint))
        monkeypatch.setattr(audio, "both_halves", lambda *args: None)
    assert said[0] == said[1]
    if content[:4] == b"OggS":
        assert "cut off or damaged" in said[0][0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_what_is_no_number_or_too_large_is_no_sound(value):
    piece = np.zeros((10, 2), np.float32)
    assert is_sound(piece)
    assert is_sound(piece[:0])
    piece[7, 1] = value
    assert not is_sound(piece)


@pytest.fixture(scope="module")
def mp3():
    return file_bytes(stereo(3.0), RATE, "MP3")


@pytest.mark.parametrize("seed", range(6))
def test_a_damaged_mp3_is_one_error_and_nothing_is_printed(seed, mp3, tmp_path, capfd):
    generator = np.random.default_rng(seed)
    damaged = bytearray(mp3)
    for at in generator.integers(1000, len(mp3), 60):
        damaged[at] ^= 1 << int(generator.integers(8))
    path = tmp_path / "song.mp3"
    path.write_bytes(damaged)
    with pytest.raises(FormatError, match="damaged"):
        read_sound(path)
    os.write(2, b"standard error is back\n")
    assert capfd.readouterr().err == "standard error is back\n"
