"""Choice of the phase channel for networks that are gated by a single phase."""

from __future__ import annotations

import numpy as np

from controllers.schema.frame_blocks import PhaseSource
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.roles import find_roles
from deepphase.phase.signals import JointVelocities

# Maximum number of clips that are evaluated, spread over the store.
_CLIPS = 60
_HARMONICS = (1, 2)


def phase_choice(store: ClipStore, phases: PhaseSource) -> tuple[int, Array]:
    """The channel whose phase explains most of the joints' velocities.

    Left and right steps of a walk differ, so a channel with the period of the whole cycle explains
    more than one with the period of a step.

    Returns
    -------
    The channel, and (channels,) the share of the velocities' variance that two harmonics of each
    channel's phase explain.

    Raises
    ------
    ParameterError
        If no clip is as long as a window of the phase model.
    """
    signals, cycles = [], []
    count = min(_CLIPS, len(store))
    for index in np.unique(np.linspace(0, len(store) - 1, count).astype(int)):
        clip = store.clip(int(index))
        encoded = phases.encode(clip)
        read = JointVelocities.of_clip(clip, find_roles(clip.skeleton, clip=clip)).read(clip)
        signals.append(read[encoded.interior])
        cycles.append(encoded.parameters.phase[encoded.interior])
    values, phase = np.concatenate(signals), np.concatenate(cycles)
    if not len(values):
        raise ParameterError(
            "no clip is as long as a window of the phase model", hint="add longer clips"
        )
    values = values - values.mean(0)
    total = max(float(np.square(values).sum()), 1e-12)
    shares = np.array([_explained(phase[:, c], values) for c in range(phase.shape[1])]) / total
    return int(shares.argmax()), shares


def _explained(phase: Array, values: Array) -> float:
    """Sum of squares of `values` (frames, dims) explained by harmonics of a phase (frames,)."""
    angles = 2.0 * np.pi * phase[:, None] * np.array(_HARMONICS)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    waves -= waves.mean(0)
    basis, _ = np.linalg.qr(waves)
    return float(np.square(basis.T @ values).sum())
