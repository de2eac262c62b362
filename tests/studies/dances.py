"""Whether dances follow their songs: dances to songs, to silence and to songs at other tempi.

python -m tests.studies.dances RECORDED --dancers waltz.dancer --databases dances.db
python -m tests.studies.dances CAPTURES --shipped SONG ... --seeds 2 --seconds 40

Every file of RECORDED stands beside a song of the same name. A dance that keeps the usual bar of
its training fits any song of that tempo: dances to silence are compared with the bars of the songs,
and songs are played slower and faster. Songs need six bars, in a metre that the recorded dances
show; those that a dancer or a database knows are left out if others remain.

--shipped: the shipped dancer, beside the salsas of CAPTURES to their own beats. A song is a file or
the beats a minute of a synthetic one. Bars: what they and their halves explain, in songs in 4.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from deepphase.apps.dances import DanceSource
from deepphase.controllers.dance.dance_set import DanceSet
from deepphase.controllers.dance.dancer import Dancer
from deepphase.corpus.prepare import corpus_of
from deepphase.evaluation.dance import (
    bar_shares,
    body_of_clip,
    mean_joint_speed,
    mean_values,
    measure_dance,
)
from deepphase.evaluation.dance_clock import DanceInBars, mean_place
from deepphase.matching.database.database import MotionDatabase
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.roles import find_roles
from deepphase.music.audio import SAMPLE_RATE, read_sound
from deepphase.music.features import SongFeatures, features_of, stretched
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.synthetic.song import make_song
from tests.studies.shipped.dancer import dances_with_songs

TEMPI = (0.85, 0.93, 1.08, 1.18)
# Largest relative difference between the bar of a dance that follows its song and the song's.
_FOLLOWS = 0.03
# Share of the height that the bar explains in metres that recorded dances show.
_SHOWN = 0.15
# Bars of a dance per bar of its song that are looked for.
_RATES = np.exp(np.arange(np.log(0.68), np.log(1.47), 0.004))
_START_S, _FEWEST_BARS, _SONGS = 2.0, 6, 8


def in_bars(clip: Clip, song: SongFeatures, start_s: float) -> DanceInBars:
    return DanceInBars.from_clip(clip, song, start_s).without_slow_changes()


def bars_per_bar(dance: DanceInBars) -> float:
    """Bars of a dance per bar of its song: 1 where the dance has the song's period; or NaN."""
    times = np.arange(len(dance.height)) / dance.fps
    count = np.arange(len(dance.downbeats))
    bars = np.interp(times, dance.downbeats, count, left=np.nan, right=np.nan)
    inside = np.isfinite(bars)
    if not inside.any() or np.ptp(bars[inside]) < _FEWEST_BARS:
        return float("nan")
    centred = dance.height[inside] - dance.height[inside].mean()
    waves = np.exp(2j * np.pi * np.outer(_RATES, bars[inside]))
    return float(_RATES[int(np.argmax(np.abs(waves @ (centred * np.hanning(len(centred))))))])


def metres_shown(recorded: DanceSet) -> dict[int, complex]:
    """Metre -> mean place of recorded dances in the bar, for metres that they show."""
    places: dict[int, list[np.ndarray]] = {}
    for clip in recorded.store:
        song = recorded.song(clip)
        if song.downbeats_s is not None and song.beats_per_bar is not None:
            found = in_bars(clip, song, clip.source.song_start_s).places()
            if len(found):
                places.setdefault(song.beats_per_bar, []).append(found)
    return {
        metre: mean_place(found)
        for metre, found in places.items()
        if np.mean([(np.abs(each) ** 2).mean() for each in found]) > _SHOWN
    }


def along(place: complex, dance: DanceInBars) -> tuple[float, float]:
    """How far a dance is at a place of the bar, signed, and the share that the bar explains."""
    found = dance.places()
    if not len(found):
        return 0.0, 0.0
    signed = np.real(found * np.conj(place)).mean()
    return float(signed), float((np.abs(found) ** 2).mean())


def trials(
    source: DanceSource,
    songs: Sequence[SongFeatures],
    metres: Mapping[int, complex],
    seeds: int = 8,
    seconds: float = 30.0,
) -> dict[str, float]:
    """Means of the trials by name; songs in no known metre, or with few bars, are left out."""
    used = [
        song
        for song in songs
        if song.beats_per_bar in metres
        and song.downbeats_s is not None
        and len(song.downbeats_s) > _FEWEST_BARS
    ][:_SONGS]
    if not used:
        return {}

    def dances(to: Iterable[SongFeatures], count: int) -> list[DanceResult]:
        start_s = _START_S
        return source.dances(
            [(song, DanceRequest(start_s, seconds, seed)) for song in to for seed in range(count)],
            None,
        )

    def rows(results: Sequence[DanceResult], to: Sequence[SongFeatures]) -> np.ndarray:
        per_song = len(results) // len(to)
        return np.array(
            [
                along(metres[song.beats_per_bar], in_bars(each.clip, song, each.start_s))
                for at, song in enumerate(to)
                for each in results[at * per_song : (at + 1) * per_song]
            ]
        )

    own = dances(used, seeds)
    silence = features_of(np.zeros(round((seconds + 4.0) * SAMPLE_RATE), np.float32))
    quiet = dances([silence], seeds)
    other = dances([stretched(song, tempo) for song in used for tempo in TEMPI], 1)
    rates = np.array([bars_per_bar(in_bars(e.clip, e.song, e.start_s)) for e in other])
    rates = rates[np.isfinite(rates)]
    place, explained = rows(own, used).T
    quiet_rows = rows([each for _ in used for each in quiet], used)
    return {
        "place in the bar": float(place.mean()),
        "lowest seed": float(place.reshape(len(used), -1).mean(axis=0).min()),
        "bar explains": float(explained.mean()),
        "place in the bar, silence": float(quiet_rows[:, 0].mean()),
        "bar explains, silence": float(quiet_rows[:, 1].mean()),
        "songs at other tempi followed": float((np.abs(rates - 1.0) <= _FOLLOWS).mean()),
        **mean_values([measure_dance(each.clip, each.song, each.start_s) for each in own]),
    }


