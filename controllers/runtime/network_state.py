"""State of networks in a run: the phases of characters, recurrent state and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import torch
from numba import float32, void
from torch import Tensor

from deepphase.arrays import Array, compiled, wrapped
from deepphase.controllers.networks.normalised import NormalisedController
from deepphase.controllers.schema.schema import ControllerSchema
from deepphase.features.layout import FeatureLayout
from deepphase.phase.parameters import PhaseParameters

# Shorter vectors have no direction, and for more nearly opposite directions no mean is defined.
MIN_LENGTH = 1e-8
NEARLY_OPPOSITE = 1e-4
# Share of the predicted phase against the advanced one (DeepPhase, eq. 9).
PHASE_BLEND = 0.5


def updated_phases(
    manifold: Tensor,
    predicted: Tensor,
    frequency: Tensor,
    amplitude: Tensor,
    seconds: float,
    blend: float = PHASE_BLEND,
) -> Tensor:
    """Phase vectors one step later, (..., 2 * channels), each channel of length `amplitude`.

    Each channel's direction is rotated forward by frequency * seconds cycles, then by a share of
    the remaining angle to the predicted direction. (The paper's formula multiplies by amplitudes
    twice; here unit directions are blended.) If only one of the two has a direction, that is the
    result; if neither has, the phase is 0; if they are opposite, the rotated one is the result.

    `manifold`, `predicted` (..., 2 * channels) (A sin 2 pi phase, A cos 2 pi phase), interleaved by
    channel; lengths of the predicted ones are ignored. `frequency`, `amplitude` (..., channels)
    predicted, in Hz and the latent's unit; negative values count as 0.
    """
    old, has_old = _directions(manifold)
    goal, has_goal = _directions(predicted)
    # Numbers sin + i cos: a phase that grows by an angle turns them by minus that angle.
    turned = old * unit_at(-2.0 * math.pi * seconds * torch.relu(frequency))
    way = goal * turned.conj()
    opposite = way.real < NEARLY_OPPOSITE - 1.0
    apart = torch.where(opposite, 0.0, angle_of(way))
    middle = turned * unit_at(blend * apart)
    direction = torch.where(has_old & has_goal, middle, torch.where(has_old, turned, goal))
    return torch.view_as_real(torch.relu(amplitude) * direction).flatten(-2)


def unit_at(angle: Tensor) -> Tensor:
    """exp(i angle) of radians (...)."""
    return _UnitAt.apply(angle)  # type: ignore[no-any-return, no-untyped-call]


class _UnitAt(torch.autograd.Function):
    """`torch.polar` of length 1, with a derivative of one product."""

    @staticmethod
    def forward(ctx, angle):
        unit = torch.polar(torch.ones_like(angle), angle)
        ctx.save_for_backward(unit)
        return unit

    @staticmethod
    def backward(ctx, grad):
        (unit,) = ctx.saved_tensors
        return (grad * unit.conj()).imag


def complex_columns(values: Tensor) -> Tensor:
    """(..., 2 * n) pairs -> (..., n) complex."""
    return torch.view_as_complex(values.unflatten(-1, (-1, 2)).contiguous())


def _directions(vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Unit sin + i cos of (..., 2 * channels), and where there is a direction; if not, phase 0."""
    unit, length = _Unit.apply(vectors.unflatten(-1, (-1, 2)), MIN_LENGTH)  # type: ignore[no-untyped-call]
    found = length[..., 0] > MIN_LENGTH
    return torch.where(found, torch.view_as_complex(unit), 1j), found


def unit_pairs(pairs: Tensor, least: float) -> Tensor:
    """Vectors (..., 2) of length 1; shorter than `least`, they are divided by that."""
    return _Unit.apply(pairs, least)[0]  # type: ignore[no-any-return, no-untyped-call]


class _Unit(torch.autograd.Function):
    """`torch.nn.functional.normalize`, and the lengths; its derivative is four operators."""

    @staticmethod
    def forward(ctx, pairs, least):
        length = torch.linalg.vector_norm(pairs, dim=-1, keepdim=True).clamp_(min=least)
        unit = pairs / length
        ctx.save_for_backward(unit, length)
        ctx.mark_non_differentiable(length)
        ctx.set_materialize_grads(False)
        return unit, length

    @staticmethod
    def backward(ctx, grad, _):
        unit, length = ctx.saved_tensors
        along = (grad * unit).sum(-1, keepdim=True)
        return torch.addcmul(grad, unit, along, value=-1).div_(length), None


def angle_of(numbers: Tensor) -> Tensor:
    """Angles of complex numbers (...) in radians; 0 with a finite derivative at the origin."""
    return _Angle.apply(numbers)  # type: ignore[no-any-return, no-untyped-call]


