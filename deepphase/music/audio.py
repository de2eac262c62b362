"""Reader of sound files: any format, rate and channel count becomes mono at one rate."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.reading import foreign_content, read_content
from deepphase.music.decoding import (
    LOUDEST,
    both_halves,
    decoder_errors,
    is_sound,
    mixed,
    truncation,
)

SAMPLE_RATE, HOP = 30_720, 512
"""Samples a second of all features, and samples a frame: exactly 60 frames a second."""

LONGEST_S = 3600.0
"""Seconds of the longest song that is read."""

_RATES = (1000, 768_000)
_MOST_CHANNELS = 64
# Frames of formats without a length.
_ENDLESS = 1 << 62
# Ten minutes may be as silent as they like; sound of more has more bytes a second, and not so many
# samples a byte.
_FREE_S, _BYTES_A_SECOND = 600.0, 600
_FREE_SAMPLES, _SAMPLES_A_BYTE = 60_000_000, 128
_PIECE_S, _PIECE_SAMPLES = 20, 1 << 24
_INSTALL = "pip install 'deepphase[av]'"
_CONVERT = "turn it into one that is read, as in: ffmpeg -i SONG song.flac"
_TEXT = bytes(range(32, 127)) + b"\t\r\n"
_AGAIN = "copy or download it again, or save what is left of it as a new file"
# First bytes of containers and raw streams, which PyAV reads.
_CONTAINERS = {
    b"\x1aE\xdf\xa3": "a Matroska or WebM file",
    b"\x30\x26\xb2\x75": "a WMA file",
    b"\xff\xf1": "an AAC file",
    b"\xff\xf9": "an AAC file",
    b"\x00\x00\x01\xba": "an MPEG file",
    b"FLV\x01": "an FLV file",
}


def sound_bytes(path: str | Path) -> bytes:
    """The bytes of a sound file."""
    return read_content(Path(path), "sound")


def check_is_sound(content: bytes, path: str | Path) -> None:
    """Raise FormatError, by the first bytes, where decoding would."""
    import soundfile

    try:
        with decoder_errors(content):
            soundfile.info(io.BytesIO(content))
    except soundfile.LibsndfileError as error:
        if foreign_content(content) or not _container(content) or not has_av():
            raise _no_sound(content, Path(path), error) from None


def read_sound(path: str | Path) -> Array:
    """(samples,) float32 of a file by its content: mono, finite, SAMPLE_RATE a second."""
    return decoded(sound_bytes(path), path)


def stated_duration_s(content: bytes, path: str | Path) -> float:
    """Seconds of sound that a file's header states, without decoding it; 0 where it states none."""
    import soundfile

    try:
        with decoder_errors(content):
            return float(soundfile.info(io.BytesIO(content)).duration)
    except soundfile.LibsndfileError:
        if not (_container(content) and has_av()):
            return 0.0
    file = ContainerSound(content, Path(path))
    try:
        return file.duration_s
    finally:
        file.close()


def decoded(content: bytes, path: str | Path) -> Array:
    """The samples in a file's bytes, as of `read_sound`; `path` is only named."""
    path = Path(path)
    if missing := truncation(content):
        raise _cut_off(f": {missing}", path)
    import soundfile

    try:
        # From bytes, so that the suffix does not decide the format.
        with decoder_errors(content) as errors, soundfile.SoundFile(io.BytesIO(content)) as file:
            _check_front(file.samplerate, file.channels, path)
            check = partial(_check_length, path, len(content), file.samplerate, file.channels)
            check(file.frames)
            halves = both_halves(content, file)
            whole = _checked(_pieces(file), file.samplerate, path, check, stated=file.frames)
            pieces = whole if halves is None else iter((halves,))
            samples = _resampled(pieces, file.samplerate)
    except soundfile.LibsndfileError as error:
        # What a decoder of sound files does not know may be a container: m4a, or a video.
        if foreign_content(content) or not _container(content) or not has_av():
            raise _no_sound(content, path, error) from None
        samples, errors = _of_container(content, path), []
    if errors:
        raise FormatError(
            f"the sound is damaged: {len(errors)} of its frames cannot be decoded ({errors[0]})",
            hint=_AGAIN,
            path=path,
        )
    if len(samples) < HOP:
        raise FormatError(
            f"there are {len(samples) / SAMPLE_RATE * 1000:.0f} ms of sound, less than one frame "
            "of a 60th second",
            hint="a song takes a few seconds",
            path=path,
        )
    return samples


