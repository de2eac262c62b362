"""Training of controllers on the clips of a store and their phases, with Lightning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepphase.arrays import Array
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_batches import ControllerBatches
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.training.captured_detail import captured_detail
from deepphase.controllers.training.health import training_health
from deepphase.controllers.training.module import ControllerModule, new_network
from deepphase.training.task import TrainedTask, check_trainer, is_first_process, run_task, versions
from deepphase.work import Progress, report

# Maximum number of samples that a network is fitted to.
_MAX_FITTED = 40_000


def train_controller(
    data: ControllerData,
    config: ControllerConfig,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> Controller | None:
    """Train a controller.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    data
        Training data, from `ControllerData.read` with this config.
    config
        Config of the network and of its training.

    Returns
    -------
    The controller. In a training on several devices, None in all processes but the first.

    Raises
    ------
    ParameterError
        If the config does not fit the samples.
    """
    check_trainer(trainer)
    config = replace(config, schema=data.schema.config)
    torch.manual_seed(config.training.seed)
    controller = new_network(config, data)
    if controller.network.is_fitted:
        if not is_first_process():
            return None
        _fit_network(controller, data.samples, data.split.train, config.training.seed, progress)
        return measured_controller(controller, config, data, progress=progress)

    def result(_: object, module: ControllerModule, run: dict[str, Any]) -> Controller:
        provenance = {**run, **module.restore_best()}
        return measured_controller(
            controller, config, data, provenance=provenance, progress=progress
        )

    task = TrainedTask(
        config.training.seed,
        data=lambda: ControllerBatches(data, config),
        module=lambda batches: ControllerModule(batches, controller),
        fingerprint=lambda _: training_fingerprint(config, data),
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


def measured_controller(
    network: NormalisedController,
    config: ControllerConfig,
    data: ControllerData,
    *,
    provenance: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Controller:
    """The controller of a trained network, measured on the held-out samples of `data`.

    Parameters
    ----------
    network
        Such as `ControllerModule.controller`; it is moved to the CPU and set to evaluation mode.
    provenance
        Further entries of the controller's provenance.
    """
    samples = {"samples": len(data.samples), "training_samples": len(data.split.train)}
    made = data.controller(
        network, config, {**samples, **(provenance or {}), **_provenance(data, config)}
    )
    options = config.training
    detail = captured_detail(
        made,
        data,
        options.detail_minutes,
        balance=options.balance,
        seed=options.seed,
        progress=progress,
    )
    made = replace(made, detail=detail)
    return replace(made, health=training_health(made, data, progress))


def training_fingerprint(config: ControllerConfig, data: ControllerData) -> dict[str, Any]:
    """Values that must be equal for one training to continue another."""
    samples = data.samples
    some = slice(None, None, max(len(samples) // 1000, 1))
    return {
        "config": config.as_mapping(),
        "schema": data.schema.as_mapping(),
        "samples": len(samples),
        "runs": len(samples.run_starts),
        "learnt_rows": int(data.split.train.sum(dtype=np.int64)),
        "phases": None if data.phases is None else data.phases.sha256,
        "checksum": float(np.abs(samples.inputs[some]).sum(dtype=np.float64)),
    }


def _fit_network(
    controller: NormalisedController,
    samples: ControllerSamples,
    rows: Array,
    seed: int,
    progress: Progress | None,
) -> None:
    report(progress, "fitting", 0, 1, type(controller.network).__name__)
    if len(rows) > _MAX_FITTED:
        rows = np.sort(np.random.default_rng(seed).choice(rows, _MAX_FITTED, replace=False))
    inputs, gate, outputs = (
        torch.from_numpy(np.asarray(each[rows]))
        for each in (samples.inputs, samples.gate, samples.outputs)
    )
    controller.network.fit(*controller.normalised(inputs, gate), controller.target(outputs, inputs))
    report(progress, "fitting", 1, 1)


def _provenance(data: ControllerData, config: ControllerConfig) -> dict[str, Any]:
    store = data.store
    return {
        "clips": len(store),
        "minutes": store.minutes,
        "held_out": sorted(data.split.sources),
        "seed": config.training.seed,
        "data": store.origin,
        "versions": versions(),
    }
