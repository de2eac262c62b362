"""Distances between clips in the space of hidden units, beside phases and poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.editor import MotionEditor
from deepphase.edit.motion_rows import SampledMotion
from deepphase.motion.clip import Clip
from deepphase.phase.model import PhaseModel
from deepphase.progress import Progress


@dataclass(frozen=True)
class SimilarClip:
    """A clip with its distances from another.

    Parameters
    ----------
    index
        Its index in the store.
    hidden
        Distance of the extremes of the hidden units over time.
    pose
        Metres: root mean square distance of the joints in the mean poses, in root space.
    phases
        Distance of the extremes of the phase manifold; None without a phase model.
    """

    index: int
    hidden: float
    pose: float
    phases: float | None = None


@dataclass(frozen=True, eq=False)
class _Traits:
    hidden: Array
    pose: Array
    phases: Array | None


def similar_clips(
    clip: Clip,
    store: ClipStore,
    editor: MotionEditor,
    *,
    model: PhaseModel | None = None,
    progress: Progress | None = None,
) -> list[SimilarClip]:
    """The clips of a store by their distance in hidden units, the nearest first.

    The distance is that of the largest and of the smallest value of each hidden unit over time: it
    does not depend on when in a clip something happens, nor on the clip's length.

    Parameters
    ----------
    clip
        A clip of the editor's body.
    store
        Clips of the same skeleton.
    editor
        The editor.
    model
        A phase model of this skeleton, for the distance of phases beside it.
    progress
        Called after each clip; see `Progress`.

    Raises
    ------
    SkeletonError
        If a hierarchy is not the editor's.

    References
    ----------
    Holden 2017 (thesis), equation 4.4.
    """
    own = _traits(clip, editor, model)
    found = []
    for index in range(len(store)):
        other = _traits(store.clip(index), editor, model)
        phases = None
        if own.phases is not None and other.phases is not None:
            phases = float(np.linalg.norm(own.phases - other.phases))
        hidden = float(np.linalg.norm(own.hidden - other.hidden))
        apart = np.linalg.norm(own.pose - other.pose, axis=-1)
        found.append(SimilarClip(index, hidden, float(np.sqrt(np.mean(apart**2))), phases))
        if progress is not None:
            progress("comparing", index + 1, len(store), store.names[index])
    return sorted(found, key=lambda each: each.hidden)


def _traits(clip: Clip, editor: MotionEditor, model: PhaseModel | None) -> _Traits:
    rows = SampledMotion.of_clip(clip, editor.space).rows
    hidden = editor.encode(rows)[0].numpy().T
    joints = editor.space.points.point_joints >= 0
    phases = None if model is None else _extremes(model.encode(clip).parameters.manifold())
    return _Traits(_extremes(hidden), rows.points[:, joints].mean(axis=0), phases)


def _extremes(values: Array) -> Array:
    """(2 * channels,) largest and smallest values of (frames, channels)."""
    return np.concatenate([values.max(axis=0), values.min(axis=0)])
