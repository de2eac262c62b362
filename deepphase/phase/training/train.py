"""Training of a phase model on a corpus of clips."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytorch_lightning as pl
import torch

from deepphase.arrays import Array, release_pages
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import holds_only_songs
from deepphase.corpus.prepare import corpus_of
from deepphase.corpus.songs import find_songs
from deepphase.errors import ParameterError
from deepphase.phase.config import ANY_SKELETON, PhaseConfig
from deepphase.phase.model import PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus, Split
from deepphase.phase.training.bodies import BodyData, BodyModule
from deepphase.phase.training.data import PhaseData
from deepphase.phase.training.module import PhaseModule
from deepphase.training.task import TrainedTask, run_task
from deepphase.work import Progress

# Of a model for any skeleton, whose batches differ more from each other.
_LARGEST_GRADIENT = 1.0
# Frames that are summed at once.
_BLOCK = 65_536


def train_phase(
    clips: ClipStore | SignalCorpus | Sequence[ClipStore] | str | Path,
    config: PhaseConfig | None = None,
    *,
    folder: str | Path | None = None,
    resume: bool = False,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
    watch: Watch | None = None,
    memory: int | None = None,
    start: PhaseModel | None = None,
    **trainer: Any,
) -> PhaseModel | None:
    """Train a phase model on all clips of a store, of several skeletons, or on songs.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    clips
        Clips of one skeleton, or the path of a store, a folder or a file of them, or of songs;
        several stores, for a model for any skeleton; or signals, as of songs
        (`SignalCorpus.from_songs`).
    config
        Network and training. If None, `configs/phase/default.yaml`, and `any_skeleton.yaml` for
        several skeletons.
    description
        A skeleton description (`load_description`), for skeletons whose roles cannot be inferred
        from names and structure.
    watch
        Called with a `TrainingView` about twenty times and at the end.
    memory
        Bytes of memory for the signals of each process; None for as much as they take. Larger
        signals are kept in a file, from which windows are drawn.
        Signals of several skeletons are in memory.
    start
        Phase model whose weights the training starts from, of the same network as the config. Its
        joints must include those that move in the clips.

    Raises
    ------
    ParameterError
        If the config does not fit the clips.
    """
    several = isinstance(clips, Sequence) and not isinstance(clips, str)
    given = config or PhaseConfig.load(ANY_SKELETON if several else "default")
    if given.any_skeleton and memory is not None:
        raise ParameterError(
            "a limit of memory applies to models of one skeleton or of songs",
            hint="leave it out, or choose another config",
        )

    def data() -> PhaseData:
        read: Any = clips
        if isinstance(read, str | Path):
            read = _signals_at(read, description, progress)
        if given.any_skeleton:
            if isinstance(read, SignalCorpus):
                raise ParameterError(
                    "a model for any skeleton is trained on stores, not on signals",
                    hint="give stores, or choose another config",
                )
            stores = read if several else [read]
            return BodyData(stores, given, description=description, progress=progress)
        if several:
            raise ParameterError(
                f"{len(read)} stores are given, but a model of one skeleton is trained on one",
                hint=f"the config {ANY_SKELETON!r} trains one model on several",
            )
        return PhaseData(read, given, description=description, progress=progress, memory=memory)

    def module(data: PhaseData) -> PhaseModule:
        # The data choose what the config leaves to the body.
        kind = BodyModule if given.any_skeleton else PhaseModule
        task_module = kind(data.config, data.signals)
        if start is not None:
            task_module.network.load_state_dict(_weights(start, data.config, data))
        return task_module

    task = TrainedTask(
        given.training.seed,
        data=data,
        module=module,
        fingerprint=lambda data: (
            phase_fingerprint(data.config, data.corpus)
            | ({} if start is None else {"start": start.sha256})
        ),
        result=lambda data, module, run: module.phase_model(
            data, provenance=run, progress=progress
        ),
        callbacks=lambda data: [] if watch is None else [Watcher(watch, data)],
    )
    if given.any_skeleton:
        trainer = {"gradient_clip_val": _LARGEST_GRADIENT, **trainer}
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)


def _signals_at(
    path: str | Path, description: Mapping[str, Any] | None, progress: Progress | None
) -> ClipStore | SignalCorpus:
    """The clips or songs at a path."""
    if holds_only_songs(path):
        return SignalCorpus.from_songs(find_songs(path), progress=progress)
    return corpus_of(path, description=description, progress=progress)


def _weights(start: PhaseModel, config: PhaseConfig, data: PhaseData) -> dict[str, torch.Tensor]:
    """Weights of a model for the signals of a training, which may be fewer."""
    if start.config.network != config.network or start.fps != data.signals.fps:
        raise ParameterError(
            "the training starts from a model of another network",
            hint="train with the network options and the frame rate of that model",
        )
    names, own = list(start.signals.names), data.signals.names
    missing = [name for name in own if name not in names]
    if missing:
        raise ParameterError(
            f"the model that the training starts from has no signal {missing[0]!r}",
            hint=f"it reads {', '.join(dict.fromkeys(start.signals.groups))}",
        )
    columns = [names.index(name) for name in own]
    weights = dict(start.network.state_dict())
    axes = {"encoder_in.weight": 1, "decoder_out.weight": 2, "decoder_out.bias": 0}
    for name, axis in axes.items():
        weights[name] = weights[name].index_select(axis, torch.tensor(columns))
    return weights


def phase_fingerprint(config: PhaseConfig, corpus: SignalCorpus) -> dict[str, Any]:
    """Values that two trainings must share for one to continue the other's resume point."""
    return {
        "config": asdict(config),
        "signals": corpus.signals.names,
        "fps": corpus.signals.fps,
        "frames": len(corpus.values),
        "clips": len(corpus.starts),
        "checksum": _checksum(corpus.values),
    }


