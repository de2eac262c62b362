"""The frames of some clips as points of the phase manifold, thinned to what a page can draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.figures.colouring import Colouring
from deepphase.figures.excerpt import thinned_words, thinning
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import ClipPhases
from deepphase.phase.parameters import PhaseParameters

# Points of each picture of the manifold; four of them stay below some 20,000 in the page.
_POINTS = 5_000


@dataclass(frozen=True, eq=False)
class ModelCloud:
    """Frames of clips, and where they lie.

    Parameters
    ----------
    parameters
        (points, channels) each.
    points, explained
        (points, 3) and (3,), by the model's own projection.
    clips, time
        (points,) name of the clip, and seconds in it.
    frames
        One array a clip: which of its frames.
    padded
        No clip is as long as a window, so the frames are not interior ones.
    note
        What a figure of them has to say: which frames were left out.
    """

    parameters: PhaseParameters
    points: Array
    explained: Array
    clips: Array
    time: Array
    frames: tuple[Array, ...]
    padded: bool
    note: str = ""

    @classmethod
    def of(
        cls,
        model: PhaseExtractor,
        clips: Sequence[ClipPhases],
        projection: ManifoldProjection | None = None,
    ) -> ModelCloud:
        """Every n-th interior frame of one clip or more, none of them empty.

        Seen by the `projection`; if not given, by the model's own.
        """
        interior = [clip.interior for clip in clips]
        padded = not any(inside.any() for inside in interior)
        if padded:
            interior = [np.ones(len(clip), bool) for clip in clips]
        count = sum(int(inside.sum()) for inside in interior)
        step = thinning(count, _POINTS)
        frames = tuple(np.flatnonzero(inside)[::step] for inside in interior)
        chosen = [clip.parameters[f] for clip, f in zip(clips, frames, strict=True)]
        phases = PhaseParameters(
            *(
                np.concatenate([getattr(each, name) for each in chosen])
                for name in ("phase", "frequency", "amplitude", "offset")
            )
        )
        manifold = phases.manifold()
        projection = projection or model.projection or ManifoldProjection.fit(manifold)
        return cls(
            phases,
            projection(manifold),
            projection.explained,
            np.repeat(np.array(_unique([c.name for c in clips])), [len(f) for f in frames]),
            np.concatenate([c.time[f] for c, f in zip(clips, frames, strict=True)]),
            frames,
            padded,
            thinned_words(step, count),
        )

    @property
    def given(self) -> dict[str, Any]:
        """What `manifold_2d` and `manifold_3d` want, but for the colour."""
        names = ("points", "explained", "clips", "time", "note")
        return {name: getattr(self, name) for name in names}

    def by_clip(self) -> Colouring:
        """A colour for each clip."""
        return Colouring("clip", self.clips, spread=True)

    def by_frequency(self) -> Colouring:
        """Mean frequency: amplitudes tell how much a channel has to say about a frame."""
        weight = np.maximum(self.parameters.amplitude, 1e-9)
        mean = (weight * self.parameters.frequency).sum(-1) / weight.sum(-1)
        return Colouring("mean frequency", mean, unit="Hz")

    def by_label(self, name: str, values: Sequence[str]) -> Colouring:
        """A colour for each value of a label; `values` is (clips,), "" where a clip has none."""
        given = [value or f"no {name}" for value in values]
        return Colouring(name, np.repeat(np.array(given), [len(f) for f in self.frames]))

    def by_time(self) -> Colouring:
        """Seconds from the start of each clip."""
        return Colouring("time", self.time, unit="s")

    def by_amplitude(self) -> Colouring:
        """How far from the middle of the manifold: the root of the squared amplitudes' sum."""
        square = np.square(self.parameters.amplitude).sum(-1)
        return Colouring("amplitude of all channels", np.sqrt(square), unit="latent unit")

    def by_phase(self) -> Colouring:
        """Phase of the channel that is strongest on average."""
        channel = int(self.parameters.amplitude.mean(0).argmax())
        name = f"phase of channel {channel}"
        return Colouring(name, self.parameters.phase[:, channel], unit="cycles", cyclic=True)

    def by_speed(self, speeds: Sequence[Array]) -> Colouring:
        """Speed over the ground: (frames,) m/s of each clip."""
        return Colouring("speed over the ground", self.gathered(speeds), unit="m/s")

    def gathered(self, values: Sequence[Array]) -> Array:
        """(points, ...) of one array (frames, ...) each clip."""
        return np.concatenate([v[f] for v, f in zip(values, self.frames, strict=True)])


def _unique(names: Sequence[str]) -> list[str]:
    """The names with a number after those that came before: two files may share a name."""
    seen: dict[str, int] = {}
    given = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        given.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return given
