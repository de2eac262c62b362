"""A sound file with what the player draws of it: spectrogram and beats."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from deepphase.figures.player.song import Song

# As coarse as a lane of some 70 pixels shows it: mel bands, samples a second, samples a column.
_BANDS, _RATE, _HOP = 48, 22_050, 735
_LOWEST_HZ, _HIGHEST_HZ = 30.0, 10_000.0
# Decibels below the loudest that still show.
_RANGE_DB = 70.0


def heard_song(path: str | Path) -> Song:
    """The song of a file; a file that only browsers can decode has no spectrogram and no beats.

    Raises
    ------
    FormatError
        Where the file cannot be read or browsers do not play its format.
    """
    song = Song.of_file(path)
    import librosa

    try:
        samples, _ = librosa.load(path, sr=_RATE, mono=True)
    except Exception:
        # Decoders of many formats, each with exceptions of its own.
        return song
    if len(samples) < _RATE or not np.isfinite(samples).all():
        return song
    power = librosa.feature.melspectrogram(
        y=samples, sr=_RATE, hop_length=_HOP, n_mels=_BANDS, fmin=_LOWEST_HZ, fmax=_HIGHEST_HZ
    )
    _, beats = librosa.beat.beat_track(y=samples, sr=_RATE, units="time")
    return Song.of_file(
        path,
        duration_s=len(samples) / _RATE,
        beats=np.asarray(beats, np.float64),
        spectrogram=librosa.power_to_db(S=power, ref=np.max, top_db=_RANGE_DB),
        band_hz=(_LOWEST_HZ, _HIGHEST_HZ),
    )
