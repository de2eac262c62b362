"""Frames of clips as points of the phase manifold, thinned for figures, and their colourings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from deepphase.arrays import Array
from deepphase.figures.manifold import phase_manifold
from deepphase.figures.theme import Colouring, thinning, thinning_note
from deepphase.formats.reading import unique_names
from deepphase.phase.parameters import ClipPhases, ManifoldProjection, PhaseParameters

if TYPE_CHECKING:
    from deepphase.phase.extractor import PhaseExtractor

# Points of one figure; the four figures of a page stay below 20,000 points.
_MAX_POINTS = 5_000


@dataclass(frozen=True, eq=False)
class PhaseCloud:
    """Frames of clips with their phase parameters and their positions on the manifold."""

    parameters: PhaseParameters  # (points, channels) each
    points: Array  # (points, 3) the projected manifold
    projection: ManifoldProjection
    clips: Array  # (points,) name of the clip
    time: Array  # (points,) seconds in the clip
    frames: tuple[Array, ...]  # of each clip, their indices
    padded: bool  # No clip is as long as a window, so that no frame is interior.
    note: str = ""  # for figures: which frames were left out

    @classmethod
    def from_phases(
        cls,
        model: PhaseExtractor,
        clips: Sequence[ClipPhases],
        projection: ManifoldProjection | None = None,
        max_points: int = _MAX_POINTS,
        frames: Sequence[Array] | None = None,
    ) -> PhaseCloud:
        """Every n-th of some `frames` of clips that are not empty; by default of interior ones."""
        inside = [np.flatnonzero(clip.interior) for clip in clips]
        padded = not any(map(len, inside))
        if padded:
            inside = [np.arange(len(clip)) for clip in clips]
        count, given = sum(map(len, inside)), inside if frames is None else frames
        step = thinning(sum(map(len, given)), max_points)
        chosen = tuple(each[::step] for each in given)
        if frames is not None:
            # The frames to choose from may be every n-th already.
            step = max(1, round(count / max(sum(map(len, chosen)), 1)))
        phases = PhaseParameters.joined(
            [clip.parameters[f] for clip, f in zip(clips, chosen, strict=True)]
        )
        manifold = phases.manifold()
        projection = projection or model.projection or ManifoldProjection.fit(manifold)
        return cls(
            phases,
            projection(manifold),
            projection,
            np.repeat(
                np.array(unique_names([c.name for c in clips], "-")[0]), [len(f) for f in chosen]
            ),
            np.concatenate([c.time[f] for c, f in zip(clips, chosen, strict=True)]),
            chosen,
            padded,
            thinning_note(step, count),
        )

    @property
    def explained(self) -> Array:
        """(3,) share of the variance on each axis."""
        return self.projection.explained

    def figure(
        self, colour: Colouring, space: tuple[Array, Array] | None = None, **options: Any
    ) -> go.Figure:
        """The points by `phase_manifold`, or in a `space`: places (points, 3) and variance (3,)."""
        points, explained = (self.points, self.explained) if space is None else space
        known: dict[str, Any] = {"clips": self.clips, "time": self.time, "note": self.note}
        return phase_manifold(points, explained, colour=colour, **(known | options))

    def measured(self, speeds: Sequence[Array | None]) -> dict[str, Colouring]:
        """Name -> colours by a number; `speeds` are of each clip, None where they are not known."""
        amplitude = self.parameters.amplitude
        weight = np.maximum(amplitude, 1e-9)
        frequency = (weight * self.parameters.frequency).sum(-1) / weight.sum(-1)
        strength = np.sqrt(np.square(amplitude).sum(-1))
        colours = {
            "frequency": Colouring("mean frequency", frequency, unit="Hz"),
            "amplitude": Colouring("amplitude of all channels", strength, unit="latent unit"),
        }
        known = [each for each in speeds if each is not None]
        if len(known) == len(speeds):
            gathered = self.gathered(known)
            colours["speed"] = Colouring("speed over the ground", gathered, unit="m/s")
        return colours | {"time": Colouring("time", self.time, unit="s"), "phase": self.by_phase()}

    def by_clip(self) -> Colouring:
        """A colour for each clip."""
        return Colouring("clip", self.clips, spread=True)

    def by_label(self, name: str, values: Sequence[str]) -> Colouring:
        """A colour for each value of a label; `values` is (clips,), "" where a clip has none."""
        shown = [value or f"no {name}" for value in values]
        return Colouring(name, np.repeat(np.array(shown), [len(f) for f in self.frames]))

    def by_labels(
        self, labels: Sequence[Mapping[str, str]], max_values: int
    ) -> dict[str, Colouring]:
        """Label -> its colours, for labels of two to `max_values` values; `labels` is (clips,)."""
        colourings = {}
        for name in dict.fromkeys(name for each in labels for name in each):
            values = [each.get(name, "") for each in labels]
            if 2 <= len(set(values)) <= max_values:
                colourings[name] = self.by_label(name, values)
        return colourings

    def by_phase(self, channel: int | None = None) -> Colouring:
        """Phase of a channel, by default of that with the largest mean amplitude."""
        if channel is None:
            channel = int(self.parameters.amplitude.mean(0).argmax())
        name = f"phase of channel {channel}"
        return Colouring(name, self.parameters.phase[:, channel], unit="cycles", cyclic=True)

    def gathered(self, values: Sequence[Array]) -> Array:
        """(points, ...) values, taken from one (frames, ...) array per clip."""
        return np.concatenate([v[f] for v, f in zip(values, self.frames, strict=True)])


def ground_speed(model: PhaseExtractor, signals: Array) -> Array | None:
    """(frames,) m/s of the hips, from signals (frames, signals) in m/s; None without hips."""
    body: Mapping[str, str] = getattr(model.signals, "body", {})
    hips, names = body.get("hips"), model.signals.names
    if f"{hips}.x" not in names:
        return None
    sideways, forward = names.index(f"{hips}.x"), names.index(f"{hips}.z")
    return np.hypot(signals[:, sideways], signals[:, forward])
