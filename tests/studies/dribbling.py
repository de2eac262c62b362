"""Controllers with a ball along random steering: reach, touches, energy, losses, path errors.

python -m tests.studies.dribbling CONTROLLER.. [--minutes 10] [--characters 4] [--seeds 3]

Steering turns by up to 120 degrees every 2 to 5 s, at 0 to 1.2 times the data's travelling speed.
Controllers without a ball run along the same steering, to compare path errors and sliding.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np

from deepphase.controllers.evaluation.dribbling import dribbling_measures
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.evaluation.measured_runs import run_measures
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout, start_on_path

_POINTS_PER_S = 10
_SHOWN = (
    *("path_error", "clock_error", "skating", "rotation_ratio", "rotation_ratio_below_8_hz"),
    *("jerk_ratio", "jerk_ratio_below_8_hz", "survived"),
)


def random_steering(speed: float, seconds: float, seed: int) -> GroundPath:
    """A path of random turns, speeds and stops."""
    generator = np.random.default_rng(seed)
    velocities: list[np.ndarray] = []
    heading = 0.0
    while len(velocities) < seconds * _POINTS_PER_S:
        count = round(generator.uniform(2.0, 5.0) * _POINTS_PER_S)
        turn = np.radians(generator.uniform(-120.0, 120.0))
        share = 0.0 if generator.random() < 0.1 else generator.uniform(0.5, 1.2)
        # A second of turning, then straight ahead.
        angles = heading + turn * np.minimum(np.arange(count) / _POINTS_PER_S, 1.0)
        velocities += list(share * speed * np.stack([np.sin(angles), np.cos(angles)], axis=1))
        heading += turn
    places = np.cumsum(np.array(velocities) / _POINTS_PER_S, axis=0)
    return GroundPath(np.arange(len(places)) / _POINTS_PER_S, places, name="random")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("controllers", type=Path, nargs="+")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--characters", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    for file in options.controllers:
        controller = Controller.load(file)
        seconds = 60.0 * options.minutes / options.characters
        for seed in range(1, 1 + options.seeds):
            begun = time.process_time()
            source = CharacterSource(controller, seed=seed)
            path = random_steering(source.travelling_speed, seconds, seed)
            runner, goals = start_on_path(source, path, characters=options.characters)
            run = rollout(runner, goals, seconds)
            measures = run_measures(run, controller.data, path=goals.path, origins=goals.origins)
            found = {name: getattr(measures, name, None) for name in _SHOWN}
            if controller.schema.config.ball:
                found |= asdict(dribbling_measures(run, controller.ball))
            texts = [f"{name} {value:.3g}" for name, value in found.items() if value is not None]
            cpu = time.process_time() - begun
            print(file.stem, f"seed {seed}:", ", ".join(texts), f"; {cpu:.0f} s", flush=True)


if __name__ == "__main__":
    main()
