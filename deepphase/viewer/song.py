"""Song of a take: its sound file, beats and spectrogram."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.viewer.checks import check_array

# Suffix -> MIME type of the formats that browsers play.
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
    """Sound of a take. While it plays, the player's time follows it.

    Parameters
    ----------
    mime
        MIME type, as in "audio/wav".
    duration_s
        Duration in seconds; 0 if unknown, and then the page reads it from the file.
    beats, downbeats
        (beats,) seconds in the song.
    spectrogram
        (bands, columns) loudness in any unit, low bands first, scaled between its extremes. The
        columns divide `duration_s` evenly.
    band_hz
        (lowest, highest) frequency of the spectrogram's bands.
    start_s
        Time of the take at which the song begins, seconds; negative if the take begins later.
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
        for what in ("beats", "downbeats"):
            moments = getattr(self, what)
            check_array(f"{self.name}: {what}", moments, len(moments))
        check_array(f"{self.name}: spectrogram", self.spectrogram, "bands", "columns")

    @classmethod
    def of_file(cls, path: str | Path, **given: Any) -> PlayerSong:
        """Read a sound file; `given` sets further fields."""
        path = Path(path)
        mime = _MIME.get(path.suffix.lower())
        if mime is None:
            raise FormatError(
                f"browsers play no {path.suffix or 'files without a suffix'}",
                hint=f"convert it to one of {', '.join(_MIME)}",
                path=path,
            )
        try:
            data = path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot be read: {error.strerror or error}", path=path) from None
        if not data:
            raise FormatError(
                "this is an empty file", hint="choose a file that holds sound", path=path
            )
        return cls(data, mime, **({"name": path.stem} | given))
