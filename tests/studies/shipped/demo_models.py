"""Training of the small models of the dashboard's demo, which lie in apps/demo.

`python -m tests.studies.shipped.demo_models` trains them again on synthetic motion, in two minutes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.apps.demo import CONTROLLER, PHASES, SAMPLE
from deepphase.apps.terminal import note, progress
from deepphase.apps.training_run import TrainingRequest, TrainingRun
from deepphase.controllers.config import ControllerConfig, ControllerTraining
from deepphase.controllers.data.captured_rows import RestRows
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.networks.experts import ExpertsConfig
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.schema.config import SchemaConfig
from deepphase.controllers.training.health import health_lines
from deepphase.controllers.training.train import train_controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import store_groups
from deepphase.files import temporary_folder
from deepphase.motion.clip import Clip
from deepphase.phase.config import NetworkConfig, PhaseConfig, TrainingConfig
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.model import PhaseModel
from deepphase.phase.training.train import train_phase
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait import Style, gaits_of
from deepphase.synthetic.gait_motion import perform
from deepphase.synthetic.program import Segment
from deepphase.synthetic.training_set import corpus
from deepphase.work import Progress
from tests.studies.shipped.standing import standing_clips

PRESETS: dict[Path, str] = {PHASES: "sine_fit"}

# Small enough to ship, and to be trained again within a test.
_HIDDEN, _KERNEL_S, _BAND_HZ = 12, 0.4, 10.0
_WINDOWS, _BATCH, _RATE = 24_576, 128, 4e-3
_SEED, _MINUTES, _CLIP_S = 7, 4.0, 12.0
# Of the start states that the training keeps, every so many is shipped.
_STARTS_EVERY = 4
# Clips of rest: the first comes again after the others, 16 seconds later.
_STANDS = 3


def demo_config(preset: str) -> PhaseConfig:
    """Config of a small phase model."""
    return PhaseConfig(
        NetworkConfig(preset, kernel_s=_KERNEL_S, hidden=_HIDDEN, band_hz=_BAND_HZ),
        TrainingConfig(windows=_WINDOWS, batch_size=_BATCH, learning_rate=_RATE),
    )


def train_demo_model(preset: str, progress: Progress | None = None) -> PhaseModel:
    """Train a small phase model in about ten seconds, deterministically on one machine."""
    clips = corpus(_SEED, _MINUTES, clip_seconds=_CLIP_S)
    store = ClipStore.from_clips(motion.clip for motion in clips)
    with temporary_folder() as folder:
        model = train_phase(
            store, demo_config(preset), folder=folder, progress=progress, accelerator="cpu"
        )
    assert model is not None, "only None in further processes of a distributed training"
    return model


_BODY, _GAITS = "biped", ("walk", "jog", "run", "skip")
_TURNS_SEED, _CLIPS = 11, 12
# Maximum turn rate in rad/s, and maximum sideways acceleration in m/s^2.
_MAX_TURN_RATE, _MAX_SIDEWAYS = 2.0, 4.0
# Speeds as multiples of the gait's own, seconds of a segment, and probability of a straight one and
# of a stand: a character that has never seen one cannot stop.
_SPEEDS, _SEGMENT_S, _STRAIGHT, _STAND = (0.7, 1.2), (3.0, 4.0), 0.25, 0.15


def turning_clips(clips: int = _CLIPS) -> Iterator[Clip]:
    """Clips of each gait, with stands, speeds and turn rates that change every few seconds."""
    body = body_named(_BODY)
    for number, name in enumerate(_GAITS):
        gait = gaits_of(_BODY)[name]
        for index in range(clips):
            generator = np.random.default_rng([_TURNS_SEED, number, index])
            program, left = [], _CLIP_S
            while left > 0.0:
                seconds = float(generator.uniform(*_SEGMENT_S))
                # The last segment takes the rest where that is shorter than a segment.
                seconds = left if left - seconds < _SEGMENT_S[0] else seconds
                left -= seconds
                if generator.uniform() < _STAND:
                    program.append(Segment("idle", seconds))
                    continue
                speed = gait.speed * float(generator.uniform(*_SPEEDS))
                turn = float(generator.uniform(-1, 1)) * min(_MAX_TURN_RATE, _MAX_SIDEWAYS / speed)
                if generator.uniform() < _STRAIGHT:
                    turn = 0.0
                program.append(Segment(gait, seconds, speed=speed, turn_rate=turn))
            motion = perform(
                program, int(generator.integers(2**31)), body=body, style=Style.random(generator, 0)
            )
            yield replace(motion.clip, name=f"{name}_{index}", labels={"gait": name})


def demo_controller_config() -> ControllerConfig:
    """Config of the small controller."""
    return ControllerConfig(
        "experts",
        ExpertsConfig(experts=4, gating_hidden=32, hidden=64, dropout=0.1),
        SchemaConfig(label="gait"),
        ControllerTraining(
            samples=480_000, batch_size=128, learning_rate=3e-3, pose_noise=0.15, mirror=True
        ),
    )


def demo_data(phases: PhaseExtractor, progress: Progress | None = None) -> ControllerData:
    """Training data of the small controller."""
    store = ClipStore.from_clips(turning_clips())
    return ControllerData.read(store, demo_controller_config(), phases, progress=progress)


def train_demo_controller(phases: PhaseExtractor, progress: Progress | None = None) -> Controller:
    """Train the small controller in about a minute, deterministically on one machine."""
    data, config = demo_data(phases, progress), demo_controller_config()
    with temporary_folder() as folder:
        controller = train_controller(
            data, config, folder=folder, progress=progress, accelerator="cpu"
        )
    assert controller is not None, "only None in further processes of a distributed training"
    chosen = np.arange(0, len(controller.starts), _STARTS_EVERY)
    # Longer than the rest of the training, so that it does not come again soon.
    schema = controller.schema
    labels = ({schema.config.label: value} for value in schema.label_values[:_STANDS])
    stands = ClipStore.from_clips(standing_clips("biped", _SEED, labels))
    return replace(
        controller,
        starts=controller.starts.select(chosen),
        rest=RestRows.from_clips(stands, range(len(stands)), schema),
    )


def write_demo_models() -> None:
    """Train the shipped models again, and write them into apps/demo."""
    for path, preset in PRESETS.items():
        with progress() as on_progress:
            model = train_demo_model(preset, on_progress)
        model.save(path)
        note(f"{path}: {path.stat().st_size / 1e3:.0f} kB")
        for line in model.health.words() if model.health else ():
            note(f"  {line}")
    with progress() as on_progress:
        controller = train_demo_controller(PhaseModel.load(PHASES), on_progress)
    controller.save(CONTROLLER)
    note(f"{CONTROLLER}: {CONTROLLER.stat().st_size / 1e3:.0f} kB")
    for line in health_lines(controller.health):
        note(f"  {line}")


# Passed on beside the views of the manifold: measures, request, and clips of the points.
_FILES = ("status.json", "points.npz")
_SAMPLE_WINDOWS = 36_000


def write_sample_training(store: ClipStore, name: str) -> None:
    """Train on clips as page Train does, and write what it shows of that into apps/demo."""
    with temporary_folder() as folder:
        store.save(folder / "sample.store")
        group = store_groups(folder / "sample.store")[0].name
        request = TrainingRequest(str(folder / "sample.store"), group, windows=_SAMPLE_WINDOWS)
        run = TrainingRun.start(name, request, folder / "run")
        while run.running:
            time.sleep(1.0)
        assert run.finished, run.log()
        SAMPLE.mkdir(exist_ok=True)
        for path in (*(run.folder / each for each in _FILES), *run.folder.glob("view_*.npy")):
            shutil.copy(path, SAMPLE)
        replace(request, store=name).save(SAMPLE)
        note(f"{SAMPLE}: {sum(each.stat().st_size for each in SAMPLE.iterdir()) / 1e3:.0f} kB")


if __name__ == "__main__":
    from deepphase.apps.dashboard.parts.collection import DEMO_NAME, demo_store

    write_demo_models()
    write_sample_training(demo_store(), DEMO_NAME)
