"""Where a character goes that is asked with its facing held ahead, and what its joints do.

python -m tests.studies.shipped.directions deepphase/shipped/person.matcher style=neutral
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.evaluation.measurement import values_by_name
from deepphase.evaluation.run_measures import measure
from deepphase.matching.learned.matcher import Matcher
from deepphase.steering.goal_sources import RootStates, side_by_side
from deepphase.steering.run import Frame, rollout
from deepphase.steering.velocity_goals import VelocityGoals

SPEEDS = {0.6: range(8), 1.25: range(8), 2.5: (0, 4)}
CHARACTERS, SECONDS, SETTLED_S = 4, 6.0, 2.0
# Sticks that change once a second, of twelve characters for twenty seconds.
STICKS, STICK_S, STICK_SPEEDS = 12, 20.0, (0.0, 0.6, 1.3, 2.5)


def main(path: Path, labels: dict[str, str]) -> None:
    if path.suffix == ".matcher":
        matcher = Matcher.load(path)
        source, data = matcher.source(labels=labels), matcher.data
    else:
        controller = Controller.load(path)
        source, data = CharacterSource(controller), controller.data
    for speed, eighths in SPEEDS.items():
        for angle in np.pi / 4 * np.array(eighths):
            start = RootStates.at_rest(side_by_side(CHARACTERS, source.spacing_m))
            goals = VelocityGoals(start)
            runner = source.start(goals, start)
            velocity = speed * np.array([np.sin(angle), np.cos(angle)])
            goals.set(np.tile(velocity, (CHARACTERS, 1)), np.zeros(CHARACTERS))
            run = rollout(runner, goals, SECONDS)
            settled = round(SETTLED_S * run.fps)
            moved = run.positions[:, -1] - run.positions[:, settled]
            reached = np.linalg.norm(moved, axis=1) * run.fps / (len(run) - 1 - settled)
            off = np.degrees(np.arctan2(moved[:, 0], moved[:, 1]) - angle)
            off = np.abs((off + 180.0) % 360.0 - 180.0)
            values = values_by_name(measure(run, data))
            print(
                f"{speed:4} m/s at {np.degrees(angle):3.0f} degrees: {reached.min():.2f} to "
                f"{reached.max():.2f} m/s, at most {off.max():.0f} degrees off; knees back "
                f"{values['bent_back']:.2%}, pops {values.get('pops', np.nan):.2%}"
            )
    generator = np.random.default_rng(5)
    start = RootStates.at_rest(side_by_side(STICKS, source.spacing_m))
    goals = VelocityGoals(start)
    runner = source.start(goals, start)

    def step(frame: int) -> Frame:
        if frame % round(runner.spec.fps) == 0:
            speeds = generator.choice(STICK_SPEEDS, STICKS)
            angles = generator.uniform(-np.pi, np.pi, STICKS)
            velocities = speeds[:, None] * np.stack([np.sin(angles), np.cos(angles)], axis=1)
            goals.set(velocities, np.full(STICKS, np.nan))
        return runner.step(goals)

    values = values_by_name(measure(rollout(runner, goals, STICK_S, step=step), data))
    print(f"sticks: knees back {values['bent_back']:.2%}, pops {values.get('pops', np.nan):.2%}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), dict(word.split("=") for word in sys.argv[2:]))