def recorded_values(recorded: DanceSet, metres: Mapping[int, complex]) -> dict[str, float]:
    """The same of recorded dances, in the metres that they show."""
    rows = []
    for clip in recorded.store:
        song, start_s = recorded.song(clip), clip.source.song_start_s
        if song.beats_per_bar in metres:
            place, explained = along(metres[song.beats_per_bar], in_bars(clip, song, start_s))
            rows.append({"place in the bar": place, "bar explains": explained})
            rows[-1] |= measure_dance(clip, song, start_s)
    return mean_values(rows)


def song_values(clip: Clip, song: SongFeatures, start_s: float) -> dict[str, float]:
    """Measures of a dance to a song, by the names of the table."""
    values = measure_dance(clip, song, start_s)
    hips = joint_positions(clip)[:, find_roles(clip.skeleton, clip=clip).hips]
    speed = mean_joint_speed(body_of_clip(clip)[1], clip.fps)
    if song.beats_per_bar == 4:
        for name, signal in (("height", hips[:, 1]), ("speed", speed)):
            shares = bar_shares(signal, clip.fps, song, start_s, parts=(1, 2)) or ()
            values |= zip((f"bars, {name}", f"bars, {name}, shifted"), shares, strict=False)
    return values


def shipped_columns(captures: Path, names: Sequence[str], seeds: int, seconds: float) -> Mapping:
    """Means of the shipped dancer's dances to each song and over all, and of captured salsas."""
    source, columns = DanceSource.shipped(), {}
    for name in names:
        made = make_song(3, 60.0, tempo_bpm=float(name)).samples if name.isdigit() else None
        song = features_of(read_sound(name) if made is None else made, name=Path(name).stem)
        requests = [(song, DanceRequest(_START_S, seconds, seed)) for seed in range(seeds)]
        rows = [song_values(e.clip, song, e.start_s) for e in source.dances(requests, None)]
        columns[f"{song.name}, {song.tempo_bpm:.0f}"] = mean_values(rows)
    salsas = [song_values(*each, 0.0) for each in dances_with_songs(captures, "salsa")]
    return columns | {"all": mean_values([*columns.values()]), "salsas": mean_values(salsas)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recorded", type=Path)
    parser.add_argument("--dancers", type=Path, nargs="*", default=[])
    parser.add_argument("--databases", type=Path, nargs="*", default=[])
    parser.add_argument("--shipped", nargs="+", metavar="SONG")
    parser.add_argument("--seeds", type=int, default=8, help="dances to each song")
    parser.add_argument("--seconds", type=float, default=30.0, help="largest length of a dance")
    options = parser.parse_args()
    if options.shipped:
        given = (options.recorded, options.shipped, options.seeds, options.seconds)
        return print_table(shipped_columns(*given))
    recorded = DanceSet.from_store(corpus_of(options.recorded), options.recorded)
    metres = metres_shown(recorded)
    columns = {"recorded": recorded_values(recorded, metres)}
    sources = []
    for path in options.dancers:
        dancer = Dancer.load(path)
        known = dancer.controller.provenance.get("songs", ())
        sources.append((path.name, DanceSource.from_dancer(dancer, path.name), known))
    for path in options.databases:
        database = MotionDatabase.load(path)
        source = DanceSource.from_database(database, path.name)
        known = database.made_with.get("songs", {}).get("songs", ())
        sources.append((path.name, source, known))
    for name, source, known in sources:
        unknown = [song for file, song in recorded.songs.items() if file not in set(known)]
        songs = sorted(unknown or recorded.songs.values(), key=lambda song: -song.bar_confidence)
        columns[name] = trials(source, songs, metres, options.seeds, options.seconds)
    return print_table(columns)


def print_table(columns: Mapping[str, Mapping[str, float]]) -> None:
    names = dict.fromkeys(name for values in columns.values() for name in values)
    print("| |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1), "|", sep="")
    for name in names:
        cells = [f"{values[name]:.3g}" if name in values else "" for values in columns.values()]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
