"""The dashboard's small controller, and the made motion that it learns from.

`python -m apps.demo_model` makes it with the other models.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from controllers.config import ControllerConfig, ControllerTraining
from controllers.data.controller_data import ControllerData
from controllers.networks.experts import ExpertsConfig
from controllers.runtime.controller import Controller
from controllers.schema.config import SchemaConfig
from controllers.training.train import train_controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.motion.clip import Clip
from deepphase.phase.extractor import PhaseExtractor
from deepphase.progress import Progress
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Style, gaits_of
from deepphase.synthetic.locomotion import perform
from deepphase.synthetic.program import Segment

CONTROLLER = Path(__file__).parent / "gaits.controller"

_BODY, _GAITS = "biped", ("walk", "jog", "run", "skip")
_SEED, _CLIPS, _CLIP_S = 11, 12, 12.0
# Turns, rad/s, and the sideways acceleration, m/s^2, that fast bodies do not turn beyond.
_FASTEST_TURN, _SIDEWAYS = 2.0, 4.0
_SPEEDS, _SEGMENT_S, _STRAIGHT = (0.8, 1.2), (2.0, 4.0), 0.25
# Of the moments that a training keeps to begin with, one in so many is enough.
_STARTS_EVERY = 4


def turning_clips(seed: int = _SEED, clips: int = _CLIPS) -> Iterator[Clip]:
    """Clips of each gait by one individual whose speed and turns change every few seconds."""
    body = body_named(_BODY)
    for number, name in enumerate(_GAITS):
        gait = gaits_of(_BODY)[name]
        for index in range(clips):
            generator = np.random.default_rng([seed, number, index])
            program, left = [], _CLIP_S
            while left > 0.0:
                seconds = float(generator.uniform(*_SEGMENT_S))
                # Nothing shorter than a segment stays.
                seconds = left if left - seconds < _SEGMENT_S[0] else seconds
                left -= seconds
                speed = gait.speed * float(generator.uniform(*_SPEEDS))
                turn = float(generator.uniform(-1, 1)) * min(_FASTEST_TURN, _SIDEWAYS / speed)
                if generator.uniform() < _STRAIGHT:
                    turn = 0.0
                program.append(Segment(gait, seconds, speed=speed, turn_rate=turn))
            made = perform(
                program, int(generator.integers(2**31)), body=body, style=Style.random(generator, 0)
            )
            yield replace(made.clip, name=f"{name}_{index}", labels={"gait": name})


def demo_controller_config() -> ControllerConfig:
    """The recipe of the small controller."""
    return ControllerConfig(
        "experts",
        ExpertsConfig(experts=4, gating_hidden=32, hidden=64, dropout=0.1),
        SchemaConfig(label="gait"),
        ControllerTraining(
            samples=480_000, batch_size=128, learning_rate=3e-3, pose_noise=0.15, mirror=True
        ),
    )


def demo_data(phases: PhaseExtractor, progress: Progress | None = None) -> ControllerData:
    """What the small controller learns from."""
    store = ClipStore.from_clips(turning_clips())
    return ControllerData.read(store, demo_controller_config(), phases, progress=progress)


def made_controller(phases: PhaseExtractor, progress: Progress | None = None) -> Controller:
    """Train the small controller, in a minute; the same on every run of one machine."""
    data, config = demo_data(phases, progress), demo_controller_config()
    with tempfile.TemporaryDirectory(prefix="deepphase-") as folder:
        made = train_controller(data, config, folder=folder, progress=progress, accelerator="cpu")
    assert made is not None, "one process trains"
    return replace(made, starts=made.starts.of(np.arange(0, len(made.starts), _STARTS_EVERY)))
