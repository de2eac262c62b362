"""Moments that a run can begin with: what a controller sees there, and nothing else of the clip."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from controllers.data.samples import ControllerSamples
from controllers.schema.frame_blocks import FrameBlocks, PhaseSource
from controllers.schema.schema import ControllerSchema
from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip


@dataclass(frozen=True, eq=False)
class InitialStates:
    """Raw inputs and gate of some moments.

    Parameters
    ----------
    inputs, gate
        (moments, dims) float32, as `ControllerSamples` has them.
    names
        (moments,) the clip that each is of.
    frames
        (moments,) its frame in the clip.
    """

    inputs: Array
    gate: Array
    names: tuple[str, ...]
    frames: Array

    def __len__(self) -> int:
        return len(self.inputs)

    @classmethod
    def of_samples(cls, samples: ControllerSamples, rows: Array) -> InitialStates:
        """The moments of these rows."""
        runs = samples.run_of(rows)
        frames = samples.first_frames[runs] + rows - samples.run_starts[runs]
        return cls(
            np.array(samples.inputs[rows]),
            np.array(samples.gate[rows]),
            tuple(samples.names[run] for run in runs),
            frames,
        )

    @classmethod
    def of_clip(
        cls,
        clip: Clip,
        frames: Array,
        schema: ControllerSchema,
        phases: PhaseSource | None = None,
        tracks: Mapping[str, Array] | None = None,
    ) -> InitialStates:
        """Some frames of a clip, at the controller's rate.

        Raises
        ------
        SkeletonError, ParameterError
            As `FrameBlocks.of_clip` does, and where the clip has no such frame.
        """
        frames = np.atleast_1d(np.asarray(frames, np.int64))
        if frames.size == 0 or frames.min() < 0 or frames.max() >= len(clip):
            raise ParameterError(
                f"{clip.name}: no frame {frames.tolist()}", hint=f"it has frames 0 to {len(clip)}"
            )
        blocks = FrameBlocks.of_clip(clip, schema, phases, tracks)
        return cls(
            blocks.rows(schema.inputs)[frames],
            blocks.rows(schema.gate)[frames],
            (clip.name,) * len(frames),
            frames,
        )

    def of(self, rows: Array) -> InitialStates:
        """Some of them, repeated where rows repeat."""
        rows = np.asarray(rows)
        names = tuple(self.names[row] for row in rows)
        return InitialStates(self.inputs[rows], self.gate[rows], names, self.frames[rows])

    def with_label(self, schema: ControllerSchema, value: str) -> InitialStates:
        """Those whose label has this value now; ParameterError where there is none."""
        name = schema.config.label
        if value not in schema.label_values:
            raise ParameterError(
                f"{name or 'label'} {value!r}: the controller does not know it",
                hint=f"known: {', '.join(schema.label_values) or 'no labels'}",
            )
        block = self.inputs[:, schema.inputs.slices[name]]
        now = schema.config.offsets_s.index(0.0)
        values = block.reshape(len(self), -1, len(schema.label_values))[:, now]
        rows = np.flatnonzero(values.argmax(1) == schema.label_values.index(value))
        if not len(rows):
            raise ParameterError(f"no moment with {name} {value!r} to begin with")
        return self.of(rows)
