"""Learning a controller from a store and the phases of its clips, by Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from controllers.configuration import ControllerConfig
from controllers.controller import Controller
from controllers.data_measures import measured_data
from controllers.lesson import ControllerLesson
from controllers.networks.gaussian_process import GaussianProcess
from controllers.networks.registry import make_network, network_kind
from controllers.normalised import NormalisedController
from controllers.phase_choice import phase_choice
from controllers.sample_split import SampleSplit
from controllers.samples import ControllerSamples, Ends, Tracks, schema_of_store
from controllers.schema import ControllerSchema
from controllers.schema_config import GATES_OF_PHASES
from controllers.starts import Starts
from controllers.training_health import training_health
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.features.frame_rows import reach_inside
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.piecewise import fit
from deepphase.phase.resume import resume_point, sole_training
from deepphase.phase.trainer import check_trainer, versions
from deepphase.phase.windows import interior_frames
from deepphase.progress import Progress

Array = np.ndarray

# Moments that a controller's file keeps to begin runs with.
_STARTS = 256
# Samples that a Gaussian process may choose from.
_FITTED = 40_000
# Clips whose own measures are taken, at most.
_MEASURED_CLIPS = 120


@dataclass(frozen=True, eq=False)
class Lessons:
    """All that a training learns from, read once: several networks may share it.

    Parameters
    ----------
    store
        The clips.
    phases
        What read their phases; None where there are none.
    schema
        What goes in and comes out.
    samples
        Pairs of frames.
    split
        Which are held out.
    tracks
        What gives a clip's tracks.
    """

    store: ClipStore
    phases: PhaseExtractor | None
    schema: ControllerSchema
    samples: ControllerSamples
    split: SampleSplit
    tracks: Tracks | None

    @classmethod
    def read(
        cls,
        store: ClipStore,
        config: ControllerConfig,
        phases: PhaseExtractor | None = None,
        *,
        tracks: Tracks | None = None,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Lessons:
        """Read the clips of a store as a recipe says.

        Parameters
        ----------
        tracks
            Gives the tracks of a clip, where the recipe names some.
        description
            A skeleton description, where names and structure do not tell which joint is which.

        Raises
        ------
        ParameterError, SkeletonError
            Where the recipe's network needs phases and there are none, they are of another rate,
            or the clips do not fit.
        """
        gate = network_kind(config.name).gate
        options, schema_config = config.training, config.schema
        if gate not in GATES_OF_PHASES:
            phases = None
        if phases is not None and phases.fps != store.fps:
            raise ParameterError(
                f"phases of {phases.fps:g} frames a second, clips of {store.fps:g}",
                hint=f"prepare the clips with --fps {phases.fps:g}",
            )
        if gate == "phase" and schema_config.phase_channel is None and phases is not None:
            channel = phase_choice(store, phases)[0] if phases.channels > 1 else 0
            schema_config = replace(schema_config, phase_channel=channel)
        schema = schema_of_store(
            store,
            gate,
            schema_config,
            channels=0 if phases is None else phases.channels,
            tracks=tracks,
            description=description,
        )
        samples = ControllerSamples.read(
            store,
            schema,
            phases,
            mirror=options.mirror,
            ends=_ends(store, schema, phases, options.ends),
            tracks=tracks,
            progress=progress,
        )
        split = SampleSplit.of_samples(samples, options.held_out, options.split_seed)
        return cls(store, phases, schema, samples, split, tracks)


def train_controller(
    lessons: Lessons,
    config: ControllerConfig,
    *,
    folder: str | Path,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> Controller | None:
    """Train a controller.

    Parameters
    ----------
    lessons
        What is learnt from, as `Lessons.read` read it with this recipe.
    config
        The recipe.
    folder
        Where the resume point is kept while the training runs.
    resume
        Go on from the resume point in `folder`; on a processor this ends in the same weights,
        bit for bit, as a training that was not interrupted.
    progress
        Called now and then; see `Progress`.
    trainer
        Options of `pytorch_lightning.Trainer`: accelerator, devices, precision, strategy ...

    Returns
    -------
    The controller; None in all processes but the first of a training on several devices.

    Raises
    ------
    ParameterError
        Where the recipe and the samples cannot go together.
    KeyboardInterrupt
        Where it was interrupted; the resume point stays.
    CheckpointError
        Where `resume` finds no resume point, or one of another training.
    """
    check_trainer(trainer)
    config = replace(config, schema=lessons.schema.config)
    options, samples, split = config.training, lessons.samples, lessons.split
    torch.manual_seed(options.seed)
    network = make_network(config.name, lessons.schema.dims, config.network)
    controller = NormalisedController(network, *samples.normalisations(split.train))
    told: dict[str, Any] = {"samples": len(samples), "training_samples": len(split.train)}
    if isinstance(network, GaussianProcess):
        _fit_process(controller, samples, split.train, options.seed, progress)
    else:
        lesson = ControllerLesson(controller, options, samples, split.train, split.held_out)
        with sole_training(Path(folder)):
            point = resume_point(Path(folder), fingerprint(config, lessons), resume=resume)
            runner = fit(lesson, point, resume=resume, progress=progress, trainer=trainer)
            if not runner.is_global_zero:
                return None
        told |= {"steps": runner.global_step, "precision": str(runner.precision)}
        controller.to("cpu")
    controller.eval()
    made = Controller(
        config=config,
        schema=lessons.schema,
        network=controller,
        skeleton=lessons.store.skeleton,
        starts=_starts(lessons),
        phases={} if lessons.phases is None else {"sha256": lessons.phases.sha256},
        data=_data(lessons),
        provenance=told | _provenance(lessons, config),
    )
    return replace(made, health=training_health(made, lessons, progress))


def fingerprint(config: ControllerConfig, lessons: Lessons) -> dict[str, Any]:
    """What two trainings must share for one to go on where the other stopped."""
    samples = lessons.samples
    some = slice(None, None, max(len(samples) // 1000, 1))
    return {
        "config": config.as_mapping(),
        "schema": lessons.schema.as_mapping(),
        "samples": len(samples),
        "runs": len(samples.run_starts),
        "learnt_rows": int(lessons.split.train.sum(dtype=np.int64)),
        "phases": None if lessons.phases is None else lessons.phases.sha256,
        "checksum": float(np.abs(samples.inputs[some]).sum(dtype=np.float64)),
    }


def _ends(
    store: ClipStore, schema: ControllerSchema, phases: PhaseExtractor | None, rule: str
) -> Ends:
    if rule != "auto":
        return "left_out" if rule == "left_out" else "continued"
    kept = 0
    for length in store.lengths.tolist():
        inside = reach_inside(length, schema.config.offsets_s, store.fps)
        if phases is not None:
            inside = inside & interior_frames(length, phases.window)
        kept += int(inside.sum())
    return "left_out" if 2 * kept >= store.frames else "continued"


def _fit_process(
    controller: NormalisedController,
    samples: ControllerSamples,
    rows: Array,
    seed: int,
    progress: Progress | None,
) -> None:
    if progress is not None:
        progress("fitting", 0, 1, "Gaussian processes")
    if len(rows) > _FITTED:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _FITTED, replace=False))
    inputs, gate, outputs = (
        torch.from_numpy(np.asarray(each[rows]))
        for each in (samples.inputs, samples.gate, samples.outputs)
    )
    network = controller.network
    assert isinstance(network, GaussianProcess)
    network.fit(*controller.normalised(inputs, gate), controller.target(outputs))
    if progress is not None:
        progress("fitting", 1, 1, "")


def _starts(lessons: Lessons) -> Starts:
    """Moments spread evenly over the training clips, each value of the label among them."""
    rows, schema = lessons.split.train, lessons.schema
    groups = [rows]
    if schema.config.label:
        columns = lessons.store.label_column(schema.config.label)
        value_of = dict(zip(lessons.store.names, columns.tolist(), strict=True))
        samples = lessons.samples
        of_row = np.array([value_of[name] for name in samples.names])[samples.run_of(rows)]
        groups = [rows[of_row == value] for value in schema.label_values]
    each = max(_STARTS // len(groups), 1)
    chosen = [
        group[np.unique(np.linspace(0, len(group) - 1, each).astype(np.int64))]
        for group in groups
        if len(group)
    ]
    return Starts.of_samples(lessons.samples, np.unique(np.concatenate(chosen)))


def _data(lessons: Lessons) -> Mapping[str, Any]:
    store = lessons.store
    count = min(_MEASURED_CLIPS, len(store))
    some = np.unique(np.linspace(0, len(store) - 1, count).astype(int))
    return measured_data((store.clip(int(index)) for index in some), lessons.schema)


def _provenance(lessons: Lessons, config: ControllerConfig) -> dict[str, Any]:
    store = lessons.store
    return {
        "clips": len(store),
        "minutes": store.minutes,
        "held_out": sorted(lessons.split.sources),
        "seed": config.training.seed,
        "data": {
            "store": None if store.path is None else Path(store.path).name,
            "skeleton": store.group,
            "files": sorted({source.path for source in store.sources}),
        },
        "versions": versions(),
    }
