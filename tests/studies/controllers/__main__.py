"""Controllers against each other on real clips: one budget for all, row by row, resumable.

    python -m tests.studies.controllers FOLDER [--rows ROW ...] [--train-only]
        [--unroll-frames N]

FOLDER holds, for each data set (human, dog), `<data>.store` and the phase models
`<data>.model` (learned), `<data>.contact.model` and `<data>.pfnn.model`, made by `deepphase
prepare`, `train phase` and `fit phases`. Each row leaves `<row>.controller` and `<row>.json`
there, and is passed over where they lie already; the end prints tables of all that were measured.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepphase.atomic_write import atomic_write
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.sample_split import SampleSplit
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.controllers.networks.registry import network_kind
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.frame import CharacterSettings
from deepphase.controllers.training.health import held_out_run
from deepphase.controllers.training.train import train_controller
from deepphase.corpus.store import open_store
from deepphase.errors import ParameterError
from deepphase.evaluation.measured_runs import data_values
from deepphase.evaluation.motion_measures import MeasuredMotion
from deepphase.phase.extractor import load_extractor
from tests.studies.controllers.controller_tables import tables
from tests.studies.controllers.phase_sensitivity import phase_sensitivity
from tests.studies.controllers.trials import path_errors, run_variation, survival
from tests.studies.controllers.variation import Variation

# One budget: pairs shown, batch, rates and widths are the same for all that are trained.
BUDGET = {
    "training.samples": 400_000,
    "training.batch_size": 256,
    "training.learning_rate": 1e-3,
    "training.schedule": "cosine",
}
_WIDTH = 256
# As many parameters as a PFNN of that width has, at the dimensions of people.
_BASELINE_WIDTHS = {"nn": 656, "nn_phase": 656, "erd": 275, "erd_phase": 275}
_PHASES = {"experts": "model", "lmp": "contact.model", "pfnn_learned": "model"}
_SEEDED = ("experts", "mann", "lmp", "no_phase")
_OTHERS = ("pfnn", "nn", "nn_phase", "vinn", "erd", "erd_phase", "pfnn_learned", "gp", "pfgp")
# Ten minutes of each would take as long as all else: those that the papers compare, and on people
# all but the Gaussian processes, which need a minute for each of the ten.
_LONG_RUNS = {
    "human": (*_SEEDED, *_OTHERS[:-2]),
    "dog": ("experts", "pfnn", "nn"),
}


@dataclass(frozen=True)
class Row:
    """One training: which network on which data with which seed, over how many own frames."""

    network: str
    data: str
    seed: int
    unroll_frames: int = 1

    @property
    def name(self) -> str:
        """As files and the command line have it."""
        own = "" if self.unroll_frames == 1 else f"-own{self.unroll_frames}"
        return f"{self.network}-{self.data}-{self.seed}{own}"

    @property
    def config(self) -> ControllerConfig:
        """The recipe at the common budget."""
        changes: dict[str, Any] = BUDGET | {"training.seed": self.seed}
        changes["training.unroll_frames"] = self.unroll_frames
        kind = self.network.removesuffix("_learned")
        if kind not in ("gp", "pfgp"):
            changes["network.hidden"] = _BASELINE_WIDTHS.get(kind, _WIDTH)
        return ControllerConfig.load(kind, **changes)

    @property
    def phases(self) -> str:
        """Ending of the phase model's file."""
        return _PHASES.get(self.network, "pfnn.model")


def all_rows() -> list[Row]:
    """Three seeds of the networks whose order is asked for on people, one elsewhere."""
    rows = [Row(name, data, 0) for data in ("human", "dog") for name in _SEEDED]
    rows += [Row(name, "human", 0) for name in _OTHERS[:4]]
    rows += [Row(name, "human", seed) for seed in (1, 2) for name in _SEEDED]
    rows += [Row(name, "dog", 0) for name in _OTHERS[:4]]
    return rows + [Row(name, data, 0) for data in ("human", "dog") for name in _OTHERS[4:]]


def trained(row: Row, folder: Path, read: dict[Any, ControllerData]) -> Controller:
    """The row's controller, from its file or trained now."""
    path = folder / f"{row.name}.controller"
    if path.exists():
        return Controller.load(path)
    config = row.config
    key = (row.data, row.phases, network_kind(config.name).gate, config.schema)
    if key not in read:
        # One set of samples at a time: two would not fit beside each other.
        read.clear()
        store = open_store(folder / f"{row.data}.store")
        phases = load_extractor(folder / f"{row.data}.{row.phases}")
        read[key] = ControllerData.read(store, config, phases)
    work = folder / f"{row.name}.unfinished"
    begun = time.perf_counter()
    made = train_controller(read[key], config, folder=work, resume=(work / "resume.ckpt").exists())
    assert made is not None
    made.provenance = {**made.provenance, "seconds": time.perf_counter() - begun}
    made.save(path)
    return made


