"""Decoding of the sound in m4a, AAC, WMA and video files by PyAV (the optional extra `av`)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError

# What may be missing at the end: the last frame, and what encoders round.
MISSING_S = 0.5
_CUT_OFF = "copy or download it again, or save what is left of it as a new file"
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
    """The first sound stream of a container, opened.

    Attributes
    ----------
    rate, channels
        Samples a second, and channels.
    """

    def __init__(self, content: bytes, path: Path) -> None:
        import av

        self._path = path
        try:
            self._file: Any = av.open(io.BytesIO(content), mode="r")
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise FormatError(
                f"no sound that can be decoded ({_said(error)})", hint=_CUT_OFF, path=path
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
        """(samples, channels) float32, from the container's start on: a stream that begins later,
        as in some videos, begins with silence.
        """
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
            raise FormatError(
                f"the sound is cut off or damaged after {done / self.rate:.1f} s ({_said(error)})",
                hint=_CUT_OFF,
                path=self._path,
            ) from None

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
