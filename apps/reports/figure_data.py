"""Data of the figures of a model: clips with their phases, signals and colourings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.apps.reports.manifold_cloud import PhaseCloud, ground_speed
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.figures.colouring import Colouring
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import ClipPhases
from deepphase.progress import Progress

# Clips that are drawn by default, and clips with figures of their own.
_CLIPS, _DETAILED = 48, 4
# Values of a label that a legend can distinguish.
_MAX_VALUES = 12


@dataclass(frozen=True, eq=False)
class FigureData:
    """Clips of a store with their phases and signals.

    Parameters
    ----------
    model
        The model, or a baseline.
    chosen
        Indices of the clips in the store.
    phases
        Phases of each clip.
    signals
        (frames, signals) of each clip, m/s.
    labels
        Labels of each clip.
    left_out
        Number of the store's other clips.
    projection
        Projection of the manifold: the model's own, or the one that is saved beside it.
    cloud
        Frames of the clips as points of the manifold.
    """

    model: PhaseExtractor
    chosen: tuple[int, ...]
    phases: tuple[ClipPhases, ...]
    signals: tuple[Array, ...]
    labels: tuple[Mapping[str, str], ...]
    left_out: int
    projection: ManifoldProjection
    cloud: PhaseCloud

    @classmethod
    def read(
        cls,
        model: PhaseExtractor,
        store: ClipStore,
        *,
        projection_file: Path,
        progress: Progress | None = None,
    ) -> FigureData:
        """Encode some clips of a store, spread evenly."""
        chosen = _spread(store, model.window)
        phases, signals = [], []
        for done, index in enumerate(chosen, start=1):
            clip = store.clip(index)
            signals.append(model.signals.read(clip))
            phases.append(model.encode(clip))
            if progress is not None:
                progress("encoding", done, len(chosen), clip.name)
        projection = model.projection or _saved_projection(projection_file, phases)
        return cls(
            model,
            tuple(chosen),
            tuple(phases),
            tuple(signals),
            tuple(store.labels[index] for index in chosen),
            len(store) - len(chosen),
            projection,
            PhaseCloud.of(model, phases, projection),
        )

    def detailed(self) -> list[int]:
        """Indices of the clips with figures of their own: long clips, spread evenly."""
        lengths = np.array([_interior(each).sum() for each in self.phases])
        return _evenly(np.flatnonzero(lengths >= np.median(lengths)), _DETAILED)

    def inside(self, index: int) -> Array:
        """Interior frames of a clip; all frames if none is interior."""
        return np.flatnonzero(_interior(self.phases[index]))

    def colourings(self, names: Sequence[str] | None = None) -> dict[str, Colouring]:
        """Colourings of the cloud by name: clip, labels, frequency, speed, amplitude, time, phase.

        Parameters
        ----------
        names
            Names in this order; by default all, of the labels those with at least two and not too
            many values.
        """
        cloud, known = self.cloud, {"clip": self.cloud.by_clip()}
        usual = ["clip"]
        for name in dict.fromkeys(name for labels in self.labels for name in labels):
            values = [labels.get(name, "") for labels in self.labels]
            known.setdefault(name, cloud.by_label(name, values))
            usual += [name] if 2 <= len(set(values)) <= _MAX_VALUES and name not in usual else []
        measured = cloud.measured([ground_speed(self.model, values) for values in self.signals])
        known |= measured
        for name in names or ():
            if name not in known:
                raise ParameterError(
                    f"there is no colour {name!r}", hint=f"one of {', '.join(known)}"
                )
        return {name: known[name] for name in names or (*usual, *measured)}


def _interior(clip: ClipPhases) -> Array:
    return clip.interior if clip.interior.any() else np.ones(len(clip), bool)


def _evenly(indices: Array, count: int) -> list[int]:
    chosen = np.unique(np.linspace(0, len(indices) - 1, count).round().astype(int))
    return [int(indices[index]) for index in chosen]


def _spread(store: ClipStore, window: int) -> list[int]:
    whole = np.flatnonzero(store.lengths >= window)
    return _evenly(whole if whole.size else np.arange(len(store)), _CLIPS)


def _saved_projection(path: Path, phases: Sequence[ClipPhases]) -> ManifoldProjection:
    """Load the projection from a file; if there is none, fit it to these clips and save it."""
    if path.exists():
        return ManifoldProjection.load(path)
    manifold = [each.parameters.manifold()[_interior(each)] for each in phases]
    projection = ManifoldProjection.fit(np.concatenate(manifold))
    projection.save(path)
    return projection