class _Angle(torch.autograd.Function):
    """`torch.angle`, with a derivative of fewer operators."""

    @staticmethod
    def forward(ctx, numbers):
        ctx.save_for_backward(numbers)
        return torch.angle(numbers)

    @staticmethod
    def backward(ctx, grad):
        (numbers,) = ctx.saved_tensors
        square = torch.view_as_real(numbers).square().sum(-1).clamp_(min=1e-12)
        return numbers * (1j * (grad / square))


@compiled(
    void(
        float32[:, ::1],
        float32[:, ::1],
        float32[:, ::1],
        float32[:, ::1],
        float32,
        float32,
        float32,
        float32,
    ),
    error_model="numpy",
)
def advance_phases(
    vectors, predicted, frequency, amplitude, seconds, blend, least_length, nearly_opposite
):
    """As `updated_phases`, in place; all are (rows, channels), or twice that of vectors."""
    turn = float32(2.0 * math.pi) * seconds
    zero, half, one = float32(0.0), float32(0.5), float32(1.0)
    for n in range(frequency.shape[0]):
        for c in range(frequency.shape[1]):
            s, k = vectors[n, 2 * c], vectors[n, 2 * c + 1]
            goal_s, goal_k = predicted[n, 2 * c], predicted[n, 2 * c + 1]
            length = math.sqrt(s * s + k * k)
            goal_length = math.sqrt(goal_s * goal_s + goal_k * goal_k)
            if goal_length > least_length:
                goal_s, goal_k = goal_s / goal_length, goal_k / goal_length
            else:
                goal_s, goal_k = zero, one
            if length > least_length:
                angle = turn * max(frequency[n, c], zero)
                sine, cosine = math.sin(angle), math.cos(angle)
                s, k = s / length, k / length
                s, k = s * cosine + k * sine, k * cosine - s * sine
                along = goal_s * s + goal_k * k
                if not (goal_length > least_length and along >= nearly_opposite - one):
                    pass
                elif blend == half:
                    # Half way lies the direction of the sum.
                    s, k = s + goal_s, k + goal_k
                    length = math.sqrt(s * s + k * k)
                    s, k = s / length, k / length
                else:
                    # Sine and cosine of the angle from the turned to the predicted direction.
                    angle = blend * math.atan2(goal_s * k - goal_k * s, along)
                    sine, cosine = math.sin(angle), math.cos(angle)
                    s, k = s * cosine + k * sine, k * cosine - s * sine
            else:
                s, k = goal_s, goal_k
            size = max(amplitude[n, c], zero)
            vectors[n, 2 * c], vectors[n, 2 * c + 1] = size * s, size * k


class RunningPhases(Protocol):
    """Phases of running characters."""

    def fill(self, gate: Array) -> None:
        """Write their blocks to the rows of the gate (characters, dims)."""
        ...

    def advance(self, outputs: Array) -> None:
        """Advance by one frame with the network's raw outputs (characters, dims)."""
        ...

    def parameters(self) -> PhaseParameters:
        """Current phases, (characters, channels) each; amplitude 1 for a single phase."""
        ...


def running_phases(schema: ControllerSchema, gate: Array) -> RunningPhases | None:
    """The phases of initial states with these gates (characters, dims); None if they have none."""
    if schema.gate is None or not schema.channels:
        return None
    if "phase" in schema.gate:
        return SinglePhase(schema, schema.gate, gate)
    return ManifoldHistory(schema, schema.gate, gate)


class SinglePhase:
    """A single phase, which advances at the predicted rate."""

    def __init__(self, schema: ControllerSchema, layout: FeatureLayout, gate: Array) -> None:
        self._block = layout.slices["phase"]
        self._rate_block = schema.outputs.slices["phase_rate"]
        self._seconds = 1.0 / schema.fps
        self._phase = np.array(gate[:, self._block], np.float64)
        self._rate = np.zeros_like(self._phase)

    def fill(self, gate: Array) -> None:
        gate[:, self._block] = self._phase

    def advance(self, outputs: Array) -> None:
        """As `RunningPhases.advance`; the phase never runs backwards."""
        self._rate = np.maximum(outputs[:, self._rate_block], 0.0)
        self._phase = wrapped(self._phase + self._seconds * self._rate)

    def parameters(self) -> PhaseParameters:
        phase, rate = self._phase.astype(np.float32), self._rate.astype(np.float32)
        return PhaseParameters(phase, rate, np.ones_like(phase), np.zeros_like(phase))


