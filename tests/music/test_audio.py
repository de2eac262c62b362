import struct
from pathlib import Path

import numpy as np
import pytest
import soundfile

from deepphase.errors import FormatError
from deepphase.music import audio
from deepphase.music.audio import SAMPLE_RATE, read_sound
from tests.music.made_sounds import file_bytes


def tone(seconds, rate, hertz=440.0):
    return (0.5 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * rate)) / rate)).astype(
        np.float32
    )


def put(folder, content, name="song.wav"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("rate", [8000, 11_025, 22_050, 30_720, 44_100, 48_000, 96_000])
def test_any_rate_becomes_ours(tmp_path, rate):
    read = read_sound(put(tmp_path, file_bytes(tone(2.0, rate), rate, subtype="FLOAT")))
    assert read.dtype == np.float32
    assert abs(len(read) - 2 * SAMPLE_RATE) <= 2
    inside = slice(SAMPLE_RATE // 2, 3 * SAMPLE_RATE // 2)
    np.testing.assert_allclose(read[inside], tone(2.0, SAMPLE_RATE)[inside], atol=0.005)


@pytest.mark.parametrize("format", ["WAV", "FLAC", "OGG", "MP3"])
def test_formats(tmp_path, format):
    content = file_bytes(tone(2.0, 48_000), 48_000, format)
    read = read_sound(put(tmp_path, content, "song." + format.lower()))
    assert len(read) == pytest.approx(2 * SAMPLE_RATE, abs=0.06 * SAMPLE_RATE)
    assert np.abs(read).max() == pytest.approx(0.5, abs=0.05)


def test_stereo_is_mixed(tmp_path):
    left, right = tone(1.0, SAMPLE_RATE), 0.5 * tone(1.0, SAMPLE_RATE, 660.0)
    content = file_bytes(np.stack([left, right], axis=1), subtype="FLOAT")
    np.testing.assert_allclose(read_sound(put(tmp_path, content)), 0.5 * (left + right), atol=1e-6)


def test_a_stream_of_unknown_length_is_whole(tmp_path):
    content = bytearray(file_bytes(tone(1.0, SAMPLE_RATE)))
    at = content.index(b"data") + 4
    content[at : at + 4] = struct.pack("<I", 0xFFFFFFFF)
    assert len(read_sound(put(tmp_path, bytes(content)))) == SAMPLE_RATE


def nan_wav(value):
    samples = tone(1.0, SAMPLE_RATE)
    samples[SAMPLE_RATE // 2] = value
    return file_bytes(samples, subtype="FLOAT")


def slow_rate():
    content = bytearray(file_bytes(tone(1.0, 8000), 8000))
    content[24:28] = struct.pack("<I", 7)
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty file"),
        (b"la la la, this is no song\n" * 20, "no sound but text: 'la la la"),
        (b"<html><body>404</body></html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"\x00\x00\x00\x20ftypM4A " + bytes(500), "m4a"),
        (bytes(2000), "no sound that can be decoded"),
        (np.random.default_rng(0).bytes(5000), "no sound that can be decoded"),
        (nan_wav(np.nan), "not finite, from 0.50 s"),
        (nan_wav(np.inf), "not finite, from 0.50 s"),
        (nan_wav(1e30), "of no sound, from 0.50 s"),
        (slow_rate(), "7 samples a second"),
        (file_bytes(tone(0.01, SAMPLE_RATE)), "less than one frame"),
        (file_bytes(np.zeros(0, np.float32)), "0 ms of sound"),
    ],
)
@pytest.mark.parametrize("name", ["song.ogg", "song.wav"])
def test_no_song_is_one_error(tmp_path, content, said, name, monkeypatch):
    monkeypatch.setattr("deepphase.music.audio.has_av", lambda: False)
    path = put(tmp_path, content, name)
    with pytest.raises(FormatError) as caught:
        read_sound(path)
    assert said in caught.value.fact
    assert caught.value.path == path
    assert caught.value.hint


@pytest.mark.parametrize("format", ["WAV", "FLAC", "OGG", "MP3"])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.9, 0.999])
def test_cut_off_files_are_one_error(tmp_path, format, share):
    generator = np.random.default_rng(1)
    samples = (0.2 * generator.standard_normal(3 * 44_100)).astype(np.float32)
    content = file_bytes(samples, 44_100, format)
    path = put(tmp_path, content[: int(share * len(content))], "song." + format.lower())
    with pytest.raises(FormatError) as caught:
        read_sound(path)
    assert caught.value.path == path
    assert caught.value.hint
    if share >= 0.5:
        assert "cut off" in caught.value.fact


def test_too_long_is_said_before_it_is_decoded(tmp_path, monkeypatch):
    monkeypatch.setattr(audio, "LONGEST_S", 2.0)
    assert len(read_sound(put(tmp_path, file_bytes(tone(2.0, 8000), 8000))))
    path = put(tmp_path, file_bytes(tone(130.0, 8000), 8000))
    monkeypatch.setattr(soundfile.SoundFile, "read", None)
    with pytest.raises(FormatError, match="2 minutes of sound"):
        read_sound(path)


@pytest.mark.parametrize(("rate", "channels", "seconds"), [(1000, 1, 601), (48_000, 8, 160)])
def test_sound_of_too_few_bytes_is_refused(rate, channels, seconds):
    audio._check_length(Path("song"), 500_000, rate, channels, seconds * rate)
    with pytest.raises(FormatError, match="but 10,000 bytes"):
        audio._check_length(Path("song"), 10_000, rate, channels, seconds * rate)
