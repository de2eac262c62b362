"""Relation of phase channels to the joints of the body."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.windows import gather, interior_frames, padded

_BATCH = 256
# Joints slower than this share of the fastest joint count as still, and so do parts of the body
# that are slower than this share of the whole: what a channel predicts of them is noise.
_STILL = 0.02


def joints_followed(parameters: PhaseParameters, signals: Array) -> Array:
    """Share of each joint's velocity that a single channel explains by linear regression.

    The velocities of every joint are regressed on the channel's two manifold coordinates, frame
    by frame. The share is near 1 for a joint that moves at the channel's frequency with any lag,
    and near 0 at another frequency. No decoder is needed, so baselines can be evaluated too.

    `parameters` (frames, channels) each; interior frames. `signals` (frames, 3 * joints) m/s of the
    same frames. Returns (channels, joints) share of the joint's variance, 0 to 1; 0 for a still
    joint.
    """
    frames, channels = parameters.phase.shape
    if signals.ndim != 2 or len(signals) != frames or signals.shape[1] % 3:
        raise ParameterError(f"signals must have shape ({frames}, 3 * joints), not {signals.shape}")
    if frames < 4:
        raise ParameterError(
            f"a regression on a channel needs more than {frames} frames",
            hint="choose a longer clip, or a model with a shorter window",
        )
    moved = signals.astype(np.float64)
    moved -= moved.mean(0)
    pairs = parameters.manifold().astype(np.float64)
    pairs -= pairs.mean(0)
    # The normal equations of all channels at once, (channels, 2, 2) and (channels, 2, signals).
    own = pairs.reshape(frames, channels, 2)
    gram = np.einsum("fci,fcj->cij", own, own)
    cross = (pairs.T @ moved).reshape(channels, 2, -1)
    explained = ((np.linalg.pinv(gram, hermitian=True) @ cross) * cross).sum(1)
    variance, moves = _by_joint(np.square(moved).sum(0))
    shares = np.zeros((channels, len(moves)))
    shares[:, moves] = explained.reshape(channels, -1, 3).sum(-1)[:, moves] / variance[moves]
    return shares.clip(0.0, 1.0)


@torch.inference_mode()
def joints_lost(model: PhaseModel, signals: Array, frames: Array) -> Array:
    """Increase of each joint's reconstruction error without one channel.

    The channel's sinusoid is removed from the fitted latent before the decoder. The loss measures
    the information on the joint that only this channel has; redundant channels share it.

    `signals` (frames, 3 * joints) as `model.signals.read` makes them. `frames` (windows,) the
    windows' middle frames. Past the clip's ends, edge poses are repeated. Returns (channels,
    joints) lost share of the joint's variance over these windows. It exceeds 1 if the remaining
    channels mislead the decoder, is negative if the reconstruction is better without the channel,
    and 0 for a still joint.
    """
    frames = np.asarray(frames, np.int64)
    if not frames.size or frames.min() < 0 or frames.max() >= len(signals):
        raise ParameterError(
            f"frames must name at least one of the {len(signals)} frames, and only those"
        )
    network, half = model.network, model.window // 2
    values = torch.as_tensor(padded(signals, model.window), device=network.times.device)
    centres = torch.as_tensor(frames, device=values.device) + half
    moved = np.zeros(signals.shape[1])
    errors = np.zeros((1 + model.channels, signals.shape[1]))
    for batch in centres.split(_BATCH):
        windows = gather(values, batch, model.window)
        moved += _energy(windows)
        fitted = network.sinusoids(network.encode(windows))
        errors[0] += _energy(network.decode(fitted) - windows)
        for channel in range(model.channels):
            silent = fitted.clone()
            silent[:, channel] = silent[:, channel].mean(-1, keepdim=True)
            errors[1 + channel] += _energy(network.decode(silent) - windows)
    variance, moves = _by_joint(moved)
    lost = np.stack([_by_joint(each - errors[0])[0] for each in errors[1:]])
    shares = np.zeros_like(lost)
    shares[:, moves] = lost[:, moves] / variance[moves]
    return shares


def followed_parts(shares: Array, energy: Array, parts: Sequence[str]) -> dict[str, Array]:
    """The shares of joints averaged over parts of the body, weighted by the joints' energy.

    `shares` (channels, joints) of `joints_followed` or `joints_lost`. `energy` (joints,) squared
    velocity, summed. `parts` (joints,) names of `body_parts`. Returns part -> (channels,) share of
    the part's movement; still parts are left out.
    """
    gathered = {}
    for part in dict.fromkeys(parts):
        inside = np.array([each == part for each in parts])
        total = float(energy[inside].sum())
        if total > _STILL**2 * float(energy.sum()):
            gathered[part] = shares[:, inside] @ energy[inside] / total
    return gathered


def part_energy(energy: Array, parts: Sequence[str]) -> dict[str, float]:
    """Part of the body -> its share of the energy of all joints, 0 to 1."""
    whole = max(float(energy.sum()), 1e-12)
    return {
        part: float(energy[[each == part for each in parts]].sum()) / whole
        for part in dict.fromkeys(parts)
    }


def joint_energy(signals: Array) -> Array:
    """(joints,) squared deviation of each joint's velocity from its mean, summed over frames."""
    moved = signals.astype(np.float64)
    return _by_joint(np.square(moved - moved.mean(0)).sum(0))[0]


def spread_windows(frames: int, window: int, count: int) -> Array:
    """Middle frames of windows spread evenly over a clip, interior ones if there are any."""
    inside = np.flatnonzero(interior_frames(frames, window))
    inside = inside if inside.size else np.arange(frames)
    return inside[np.unique(np.linspace(0, len(inside) - 1, count).round().astype(int))]


def _energy(windows: torch.Tensor) -> Array:
    """(signals,) squares, summed over batch and time."""
    return windows.float().square().sum((0, 2)).double().cpu().numpy()


def _by_joint(values: Array) -> tuple[Array, Array]:
    """(joints,) sums of three values each, and whether each joint moves."""
    joints = values.reshape(-1, 3).sum(1)
    return joints, joints > _STILL**2 * max(float(joints.max(initial=0.0)), 1e-12)
