"""Songs out of m4a and video files."""

import io

import numpy as np
import pytest

from deepphase.errors import FormatError
from deepphase.music.audio import SAMPLE_RATE, read_sound
from tests.music.made_sounds import clicks, f_measure

av = pytest.importorskip("av", reason="PyAV, the extra `av`, is not installed")

_RATE = 44_100


def made(samples, format, codec, *, picture=False, channels=2, sound=True):
    """The bytes of a container with samples (samples,) at 44,100 Hz."""
    content = io.BytesIO()
    with av.open(content, "w", format=format) as file:
        if picture:
            video = file.add_stream("mpeg4", rate=10)
            video.width = video.height = 64
            video.pix_fmt = "yuv420p"
        audio = file.add_stream(codec, rate=_RATE) if sound else None
        if audio:
            audio.layout = "stereo" if channels == 2 else "mono"
        if picture:
            for _ in range(10 * len(samples) // _RATE):
                frame = av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8), format="rgb24")
                file.mux(video.encode(frame))
            file.mux(video.encode())
        if audio:
            planes = np.repeat(samples[None].astype(np.float32), channels, axis=0)
            for start in range(0, len(samples), 1024):
                piece = np.ascontiguousarray(planes[:, start : start + 1024])
                frame = av.AudioFrame.from_ndarray(piece, format="fltp", layout=audio.layout.name)
                frame.sample_rate, frame.pts = _RATE, start
                file.mux(audio.encode(frame))
            file.mux(audio.encode())
    return content.getvalue()


@pytest.fixture(scope="module")
def song():
    import soxr

    samples, moments = clicks(100, 6.0)
    return soxr.resample(samples, SAMPLE_RATE, _RATE), moments


@pytest.mark.parametrize(
    ("format", "codec", "picture"),
    [
        ("mp4", "aac", False),
        ("mp4", "aac", True),
        ("matroska", "aac", True),
        ("adts", "aac", False),
    ],
)
def test_sound_is_where_it_was(tmp_path, song, format, codec, picture):
    samples, moments = song
    path = tmp_path / "song.bin"
    path.write_bytes(made(samples, format, codec, picture=picture))
    found = read_sound(path)
    assert found.dtype == np.float32
    # Raw AAC has no way to say that its encoder began with a frame of silence.
    late = 1024 / _RATE if format == "adts" else 0.0
    assert len(found) / SAMPLE_RATE == pytest.approx(6.0 + late, abs=0.06)
    loud = np.flatnonzero(np.abs(found) > 0.2) / SAMPLE_RATE
    begins = loud[np.diff(loud, prepend=-1.0) > 0.3]
    assert f_measure(begins, moments + late, within=0.012) == 1.0


def test_a_video_without_sound_is_refused(tmp_path, song):
    path = tmp_path / "film.mp4"
    path.write_bytes(made(song[0], "mp4", "aac", picture=True, sound=False))
    with pytest.raises(FormatError, match="a video without sound"):
        read_sound(path)


@pytest.mark.parametrize(("format", "share"), [("mp4", 0.5), ("matroska", 0.5), ("mp4", 0.02)])
def test_a_truncated_file_is_refused(tmp_path, song, format, share):
    content = made(song[0], format, "aac")
    path = tmp_path / "cut.m4a"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FormatError) as said:
        read_sound(path)
    assert said.value.path == path
    assert said.value.hint


def test_garbage_behind_a_containers_first_bytes_is_refused(tmp_path):
    path = tmp_path / "song.m4a"
    path.write_bytes(b"\x00\x00\x00\x20ftypM4A " + np.random.default_rng(1).bytes(5000))
    with pytest.raises(FormatError):
        read_sound(path)
