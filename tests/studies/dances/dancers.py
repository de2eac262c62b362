"""Dances of trained dancers to songs that they were not trained on.

python -m tests.studies.dances.dancers DANCER DANCES -o OUT [--still NO_PHASES] [--songs FOLDER]
python -m tests.studies.dances OUT/recorded OUT/phases OUT/still
python -m tests.studies.dances OUT/other_phases OUT/other_still

DANCES is the folder that the dancer was trained on: the songs that `deepphase train dance` kept
out of it are danced to again, beside the recorded dances to them; all songs with `--all`, and of a
dancer that was kept from segments of movement. `--songs` is a folder of any songs: those with a
clear beat are danced to as well. Each dance is written as BVH with a link to its song beside it.
Prints the beat alignment over several seeds as a share of the recorded dances', made sounds without
a beat, and a dance of ten minutes minute by minute.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import NetworkDance, generate_dances
from deepphase.controllers.dance.song_clips import song_clips
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.corpus.prepare import corpus_of
from deepphase.corpus.songs import find_songs
from deepphase.formats.load import save
from deepphase.motion.clip import Clip, Source
from deepphase.music.audio import SAMPLE_RATE
from deepphase.music.cache import song_features
from deepphase.music.dance_request import DanceRequest
from deepphase.music.features import MIN_CONFIDENCE, SongFeatures, features_of
from deepphase.synthetic.song import make_song

_SETTINGS = CharacterSettings(*BLENDS["natural"], gating=False)
_SECONDS = 40.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dancer", type=Path)
    parser.add_argument("dances", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--still", type=Path, help="a dancer without phases, of the same dances")
    parser.add_argument("--songs", type=Path, help="a folder of other songs")
    parser.add_argument("--all", action="store_true", help="all songs of the folder")
    parser.add_argument("--seconds", type=float, default=_SECONDS)
    parser.add_argument("--seeds", type=int, default=4, help="of the dances that shares are of")
    parser.add_argument("--minutes", type=float, default=10.0)
    options = parser.parse_args()
    dancer = Dancer.load(options.dancer)
    kinds = {"phases": dancer}
    if options.still is not None:
        kinds["still"] = Dancer.load(options.still)
    found = song_clips(corpus_of(options.dances), options.dances)
    kept = set(dancer.controller.provenance["unheard"])
    every = options.all or not kept
    clips = [clip for clip in found.store if every or clip.source.song in kept]
    for clip in clips:
        start, stop = 0, min(len(clip), round(options.seconds * clip.fps))
        _write(
            clip.sliced(start, stop), options.dances / clip.source.song, options.output, "recorded"
        )
    songs = [(options.dances / clip.source.song, found.song(clip)) for clip in clips]
    _dance(kinds, songs, options.seconds, options.output, "")
    _shares(kinds, clips, [song for _, song in songs], options.seconds, options.seeds)
    if options.songs is not None:
        every = [(path, song_features(path)) for path in find_songs(options.songs)]
        clear = [(path, song) for path, song in every if song.beat_confidence >= MIN_CONFIDENCE]
        print("other songs:", ", ".join(f"{p.name} {s.tempo_bpm:.0f} bpm" for p, s in clear))
        _dance(kinds, clear, options.seconds, options.output, "other_")
    _without_beat(kinds)
    if options.minutes > 0:
        _long(kinds, options.minutes)


Kinds = dict[str, Dancer]


def _danced(
    kinds: Kinds, songs: list[SongFeatures], seconds: float | None, seed: int = 0
) -> dict[str, list[NetworkDance]]:
    """Of each kind the dances to all songs, as one batch."""
    made: dict[str, list[NetworkDance]] = {}
    for name, dancer in kinds.items():
        requests = [(song, DanceRequest(0.0, seconds, seed)) for song in songs]
        began = time.perf_counter()
        made[name] = generate_dances(dancer, requests, settings=_SETTINGS)
        length = sum(dance.frames for dance in made[name]) / dancer.controller.fps
        spent = time.perf_counter() - began
        print(f"{name}: {len(songs)} dances at {length / spent:.1f} times real time")
    return made


def _dance(
    kinds: Kinds, songs: list[tuple[Path, SongFeatures]], seconds: float, output: Path, prefix: str
) -> None:
    for name, dances in _danced(kinds, [song for _, song in songs], seconds).items():
        for dance, (path, _) in zip(dances, songs, strict=True):
            _write(dance.clip(path.stem), path, output, prefix + name)


def _shares(
    kinds: Kinds, clips: list[Clip], songs: list[SongFeatures], seconds: float, seeds: int
) -> None:
    """Beat alignment over motion beats, mean over seeds, over that of the recorded dances."""
    given = [i for i, song in enumerate(songs) if song.beat_confidence >= MIN_CONFIDENCE]
    chosen = [songs[i] for i in given]
    cut = [clips[i].sliced(0, min(len(clips[i]), round(seconds * clips[i].fps))) for i in given]
    runs = [_danced(kinds, chosen, seconds, seed) for seed in range(seeds)]
    # By motion beats alone: whose reference measures is all the same.
    reference = next(iter(kinds.values())).reference

    def alignment(clip: Clip, song: SongFeatures) -> float:
        return reference.measured(clip, song, clip.source.song_start_s)["by_motion"]

    truth = np.array(list(map(alignment, cut, chosen)))
    for name in kinds:
        rows = [[dance.clip("x") for dance in run[name]] for run in runs]
        made = np.array([list(map(alignment, row, chosen)) for row in rows]).mean(axis=0)
        draws = np.random.default_rng(0).integers(0, len(given), (2000, len(given)))
        low, high = np.quantile(
            made[draws].mean(axis=1) / truth[draws].mean(axis=1), [0.025, 0.975]
        )
        print(
            f"{name}: beat alignment {made.mean():.3f} over {seeds} seeds and {len(given)} songs, "
            f"{made.mean() / truth.mean():.3f} [{low:.3f}, {high:.3f}] of the dances' own "
            f"{truth.mean():.3f}",
            flush=True,
        )


def _without_beat(kinds: Kinds) -> None:
    rng = np.random.default_rng(0)
    sounds = {
        "silence": np.zeros(20 * SAMPLE_RATE),
        "noise": 0.1 * rng.standard_normal(20 * SAMPLE_RATE),
        "syllables": _syllables(rng, 20.0),
        "clicks at 90": _clicks(90.0, 20.0),
        "clicks at 140": _clicks(140.0, 20.0),
    }
    heard = {name: features_of(samples.astype(np.float32)) for name, samples in sounds.items()}
    for kind, dances in _danced(kinds, list(heard.values()), None).items():
        for (name, song), dance in zip(heard.items(), dances, strict=True):
            print(f"{kind}, {name}:", _stated(kinds[kind], dance, song), flush=True)


def _long(kinds: Kinds, minutes: float) -> None:
    song = features_of(make_song(0, 60.0 * minutes, tempo_bpm=87.0, beats_per_bar=3).samples)
    for kind, (dance,) in _danced(kinds, [song], None).items():
        dancer, clip = kinds[kind], dance.clip("long")
        step = round(60 * clip.fps)
        for first in range(0, len(clip) - step // 2, step):
            part = dancer.reference.measured(
                clip.sliced(first, min(first + step, len(clip))), song, first / clip.fps
            )
            names = (
                "speed",
                "standing",
                "broken",
                "sliding",
                "jerk",
                "bar_3_speed",
                "bar_3_speed_shifted",
            )
            shown = ", ".join(f"{name} {part[name]:.3f}" for name in names if name in part)
            print(f"{kind}, minute {first // step + 1}: {shown}", flush=True)
        alive = 100 * dance.alive.mean()
        print(f"{kind}, ten minutes: {alive:.0f} % alive, {len(dance.restarts_s)} restarts")


def _stated(dancer: Dancer, dance: NetworkDance, song: SongFeatures) -> str:
    values = dancer.reference.measured(dance.clip("x"), song, 0.0)
    names = (
        "speed",
        "standing",
        "broken",
        "by_motion",
        "by_motion_chance",
        "beat_speed",
        "beat_speed_shifted",
    )
    words = [f"{name} {values[name]:.3f}" for name in names if name in values]
    words.append(f"{len(dance.restarts_s)} restarts")
    return f"alive {dance.alive.mean():.2f}, beats {song.beat_confidence:.2f}, " + ", ".join(words)


def _clicks(bpm: float, seconds: float) -> np.ndarray:
    samples = np.zeros(round(seconds * SAMPLE_RATE))
    click = np.hanning(300) * np.sin(2 * np.pi * 1000 * np.arange(300) / SAMPLE_RATE)
    for beat in np.arange(0.3, seconds - 0.1, 60 / bpm):
        samples[round(beat * SAMPLE_RATE) :][:300] += click
    return samples


def _syllables(rng: np.random.Generator, seconds: float) -> np.ndarray:
    """Bursts of vowel-like sound at the uneven times and lengths of speech."""
    samples, at = np.zeros(round(seconds * SAMPLE_RATE)), 0.2
    while at < seconds - 1.0:
        length = rng.uniform(0.08, 0.35)
        times = np.arange(round(length * SAMPLE_RATE)) / SAMPLE_RATE
        pitch = rng.uniform(90, 220)
        formant = rng.uniform(400, 2500)
        wave = sum(
            np.exp(-((k * pitch - formant) ** 2) / 4e5) * np.sin(2 * np.pi * k * pitch * times)
            for k in range(1, 25)
        )
        samples[round(at * SAMPLE_RATE) :][: len(times)] += 0.1 * np.hanning(len(times)) * wave
        at += length + rng.choice([0.03, 0.08, 0.5], p=[0.5, 0.35, 0.15]) * rng.uniform(0.5, 1.5)
    return samples


def _write(clip: Clip, song: Path, output: Path, name: str) -> None:
    folder = output / name
    folder.mkdir(parents=True, exist_ok=True)
    save(replace(clip, source=Source(fps=clip.fps), name=song.stem), folder / f"{song.stem}.bvh")
    link = folder / song.name
    link.unlink(missing_ok=True)
    link.symlink_to(song.resolve())


if __name__ == "__main__":
    main()
