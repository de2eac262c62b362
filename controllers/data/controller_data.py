"""Training data of a controller: clips, phases, schema, samples and their split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from deepphase.arrays import Array, brief_repr
from deepphase.controllers.ball.ball_track import ClipBalls, ball_measures
from deepphase.controllers.config import ControllerConfig, ControllerTraining
from deepphase.controllers.data.captured_rows import RestRows
from deepphase.controllers.data.initial_states import InitialStates
from deepphase.controllers.data.label_choice import chosen_label
from deepphase.controllers.data.sample_rows import STANDING_M_S, SampleSplit, root_travel
from deepphase.controllers.data.samples import ClipTracks, ControllerSamples, Ends, schema_of_store
from deepphase.controllers.data.starts_and_stops import starts_and_stops
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import network_kind
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.schema.config import AUTO, GATES_OF_PHASES
from deepphase.controllers.schema.frame_blocks import PhaseSource, SuddenGoal
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.captured_data import measured_data
from deepphase.features.layout import reach_inside
from deepphase.features.moment_kinds import ACTION, clip_kinds, source_kinds
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.roles import find_roles
from deepphase.phase.encoding import interior_frames
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.signals import JointVelocities
from deepphase.terrain.grounded_clip import ClipGrounds
from deepphase.terrain.laying import median_soles
from deepphase.work import Progress

# Number of initial states in a controller's file.
_STARTS = 256
# Bodies begin with their hips at least this share of the median height above the floor.
_UPRIGHT = 0.75
# Share of actions from which on clips are mostly actions.
_MOSTLY = 0.5
# Maximum number of clips that are measured.
_MAX_MEASURED_CLIPS = 120
# Maximum number of clips whose floor is measured.
_MAX_FLOORS = 20

# Maximum number of clips that are evaluated, spread over the store.
_CHOICE_CLIPS = 60
_HARMONICS = (1, 2)
# Directions of travel, the least travel in one of them in seconds, and of its speeds the largest.
_DIRECTIONS, _SECTOR_S, _TOP_PERCENTILE = 16, 2.0, 95


@brief_repr
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
    balls
        Balls of the clips; None where the schema has none.
    """

    store: ClipStore
    phases: PhaseExtractor | None
    schema: ControllerSchema
    samples: ControllerSamples
    split: SampleSplit
    tracks: ClipTracks | None
    balls: ClipBalls | None = None

    @classmethod
    def read(
        cls,
        store: ClipStore,
        config: ControllerConfig,
        phases: PhaseExtractor | None = None,
        *,
        tracks: ClipTracks | None = None,
        grounds: ClipGrounds | None = None,
        balls: ClipBalls | None = None,
        description: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> ControllerData:
        """Read the clips of a store by a config.

        Parameters
        ----------
        tracks
            A function from a clip to its tracks, if the config names some.
        grounds
            Grounds of the clips, for a config with `schema.heights`.
        balls
            Balls of the clips, for a config with `schema.ball`.
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
        _check_given(store, grounds, schema_config.heights, "heights", "grounds")
        _check_given(store, balls, schema_config.ball, "ball", "balls")
        if gate not in GATES_OF_PHASES:
            phases = None
        if phases is not None and phases.fps != store.fps:
            raise ParameterError(
                f"the phases have {phases.fps:g} frames per second, the clips {store.fps:g}",
                hint=f"prepare the clips with --fps {phases.fps:g}",
            )
        if gate == "phase" and schema_config.phase_channel is None and phases is not None:
            channel = _phase_choice(store, phases) if phases.channels > 1 else 0
            schema_config = replace(schema_config, phase_channel=channel)
        label = chosen_label(store, schema_config).name
        schema = schema_of_store(
            store,
            gate,
            replace(schema_config, label=label),
            channels=0 if phases is None else phases.channels,
            tracks=tracks,
            description=description,
        )
        ends = _ends(store, schema, phases)
        samples = ControllerSamples.read(
            store,
            schema,
            phases,
            mirror=options.mirror,
            ends=ends,
            actions=not _leaves_out_actions(store, schema, schema_config.label, options.actions),
            tracks=tracks,
            grounds=grounds,
            balls=balls,
            progress=progress,
        )
        split = SampleSplit.from_samples(
            samples, options.held_out, source_kinds(store, dict(schema.body))
        )
        made = None if tracks else _starts_and_stops(store, schema, split, options)
        if made is not None:
            clips, sudden = made
            read = ControllerSamples.read(
                clips,
                schema,
                phases,
                mirror=options.mirror,
                ends=ends,
                sudden=sudden,
                progress=progress,
            )
            rows = np.arange(len(samples), len(samples) + len(read))
            samples = samples.joined(read)
            split = replace(split, train=np.concatenate([split.train, rows]))
        return cls(store, phases, schema, samples, split, tracks, balls)

    def controller(
        self,
        network: NormalisedController,
        config: ControllerConfig,
        provenance: Mapping[str, Any] | None = None,
    ) -> Controller:
        """The controller of a network that is trained on these data; it is not measured.

        Parameters
        ----------
        network
            Its network, which is moved to the CPU and set to evaluation mode.
        config
            Config that the network is trained with.
        """
        return Controller(
            config=replace(config, schema=self.schema.config),
            schema=self.schema,
            network=network.to("cpu"),
            skeleton=self.store.skeleton,
            starts=self.starts,
            rest=self.rest,
            phases={} if self.phases is None else {"sha256": self.phases.sha256},
            data=self.measures,
            provenance=provenance or {},
            source=self.store.sources[0].conventions,
        )

    @cached_property
    def starts(self) -> InitialStates:
        """Initial states spread evenly over the training clips, for every value of the label.

        Bodies begin upright, as most frames with their value of the label are: one that begins on
        its side may slide along lying.
        """
        rows, schema, samples = self.split.train, self.schema, self.samples
        groups = [rows]
        if schema.config.label:
            of_row = samples.label_values(rows)
            groups = [rows[of_row == value] for value in range(len(schema.label_values))]
        hips = samples.inputs[:, schema.inputs.slices["joint_position"].start + 1]
        groups = [
            group[hips[group] >= _UPRIGHT * np.median(hips[group])]
            for group in groups
            if len(group)
        ]
        each = max(_STARTS // len(groups), 1)
        chosen = [
            group[np.unique(np.linspace(0, len(group) - 1, each).astype(np.int64))]
            for group in groups
        ]
        return InitialStates.from_samples(samples, np.unique(np.concatenate(chosen)))

    @cached_property
    def rest(self) -> RestRows | None:
        """Moments of rest of the training clips."""
        clips = _training_clips(self.store, self.split)
        return RestRows.from_clips(self.store, clips, self.schema)

    @cached_property
    def measures(self) -> Mapping[str, Any]:
        """Measures of the clips; see `deepphase.evaluation.captured_data.measured_data`.

        Beside them ``direction_speeds``, the largest speed in each direction of travel.
        """
        store = self.store
        count = min(_MAX_MEASURED_CLIPS, len(store))
        some = np.unique(np.linspace(0, len(store) - 1, count).astype(int))
        clips = (store.clip(int(index)) for index in some)
        measures = dict(measured_data(clips, self.schema))
        measures["direction_speeds"] = self._direction_speeds()
        if self.balls is not None:
            clips = (store.clip(int(index)) for index in some[:_MAX_FLOORS])
            floors = [
                foot_contacts(clip, find_roles(clip.skeleton, dict(self.schema.body), clip)).floor
                for clip in clips
            ]
            found = ball_measures(self.balls) | {"floor": float(np.median(floors))}
            measures["ball"] = found
        if not self.schema.config.heights:
            return measures
        clips = (store.clip(int(index)) for index in some)
        return measures | {"soles": median_soles(clips, dict(self.schema.body)).tolist()}

    def _direction_speeds(self) -> list[float]:
        """(directions,) m/s: the clips' largest speed in each direction from the facing on.

        Directions are in equal steps to the left, all around; 0 where the clips never go.
        """
        samples = self.samples
        clips = samples.rows_of_runs(np.isin(samples.names, self.store.names))
        speeds, ways = root_travel(samples, clips)
        sector = np.round(ways * (_DIRECTIONS / (2.0 * np.pi))) % _DIRECTIONS
        least = _SECTOR_S * self.schema.fps
        found = [speeds[sector == number] for number in range(_DIRECTIONS)]
        # Swaying and turning on the spot do not travel.
        found = [values[values > STANDING_M_S] for values in found]
        return [
            round(float(np.percentile(values, _TOP_PERCENTILE)), 3) if len(values) >= least else 0.0
            for values in found
        ]


def _check_given(
    store: ClipStore, given: ClipGrounds | ClipBalls | None, wanted: bool, key: str, noun: str
) -> None:
    """ParameterError unless grounds or balls of the clips are given where the schema has `key`."""
    if wanted != (given is not None):
        option = "--terrain" if key == "heights" else "--ball"
        raise ParameterError(
            f"a controller with {key} needs the {noun} of its clips"
            if wanted
            else f"the {noun} of clips are given, but the controller has no {key}",
            hint=f"give both {option} and schema.{key}=true, or neither",
        )
    if given is not None and not set(given.names) & set(store.names):
        raise ParameterError(
            f"none of the {len(given)} {noun} is of a clip of the store",
            hint=f"{noun} of {given.names[0]!r}, a clip {store.names[0]!r}; fit them to the store "
            "itself",
        )


def _leaves_out_actions(store: ClipStore, schema: ControllerSchema, label: str, rule: str) -> bool:
    if rule != "auto":
        return rule == "left_out"
    # A label that was asked for may be that of the actions.
    if schema.config.tracks or label not in ("", AUTO):
        return False
    chosen = np.linspace(0, len(store) - 1, min(len(store), _MAX_MEASURED_CLIPS)).astype(int)
    kinds = [clip_kinds(store.clip(index), dict(schema.body)) for index in np.unique(chosen)]
    return float((np.concatenate(kinds) == ACTION).mean()) < _MOSTLY


def _starts_and_stops(
    store: ClipStore, schema: ControllerSchema, split: SampleSplit, options: ControllerTraining
) -> tuple[ClipStore, dict[str, tuple[SuddenGoal, ...]]] | None:
    """Made starts and stops of the training clips, and the sudden ones of each.

    None if none are wanted, or can be made.
    """
    share = options.made_stops
    # Of one file a part of each clip is held out, which must not be used.
    if not (share and split.sources):
        return None
    clips = _training_clips(store, split)
    frames = round(share / (1.0 - share) * len(split.train) / (2 if options.mirror else 1))
    reach_s = max(map(abs, schema.config.offsets_s))
    made = [
        *starts_and_stops(
            store,
            clips,
            dict(schema.body),
            frames,
            reach_s=reach_s,
            sudden=options.sudden_goals,
            slow=options.slow_gaits,
            balance=options.balance,
            label=schema.config.label,
        )
    ]
    if not made:
        return None
    return ClipStore.from_clips(clip for clip, _ in made), {clip.name: each for clip, each in made}


def _training_clips(store: ClipStore, split: SampleSplit) -> list[int]:
    return [
        index
        for index, (name, source) in enumerate(zip(store.names, store.sources, strict=True))
        if (source.path or name) not in split.sources
    ]


def _ends(store: ClipStore, schema: ControllerSchema, phases: PhaseExtractor | None) -> Ends:
    """Trajectories are continued beyond ends of clips that are mostly ends."""
    kept = 0
    for length in store.lengths.tolist():
        inside = reach_inside(length, schema.config.offsets_s, store.fps)
        if phases is not None:
            inside = inside & interior_frames(length, phases.window)
        kept += int(inside.sum())
    return "left_out" if 2 * kept >= store.frames else "continued"


def _phase_choice(store: ClipStore, phases: PhaseSource) -> int:
    """The channel whose phase explains most of the joints' velocities.

    Left and right steps of a walk differ, so a channel with the period of the whole cycle explains
    more than one with the period of a step.
    """
    signals, cycles = [], []
    count = min(_CHOICE_CLIPS, len(store))
    for index in np.unique(np.linspace(0, len(store) - 1, count).astype(int)):
        clip = store.clip(int(index))
        encoded = phases.encode(clip)
        read = JointVelocities.from_clip(clip, find_roles(clip.skeleton, clip=clip)).read(clip)
        signals.append(read[encoded.interior])
        cycles.append(encoded.parameters.phase[encoded.interior])
    values, phase = np.concatenate(signals), np.concatenate(cycles)
    if not len(values):
        raise ParameterError(
            "no clip is as long as a window of the phase model", hint="add longer clips"
        )
    values = values - values.mean(0)
    return int(np.argmax([_explained(phase[:, c], values) for c in range(phase.shape[1])]))


def _explained(phase: Array, values: Array) -> float:
    """Sum of squares of `values` (frames, dims) explained by harmonics of a phase (frames,)."""
    angles = 2.0 * np.pi * phase[:, None] * np.array(_HARMONICS)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    waves -= waves.mean(0)
    basis, _ = np.linalg.qr(waves)
    return float(np.square(basis.T @ values).sum())
