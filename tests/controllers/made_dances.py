"""Made dances to made songs, with the true phases of beat and bar."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.controllers.dance.dance_set import DanceSet
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import generate_dances
from deepphase.corpus.clip_store import ClipStore
from deepphase.music.features import SongFeatures, features_of
from deepphase.phase.parameters import ClipPhases, PhaseParameters
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song

TINY = {
    "network.hidden": 16,
    "network.experts": 2,
    "network.gating_hidden": 8,
    "training.samples": 640,
    "training.batch_size": 64,
    # True phases are of the frames as made.
    "dance.timing": "recorded",
    "dance.tempo_copies": 0,
}
"""Changes of a recipe with which a dancer is trained in a second."""

_EDGE = 60


class BeatAndBarPhases:
    """Two channels: beat and bar of the songs that made dances are to."""

    fps, window, channels, sha256 = 60.0, 2 * _EDGE + 1, 2, "beat and bar"

    def __init__(self, motions) -> None:
        self._motions = {each.clip.name: each for each in motions}

    def encode(self, clip) -> ClipPhases:
        motion = self._motions[clip.name]
        names = ("oscillator_phase", "oscillator_frequency", "oscillator_amplitude")
        parts = [np.asarray(getattr(motion, name), np.float32) for name in names]
        index = np.arange(len(clip))
        interior = (index >= _EDGE) & (index < len(clip) - _EDGE)
        return ClipPhases(PhaseParameters(*parts, 0 * parts[0]), interior, clip.fps, clip.name)


def made_dances(tempi=(100.0, 120.0, 90.0), seconds=12.0, **song):
    """Dances as a corpus with songs, and the motions whose phases are true."""
    motions, songs = [], {}
    for number, bpm in enumerate(tempi):
        made = make_song(number, seconds, tempo_bpm=bpm, **song)
        motion = dance(made, number)
        name = f"song_{number}.wav"
        clip = replace(motion.clip, source=replace(motion.clip.source, song=name, path=name))
        motions.append(replace(motion, clip=clip))
        songs[name] = features_of(made.samples, name=f"song_{number}")
    store = ClipStore.from_clips([each.clip for each in motions])
    return DanceSet(store, songs, (), None), motions


def made_song_features(bpm=110.0, seconds=12.0, seed=50, **options) -> SongFeatures:
    """What a made song sounds like."""
    made = make_song(seed, seconds, tempo_bpm=bpm, **options)
    return features_of(made.samples, name="made")


def dance_to(dancer: Dancer, song: SongFeatures, *, guard: bool = True, **options) -> DanceResult:
    """A dance to one song; `options` are those of `DanceRequest`."""
    return generate_dances(dancer, [(song, DanceRequest(**options))], guard=guard)[0]
