"""Controls of dances: a song at another tempo, and silence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.errors import ParameterError
from deepphase.music.audio import SAMPLE_RATE
from deepphase.music.features import FPS, SONG_FEATURE_KINDS, SongFeatures, features_of


def stretched(song: SongFeatures, factor: float) -> SongFeatures:
    """The song played at `factor` times its tempo, at the same pitch.

    Features of sound are those of the nearest moment, beats and bars are where they sound then.
    Nothing is detected again, so that a measure of tempo does not depend on a beat tracker.

    Raises
    ------
    ParameterError
        If the factor is not positive, or nothing remains of the song.
    """
    frames = round(len(song) / factor) if np.isfinite(factor) and factor > 0 else 0
    if frames < 1:
        raise ParameterError(
            f"a song cannot be played at {factor} times its tempo", hint="give 0.5 to 2"
        )
    nearest = np.clip(np.rint(np.arange(frames) * factor), 0, len(song) - 1).astype(np.intp)
    blocks = {name: song.blocks[name][nearest] for name in SONG_FEATURE_KINDS}
    blocks["tempo_bpm"] = (factor * blocks["tempo_bpm"]).astype(np.float32)
    beats_s = song.beats_s / factor
    # A beat is one frame: the nearest frames of a faster song would miss some.
    pulse = np.zeros((frames, 1), np.float32)
    hit = np.rint(beats_s * FPS).astype(int)
    pulse[hit[hit < frames]] = 1.0
    blocks["beat"] = pulse
    return replace(
        song,
        blocks=blocks,
        duration_s=song.duration_s / factor,
        beats_s=beats_s,
        downbeats_s=None if song.downbeats_s is None else song.downbeats_s / factor,
        tempo_bpm=song.tempo_bpm * factor,
        name=f"{song.name} at {factor:g}",
        source="",
        sha256="",
    )


def silent_song(seconds: float) -> SongFeatures:
    """Features of a song of some length without any sound."""
    samples = np.zeros(max(round(seconds * SAMPLE_RATE), SAMPLE_RATE // 10), np.float32)
    return features_of(samples, name="silence")
