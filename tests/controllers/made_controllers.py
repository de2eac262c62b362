"""Small stores, phases by formula, and controllers of them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import torch

from deepphase.arrays import wrapped
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.data.sample_rows import SampleSplit
from deepphase.controllers.data.samples import ControllerSamples, schema_of_store
from deepphase.controllers.networks.network import ControllerNetworkConfig
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.networks.registry import make_network, network_kind
from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.parameters import ClipPhases, PhaseParameters
from deepphase.synthetic.gait_motion import locomotion

FREQUENCIES = np.array([1.0, 2.5])
_EDGE = 30


class FormulaPhases:
    """Two channels that turn at constant frequencies, whatever the clip."""

    fps, window, channels, sha256 = 60.0, 2 * _EDGE + 1, 2, "formula"

    def encode(self, clip) -> ClipPhases:
        times = np.arange(len(clip)) / clip.fps
        phase = wrapped(times[:, None] * FREQUENCIES).astype(np.float32)
        ones = np.ones_like(phase)
        frequency = (ones * FREQUENCIES).astype(np.float32)
        amplitude = ones * np.array([0.5, 2.0], np.float32)
        index = np.arange(len(clip))
        interior = (index >= _EDGE) & (index < len(clip) - _EDGE)
        parameters = PhaseParameters(phase, frequency, amplitude, 0 * ones)
        return ClipPhases(parameters, interior, clip.fps, clip.name)


class TruePhases(FormulaPhases):
    """The true phase of the strides of `motions`, and another that goes 2.5 times as fast."""

    def __init__(self, *motions) -> None:
        self._motions = {each.clip.name: each for each in motions}

    def encode(self, clip) -> ClipPhases:
        motion = self._motions[clip.name]
        frequency = motion.frequency[:, :1] * np.array([1.0, 2.5])
        fast = np.cumsum(frequency[:, 1]) / clip.fps
        phase = wrapped(np.stack([motion.phase[:, 0], fast], axis=1))
        parts = (phase, frequency, np.ones_like(phase), 0 * phase)
        made = PhaseParameters(*(part.astype(np.float32) for part in parts))
        return ClipPhases(made, super().encode(clip).interior, clip.fps, clip.name)


def walking_store() -> ClipStore:
    """Two people, one of whom walks a curve."""
    clips = [locomotion(1, 4.0).clip, locomotion(2, 5.0, turn_rate=0.5).clip]
    return ClipStore.from_clips(clips)


def config_with(name: str, **sizes) -> ControllerNetworkConfig:
    """The config of a network with those of the sizes that it has."""
    kind = network_kind(name)
    own = {field.name for field in fields(kind.config)}
    return kind.make_config(**{size: value for size, value in sizes.items() if size in own})


def samples_for(
    name: str, store: ClipStore, pose_residual: float | None = None, **options
) -> ControllerSamples:
    """The samples of a network's shipped recipe, perhaps with another share of residual poses."""
    changes = {} if pose_residual is None else {"schema.pose_residual": pose_residual}
    kind, recipe = network_kind(name), ControllerConfig.load(name, **changes)
    schema = schema_of_store(store, kind.gate, recipe.schema, channels=2, tracks=None)
    return ControllerSamples.read(store, schema, FormulaPhases(), **options)


def small_controller(name: str, samples: ControllerSamples, **sizes) -> NormalisedController:
    """An untrained controller of few neurons for samples."""
    torch.manual_seed(0)
    network = make_network(name, samples.schema.dims, network_kind(name).make_config(**sizes))
    normalisations = samples.normalisations()
    return NormalisedController(network, *normalisations, carried=samples.schema.carried).eval()


def data_of(samples: ControllerSamples, train, held_out) -> ControllerData:
    """Training data of samples, without phases and split by these rows."""
    split = SampleSplit(train, held_out, frozenset())
    return ControllerData(walking_store(), None, samples.schema, samples, split, None)
