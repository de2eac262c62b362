"""Training of the shipped characters on synthetic motion: a person and a dog."""

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
from deepphase.motion.clip import Clip
from deepphase.phase.config import PhaseConfig
from deepphase.phase.training.train import train_phase
from deepphase.progress import Progress
from deepphase.temporary_files import temporary_folder
from tests.studies.shipped.standing import standing_clips
from tests.studies.shipped.steered_motion import dog_clips, person_clips

# Half the width of the shipped config: a few megabytes.
_SIZE = {
    "network.experts": 6,
    "network.hidden": 256,
    "network.gating_hidden": 64,
    "network.dropout": 0.1,
    "training.optimizer": "muon",
    "training.learning_rate": 6e-3,
    "training.weight_decay": 0.5,
    "training.batch_size": 512,
    # Made motion has every direction and slow gaits, which a person with drift lost.
    "training.drift": 0.0,
    "training.slow_gaits": 0.0,
}
# Start states of a file.
_STARTS = 64


def train_person(progress: Progress | None = None) -> Controller:
    """A person in every direction, at every speed up to a run, who skips on demand."""
    changes = {"schema.label": "style", "training.samples": 600_000}
    styles = [{"style": style} for style in ("normal", "normal", "normal", "skip")]
    return _trained(person_clips(5, 42.0), standing_clips("biped", 5, styles), changes, progress)


def train_dog(progress: Progress | None = None) -> Controller:
    """A dog at every speed up to a gallop."""
    changes = {"training.samples": 500_000}
    return _trained(dog_clips(6, 26.0), standing_clips("quadruped", 6, [{}] * 3), changes, progress)


def _trained(
    clips: Iterator[Clip],
    rest: Iterator[Clip],
    changes: dict[str, object],
    progress: Progress | None,
) -> Controller:
    store = ClipStore.from_clips(clips)
    phase_config = PhaseConfig.load(
        "default", **{"network.channels": 5, "training.windows": 102_400}
    )
    options = {"progress": progress, "accelerator": "cpu"}
    with temporary_folder() as folder:
        phases = train_phase(store, phase_config, folder=folder, **options)
    assert phases is not None, "only None in further processes of a distributed training"
    chosen = ControllerConfig.load("experts", **_SIZE, **changes)
    data = ControllerData.read(store, chosen, phases, progress=progress)
    with temporary_folder() as folder:
        controller = train_controller(data, chosen, folder=folder, **options)
    assert controller is not None, "only None in further processes of a distributed training"
    count = len(controller.starts)
    rows = np.unique(np.linspace(0, count - 1, _STARTS).astype(np.int64))
    # Longer than the rest of the training, so that it does not come again soon.
    stands = ClipStore.from_clips(rest)
    return replace(
        controller,
        starts=controller.starts.select(rows),
        rest=RestRows.of_clips(stands, range(len(stands)), controller.schema),
    )
