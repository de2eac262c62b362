"""Windows of clips for the networks that lead from paths, or hands and feet, to motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.control_networks import effector_joints
from deepphase.edit.data import WindowData
from deepphase.edit.editor import MotionEditor
from deepphase.edit.footsteps import Footsteps
from deepphase.edit.motion_rows import root_velocities
from deepphase.edit.smoothed_root import smoothed_root
from deepphase.errors import ParameterError
from deepphase.features.moment_kinds import source_kinds
from deepphase.motion.clip import Clip
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import resample
from deepphase.motion.root_trajectory import from_root_space, to_root_space
from deepphase.phase.windows import held_out_sources
from deepphase.progress import Progress

# Seconds of a training window, and the speed in m/s (on the editor's body) from which frames
# travel; windows have at least this share of such frames.
_WINDOW_S, TRAVELS, _TRAVEL_SHARE = 3.2, 0.3, 0.25


@dataclass(frozen=True)
class PathTraining:
    """Training of path networks.

    Parameters
    ----------
    windows
        Number of windows to train on.
    batch_size
        Windows in a batch, on each device.
    seed
        Random seed of the initial weights and of the order of the windows.

    Raises
    ------
    ParameterError
        If a number is not positive.
    """

    windows: int = 16_000
    batch_size: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("windows", "batch_size"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be positive, not {getattr(self, name)}")


@dataclass(frozen=True)
class PathWindows:
    """A batch of windows; or all frames, then (frames, ...) without batch, and frames first.

    Parameters
    ----------
    rows
        (batch, values, frames) normalised rows.
    velocities
        (batch, 3, frames) of the smoothed root.
    contacts
        (batch, feet, frames) 1 on the floor, -1 off it.
    steps
        (batch, steps, frames) footsteps.
    effectors
        (batch, 3 effectors, frames) metres on the editor's body: hands and feet, relative to the
        smoothed root.
    known
        (batch, 1, frames) bool: whether the footsteps are known.
    """

    rows: Tensor
    velocities: Tensor
    contacts: Tensor
    steps: Tensor
    effectors: Tensor
    known: Tensor

    def __len__(self) -> int:
        return len(self.rows)

    def tensors(self) -> list[Tensor]:
        """The fields in their order."""
        return [getattr(self, each.name) for each in fields(self)]


class PathData(WindowData):
    """Windows of clips, for `ControlModule` in any trainer.

    Files that were held out of the editor's training are held out again.

    Attributes
    ----------
    frames
        All frames.
    """

    def __init__(
        self,
        store: ClipStore,
        editor: MotionEditor,
        training: PathTraining,
        *,
        labels: Mapping[str, Sequence[str]] | None = None,
        effectors: bool = False,
        progress: Progress | None = None,
    ) -> None:
        super().__init__()
        self.training, self.batch_size = training, training.batch_size
        stride = editor.network.stride
        self.window = max(round(_WINDOW_S * editor.fps / stride), 2) * stride
        chosen = store if not labels else store.selected(dict(labels))
        mapping = editor.space.mirror_map(chosen.clip(0)) if len(chosen) else None
        self.labels, self.clips = dict(labels or {}), len(chosen)
        self.for_effectors, self.effectors = effectors, effector_joints(editor.space)
        share = 0.0 if effectors else _TRAVEL_SHARE
        held = self._held_out(chosen, editor)
        parts: list[list[Array]] = []
        centres: dict[bool, list[Array]] = {False: [], True: []}
        frames = 0
        for index in range(len(chosen)):
            clip = chosen.clip(index)
            on_hips = editor.space.on_hips(clip)
            versions = [on_hips] if mapping is None else [on_hips, mirrored(on_hips, mapping)]
            for each in versions:
                part = _frames_of_clip(each, editor, self.effectors, smooth=effectors)
                here = _travelling(part[1], self.window, share) + frames
                centres[(clip.source.path or clip.name) in held].append(here)
                parts.append(part)
                frames += len(part[0])
            if progress is not None:
                progress("reading clips", index + 1, len(chosen), clip.name)
        train, validation = (np.concatenate([*centres[side], []]) for side in (False, True))
        if not len(train):
            raise ParameterError(
                "there is no clip "
                f"{'as long as a window' if effectors else 'that travels for as long as a window'}",
                hint=f"path networks need clips of {_WINDOW_S:g} s and more"
                + ("" if effectors else " that walk or run"),
            )
        train, validation = train.astype(np.int64), validation.astype(np.int64)
        self.set_windows(train, validation if len(validation) else train, training.seed)
        arrays = (torch.from_numpy(np.concatenate(each)) for each in zip(*parts, strict=True))
        self.frames = PathWindows(*arrays)
        # (frames - 1,) whether a frame and the next one are of one clip.
        self.same_clip = np.ones(frames - 1, bool)
        self.same_clip[np.cumsum([len(part[0]) for part in parts])[:-1] - 1] = False

    @property
    def total_samples(self) -> int:
        """Number of windows in the whole training."""
        return self.training.windows

    def on_after_batch_transfer(self, batch: Tensor, dataloader_idx: int) -> PathWindows:
        """Windows around these middle frames."""
        if self.frames.rows.device != batch.device:
            self.frames = PathWindows(*(each.to(batch.device) for each in self.frames.tensors()))
        index = self.frames_of(batch)
        return PathWindows(*(each[index].transpose(1, 2) for each in self.frames.tensors()))

    def _held_out(self, store: ClipStore, editor: MotionEditor) -> set[str]:
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
) -> list[Array]:
    """Frames of a clip, (frames, ...) in the order of the fields of `PathWindows`."""
    sampled = resample(clip, editor.fps)
    rows, root = editor.space.rows(sampled)
    path, size = smoothed_root(root, editor.fps), editor.space.size_of(sampled)
    velocities = root_velocities(path, editor.fps)
    velocities[:, :2] /= size
    points = to_root_space(from_root_space(rows.points * size, root), path) / size
    places = points[:, list(effectors.values())].reshape(len(rows), -1)
    if smooth:
        rows = replace(rows, points=points, velocities=velocities)
    steps = Footsteps.of_contacts(rows.contacts > 0.5, editor.fps)
    contacts = 2.0 * rows.contacts - 1.0
    arrays = (editor.normalised(rows.array()), velocities, contacts, steps.array(), places)
    return [*(each.astype(np.float32) for each in arrays), steps.known[:, None]]


def _travelling(velocities: Array, window: int, share: float) -> Array:
    """Middle frames of the windows of a clip that travel for at least this share of the time."""
    frames = len(velocities)
    if frames < window:
        return np.zeros(0, np.int64)
    moving = np.linalg.norm(velocities[:, :2], axis=1) > TRAVELS
    counts = np.convolve(moving, np.ones(window), mode="valid")
    return np.flatnonzero(counts >= share * window) + window // 2