def measured(row: Row, controller: Controller, folder: Path) -> dict[str, Any]:
    """All measures of a row, the data's own value beside them."""
    begun = time.perf_counter()
    found: dict[str, Any] = {
        "health": dict(controller.health),
        "data": data_values(controller.data),
    }
    found["seconds"] = controller.provenance.get("seconds")
    found["parameters"] = controller.network.network.parameter_count
    found["along_clips"] = _along_clips(row, controller, folder)
    found["paths"] = [asdict(each) for each in path_errors(controller)]
    if row.seed == 0 and row.network in _LONG_RUNS[row.data]:
        whole, minutes = survival(controller, minutes=10.0)
        found["ten_minutes"] = asdict(whole) | {"last": asdict(minutes[-1])}
    if row.network in ("vinn", "pfnn"):
        found["variation"] = asdict(run_variation(controller))
        if controller.network.network.is_stochastic:
            found["redrawn_each_frame"] = asdict(_redrawn_each_frame(controller))
    with contextlib.suppress(ParameterError):
        found["sensitivity"] = asdict(phase_sensitivity(controller))
    return found | {"measuring_seconds": time.perf_counter() - begun}


def _along_clips(row: Row, controller: Controller, folder: Path) -> dict[str, Any]:
    """Tables 2 and 3 over runs that begin in held-out clips and wish their trajectories."""
    held = set(controller.provenance["held_out"])
    store = open_store(folder / f"{row.data}.store").selected(
        lambda clip: (clip.source.path or clip.name) in held
    )
    phases = load_extractor(folder / f"{row.data}.{row.phases}") if controller.phases else None
    samples = ControllerSamples.read(store, controller.schema, phases, ends="continued")
    split = SampleSplit(np.zeros(0, np.int64), np.arange(len(samples)), frozenset(held))
    data = ControllerData(store, phases, controller.schema, samples, split, None)
    found = held_out_run(controller, data, CharacterSettings(foot_ik=False))
    assert found is not None
    run, schema = found.rollout, controller.schema
    motions = [MeasuredMotion.of_clip(run.clip(index), schema) for index in range(run.characters)]
    largest = controller.data["largest_contact_speed"]
    skating = [_skating(motion, largest) for motion in motions]
    return {
        "runs": run.characters,
        "seconds": len(run) / schema.fps,
        "joint_rotation": _interval([each.rotation_rates.mean() for each in motions]),
        "joint_rotation_of_the_clips": _interval(found.movement),
        "jerk": _interval([each.jerks.mean() for each in motions]),
        "jerk_below_8_hz": _interval([each.by_speed["jerk_below_8_hz"].mean() for each in motions]),
        "skating": _interval(skating),
        "alive": float(run.alive[:, -1].mean()),
    }


def _skating(motion: MeasuredMotion, largest: float) -> float:
    speeds = motion.contact_speeds()
    return float(speeds.mean() / largest) if len(speeds) else 0.0


def _interval(values: Any) -> list[float]:
    """Mean, and the bounds of its 95 % interval over runs."""
    values = np.asarray(values, np.float64)
    picks = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    low, high = np.percentile(values[picks].mean(1), (2.5, 97.5))
    return [float(values.mean()), float(low), float(high)]


def _redrawn_each_frame(controller: Controller) -> Variation:
    """The same network drawing every frame instead of every step."""
    network = controller.network.network
    kept = network.config
    network.config = replace(kept, redraw="frame")
    try:
        return run_variation(controller)
    finally:
        network.config = kept


def main() -> None:
    """Train and measure what is missing; print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", nargs="*")
    parser.add_argument("--train-only", action="store_true")
    parser.add_argument("--unroll-frames", type=int, default=1, help="training.unroll_frames")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for row in all_rows() if not options.rows or row.name in options.rows]
    rows = [replace(row, unroll_frames=options.unroll_frames) for row in rows]
    read: dict[Any, ControllerData] = {}
    for row in rows:
        begun = time.perf_counter()
        controller = trained(row, options.folder, read)
        given = options.folder / f"{row.name}.json"
        if not options.train_only and not given.exists():
            content = measured(row, controller, options.folder)
            with atomic_write(given) as file:
                file.write(json.dumps(content, indent=1).encode())
        print(row.name, f"{time.perf_counter() - begun:.0f} s", flush=True)
    files = {row.name: options.folder / f"{row.name}.json" for row in rows}
    print(
        tables(
            {name: json.loads(file.read_bytes()) for name, file in files.items() if file.exists()}
        )
    )


if __name__ == "__main__":
    main()
