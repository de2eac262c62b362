"""Rest after twelve patterns of keys, against the standing frames of the data.

python -m tests.studies.standing DATABASE [--speed 1.4] [--seconds 20] [--characters 2] [--seed 0]
python -m tests.studies.standing CONTROLLER --clips STORE [--speed 1.4] ...

A pattern holds the stick in some directions, 1.5 s each, and releases it. Rest is measured from one
second after the release on.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import astuple, fields
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.corpus.store import open_store
from deepphase.features.moment_kinds import ACTION, IDLE, LYING, SITTING
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.motion.clip import Clip
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings
from deepphase.steering.run import rollout, start_under_gamepad
from tests.studies.rest_measures import RestMeasures, RestReference, rest_of_run

PATTERNS = ("W", "S", "A", "D", "WD", "WA", "WS", "AD", "WSAD", "WDSA", "SWAD", "WWDD")
_KEYS = {"W": (0.0, 1.0), "S": (0.0, -1.0), "A": (1.0, 0.0), "D": (-1.0, 0.0)}
_HELD_S, _SETTLING_S = 1.5, 1.0


def pattern_stick(keys: str, rest_s: float) -> Gamepad:
    """A stick that is held in the directions of keys one after the other, and released."""
    times, move = [], []
    for number, key in enumerate(keys):
        times += [number * _HELD_S, (number + 1) * _HELD_S - 0.001]
        move += [_KEYS[key]] * 2
    end = len(keys) * _HELD_S
    times, move = [*times, end, end + rest_s], [*move, (0.0, 0.0), (0.0, 0.0)]
    return Gamepad(np.array(times), np.array(move), np.zeros((len(times), 2)))


def matching_source(path: Path, seed: int) -> tuple[PlayerSource, Iterator[Clip], Array]:
    """A source of runs by matching, the clips in which bodies stand, and the kinds of the rows."""
    database = MotionDatabase.load(path).with_kinds()
    options = {"settings": PlayerSettings(moments=MomentFilter()), "seed": seed}
    source = PlayerSource.from_database(database, "exact", **options)
    kinds = database.kinds
    starts, stops = database.range_starts, database.range_stops
    stand = [i for i in range(len(starts)) if (kinds[starts[i] : stops[i]] == IDLE).any()]
    return source, map(database.clip, stand), kinds


def main() -> None:
    """Print the measures of rest after every pattern."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("--clips", type=Path, help="store that a controller was trained on")
    parser.add_argument("--speed", type=float, default=1.4)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--characters", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--patterns", nargs="+", default=list(PATTERNS))
    options = parser.parse_args()
    kinds: Array | None = None
    if options.clips is None:
        source, clips, kinds = matching_source(options.source, options.seed)
    else:
        source = CharacterSource(Controller.load(options.source), seed=options.seed)
        clips = iter(open_store(options.clips))
    names = [each.name for each in fields(RestMeasures)]
    shown = () if kinds is None else ("gestures", "sits or lies")
    print("| keys |", " | ".join((*names, *shown, "faults")), "|")
    reference = None
    for keys in options.patterns:
        stick = pattern_stick(keys, options.seconds + _SETTLING_S)
        settings = GamepadSettings(top_speed=options.speed)
        player, goals = start_under_gamepad(
            source, stick, characters=options.characters, settings=settings
        )
        if reference is None:
            reference = RestReference.of_clips(clips, player.spec)
        run = rollout(player, goals, float(stick.times[-1]))
        found = rest_of_run(run, reference, len(keys) * _HELD_S + _SETTLING_S)
        shares: tuple[float, ...] = ()
        if kinds is not None:
            played = kinds[run.tracks["row"]]
            shares = (played == ACTION).mean(), np.isin(played, [SITTING, LYING]).mean()
        values = [f"{value:.2f}" for value in (*astuple(found), *shares)]
        print(
            "|", " | ".join((keys, *values, ", ".join(found.faults()) or "none")), "|", flush=True
        )


if __name__ == "__main__":
    main()