def _of_container(content: bytes, path: Path) -> Array:
    """(samples,) at SAMPLE_RATE."""
    file = ContainerSound(content, path)
    try:
        _check_front(file.rate, file.channels, path)
        stated, slack = round(file.duration_s * file.rate), round(MISSING_S * file.rate)
        check = partial(_check_length, path, len(content), file.rate, file.channels)
        check(stated)
        pieces = _checked(file.pieces(), file.rate, path, check, stated=stated, slack=slack)
        return _resampled(pieces, file.rate)
    finally:
        file.close()


def _checked(
    pieces: Iterator[Array],
    rate: int,
    path: Path,
    check: Callable[[int], None],
    *,
    stated: int,
    slack: int = 0,
) -> Iterator[Array]:
    """(samples,) mono, of pieces (samples, channels); at least as many as stated, but for some."""
    done = 0
    for piece in pieces:
        if not is_sound(piece):
            raise _not_finite(piece, done, rate, path)
        done += len(piece)
        # What the front of a file promises need not be what it holds.
        check(done)
        if len(piece):
            yield mixed(piece)
    # Formats without a length say that they are as long as can be.
    if done < stated - slack and stated < _ENDLESS:
        fact = f": {done / rate:.1f} s of {stated / rate:.1f} s can be read"
        raise _cut_off(fact, path)


def _cut_off(what: str, path: Path) -> FormatError:
    return FormatError(f"the sound is cut off or damaged{what}", hint=_AGAIN, path=path)


def _container(content: bytes) -> str:
    """The container, in words, that first bytes are of; empty if PyAV reads none of the kind."""
    if content[4:8] == b"ftyp":
        return "an MP4 (m4a, AAC) file"
    if content[:4] == b"RIFF" and content[8:11] == b"AVI":
        return "an AVI file"
    # MPEG transport streams have this byte at the start of every packet.
    if content[:1] == content[188:189] == b"G":
        return "an MPEG transport stream"
    return next((what for front, what in _CONTAINERS.items() if content.startswith(front)), "")


def _check_front(rate: int, channels: int, path: Path) -> None:
    if not _RATES[0] <= rate <= _RATES[1] or not 1 <= channels <= _MOST_CHANNELS:
        raise FormatError(
            f"there are {channels} channels of {rate} samples a second",
            hint=f"songs have up to {_MOST_CHANNELS} channels and from {_RATES[0]} to "
            f"{_RATES[1]} samples a second",
            path=path,
        )


