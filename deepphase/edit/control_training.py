"""Training of the networks that lead from paths, or from hands and feet, to an editor's motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.config import require
from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.editor import MotionEditor
from deepphase.edit.effector_motion import effector_joints
from deepphase.edit.motion_rows import root_velocities, smoothed_root
from deepphase.edit.networks import EffectorLimits, EffectorNetworks, PathLimits, PathNetworks
from deepphase.edit.path_motion import Footsteps
from deepphase.edit.training import WindowData
from deepphase.errors import ParameterError
from deepphase.features.moment_kinds import source_kinds
from deepphase.motion.clip import Clip
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import resample
from deepphase.motion.root_trajectory import from_root_space, to_root_space
from deepphase.phase.signal_corpus import held_out_sources
from deepphase.training.resumable import ResumableModule
from deepphase.training.task import TrainedTask, run_task
from deepphase.work import Progress, reported

# Seconds of a training window, and the speed in m/s (on the editor's body) from which frames
# travel; windows have at least this share of such frames.
_WINDOW_S, _TRAVELS, _TRAVEL_SHARE = 3.2, 0.3, 0.25
_LEARNING_RATE = 1e-3
# Weight in the loss of the weights' mean magnitude (Holden et al. 2016), and of the footsteps.
_SPARSITY, _STEPS = 0.01, 0.2
# Windows in a batch, and in one of hands and feet: clips of blows are few, and small batches make
# more steps.
_BATCH, _EFFECTOR_BATCH = 32, 8
# Probabilities that a hand or a foot is known in a whole window, or nowhere in it; otherwise it is
# in a stretch.
_WHOLE, _NOWHERE = 0.6, 0.25
# Share of the frames whose speeds, turns and places are within the limits.
_PATH_PERCENTILE, _EFFECTOR_PERCENTILE = 99.5, 99.9
# What each frame has, as `PathData` keeps it.
_FRAMES = ("rows", "velocities", "contacts", "steps", "known", "places")


class PathData(WindowData):
    """Windows of clips for `ControlModule` by the names of `_FRAMES`, held out as the editor is."""

    def __init__(
        self,
        store: ClipStore,
        editor: MotionEditor,
        *,
        windows: int,
        batch_size: int,
        seed: int = 0,
        labels: Mapping[str, Sequence[str]] | None = None,
        effectors: bool = False,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        require(windows > 0, f"windows must be positive, not {windows}")
        self._windows, self.batch_size = windows, batch_size
        stride = editor.network.stride
        self.window = max(round(_WINDOW_S * editor.fps / stride), 2) * stride
        chosen = store if not labels else store.selected(dict(labels))
        mapping = editor.space.mirror_map(chosen.clip(0)) if len(chosen) else None
        self.clips = len(chosen)
        self.for_effectors, self.effectors = effectors, effector_joints(editor.space)
        held, share = _held_out(chosen, editor), 0.0 if effectors else _TRAVEL_SHARE
        parts: list[dict[str, Array]] = []
        centres: dict[bool, list[Array]] = {False: [], True: []}
        stops = [0]
        for clip in reported(progress, "reading clips", chosen, len(chosen)):
            on_hips = editor.space.on_hips(clip)
            for version in [on_hips] if mapping is None else [on_hips, mirrored(on_hips, mapping)]:
                part = _frames_of_clip(version, editor, self.effectors, smooth=effectors)
                here = _travelling(part["velocities"], self.window, share)
                centres[(clip.source.path or clip.name) in held].append(stops[-1] + here)
                stops.append(stops[-1] + len(part["rows"]))
                parts.append(part)
        train, validation = (
            np.concatenate([*centres[side], []]).astype(np.int64) for side in (False, True)
        )
        if not len(train):
            lacking, kind = ("", "") if effectors else ("that travels for ", " that walk or run")
            raise ParameterError(
                f"there is no clip {lacking}as long as a window",
                hint=f"path networks need clips of {_WINDOW_S:g} s and more{kind}",
            )
        self.set_windows(train, validation if len(validation) else train, seed)
        # All frames: (frames, values) by name, and whether a frame and the next are of one clip.
        self.frames = {
            name: torch.from_numpy(np.concatenate([part[name] for part in parts]))
            for name in parts[0]
        }
        self.same_clip = ~np.isin(np.arange(1, stops[-1]), stops)

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training."""
        return self._windows

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> dict[str, Tensor]:
        """Windows around these middle frames."""
        self.frames = {name: own.to(batch.device) for name, own in self.frames.items()}
        index = self.frames_of(batch)
        return {name: own[index].transpose(1, 2) for name, own in self.frames.items()}


