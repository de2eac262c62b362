"""Do the phases of a model of songs go with the beat?

deepphase train phase SONGS -o song.model
python -m tests.studies.song_phases song.model SONGS [--made 12]

Chooses on songs that the model was trained on which channel goes with the beat, and how many of
its cycles are one beat (one, two or four). Prints, of the songs that its training held out, how
far that channel's phase is from the beat (cycles, median; .25 is chance) up to one constant for
all songs, the same against the beats of the other songs, and its frequency over that of the beat;
then all of it for a network of the same form that was not trained. With --made, of made songs of
tempi from 80 to 150 a minute, whose beats are true.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
import torch

from deepphase.corpus.songs import find_songs
from deepphase.cycles import wrapped
from deepphase.evaluation.known_phase import PhaseKey, choose_key, phase_errors
from deepphase.music.beats import beat_position
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures, features_of
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.presets import make_autoencoder
from deepphase.phase.windows import split_by_source
from deepphase.synthetic.song import make_song

# Cycles in a beat. Of less than one, where a beat is in the cycle differs from song to song.
_MULTIPLES = (1, 2, 4)
_TRAINING_SONGS, _OTHERS = 10, 6


@dataclass(frozen=True, eq=False)
class Encoded:
    """A song's phases where its windows are whole, and its beats."""

    name: str
    phase: np.ndarray
    frequency: np.ndarray
    time: np.ndarray
    beats_s: np.ndarray

    def cycle(self, beats_s: np.ndarray | None = None) -> np.ndarray:
        """(frames,) where in the beat, of its own song or another's."""
        beats_s = self.beats_s if beats_s is None else beats_s
        return wrapped(beat_position(beats_s, self.time))

    @property
    def beat_hz(self) -> float:
        return float(1.0 / np.median(np.diff(self.beats_s)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("songs")
    parser.add_argument("--made", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = PhaseModel.load(options.model)
    print("\n".join(model.health.words()))
    print({name: round(share, 3) for name, share in model.health.explained_by_joint.items()})
    paths = find_songs(options.songs)
    songs = [song_features(path) for path in paths]
    stops = np.cumsum([len(song) for song in songs])
    starts = stops - [len(song) for song in songs]
    training = model.config.training
    split = split_by_source(
        starts, stops, [str(path) for path in paths], model.window, training.held_out, training.seed
    )
    out = {int(np.searchsorted(stops, start, side="right")) for start, _ in split.held_out_ranges}
    known = [i for i in range(len(songs)) if i not in out][:: max(len(songs) // _TRAINING_SONGS, 1)]
    tested = [songs[i] for i in sorted(out)]
    if options.made:
        tested = [_made(seed, bpm) for seed, bpm in enumerate(np.linspace(80, 150, options.made))]
    torch.manual_seed(1)
    form = make_autoencoder(len(model.signals.names), model.fps, model.config.network)
    untrained = PhaseModel(form, model.config, model.signals)
    for title, which in (("trained", model), ("not trained", untrained)):
        learnt = [encoded(which, songs[i]) for i in known]
        key = choose_key(
            [each.phase for each in learnt],
            [each.cycle() for each in learnt],
            multiples=_MULTIPLES,
        )
        report(title, key, [encoded(which, song) for song in tested])


def report(title: str, key: PhaseKey, songs: list[Encoded]) -> None:
    print(f"{title}: channel {key.channel} has {key.multiple} cycles a beat")
    rows = []
    for song in songs:
        error = float(np.median(phase_errors(key, song.phase, song.cycle())))
        others = [each for each in songs if each is not song][:_OTHERS]
        other = [
            float(np.median(phase_errors(key, song.phase, song.cycle(each.beats_s))))
            for each in others
        ]
        own = float(np.median(song.frequency[:, key.channel]))
        ratio = own / (key.multiple * song.beat_hz)
        rows.append((error, float(np.mean(other)) if other else np.nan, ratio, song.beat_hz, own))
        print(
            f"  {song.name}: {60 * song.beat_hz:.1f} beats a minute; off by {rows[-1][0]:.3f}, "
            f"from other songs {rows[-1][1]:.3f}; frequency {ratio:.3f} of the beat's"
        )
    table = np.array(rows)
    within = np.mean(np.abs(table[:, 2] - 1.0) < 0.04)
    correlation = np.corrcoef(table[:, 3], table[:, 4])[0, 1] if len(table) > 2 else np.nan
    print(
        f"  all {len(table)}: off by {np.median(table[:, 0]):.3f}, from other songs "
        f"{np.nanmedian(table[:, 1]):.3f}; frequency within 4 % of the beat's in {within:.0%}; "
        f"correlation of the two over songs {correlation:.3f}"
    )


def encoded(model: PhaseModel, song: SongFeatures) -> Encoded:
    phases = model.encode(song)
    time = np.arange(len(phases)) / model.fps
    # Only where there is a beat to be told.
    inside = phases.interior & (time >= song.beats_s[0]) & (time <= song.beats_s[-1])
    values = phases.parameters
    return Encoded(
        song.name, values.phase[inside], values.frequency[inside], time[inside], song.beats_s
    )


def _made(seed: int, bpm: float) -> SongFeatures:
    song = make_song(100 + seed, 15.0, tempo_bpm=float(bpm), beats_per_bar=3 + seed % 2)
    return replace(features_of(song.samples, name=f"made_{seed}"), beats_s=song.beats)


if __name__ == "__main__":
    main()
