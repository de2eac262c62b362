"""Windows of signals to phase parameters of every frame.

Within half a window of a clip's end there is no whole window around a frame. A window that is
filled up with repeated poses describes the fill as well as the motion. So such frames have the
sinusoids of the nearest window inside the clip, advanced to them (phase += frequency * dt).
"""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import torch

from deepphase.arrays import Array, wrapped
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.windows import gather
from deepphase.training.threads import FastestThreads, threads_after

# Windows encoded at once: on a CPU large enough for the matrix products and small enough for the
# cache; elsewhere more, since each batch waits for its results.
_BATCH, _BATCH_ELSEWHERE = 256, 8192
# Of all encodings of a process.
encoding_threads = FastestThreads("encoding")


def encode_frames(network: PeriodicAutoencoder, signals: Array, fps: float) -> PhaseParameters:
    """Phase parameters (frames, channels) of every frame of signals (frames, signals)."""
    frames, window = len(signals), network.window
    if frames >= window:
        whole = encode_windows(network, signals, np.arange(frames - window + 1))
        return advanced_to_ends(whole, frames, window // 2, fps)
    return advanced_to_ends(encode_part(network, signals), frames, (frames - 1) // 2, fps)


@torch.inference_mode()
def encode_windows(
    network: PeriodicAutoencoder, signals: Array | torch.Tensor, starts: Array
) -> PhaseParameters:
    """Phase parameters (windows, channels) of windows.

    `signals` (frames, channels). `starts` (windows,) first frame of each window; the phases are
    those of its middle frame.
    """
    device = next(network.parameters()).device
    data = torch.as_tensor(signals, device=device)
    centres = torch.as_tensor(starts, device=device) + network.window // 2
    parts: list[list[Array]] = [[] for _ in range(4)]
    on_cpu = device.type == "cpu"
    with threads_after() as most:
        for batch in centres.split(_BATCH if on_cpu else _BATCH_ELSEWHERE):
            with encoding_threads.step(most) if on_cpu and len(batch) == _BATCH else nullcontext():
                encoding = network.encode(gather(data, batch, network.window))
            for part, value in zip(parts, encoding[:4], strict=True):
                part.append(value.float().cpu().numpy())
    phase, frequency, amplitude, offset = (
        np.concatenate(part) if part else np.zeros((0, network.config.channels), np.float32)
        for part in parts
    )
    return PhaseParameters(wrapped(phase), frequency, amplitude, offset)


@torch.inference_mode()
def encode_part(network: PeriodicAutoencoder, signals: Array) -> PhaseParameters:
    """Phase parameters (1, channels) of the middle frame of a clip shorter than a window.

    Of an even number of frames the last is not read.
    """
    frames = len(signals) - 1 + len(signals) % 2
    data = torch.as_tensor(signals[:frames], device=next(network.parameters()).device)
    encoding = network.encode_part(data.T[None])
    phase, *others = (value.float().cpu().numpy() for value in encoding[:4])
    return PhaseParameters(wrapped(phase), *others)


def advanced_to_ends(
    whole: PhaseParameters, frames: int, first: int, fps: float
) -> PhaseParameters:
    """Phase parameters (frames, channels) of every frame, of those that have a whole window.

    `whole` (windows, channels) of the frames `first`, `first` + 1, ...; at least one. Before and
    after them its first or last sinusoids are advanced: frequency, amplitude and offset are theirs,
    so that none exceeds the clip's own.
    """
    index = np.arange(frames)
    nearest = np.clip(index - first, 0, len(whole.phase) - 1)
    away = index - first - nearest
    every = whole[nearest]
    # Frames that have a window keep its phase bit for bit.
    outside = away != 0
    if outside.any():
        seconds = (away[outside] / fps)[:, None]
        every.phase[outside] = every[outside].advanced(seconds).phase
    return every