def _held_out(store: ClipStore, editor: MotionEditor) -> set[str]:
    """Files that were held out of the editor's training, or others where it knows none of them."""
    sources = [store.sources[i].path or store.names[i] for i in range(len(store))]
    held = set(editor.provenance.get("held_out", ())) & set(sources)
    if held and held != set(sources):
        return held
    frames: dict[str, int] = {}
    for source, length in zip(sources, store.lengths.tolist(), strict=True):
        frames[source] = frames.get(source, 0) + int(length)
    options = editor.config.training
    return held_out_sources(frames, options.held_out, options.seed, source_kinds(store))


def _frames_of_clip(
    clip: Clip, editor: MotionEditor, effectors: Mapping[str, int], *, smooth: bool
) -> dict[str, Array]:
    """(frames, values) of a clip by name, relative to the root, or to the smoothed root."""
    sampled = resample(clip, editor.fps)
    rows, root = editor.space.rows(sampled)
    path, size = smoothed_root(root, editor.fps), editor.space.size_of(sampled)
    velocities = root_velocities(path, editor.fps)
    velocities[:, :2] /= size
    points = to_root_space(from_root_space(rows.points * size, root), path) / size
    if smooth:
        rows = replace(rows, points=points, velocities=velocities)
    steps = Footsteps.from_contacts(rows.contacts > 0.5, editor.fps)
    frames = (
        editor.normalised(rows.array()),
        velocities,
        2.0 * rows.contacts - 1.0,
        steps.array(),
        steps.known[:, None],
        points[:, list(effectors.values())].reshape(len(rows), -1),
    )
    return {name: values.astype(np.float32) for name, values in zip(_FRAMES, frames, strict=True)}


def _travelling(velocities: Array, window: int, share: float) -> Array:
    """Middle frames of the windows of a clip that travel for at least this share of the time."""
    if len(velocities) < window:
        return np.zeros(0, np.int64)
    moving = np.linalg.norm(velocities[:, :2], axis=1) > _TRAVELS
    counts = np.convolve(moving, np.ones(window), mode="valid")
    return np.flatnonzero(counts >= share * window) + window // 2


