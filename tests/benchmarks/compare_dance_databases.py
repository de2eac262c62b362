"""Dances out of motion databases, to songs that the databases do not hold.

python -m tests.benchmarks.compare_dance_databases DANCES.store dance.model -o OUT --songs FOLDER
deepphase evaluate dances OUT/recorded OUT/music OUT/unlocked OUT/deaf -o OUT/report

Splits the songs of a store into folds; of every fold's songs dances are made out of a database of
the other folds' clips: as shipped ("music"), without the lock to the beat ("unlocked"), and of
the same features without those that hear ("deaf"). Each is written as BVH with a link to its song
beside it, and the recorded clip, resampled as the store has it, too. Prints what only the making
knows: jumps, how much is danced as it was captured in one piece, speed of playback, time.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store, write_store
from deepphase.features.layout import FeatureLayout
from deepphase.formats.load import save
from deepphase.music.dance_wish import DanceWish
from deepphase.phase.extractor import load_extractor
from matching.dancing import MatchedDance, dance_to
from matching.database import MotionDatabase
from matching.playback import Playback
from matching.search import open_searcher
from matching.song_rows import DanceSettings
from matching.song_tracks import DancedSongs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--songs", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--better-by", type=float, nargs="*", default=[])
    parser.add_argument("--kinds", nargs="+", default=["music", "unlocked", "deaf"])
    options = parser.parse_args()
    model = load_extractor(options.model)
    layout = FeatureLayout.load("dance_music")
    heard = DancedSongs.heard(open_store(options.store), options.songs, layout)
    deaf = FeatureLayout(*(each for each in layout if each.kind != "track"))
    kinds = {
        "music": (layout, DanceWish(seed=options.seed), None),
        "unlocked": (layout, DanceWish(seed=options.seed, lock=0.0), None),
        "deaf": (deaf, DanceWish(seed=options.seed), None),
    }
    kinds = {name: kinds[name] for name in options.kinds}
    for share in options.better_by:
        kinds[f"better_by_{share:g}"] = (
            layout,
            DanceWish(seed=options.seed),
            DanceSettings(better_by=share),
        )
    songs = sorted(heard.songs)
    made: dict[str, list[tuple[MatchedDance, float]]] = {name: [] for name in kinds}
    for fold in range(options.folds):
        out = set(songs[fold :: options.folds])
        clips = [heard.store.clip(index) for index in range(len(heard.store))]
        known = ClipStore.from_clips([c for c in clips if c.source.song not in out])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "known.store"
            write_store(path, known)
            ready = {}
            for each in {id(each): each for each, _, _ in kinds.values()}.values():
                database = MotionDatabase.build(
                    open_store(path), each, model, tracks=replace(heard, store=known)
                )
                ready[each] = (database, Playback.of_database(database))
            for clip in (c for c in clips if c.source.song in out):
                _write(clip, options.output / "recorded", options.songs)
                song = heard.songs[clip.source.song]
                for name, (each, wish, settings) in kinds.items():
                    database, playback = ready[each]
                    searcher = open_searcher(database, "exact")
                    began = time.perf_counter()
                    dance = dance_to(database, playback, searcher, song, wish, settings=settings)
                    made[name].append((dance, time.perf_counter() - began))
                    danced = replace(dance.clip, source=clip.source, name=clip.name)
                    _write(danced, options.output / name, options.songs)
                print(fold, clip.name, flush=True)
    for name, dances in made.items():
        seconds = sum(each.clip.duration for each, _ in dances)
        pieces = np.concatenate([_pieces(each) for each, _ in dances])
        rates = np.concatenate([np.abs(each.rates - 1.0) for each, _ in dances])
        print(
            f"{name}: {len(dances)} dances, {seconds / 60:.1f} minutes, "
            f"{len(pieces) - len(dances)} jumps, one in {seconds / len(pieces):.1f} s; pieces of "
            f"{np.median(pieces):.1f} s in the median, {pieces.max():.0f} s the longest; playback "
            f"{100 * rates.mean():.1f} % off the captured speed; "
            f"{seconds / sum(spent for _, spent in dances):.0f} times real time"
        )


def _pieces(dance: MatchedDance) -> np.ndarray:
    """Seconds of what was danced as it was captured, in one piece."""
    return np.diff([0.0, *dance.jumps_s, dance.clip.duration])


def _write(clip, folder: Path, songs: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save(clip, folder / f"{clip.name}.bvh")
    link = folder / f"{clip.name}{Path(clip.source.song).suffix}"
    link.unlink(missing_ok=True)
    link.symlink_to((songs / clip.source.song).resolve())


if __name__ == "__main__":
    main()
