"""The song of a take: its file, beats and spectrogram."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError

# What browsers play, by suffix.
_MIME = {
    ".wav": "audio/wav",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
    ".webm": "audio/webm",
}


@dataclass(frozen=True, eq=False)
class PlayerSong:
    """Sound that the take is played to: where there is one, it is the clock.

    Parameters
    ----------
    data
        The file's bytes, in a format that browsers play.
    mime
        As in "audio/wav".
    name
        As the page shows it.
    duration_s
        Seconds; 0 where they are not known, and then the page asks the file.
    beats, downbeats
        (beats,) seconds in the song.
    spectrogram
        (bands, columns) loudness, low bands first, any unit: drawn from its lowest to its highest
        value. Its columns divide `duration_s` evenly.
    band_hz
        (lowest, highest) frequency of the spectrogram's bands.
    start_s
        Seconds of the take at which the song begins; negative where the take begins later.

    Raises
    ------
    ParameterError
        Where there are no bytes, a value is not finite, or a spectrogram has no duration.
    """

    data: bytes
    mime: str
    name: str = "song"
    duration_s: float = 0.0
    beats: Array = field(default_factory=lambda: np.zeros(0))
    downbeats: Array = field(default_factory=lambda: np.zeros(0))
    spectrogram: Array | None = None
    band_hz: tuple[float, float] | None = None
    start_s: float = 0.0

    def __post_init__(self) -> None:
        if not self.data:
            raise ParameterError(f"{self.name}: a song without a byte")
        if not (
            np.isfinite(self.duration_s) and self.duration_s >= 0 and np.isfinite(self.start_s)
        ):
            raise ParameterError(f"{self.name}: {self.duration_s} s from {self.start_s} s")
        for what in ("beats", "downbeats", "spectrogram"):
            value = getattr(self, what)
            if value is not None and not np.isfinite(value).all():
                raise ParameterError(f"{self.name}: {what} holds values that are not finite")
        if self.spectrogram is not None:
            if self.spectrogram.ndim != 2 or not self.spectrogram.size:
                raise ParameterError(
                    f"{self.name}: a spectrogram {self.spectrogram.shape}, "
                    "expected (bands, columns)"
                )
            if not self.duration_s:
                raise ParameterError(
                    f"{self.name}: a spectrogram of a song whose duration is not told",
                    hint="give duration_s",
                )

    @classmethod
    def of_file(cls, path: str | Path, **given: Any) -> PlayerSong:
        """The bytes of a sound file; `given` are further fields.

        Raises
        ------
        FormatError
            Where the file cannot be read, or browsers do not play its format.
        """
        path = Path(path)
        mime = _MIME.get(path.suffix.lower())
        if mime is None:
            raise FormatError(
                f"browsers play no {path.suffix or 'files without a suffix'}",
                hint=f"turn it into one of {', '.join(_MIME)}",
                path=path,
            )
        try:
            data = path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror or error}", path=path) from None
        if not data:
            raise FormatError("an empty file", path=path)
        return cls(data, mime, **({"name": path.stem} | given))
