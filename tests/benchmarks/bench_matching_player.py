"""How long a frame of a motion-matching player takes, searches left out and in.

python -m tests.benchmarks.bench_matching_player [DATABASE or MATCHER]

Without a file, walking that was made. One thread: set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.settings import PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.steering.path import circle
from deepphase.steering.run import start_on_path
from deepphase.synthetic.training_set import corpus
from tests.studies.matching_features import opened

_FRAMES = {1: 600, 10: 300, 100: 120, 1000: 40}
_ROUNDS = 5
_NEVER = 1e9


def frame_ms(
    source: PlayerSource, characters: int, settings: PlayerSettings
) -> tuple[float, float]:
    """Milliseconds a frame: the mean of the quietest round, and the 99th percentile of all."""
    path = circle(source.travelling_speed, 5.0, 60.0)
    source = replace(source, settings=settings)
    player, goal_source = start_on_path(source, path, characters=characters)
    # The first frames search for all, whose beginnings were drawn by chance.
    for _ in range(15):
        player.step(goal_source)
    spent = np.empty((_ROUNDS, _FRAMES[characters] // _ROUNDS))
    for index in np.ndindex(spent.shape):
        # Of this process: what others do on the machine is not the player's.
        began = time.process_time()
        player.step(goal_source)
        spent[index] = 1e3 * (time.process_time() - began)
    return float(spent.mean(axis=1).min()), float(np.percentile(spent, 99))


def main() -> None:
    if len(sys.argv) > 1:
        source = opened(sys.argv[1])
    else:
        store = ClipStore.from_clips(motion.clip for motion in corpus(0, 5.0))
        source = PlayerSource.from_database(MotionDatabase.build(store, "pose_trajectory"))
    print(f"{len(source.database):,} rows, {len(source.playback.skeleton)} joints")
    for characters in _FRAMES:
        for what, settings in (
            ("no search", PlayerSettings(search_interval_s=_NEVER)),
            ("no search, no foot lock", PlayerSettings(search_interval_s=_NEVER, foot_lock=False)),
            ("a search every 0.1 s", PlayerSettings()),
        ):
            quick, slow = frame_ms(source, characters, settings)
            print(f"{characters:5} characters, {what:24} {quick:8.3f} ms   p99 {slow:8.3f} ms")


if __name__ == "__main__":
    main()
