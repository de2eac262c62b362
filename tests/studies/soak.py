"""Long runs of a controller, and a long dance: whether all stays finite, alive and in memory.

python -m tests.studies.soak controller FILE [--steps 36000] [--characters 2] [--path square]
python -m tests.studies.soak dance [FILE] [--seconds 600]

Frames are not recorded. Without a file, a small dancer is trained on made dances first.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from deepphase.controllers.dance.config import MUSIC, DanceConfig
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.stall_guard import StallGuard
from deepphase.controllers.dance.starts import initial_states
from deepphase.controllers.dance.training import DanceData, train_dance
from deepphase.controllers.runtime.characters import Characters
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.music.features import sample_at
from deepphase.steering.path import MADE_PATHS, made_path
from deepphase.steering.run import Frame, start_on_path
from tests.controllers.made_dances import BeatAndBarPhases, made_dances, made_song_features

_PARTS = 10


@dataclass(frozen=True)
class Soak:
    """Measures of a long run.

    Parameters
    ----------
    finite, alive
        Shares of frames of all characters.
    fastest
        m/s of the root, between two frames.
    peaks_mb
        Largest resident memory of the process so far, after each tenth of the run.
    seconds
        Processor time of the steps.
    """

    finite: float
    alive: float
    fastest: float
    peaks_mb: tuple[float, ...]
    seconds: float


def soak(step: Callable[[int], Frame], steps: int, fps: float) -> Soak:
    """Take steps without recording them."""
    finite = alive = 0.0
    fastest, peaks, last = 0.0, [], None
    begun = time.process_time()
    for index in range(steps):
        frame = step(index)
        values = (frame.rotations, frame.translations, frame.positions, frame.angles)
        finite += float(all(np.isfinite(each).all() for each in values))
        alive += float(frame.alive.mean())
        if last is not None:
            moved = np.linalg.norm(frame.positions - last, axis=-1)
            fastest = max(fastest, fps * float(moved.max()))
        last = frame.positions
        if (index + 1) * _PARTS // steps > index * _PARTS // steps:
            peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)
    spent = time.process_time() - begun
    return Soak(finite / steps, alive / steps, fastest, tuple(peaks), spent)


def controller_soak(controller: Controller, steps: int, characters: int, path: str) -> Soak:
    """Characters of a controller along a made path at the data's travelling speed."""
    source = CharacterSource(controller)
    made = made_path(path, source.travelling_speed, steps / controller.fps)
    running, goals = start_on_path(source, made, characters=characters)
    return soak(lambda _: running.step(goals), steps, controller.fps)


def dance_soak(dancer: Dancer, seconds: float) -> tuple[Soak, int]:
    """A dance to a made song of that length, and the number of its restarts."""
    fps, offsets = dancer.controller.fps, np.array(dancer.controller.schema.config.offsets_s)
    rows = dancer.music.rows(made_song_features(seconds=seconds))

    def audio(index: int) -> np.ndarray:
        return sample_at(rows, (index - 1) / fps + offsets)[None]

    settings = CharacterSettings(foot_ik=False)
    characters = Characters(
        dancer.controller, initial_states(dancer, audio(0), [0]), settings=settings
    )
    guard = StallGuard(dancer, characters, settings, [0])
    found = soak(lambda index: guard.step(None, {MUSIC: audio(index)}), round(seconds * fps), fps)
    return found, len(guard.restarts[0])


def made_dancer() -> Dancer:
    """A small dancer, trained on made dances with their true phases."""
    clips, motions = made_dances()
    changes = {"network.hidden": 64, "training.samples": 96_000}
    config = DanceConfig.load("experts", **changes)
    data = DanceData.read(clips, config, BeatAndBarPhases(motions))
    with tempfile.TemporaryDirectory() as folder:
        dancer = train_dance(data, config, folder=folder)
    assert dancer is not None
    return dancer


def main() -> None:
    """Print the measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("controller", "dance"))
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--steps", type=int, default=36_000)
    parser.add_argument("--characters", type=int, default=2)
    parser.add_argument("--path", choices=tuple(MADE_PATHS), default="square")
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.kind == "controller":
        controller = Controller.load(options.file)
        print(controller_soak(controller, options.steps, options.characters, options.path))
        return
    dancer = made_dancer() if options.file is None else Dancer.load(options.file)
    found, restarts = dance_soak(dancer, options.seconds)
    print(found, f"restarts {restarts}")


if __name__ == "__main__":
    main()