def _pieces(file: Any) -> Iterator[Array]:
    """(samples, channels) of a sound file, from the start to the end."""
    most = min(_PIECE_S * file.samplerate, _PIECE_SAMPLES // file.channels)
    while len(piece := file.read(most, dtype="float32", always_2d=True)) == most:
        yield piece
    yield piece


def _resampled(pieces: Iterator[Array], rate: int) -> Array:
    """(samples,) at SAMPLE_RATE."""
    import soxr

    if rate == SAMPLE_RATE:
        return np.concatenate([np.zeros(0, np.float32), *pieces])
    stream = soxr.ResampleStream(rate, SAMPLE_RATE, 1, dtype="float32", quality="HQ")
    parts = [stream.resample_chunk(piece) for piece in pieces]
    parts.append(stream.resample_chunk(np.zeros(0, np.float32), last=True))
    return np.concatenate(parts)


def _check_length(path: Path, size: int, rate: int, channels: int, frames: int) -> None:
    """FormatError for sound that is too long, or has too little data in `size` bytes."""
    minutes = f"there are {frames / rate / 60:.0f} minutes of sound"
    if LONGEST_S * rate < frames < _ENDLESS:
        fact = f"{minutes}, more than {LONGEST_S / 60:g}"
        raise FormatError(fact, hint="cut it into parts", path=path)
    too_long = frames / rate > max(_FREE_S, size / _BYTES_A_SECOND)
    if frames < _ENDLESS and (
        too_long or frames * channels > max(_FREE_SAMPLES, size * _SAMPLES_A_BYTE)
    ):
        fact = f"{minutes} in {channels} channels, but {size:,} bytes"
        raise FormatError(fact, hint="no song is so silent: cut it into parts", path=path)


def _not_finite(piece: Array, done: int, rate: int, path: Path) -> FormatError:
    wrong = ~(np.abs(piece) <= LOUDEST).all(axis=1)
    first = int(np.argmax(wrong))
    what = "not finite" if not np.isfinite(piece[first]).all() else "of no sound"
    return FormatError(
        f"samples that are {what}, from {(done + first) / rate:.2f} s on: {piece[first].max():g}",
        hint="what wrote the file is wrong; export the song again",
        path=path,
    )


def _no_sound(content: bytes, path: Path, error: Exception) -> FormatError:
    # A container is only refused where PyAV is missing.
    container, hint = _container(content), f"wav, flac, ogg and mp3 are read; {_CONVERT}"
    known = container or foreign_content(content)
    if container:
        hint = f"for m4a, AAC and video files {_INSTALL}, or {_CONVERT}"
    elif content.startswith(b"MThd"):
        known = "a MIDI file: notes, no sound"
    if known:
        fact = f"not read as sound: {known}"
    elif content[:4] == b"fLaC":
        fact = "the sound is cut off or damaged"
    elif not content[:200].translate(None, _TEXT):
        fact = f"no sound but text: {content[:30].decode('ascii')!r} ..."
    else:
        said = str(getattr(error, "error_string", error)).rstrip(".")
        fact = f"no sound that can be decoded ({said})"
    return FormatError(fact, hint=hint, path=path)


# What may be missing at the end: the last frame, and what encoders round.
MISSING_S = 0.5
# AV_TIME_BASE.
_MICROSECONDS = 1e6


def has_av() -> bool:
    """Whether PyAV is installed."""
    try:
        import av  # noqa: F401
    except ImportError:
        return False
    return True


class ContainerSound:
    """The first sound stream of a container, opened; `rate` is samples a second."""

    def __init__(self, content: bytes, path: Path) -> None:
        import av

        self._path = path
        try:
            self._file: Any = av.open(io.BytesIO(content), mode="r")
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise FormatError(
                f"no sound that can be decoded ({_said(error)})", hint=_AGAIN, path=path
            ) from None
        streams = self._file.streams.audio
        if not streams:
            self.close()
            raise FormatError(
                "this is a video without sound", hint="give the song as a file", path=path
            )
        self._stream = streams[0]
        self.rate, self.channels = int(self._stream.rate or 0), int(self._stream.channels or 0)
        stated, time_base = self._stream.duration, self._stream.time_base
        self.duration_s = 0.0
        if stated is not None and time_base is not None:
            self.duration_s = float(stated * time_base)
        elif self._file.duration and not self._file.streams.video:
            # Matroska states the whole file's duration only, and a picture may be longer.
            self.duration_s = self._file.duration / _MICROSECONDS

    def pieces(self) -> Iterator[Array]:
        """(samples, channels) float32; a stream that begins late, as of videos, has silence."""
        import av

        planes = av.AudioResampler(format="fltp")
        done, first = 0, True
        try:
            for frame in self._file.decode(self._stream):
                for part in planes.resample(frame):
                    piece = np.ascontiguousarray(part.to_ndarray().T)
                    if first:
                        first = False
                        piece = self._from_start(piece, frame)
                    done += len(piece)
                    yield piece
        except (av.error.FFmpegError, OSError, ValueError) as error:
            after = f" after {done / self.rate:.1f} s ({_said(error)})"
            raise _cut_off(after, self._path) from None

    def _from_start(self, piece: Array, frame: Any) -> Array:
        """The first piece, so that sample 0 is at the container's start."""
        begin = (self._file.start_time or 0) / _MICROSECONDS
        late = 0 if frame.time is None else round((frame.time - max(begin, 0.0)) * self.rate)
        if late <= 0:
            return piece[-late:] if -late < len(piece) else piece[:0]
        late = min(late, round(max(self.duration_s, 1.0) * self.rate))
        return np.concatenate([np.zeros((late, piece.shape[1]), np.float32), piece])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _said(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split()).rstrip(".")[:100]
