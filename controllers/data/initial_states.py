"""Initial states of runs: the inputs and the gate of a controller at some frames of clips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.controllers.data.samples import ControllerSamples
from deepphase.controllers.schema.config import TRAJECTORY_HEIGHT
from deepphase.controllers.schema.frame_blocks import FrameBlocks, PhaseSource
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip


@dataclass(frozen=True, eq=False)
class InitialStates:
    """Raw inputs and gate at some frames."""

    # inputs, gate: (states, dims) float32, as in `ControllerSamples`.
    inputs: Array
    gate: Array
    names: tuple[str, ...]  # (states,) name of the clip
    frames: Array  # (states,) frame of the clip

    def __len__(self) -> int:
        return len(self.inputs)

    @classmethod
    def from_samples(cls, samples: ControllerSamples, rows: Array) -> InitialStates:
        """The states of these rows."""
        runs = samples.run_of(rows)
        inputs = np.array(samples.inputs[rows])
        height = samples.schema.inputs.slices.get(TRAJECTORY_HEIGHT)
        if height is not None:
            # Runs begin on other ground, by default a flat floor.
            inputs[:, height] = 0.0
        frames = samples.first_frames[runs] + rows - samples.run_starts[runs]
        return cls(
            inputs,
            np.array(samples.gate[rows]),
            tuple(samples.names[run] for run in runs),
            frames,
        )

    @classmethod
    def from_clip(
        cls,
        clip: Clip,
        frames: Array,
        schema: ControllerSchema,
        phases: PhaseSource | None = None,
        tracks: Mapping[str, Array] | None = None,
    ) -> InitialStates:
        """Some frames of a clip that has the controller's frame rate."""
        frames = np.atleast_1d(np.asarray(frames, np.int64))
        if frames.size == 0 or frames.min() < 0 or frames.max() >= len(clip):
            raise ParameterError(
                f"{clip.name}: there is no frame {frames.tolist()}",
                hint=f"it has frames 0 to {len(clip) - 1}",
            )
        blocks = FrameBlocks.from_clip(clip, schema, phases, tracks)
        return cls(
            blocks.rows(schema.inputs)[frames],
            blocks.rows(schema.gate)[frames],
            (clip.name,) * len(frames),
            frames,
        )

    def select(self, rows: Array) -> InitialStates:
        """The states of these rows, which may repeat."""
        rows = np.asarray(rows)
        names = tuple(self.names[row] for row in rows)
        return InitialStates(self.inputs[rows], self.gate[rows], names, self.frames[rows])

    def with_label(self, schema: ControllerSchema, value: str) -> InitialStates:
        """The states whose current label has this value; ParameterError if there are none."""
        name = schema.config.label
        if value not in schema.label_values:
            raise ParameterError(
                f"{name or 'label'} {value!r} is not among the controller's labels",
                hint=f"known: {', '.join(schema.label_values) or 'no labels'}",
            )
        block = self.inputs[:, schema.inputs.slices[name]]
        now = schema.config.offsets_s.index(0.0)
        values = block.reshape(len(self), -1, len(schema.label_values))[:, now]
        rows = np.flatnonzero(values.argmax(1) == schema.label_values.index(value))
        if not len(rows):
            raise ParameterError(
                f"there is no initial state with {name} {value!r}",
                hint=f"give another {name}, or train with clips that have this one",
            )
        return self.select(rows)
