"""Dances out of motion databases, to songs that the databases do not hold.

python -m tests.studies.dances.databases DANCES.store dance.model -o OUT --songs FOLDER
python -m tests.studies.dances OUT/recorded OUT/music OUT/unlocked OUT/deaf

python -m tests.studies.dances.databases --made -o OUT

Splits the songs of a store into folds; of every fold's songs dances are made out of a database of
the other folds' clips: as shipped ("music"), without the lock to the beat ("unlocked"), and of
the same features without those that hear ("deaf"). Each is written as BVH with a link to its song
beside it, and the recorded clip, resampled as the store has it, too. Prints what only the making
knows: jumps, how much is danced as it was captured in one piece, speed of playback, time.

With --made dances and songs are made by formula, so that the beats are true: see
`tests.studies.dances.synthetic_databases`.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.corpus.store import open_store
from deepphase.matching.music.dancing import DatabaseDance
from deepphase.matching.music.song_tracks import ClipSongTracks
from deepphase.phase.extractor import load_extractor
from tests.studies.dances.dance_databases import (
    KINDS,
    LAYOUT,
    Databases,
    chosen_kinds,
    known_clips,
    pieces,
    write_dance,
)
from tests.studies.dances.synthetic_databases import MadeSettings, compare_made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", type=Path, nargs="?")
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--songs", type=Path)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--better-by", type=float, nargs="*", default=[])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    made = parser.add_argument_group("made dances")
    made.add_argument("--made", action="store_true", help="dances by formula instead of a store")
    made.add_argument("--rounds", type=int, default=3, help="with ever new dances and songs")
    made.add_argument("--made-dances", type=int, default=24, help="in a round's databases")
    made.add_argument("--made-songs", type=int, default=6, help="danced to in a round")
    made.add_argument("--song-seeds", type=int, default=2, help="seeds that each is danced with")
    made.add_argument("--windows", type=int, default=60_000, help="that a phase model is shown")
    options = parser.parse_args()
    if options.made:
        settings = MadeSettings(
            options.made_dances, options.made_songs, options.song_seeds, options.windows
        )
        kinds = chosen_kinds(options.kinds, options.min_improvement)
        compare_made(kinds, settings, options.seed, options.rounds, options.output)
    elif options.store is None or options.model is None or options.songs is None:
        parser.error("a store, a phase model and --songs are needed, or --made")
    else:
        _compare_recorded(options)


def _compare_recorded(options: argparse.Namespace) -> None:
    model = load_extractor(options.model)
    heard = ClipSongTracks.read(open_store(options.store), options.songs, LAYOUT)
    kinds = chosen_kinds(options.kinds, options.min_improvement)
    songs = sorted(heard.songs)
    made: dict[str, list[tuple[DatabaseDance, float]]] = {name: [] for name in kinds}
    for fold in range(options.folds):
        out = set(songs[fold :: options.folds])
        databases = Databases(replace(heard, store=known_clips(heard, out)), kinds, model)
        for clip in map(heard.store.clip, range(len(heard.store))):
            if clip.source.song not in out:
                continue
            write_dance(clip, options.output / "recorded", options.songs)
            for name in kinds:
                dance, spent = databases.dance(name, heard.songs[clip.source.song], options.seed)
                made[name].append((dance, spent))
                danced = replace(dance.clip, source=clip.source, name=clip.name)
                write_dance(danced, options.output / name, options.songs)
            print(fold, clip.name, flush=True)
    for name, dances in made.items():
        seconds = sum(each.clip.duration for each, _ in dances)
        lengths = np.concatenate([pieces(each) for each, _ in dances])
        rates = np.concatenate([np.abs(each.rates - 1.0) for each, _ in dances])
        print(
            f"{name}: {len(dances)} dances, {seconds / 60:.1f} minutes, "
            f"{len(lengths) - len(dances)} jumps, one in {seconds / len(lengths):.1f} s; pieces of "
            f"{np.median(lengths):.1f} s in the median, {lengths.max():.0f} s the longest; "
            f"playback {100 * rates.mean():.1f} % off the captured speed; "
            f"{seconds / sum(spent for _, spent in dances):.0f} times real time"
        )


if __name__ == "__main__":
    main()