def _checksum(values: Array) -> float:
    if not isinstance(values, np.memmap):
        return float(np.abs(values).sum(dtype=np.float64))
    total = 0.0
    for first in range(0, len(values), _BLOCK):
        total += float(np.abs(values[first : first + _BLOCK]).sum(dtype=np.float64))
        release_pages(values)
    return total


@dataclass(frozen=True, eq=False)
class TrainingView:
    """Snapshot of a training; a copy that is safe to keep and use.

    `loss`: mean squared error, (m/s)^2, over the windows since the view before. `split`: training
    frames and held-out frames.
    """

    windows: int
    of: int
    epoch: float
    loss: float
    explained: float
    model: PhaseModel
    corpus: SignalCorpus
    split: Split


Watch = Callable[[TrainingView], None]


class Watcher(pl.Callback):
    """Callback that passes on a snapshot after each measurement of held-out windows."""

    def __init__(self, watch: Watch, data: PhaseData) -> None:
        self._watch, self._data = watch, data
        self._sum, self._batches = torch.zeros(()), 0

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: Any, *_: Any, **__: Any) -> None:
        module: PhaseModule = pl_module
        self._sum = self._sum.to(module.last_loss.device) + module.last_loss
        self._batches += 1

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        segments, every = trainer.current_epoch + 1, trainer.check_val_every_n_epoch or 1
        if not trainer.is_global_zero or (segments % every and segments != trainer.max_epochs):
            return
        module: PhaseModule = pl_module  # type: ignore[assignment]
        data = self._data
        taken = data.batch_size * trainer.world_size * trainer.global_step
        samples = min(taken, data.total_samples)
        # A copy: looking at it leaves the training's own modes and device alone.
        network = copy.deepcopy(module.network).to("cpu")
        self._watch(
            TrainingView(
                windows=samples,
                of=data.total_samples,
                epoch=samples / max(data.epoch_samples, 1),
                loss=float(self._sum) / max(self._batches, 1),
                explained=module.explained,
                model=PhaseModel(network, data.config, data.signals),
                corpus=data.corpus,
                split=data.split,
            )
        )
        self._sum, self._batches = torch.zeros(()), 0
