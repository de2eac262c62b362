"""Songs of the player: their sound, spectrogram and beats."""

from __future__ import annotations

import io
from pathlib import Path

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
    """The song of a file with its spectrogram, beats and downbeats.

    Beats and downbeats of low confidence are left out. A file that only browsers can decode has
    no spectrogram, beats or downbeats.
    """
    song = PlayerSong.of_file(path)
    try:
        features = song_features(path)
    except FormatError:
        return song
    return PlayerSong.of_file(path, **_shown(features, 0.0, features.duration_s))


def part_of_song(path: Path, features: SongFeatures, start_s: float, seconds: float) -> PlayerSong:
    """Sound of a part of a song with its beats and spectrogram."""
    whole = start_s == 0 and seconds > features.duration_s - 1.0
    shown = _shown(features, start_s, seconds)
    shown["name"] = features.name
    if whole:
        shown["duration_s"] = features.duration_s
    if whole and path.stat().st_size <= _MAX_BYTES:
        try:
            return PlayerSong.of_file(path, **shown)
        except FormatError:
            # Browsers do not play this format: encode it again.
            pass
    return PlayerSong(_encoded(path, start_s, seconds), "audio/ogg", **shown)  # type: ignore[arg-type]


def _shown(features: SongFeatures, start_s: float, seconds: float) -> dict[str, object]:
    """Beats, downbeats and spectrogram of a part of a song."""
    fps = features.fps
    first, last = round(start_s * fps), round((start_s + seconds) * fps)
    shown: dict[str, object] = {
        "duration_s": seconds,
        "spectrogram": features.blocks["mel"][first : max(last, first + 1) : _FRAMES_PER_COLUMN].T,
        "band_hz": MEL_RANGE_HZ,
    }
    beats = {"beats": features.beats_s, "downbeats": features.downbeats_s}
    for name, times in beats.items() if features.has_beat else ():
        if times is not None:
            times = times - start_s
            shown[name] = times[(times >= 0) & (times <= seconds)]
    return shown


def _encoded(path: Path, start_s: float, seconds: float) -> bytes:
    """Part of a song as mono Ogg Vorbis."""
    import soundfile
    import soxr

    samples = read_sound(path).samples
    first = round(start_s * SAMPLE_RATE)
    part = samples[first : first + round(seconds * SAMPLE_RATE)]
    part = soxr.resample(part, SAMPLE_RATE, _RATE)
    loudest = float(np.abs(part).max(initial=0.0))
    if loudest > 1.0:
        part = part / loudest
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", _RATE, 1, format="OGG", subtype="VORBIS") as encoder:
        for start in range(0, len(part), _BLOCK):
            encoder.write(part[start : start + _BLOCK])
    return file.getvalue()