class ControlModule(ResumableModule):
    """Motion from paths, or from hands and feet, through a frozen editor."""

    network: PathNetworks | EffectorNetworks
    warmup = 0.03

    def __init__(self, data: PathData, editor: MotionEditor) -> None:
        make = _effector_networks if data.for_effectors else _path_networks
        super().__init__(make(data, editor), learning_rate=_LEARNING_RATE, weight_decay=0.0)
        scale = np.maximum(data.frames["velocities"].numpy().std(axis=0), 1e-3)
        self.network.velocity_scale.copy_(torch.from_numpy(scale))
        # Not registered: its weights are neither trained nor saved in checkpoints.
        self._decoder = [editor.network.requires_grad_(False)]

    def training_step(self, batch: dict[str, Tensor]) -> Tensor:
        return self.stepped(self._loss, *batch.values(), self._known(batch, self.position))

    def _loss(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        *values, known = tensors
        batch = dict(zip(_FRAMES, values, strict=True))
        motion = self._error(batch, known).square().mean()
        weights = [weight.abs().mean() for weight in self.network.parameters() if weight.ndim > 1]
        loss = motion + _SPARSITY * torch.stack(weights).mean()
        network, has_cycle = self.network, batch["known"][:, 0]
        if isinstance(network, PathNetworks):
            wanted = (batch["steps"] - network.step_mean[:, None]) / network.step_scale[:, None]
            errors = (network.footsteps(batch["velocities"]) - wanted).square().mean(dim=1)
            loss = loss + _STEPS * (errors * has_cycle).sum() / has_cycle.sum().clamp(min=1)
        return loss, motion

    def validation_step(self, batch: dict[str, Tensor], index: int) -> None:
        error = self._error(batch, self._known(batch, index))
        self.add_validated(error.square().sum(), batch["rows"].square().sum())

    def _known(self, batch: dict[str, Tensor], seed: int) -> Tensor:
        """(batch, effectors, frames) where places are known; see `random_known`."""
        places, network = batch["places"], self.network
        effectors = 0 if isinstance(network, PathNetworks) else len(network.limits.joints)
        return random_known(len(places), effectors, places.shape[-1], seed).to(places)

    def _error(self, batch: dict[str, Tensor], known: Tensor) -> Tensor:
        """(batch, values, frames) what the networks make of windows, less their rows."""
        rows, velocities, places = batch["rows"], batch["velocities"], batch["places"]
        network, decode = self.network, self._decoder[0].to(rows.device).decode
        if isinstance(network, PathNetworks):
            return decode(network.hidden(velocities, batch["contacts"])) - rows
        return network.motion(velocities, places, known, decode) - rows


def _path_networks(data: PathData, editor: MotionEditor) -> PathNetworks:
    """Untrained networks with the limits and the scale of footsteps of data."""
    velocities = data.frames["velocities"].numpy()
    speeds = np.linalg.norm(velocities[:, :2], axis=1)
    moving = speeds > _TRAVELS
    limits = PathLimits(
        float(np.percentile(speeds[moving], _PATH_PERCENTILE)),
        float(np.median(speeds[moving])),
        float(np.percentile(np.abs(velocities[moving, 2]), _PATH_PERCENTILE)),
        data.clips,
    )
    networks = PathNetworks(editor.layout, editor.config.network, limits)
    steps = data.frames["steps"][data.frames["known"][:, 0] > 0].numpy()
    if len(steps):
        networks.step_mean.copy_(torch.from_numpy(steps.mean(axis=0)))
        networks.step_scale.copy_(torch.from_numpy(np.maximum(steps.std(axis=0), 0.05)))
    return networks


def _effector_networks(data: PathData, editor: MotionEditor) -> EffectorNetworks:
    """Untrained networks with the limits and the scale of places of data."""
    flat = data.frames["places"].numpy()
    places = flat.reshape(len(flat), -1, 3)
    speeds = np.linalg.norm(np.diff(places, axis=0), axis=-1)[data.same_clip] * editor.fps
    highest, farthest = (
        tuple(np.percentile(values, _EFFECTOR_PERCENTILE, axis=0).tolist())
        for values in (speeds, np.linalg.norm(places, axis=-1))
    )
    limits = EffectorLimits(tuple(data.effectors), highest, farthest, data.clips)
    networks = EffectorNetworks(editor.layout, editor.config.network, limits)
    networks.place_mean.copy_(torch.from_numpy(flat.mean(axis=0)))
    networks.place_scale.fill_(max(float(np.sqrt(flat.var(axis=0).mean())), 1e-3))
    return networks


def random_known(batch: int, effectors: int, frames: int, seed: int) -> Tensor:
    """(batch, effectors, frames) bool: known in a whole window, nowhere, or in a stretch."""
    generator = torch.Generator().manual_seed(seed)
    kind = torch.rand(batch, effectors, 1, generator=generator)
    ends = torch.rand(2, batch, effectors, 1, generator=generator).sort(0).values * frames
    index = torch.arange(frames)
    stretch = (index >= ends[0]) & (index < ends[1])
    return (kind < _WHOLE) | ((kind >= _WHOLE + _NOWHERE) & stretch)


def train_path(
    store: ClipStore,
    editor: MotionEditor,
    *,
    windows: int = 16_000,
    batch_size: int | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    effectors: bool = False,
    labels: Mapping[str, Sequence[str]] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **trainer: Any,
) -> MotionEditor | None:
    """Train the networks that lead from paths, or from hands and feet, to an editor's motion.

    Further parameters are those of :func:`deepphase.training.task.run_task`, which also says what
    is raised.

    Parameters
    ----------
    store
        Clips of the editor's skeleton; without `effectors`, those that walk or run are taken.
    editor
        The editor; its autoencoder is not changed.
    windows, batch_size
        Number of windows to train on, and of those in a batch on each device: 32 by default, or 8
        with `effectors`.
    effectors
        Train the networks of hands and feet instead of those of paths.
    labels
        Take only clips with these labels: label -> values.

    Returns
    -------
    The editor with these networks; None in all processes but the first of a training on several
    devices.

    Raises ParameterError if no clip has the labels, travels or is long enough; SkeletonError if the
    clips have another skeleton.
    """
    options = {
        "windows": windows,
        "batch_size": batch_size or (_EFFECTOR_BATCH if effectors else _BATCH),
        "seed": seed,
    }

    def result(_: PathData, module: ControlModule, run: object) -> MotionEditor:
        editor.network.to("cpu")
        network = module.network.to("cpu").eval()
        if isinstance(network, PathNetworks):
            return replace(editor, path=network)
        return replace(editor, effectors=network)

    task = TrainedTask[PathData, ControlModule, MotionEditor](
        seed,
        data=lambda: PathData(
            store, editor, **options, labels=labels, effectors=effectors, progress=progress
        ),
        module=lambda data: ControlModule(data, editor),
        fingerprint=lambda data: {
            "training": options,
            "editor": editor.config.as_mapping(),
            "frames": float(data.frames["rows"].abs().sum(dtype=torch.float64)),
        },
        result=result,
    )
    return run_task(task, folder=folder, resume=resume, progress=progress, trainer=trainer)
