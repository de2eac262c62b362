"""How fast songs become features, against the same features one by one from librosa.

    python -m tests.benchmarks.bench_music [SECONDS] [--rounds N]

librosa computes each feature from the samples, as its documentation shows: every call makes its
own Fourier transform. Both sides take turns on one made song in memory; what the first call of a
process costs (imports, and librosa's compiled loops) is told first, and what a sound file and the
cache cost at the end.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import soundfile

from deepphase.music.audio import HOP, SAMPLE_RATE, read_sound
from deepphase.music.cache import CACHE_VARIABLE, song_features
from deepphase.music.features import features_of
from deepphase.synthetic.song import make_song
from tests.benchmarks.rounds import medians

FILE_RATE = 44_100


def resampled(samples: np.ndarray) -> np.ndarray:
    """(samples, 2) at the rate that songs are sold in."""
    import soxr

    mono = soxr.resample(samples, SAMPLE_RATE, FILE_RATE)
    return np.stack([mono, mono], axis=1)


def by_librosa(samples: np.ndarray) -> list[np.ndarray]:
    """The features of the paper and the onsets, each from the samples."""
    import librosa

    given = {"sr": SAMPLE_RATE, "hop_length": HOP}
    power = librosa.feature.melspectrogram(y=samples, n_mels=27, **given)
    magnitude = np.abs(librosa.stft(y=samples, hop_length=HOP))
    return [
        librosa.power_to_db(S=power),
        librosa.feature.mfcc(y=samples, n_mfcc=20, **given),
        librosa.feature.chroma_stft(y=samples, **given),
        np.maximum(np.diff(magnitude, axis=1), 0).sum(axis=0),
        librosa.onset.onset_strength(y=samples, **given),
        librosa.beat.beat_track(y=samples, units="time", **given)[1],
        librosa.feature.zero_crossing_rate(y=samples, hop_length=HOP),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", nargs="?", type=float, default=180.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    samples = make_song(1, options.seconds, tempo_bpm=118.0).samples
    began = time.perf_counter()
    features_of(samples[: 5 * SAMPLE_RATE])
    print(f"first call of the process: {time.perf_counter() - began:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE_VARIABLE] = folder
        path = Path(folder) / "song.ogg"
        sound = resampled(samples)
        with soundfile.SoundFile(path, "w", FILE_RATE, 2, format="OGG", subtype="VORBIS") as file:
            # In pieces: libsndfile's Vorbis encoder overflows its stack on long writes.
            for start in range(0, len(sound), FILE_RATE):
                file.write(sound[start : start + FILE_RATE])
        song_features(path)
        found = medians(
            {
                "features from samples": lambda: features_of(samples),
                "librosa, each from samples": lambda: by_librosa(samples),
                "reading stereo ogg": lambda: read_sound(path),
                "features from stereo ogg": lambda: song_features(path, cache=False),
                "features from the cache": lambda: song_features(path),
            },
            rounds=options.rounds,
        )
    ours = found["features from samples"]
    print(f"{options.seconds:g} s of song, medians of {options.rounds} rounds")
    for name, seconds in found.items():
        print(f"{name:28} {seconds:8.3f} s {seconds / ours:8.2f}x")


if __name__ == "__main__":
    main()
