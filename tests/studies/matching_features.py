"""Motion matching by different features: answers to sticks, and runs along twelve paths.

python -m tests.studies.matching_features people.phases.db people.pose.db [--seed 1] [--each]
python -m tests.studies.matching_features people.db people.matcher [--seed 1] [--speed 1.25]

Every database is driven by 20 made recordings of a stick, which starts, stops, and turns by 90 and
180 degrees every two or three seconds, and by three characters along each of twelve paths. Choose
settings with one seed, and report them with another. --each prints a line for every path.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np

from deepphase.evaluation.measurement import values_by_name
from deepphase.evaluation.run_measures import measure
from deepphase.formats.array_file import read_header
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.matcher import FORMAT as MATCHER
from deepphase.matching.learned.matcher import Matcher
from deepphase.matching.player.settings import MomentFilter, PlayerSettings
from deepphase.matching.player.source import PlayerSource
from deepphase.steering.gamepad import Gamepad
from deepphase.steering.goal_sources import GamepadSettings, GoalSource, RootStates
from deepphase.steering.path import MADE_PATHS, GroundPath, made_path
from deepphase.steering.run import rollout, start_on_path
from deepphase.steering.velocity_goals import GamepadGoals

SPEED, SECONDS = 1.25, 20.0
RECORDS, CHARACTERS = 20, 3
_OF_STICKS = (
    *("start_s", "stop_s", "turn_90_s", "turn_180_s", "heading_90_s", "heading_180_s"),
    *("unanswered", "jumps_per_s", "skating", "found_contact_speed", "jerk_ratio"),
    *("jerk_ratio_below_8_hz", "style_changes"),
)
_OF_PATHS = (
    *("path_error", "clock_error", "skating", "unlocked_skating", "found_contact_speed"),
    *("jerk_ratio", "jerk_ratio_below_8_hz", "rotation_ratio", "rotation_ratio_below_8_hz"),
    *("jumps_per_s", "alignment", "style_changes"),
)


def made_record(seed: int) -> Gamepad:
    """A stick that changes abruptly every 1.8 to 3.2 seconds."""
    generator = np.random.default_rng(seed)
    time, angle, moving = 0.0, generator.uniform(-np.pi, np.pi), False
    times, moves = [], []
    while time < SECONDS:
        turns = (0.0, np.pi / 2 * generator.choice([-1, 1]), np.pi, generator.uniform(-0.4, 0.4))
        choice = int(generator.integers(len(turns)))
        # The first choice is to rest.
        moving = not moving or choice > 0
        angle += turns[choice]
        lasting = generator.uniform(1.8, 3.2)
        times += [time, time + lasting - 0.05]
        moves += [[moving * np.sin(angle), moving * np.cos(angle)]] * 2
        time += lasting
    return Gamepad(np.array(times), np.array(moves), np.zeros((len(moves), 2)))


def made_paths(seed: int, speed: float = SPEED) -> list[GroundPath]:
    """Four random walks, the made paths, zigzag, eight, spiral, stops, and there and back."""
    generator = np.random.default_rng(seed)
    times = np.linspace(0.0, SECONDS, 200)
    paths = [made_path(name, speed, SECONDS) for name in MADE_PATHS]
    for number in range(4):
        angles = np.cumsum(generator.normal(0.0, 0.5, 40))
        places = np.cumsum(np.stack([np.sin(angles), np.cos(angles)], 1), 0) * speed * SECONDS / 40
        paths.append(
            GroundPath(np.linspace(0, SECONDS, 40), places - places[0], name=f"random {number}")
        )
    corners = np.array([[(-1.0) ** index, 2.0 * index] for index in range(11)])
    paths.append(GroundPath(np.arange(11.0), corners, name="zigzag").at_speed(speed))
    eight = np.stack([2.5 * np.sin(0.4 * times), 1.5 * np.sin(0.8 * times)], 1)
    radius = 0.5 + 0.15 * times
    spiral = radius[:, None] * np.stack(
        [np.sin(speed * times / radius), np.cos(speed * times / radius)], 1
    )
    stops = np.cumsum(np.where(times % 5.0 < 3.0, speed, 0.0)) * (times[1] - times[0])
    paths += [
        GroundPath(times, eight, name="eight"),
        GroundPath(times, spiral, name="spiral"),
        GroundPath(times, np.stack([0.0 * stops, stops], 1), name="stops"),
        GroundPath(
            np.array([0.0, 5.0, 10.0, 15.0, 20.0]),
            np.array([[0.0, 0.0], [0.0, 6.0], [0.0, 0.0], [6.0, 0.0], [0.0, 0.0]]),
            name="there and back",
        ),
    ]
    return paths


class EachRecord(GoalSource):
    """Goals of several recordings, one for each character."""

    def __init__(
        self, records: list[Gamepad], root_states: RootStates, speed: float = SPEED
    ) -> None:
        settings = GamepadSettings(top_speed=speed)
        each = enumerate(records)
        self._goals = [GamepadGoals(own, _one(root_states, at), settings) for at, own in each]

    def _all(self, of: Callable[[GamepadGoals], tuple]) -> tuple:
        return tuple(map(np.concatenate, zip(*map(of, self._goals), strict=True)))

    def advance(self, root_states, seconds):
        each = enumerate(self._goals)
        return np.concatenate([own.advance(_one(root_states, at), seconds) for at, own in each])

    def trajectory(self, root_states, which, offsets_s):
        found = [
            self._goals[index].trajectory(_one(root_states, index), np.zeros(1, int), offsets_s)
            for index in which
        ]
        return tuple(map(np.concatenate, zip(*found, strict=True)))

    def target(self):
        return self._all(lambda goals: goals.target())

    def command(self):
        return self._all(lambda goals: goals.command())

    def labels(self):
        return [goals.labels()[0] for goals in self._goals]

    def leads(self, root_states):
        each = enumerate(self._goals)
        return np.concatenate([goals.leads(_one(root_states, index)) for index, goals in each])


def _one(root_states: RootStates, index: int) -> RootStates:
    names = ("positions", "velocities", "angles", "rates")
    return RootStates(*(getattr(root_states, name)[index : index + 1] for name in names))


def opened(path: str) -> PlayerSource:
    """The source of a database, or of a matcher."""
    settings = PlayerSettings(moments=MomentFilter())
    if read_header(path)["format"] == MATCHER:
        return Matcher.load(path).source(settings=settings)
    return PlayerSource.from_database(MotionDatabase.load(path).with_kinds(), settings=settings)


def _text(values: dict[str, float | None]) -> str:
    return ", ".join(
        f"{name} {'-' if value is None else f'{value:.3g}'}" for name, value in values.items()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("databases", nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--speed", type=float, default=SPEED)
    parser.add_argument("--each", action="store_true")
    options = parser.parse_args()
    for name in options.databases:
        source = opened(name)
        print(name, flush=True)
        rest = RootStates.at_rest(np.zeros((RECORDS, 2)))
        records = [made_record(1000 * options.seed + number) for number in range(RECORDS)]
        goals = EachRecord(records, rest, options.speed)
        run = rollout(source.start(goals, rest), goals, SECONDS)
        measures = values_by_name(measure(run, source.data))
        values = {key: measures.get(key) for key in _OF_STICKS}
        print(f"  sticks: {_text(values)}", flush=True)
        found = []
        for path in made_paths(options.seed, options.speed):
            player, goals = start_on_path(source, path, characters=CHARACTERS)
            run = rollout(player, goals, SECONDS)
            found.append(values_by_name(measure(run, source.data)))
            if options.each:
                values = {key: found[-1].get(key) for key in _OF_PATHS}
                print(f"  {path.name}: {_text(values)}", flush=True)
        means = {key: float(np.mean([own.get(key, 0.0) for own in found])) for key in _OF_PATHS}
        print(f"  paths: {_text(means)}", flush=True)


if __name__ == "__main__":
    main()