class ManifoldHistory:
    """Phase vectors: past ones as recorded, those from now on by eq. 9 of DeepPhase."""

    def __init__(self, schema: ControllerSchema, layout: FeatureLayout, gate: Array) -> None:
        self._gate_block = layout.slices["phase_manifold"]
        names = ("phase_manifold", "phase_frequency", "phase_amplitude")
        self._blocks = [schema.outputs.slices[name] for name in names]
        self._seconds = 1.0 / schema.fps
        offsets = np.array(layout["phase_manifold"].offsets_s)
        count, past = len(gate), int((offsets < 0.0).sum())
        self._past = np.round(offsets[:past] * schema.fps).astype(np.int64)
        self._length = 1 - int(self._past.min(initial=0))
        vectors = gate[:, self._gate_block].reshape(count, len(offsets), -1)
        times = np.maximum(np.arange(1 - self._length, 1) / schema.fps, offsets[0])
        self._history = _between_samples(vectors, offsets, times).swapaxes(0, 1).copy()
        self._history[-1] = vectors[:, past]
        self._later = np.array(vectors[:, past:], np.float32)
        self._frequency = np.zeros((count, schema.channels), np.float32)
        self._now = self._length - 1

    def fill(self, gate: Array) -> None:
        block = gate[:, self._gate_block].reshape(len(gate), -1, self._later.shape[-1])
        past = len(self._past)
        block[:, :past] = self._history[(self._now + self._past) % self._length].swapaxes(0, 1)
        block[:, past:] = self._later
        gate[:, self._gate_block] = block.reshape(len(gate), -1)

    def advance(self, outputs: Array) -> None:
        count, samples, width = self._later.shape
        rows = count * samples
        predicted, frequency, amplitude = (
            np.ascontiguousarray(outputs[:, block]).reshape(rows, -1) for block in self._blocks
        )
        advance_phases(
            self._later.reshape(rows, width),
            predicted,
            frequency,
            amplitude,
            self._seconds,
            PHASE_BLEND,
            MIN_LENGTH,
            NEARLY_OPPOSITE,
        )
        self._frequency = np.maximum(frequency.reshape(count, samples, -1)[:, 0], 0.0)
        self._now = (self._now + 1) % self._length
        self._history[self._now] = self._later[:, 0]

    def parameters(self) -> PhaseParameters:
        vectors = self._history[self._now].reshape(*self._frequency.shape, 2)
        phase = wrapped(np.arctan2(vectors[..., 0], vectors[..., 1]) / (2.0 * np.pi))
        length = np.sqrt(np.vecdot(vectors, vectors))
        zeros = np.zeros_like(phase)
        return PhaseParameters(phase.astype(np.float32), self._frequency, length, zeros)


def _between_samples(vectors: Array, offsets: Array, times: Array) -> Array:
    """(characters, times, 2 * channels) interpolated between samples at `offsets`, in angle and
    length."""
    pairs = vectors.reshape(*vectors.shape[:2], -1, 2).astype(np.float64)
    angles = np.arctan2(pairs[..., 0], pairs[..., 1])
    # Phases grow, so a step lies in [-0.25, 0.75) turns.
    steps = np.diff(angles, axis=1)
    steps = (steps + 0.5 * np.pi) % (2.0 * np.pi) - 0.5 * np.pi
    grown = angles[:, :1] + np.concatenate([np.zeros_like(steps[:, :1]), steps.cumsum(1)], 1)
    lengths = np.sqrt(np.vecdot(pairs, pairs))
    before = np.minimum(np.searchsorted(offsets, times, side="right") - 1, len(offsets) - 2)
    share = ((times - offsets[before]) / (offsets[before + 1] - offsets[before]))[:, None]
    angle = grown[:, before] + share * (grown[:, before + 1] - grown[:, before])
    length = lengths[:, before] + share * (lengths[:, before + 1] - lengths[:, before])
    found = np.stack([length * np.sin(angle), length * np.cos(angle)], -1)
    return found.reshape(len(vectors), len(times), -1).astype(np.float32)


class RunningNetwork:
    """A network with its state for a number of characters."""

    def __init__(self, network: NormalisedController, characters: int, seed: int) -> None:
        self._network = network
        self._device = network.inputs_mean.device
        self._random = torch.Generator().manual_seed(seed).get_state()
        with torch.inference_mode(), self._own_randomness():
            self._state = network.network.initial_state(characters)

    @torch.inference_mode()
    def step(self, inputs: Array, gate: Array) -> Array:
        """Raw outputs (characters, dims) float32 of raw inputs and gate."""
        outputs, self._state = self._network.step(
            torch.from_numpy(inputs).to(self._device),
            torch.from_numpy(gate).to(self._device),
            self._state,
        )
        return outputs.cpu().numpy()

    @torch.inference_mode()
    def redraw(self, stepped: Array) -> None:
        """Draw new noise, if stochastic, for characters (characters,) whose foot touched down."""
        network = self._network.network
        if network.is_stochastic:
            with self._own_randomness():
                self._state = network.redrawn(
                    self._state, torch.from_numpy(stepped).to(self._device)
                )

    @torch.inference_mode()
    def gating(self, gate: Array) -> Array | None:
        """(characters, experts or control points) shares in the weights; None if not blended."""
        weights = self._network.blend_weights(torch.from_numpy(gate).to(self._device))
        return None if weights is None else weights.cpu().numpy()

    @contextmanager
    def _own_randomness(self) -> Iterator[None]:
        previous = torch.get_rng_state()
        torch.set_rng_state(self._random)
        try:
            yield
            self._random = torch.get_rng_state()
        finally:
            torch.set_rng_state(previous)
