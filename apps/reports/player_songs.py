"""Songs of the player: their sound, spectrogram and beats."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.errors import FormatError
from deepphase.music.audio import SAMPLE_RATE, read_sound
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures
from deepphase.music.spectra import MEL_RANGE_HZ
from deepphase.viewer.take import PlayerSong

# Frames per column of the spectrogram: 30 columns per second match the resolution of the player.
_FRAMES_PER_COLUMN = 2
# Larger files, and parts of songs, are encoded again for the page.
_MAX_BYTES = 24_000_000
# Sample rate of the encoded sound, and samples per block of the encoder.
_RATE, _BLOCK = 44_100, 1 << 16


def song_for_player(path: str | Path) -> PlayerSong:
    """The song of a file; one that only browsers decode has no spectrogram and no beats."""
    song = PlayerSong.of_file(path)
    try:
        features = song_features(path)
    except FormatError:
        return song
    return PlayerSong.of_file(path, **_shown(features, 0.0, features.duration_s))


def part_of_song(path: Path, features: SongFeatures, start_s: float, seconds: float) -> PlayerSong:
    """Sound of a part of a song with its beats and spectrogram."""
    shown = _shown(features, start_s, seconds) | {"name": features.name}
    if start_s == 0 and seconds > features.duration_s - 1.0:
        shown["duration_s"] = features.duration_s
        if path.stat().st_size <= _MAX_BYTES:
            try:
                return PlayerSong.of_file(path, **shown)
            except FormatError:
                # Browsers do not play this format: encode it again.
                pass
    return PlayerSong(_encoded(path, start_s, seconds), "audio/ogg", **shown)


def _shown(features: SongFeatures, start_s: float, seconds: float) -> dict[str, Any]:
    """Spectrogram of a part of a song, and its beats and downbeats if these are reliable."""
    first, last = round(start_s * features.fps), round((start_s + seconds) * features.fps)
    shown: dict[str, Any] = {
        "duration_s": seconds,
        "spectrogram": features.blocks["mel"][first : max(last, first + 1) : _FRAMES_PER_COLUMN].T,
        "band_hz": MEL_RANGE_HZ,
    }
    beats = {"beats": features.beats_s, "downbeats": features.downbeats_s}
    for name, times in beats.items() if features.has_beat else ():
        if times is not None:
            inside = times - start_s
            shown[name] = inside[(inside >= 0) & (inside <= seconds)]
    return shown


def _encoded(path: Path, start_s: float, seconds: float) -> bytes:
    """Part of a song as mono Ogg Vorbis."""
    import soundfile
    import soxr

    first = round(start_s * SAMPLE_RATE)
    part = read_sound(path).samples[first : first + round(seconds * SAMPLE_RATE)]
    part = soxr.resample(part, SAMPLE_RATE, _RATE)
    part = part / max(float(np.abs(part).max(initial=0.0)), 1.0)
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", _RATE, 1, format="OGG", subtype="VORBIS") as encoder:
        for start in range(0, len(part), _BLOCK):
            encoder.write(part[start : start + _BLOCK])
    return file.getvalue()
