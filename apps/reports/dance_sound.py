"""The part of a song that was danced to, as the player plays and draws it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from deepphase.errors import FormatError
from deepphase.figures.player.song import Song
from deepphase.music.audio import read_sound
from deepphase.music.features import SURE, SongFeatures
from deepphase.music.spectra import MEL_RANGE_HZ

Array = np.ndarray

# Frames of a column: 30 columns a second are as fine as a lane shows them.
_FRAMES_A_COLUMN = 2
# Larger files, and parts of songs, are put into the page anew.
_LARGEST_BYTES = 24_000_000
# What Vorbis is best at; samples are encoded in pieces of so many.
_RATE, _PIECE = 44_100, 1 << 16


def danced_song(path: Path, features: SongFeatures, start_s: float, seconds: float) -> Song:
    """The sound of a dance, with its beats and its spectrogram, from the dance's first frame on.

    Parameters
    ----------
    path
        The song's file.
    features
        What it sounds like.
    start_s, seconds
        The part that was danced to.
    """
    fps = features.fps
    first, last = round(start_s * fps), round((start_s + seconds) * fps)
    whole = start_s == 0 and seconds > features.duration_s - 1.0
    told: dict[str, object] = {}
    if features.beat_confidence >= SURE:
        told["beats"] = _inside(features.beats_s, start_s, seconds)
        if features.downbeats_s is not None:
            told["downbeats"] = _inside(features.downbeats_s, start_s, seconds)
    told |= {
        "name": features.name,
        "duration_s": features.duration_s if whole else seconds,
        "spectrogram": features.blocks["mel"][first : max(last, first + 1) : _FRAMES_A_COLUMN].T,
        "band_hz": MEL_RANGE_HZ,
    }
    if whole and path.stat().st_size <= _LARGEST_BYTES:
        try:
            return Song.of_file(path, **told)
        except FormatError:
            # A format that browsers do not play: then it is encoded anew.
            pass
    return Song(_encoded(path, start_s, seconds), "audio/ogg", **told)  # type: ignore[arg-type]


def _inside(times: Array, start_s: float, seconds: float) -> Array:
    times = times - start_s
    return times[(times >= 0) & (times <= seconds)]


def _encoded(path: Path, start_s: float, seconds: float) -> bytes:
    """Ogg Vorbis of a part of a song, mono."""
    import soundfile
    import soxr

    from deepphase.music.audio import SAMPLE_RATE

    samples = read_sound(path).samples
    first = round(start_s * SAMPLE_RATE)
    part = samples[first : first + round(seconds * SAMPLE_RATE)]
    part = soxr.resample(part, SAMPLE_RATE, _RATE)
    loudest = float(np.abs(part).max(initial=0.0))
    if loudest > 1.0:
        part = part / loudest
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", _RATE, 1, format="OGG", subtype="VORBIS") as encoder:
        for start in range(0, len(part), _PIECE):
            encoder.write(part[start : start + _PIECE])
    return file.getvalue()
