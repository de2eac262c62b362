"""Training data of a controller: clips, phases, schema, samples and their split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from controllers.config import ControllerConfig
from controllers.data.initial_states import InitialStates
from controllers.data.sample_split import SampleSplit
from controllers.data.samples import ClipTracks, ControllerSamples, Ends, schema_of_store
from controllers.networks.registry import network_kind
from controllers.schema.config import GATES_OF_PHASES
from controllers.schema.phase_choice import phase_choice
from controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.motion_measures import measured_data
from deepphase.features.frame_rows import reach_inside
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.windows import interior_frames
from deepphase.progress import Progress

# Number of initial states in a controller's file.
_STARTS = 256
# Maximum number of clips that are measured.
_MAX_MEASURED_CLIPS = 120


@dataclass(frozen=True, eq=False)
class ControllerData:
    """Training data of a controller; several networks can be trained on it.

    Parameters
    ----------
    store
        The clips.
    phases
        The phase model that encodes the clips; None where the network needs no phases.
    schema
        Inputs and outputs.
    samples
        Pairs of frames.
    split
        Samples for training and held-out samples.
    tracks
        A function from a clip to its tracks; None where the schema has none.
    """

    store: ClipStore
    phases: PhaseExtractor | None
    schema: ControllerSchema
    samples: ControllerSamples
    split: SampleSplit
    tracks: ClipTracks | None

    @classmethod
    def read(
        cls,
        store: ClipStore,
        config: ControllerConfig,
        phases: PhaseExtractor | None = None,
        *,
        tracks: ClipTracks | None = None,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> ControllerData:
        """Read the clips of a store by a config.

        Parameters
        ----------
        tracks
            A function from a clip to its tracks, if the config names some.
        description
            Skeleton description, if the roles of joints do not follow from names and structure.

        Raises
        ------
        ParameterError, SkeletonError
            If the network needs phases and none are given, their frame rate is not that of the
            clips, or the clips do not fit.
        """
        gate = network_kind(config.name).gate
        options, schema_config = config.training, config.schema
        if gate not in GATES_OF_PHASES:
            phases = None
        if phases is not None and phases.fps != store.fps:
            raise ParameterError(
                f"the phases have {phases.fps:g} frames per second, the clips {store.fps:g}",
                hint=f"prepare the clips with --fps {phases.fps:g}",
            )
        if gate == "phase" and schema_config.phase_channel is None and phases is not None:
            channel = phase_choice(store, phases)[0] if phases.channels > 1 else 0
            schema_config = replace(schema_config, phase_channel=channel)
        schema = schema_of_store(
            store,
            gate,
            schema_config,
            channels=0 if phases is None else phases.channels,
            tracks=tracks,
            description=description,
        )
        samples = ControllerSamples.read(
            store,
            schema,
            phases,
            mirror=options.mirror,
            ends=_ends(store, schema, phases, options.ends),
            tracks=tracks,
            progress=progress,
        )
        split = SampleSplit.of_samples(samples, options.held_out, options.split_seed)
        return cls(store, phases, schema, samples, split, tracks)

    @cached_property
    def starts(self) -> InitialStates:
        """Initial states spread evenly over the training clips, for every value of the label."""
        rows, schema, samples = self.split.train, self.schema, self.samples
        groups = [rows]
        if schema.config.label:
            columns = self.store.label_column(schema.config.label)
            value_of = dict(zip(self.store.names, columns.tolist(), strict=True))
            of_row = np.array([value_of[name] for name in samples.names])[samples.run_of(rows)]
            groups = [rows[of_row == value] for value in schema.label_values]
        each = max(_STARTS // len(groups), 1)
        chosen = [
            group[np.unique(np.linspace(0, len(group) - 1, each).astype(np.int64))]
            for group in groups
            if len(group)
        ]
        return InitialStates.of_samples(samples, np.unique(np.concatenate(chosen)))

    @cached_property
    def measures(self) -> Mapping[str, Any]:
        """Measures of the clips; see `deepphase.evaluation.motion_measures.measured_data`."""
        store = self.store
        count = min(_MAX_MEASURED_CLIPS, len(store))
        some = np.unique(np.linspace(0, len(store) - 1, count).astype(int))
        return measured_data((store.clip(int(index)) for index in some), self.schema)


def _ends(
    store: ClipStore, schema: ControllerSchema, phases: PhaseExtractor | None, rule: str
) -> Ends:
    if rule != "auto":
        return "left_out" if rule == "left_out" else "continued"
    kept = 0
    for length in store.lengths.tolist():
        inside = reach_inside(length, schema.config.offsets_s, store.fps)
        if phases is not None:
            inside = inside & interior_frames(length, phases.window)
        kept += int(inside.sum())
    return "left_out" if 2 * kept >= store.frames else "continued"
