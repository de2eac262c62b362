"""A sound file with what the player draws of it: spectrogram, beats and bars."""

from __future__ import annotations

from pathlib import Path

from deepphase.errors import FormatError
from deepphase.figures.player.song import Song
from deepphase.music.cache import song_features
from deepphase.music.features import SURE
from deepphase.music.spectra import MEL_RANGE_HZ

# Frames of a column: 30 columns a second are as fine as a lane shows them.
_FRAMES_A_COLUMN = 2


def heard_song(path: str | Path) -> Song:
    """The song of a file; a file that only browsers can decode has no spectrogram and no beats.

    Beats and bars are there where they can be heard with some confidence.

    Raises
    ------
    FormatError
        Where the file cannot be read or browsers do not play its format.
    """
    song = Song.of_file(path)
    try:
        features = song_features(path)
    except FormatError:
        return song
    told = {}
    if features.beat_confidence >= SURE:
        told["beats"] = features.beats_s
    if features.downbeats_s is not None:
        told["downbeats"] = features.downbeats_s
    return Song.of_file(
        path,
        duration_s=features.duration_s,
        spectrogram=features.blocks["mel"][::_FRAMES_A_COLUMN].T,
        band_hz=MEL_RANGE_HZ,
        **told,
    )
