"""Training of the shipped dog on synthetic motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.captured_rows import RestRows
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.train import train_controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.files import temporary_folder
from deepphase.motion.clip import Clip
from deepphase.phase.config import PhaseConfig
from deepphase.phase.training.train import train_phase
from deepphase.progress import Progress
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Style, gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment, segment_lengths
from tests.studies.shipped.standing import standing_clips

_SETTINGS = {
    "network.experts": 6,
    "network.hidden": 256,  # Half the width of the shipped config: a few megabytes
    "network.gating_hidden": 64,
    "network.dropout": 0.1,
    "training.samples": 500_000,
    "training.optimizer": "muon",
    "training.learning_rate": 6e-3,
    "training.weight_decay": 0.5,
    "training.batch_size": 512,
    # As those of the file that ships: captured detail takes 12 MB. Made motion has slow gaits.
    "training.balance": 0.2,
    "training.detail_minutes": 0.0,
    "training.drift": 0.0,
    "training.slow_gaits": 0.0,
}
# Start states of a file; seed and minutes of its motion, and seconds of a clip.
_STARTS, _SEED, _MINUTES, _CLIP_S = 64, 6, 26.0, 16.0
# Spread of the individuals: one character rather than many.
_VARIETY = 0.25
# Share of segments that go straight on. Faster bodies turn wider: 0.45 g to the side at most.
_STRAIGHT, _SIDEWAYS_M_S2 = 0.3, 4.5
# From each gait to those that may follow; a gait that stands twice is twice as likely.
_NEXT = {
    "idle": ("walk", "walk", "trot"),
    "walk": ("idle", "walk", "walk", "trot"),
    "trot": ("walk", "canter", "trot", "trot", "idle"),
    "canter": ("trot", "gallop", "canter", "walk"),
    "gallop": ("canter", "gallop", "trot"),
}
# Gait -> slowest and fastest speed in m/s, and fastest turn in rad/s.
_RANGES = {
    "walk": (0.35, 1.3, 2.0),
    "trot": (1.25, 2.5, 2.0),
    "canter": (2.4, 3.8, 1.6),
    "gallop": (3.7, 5.4, 1.1),
}


def train_dog(progress: Progress | None = None) -> Controller:
    """A dog at every speed up to a gallop."""
    store = ClipStore.from_clips(_clips())
    phase_config = PhaseConfig.load(
        "default", **{"network.channels": 5, "training.windows": 102_400}
    )
    options = {"progress": progress, "accelerator": "cpu"}
    with temporary_folder() as folder:
        phases = train_phase(store, phase_config, folder=folder, **options)
    assert phases is not None, "only None in further processes of a distributed training"
    chosen = ControllerConfig.load("experts", **_SETTINGS)
    data = ControllerData.read(store, chosen, phases, progress=progress)
    with temporary_folder() as folder:
        controller = train_controller(data, chosen, folder=folder, **options)
    assert controller is not None, "only None in further processes of a distributed training"
    rows = np.unique(np.linspace(0, len(controller.starts) - 1, _STARTS).astype(np.int64))
    # Longer than the rest of the training, so that it does not come again soon.
    stands = ClipStore.from_clips(standing_clips("quadruped", _SEED, [{}] * 3))
    return replace(
        controller,
        starts=controller.starts.select(rows),
        rest=RestRows.from_clips(stands, range(len(stands)), controller.schema),
    )


def _clips() -> Iterator[Clip]:
    """A dog that walks, trots, canters, gallops and turns."""
    gaits = gaits_of("quadruped")
    for number in range(round(60.0 * _MINUTES / _CLIP_S)):
        generator = np.random.default_rng([_SEED, number])
        style = Style.random(generator, _VARIETY)
        name = str(generator.choice(list(_NEXT)))
        program: list[Segment] = []
        for seconds in segment_lengths(generator, _CLIP_S, 3.4, 5.6):
            slowest, fastest, turns = _RANGES.get(name, (0.0, 0.0, 0.0))
            speed = generator.uniform(slowest, fastest)
            turn = generator.uniform(-1.0, 1.0) * min(turns, _SIDEWAYS_M_S2 / max(speed, 0.1))
            if generator.uniform() < _STRAIGHT:
                turn = 0.0
            program.append(Segment(gaits[name], seconds, speed=float(speed), turn_rate=float(turn)))
            name = str(generator.choice(_NEXT[name]))
        seed, body = int(generator.integers(2**31)), body_named("quadruped")
        motion = perform(program, seed, body=body, style=style)
        yield replace(motion.clip, name=f"quadruped_{number:03d}")
