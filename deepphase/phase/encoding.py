"""Periodic autoencoders by name, and encoding of windows with them.

A network of one's own takes one call, made by the program that trains or loads with it::

    class Mine(PeriodicAutoencoder):
        def __init__(self, signals: int, fps: float, config: NetworkConfig) -> None: ...
        def _encode(self, windows: Tensor) -> Encoding: ...
        def _decode(self, latent: Tensor) -> Tensor: ...

    register_autoencoder("mine", Mine)
    model = train_phase(store, PhaseConfig.load("default", **{"network.preset": "mine"}), ...)

A model file only names its network: nothing is imported for it.

Within half a window of a clip's end there is no whole window around a frame. A window that is
filled up with repeated poses describes the fill as well as the motion. So such frames have the
sinusoids of the nearest window inside the clip, advanced to them (phase += frequency * dt).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor

from deepphase.arrays import Array, wrapped
from deepphase.errors import ParameterError
from deepphase.phase.config import ANY_SKELETON, SHIPPED, NetworkConfig, registered
from deepphase.phase.networks.autoencoder import Encoding, PeriodicAutoencoder
from deepphase.phase.networks.paper_autoencoder import (
    VARIANTS,
    EmbeddingAutoencoder,
    PaperAutoencoder,
)
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder
from deepphase.phase.parameters import PhaseParameters
from deepphase.training.steps import FastestThreads

Factory = Callable[[int, float, NetworkConfig], PeriodicAutoencoder]

PRESETS: dict[str, Factory] = {
    "sine_fit": SineFitAutoencoder,
    "sine_fit_no_fc": partial(SineFitAutoencoder, phase_layer=False),
    "paper": partial(PaperAutoencoder, variant=VARIANTS["paper"]),
    "released_v0": partial(PaperAutoencoder, variant=VARIANTS["released_v0"]),
    "released_v1": partial(PaperAutoencoder, variant=VARIANTS["released_v1"]),
    "released_v2": partial(PaperAutoencoder, variant=VARIANTS["released_v2"]),
    "conv_embedding": EmbeddingAutoencoder,
    # Its signals are those of body points; `PhaseModel.bound` binds them to joints.
    ANY_SKELETON: SineFitAutoencoder,
}


def register_autoencoder(name: str, factory: Factory, *, replace: bool = False) -> None:
    """Make a periodic autoencoder known by a name.

    Parameters
    ----------
    name
        What `NetworkConfig.preset`, config files and model files call it.
    factory
        A subclass of `PeriodicAutoencoder`, or a function that makes one: called with the number
        of signals, the frames a second and the `NetworkConfig`.
    replace
        Take the place of the one that is registered by this name, as in a notebook whose cell runs
        twice.

    Raises
    ------
    ParameterError
        Where the name is that of a shipped autoencoder, or of another one and `replace` is not
        given, or the factory cannot be called.
    """
    if name in SHIPPED:
        raise ParameterError(f"{name!r} is a shipped autoencoder", hint="choose another name")
    if not callable(factory):
        raise ParameterError(
            f"autoencoder {name!r}: {factory!r} cannot be called",
            hint="give a subclass of PeriodicAutoencoder, or a function that makes one",
        )
    if PRESETS.get(name, factory) is not factory and not replace:
        raise ParameterError(
            f"an autoencoder {name!r} is registered already",
            hint="choose another name, or give replace=True to take its place",
        )
    PRESETS[name] = factory
    if name not in registered:
        registered.append(name)


def make_autoencoder(
    signals: int, fps: float, config: NetworkConfig | None = None
) -> PeriodicAutoencoder:
    """The network that `config.preset` names, with fresh weights."""
    config = NetworkConfig() if config is None else config
    network = PRESETS[config.preset](signals, fps, config)
    if not isinstance(network, PeriodicAutoencoder):
        raise ParameterError(
            f"autoencoder {config.preset!r} is a {type(network).__name__}",
            hint="it has to extend PeriodicAutoencoder",
        )
    return network


def interior_frames(frames: int, window: int) -> Array:
    """(frames,) bool: the whole window around the frame lies inside the clip."""
    index = np.arange(frames)
    half = window // 2
    return (index >= half) & (index < frames - half)


def gather(signals: Tensor, centres: Tensor, window: int) -> Tensor:
    """Windows around frames, their mean over time taken off.

    `signals` (frames, channels). `centres` (batch,) frames at least window // 2 away from either
    end. Returns (batch, channels, window), laid out in memory as (window, batch, channels): see
    `networks.autoencoder`.
    """
    steps = torch.arange(window, device=centres.device) - window // 2
    frames = (steps[:, None] + centres).reshape(-1)
    windows = signals.index_select(0, frames).view(window, len(centres), -1)
    windows -= windows.mean(0)
    return windows.permute(1, 2, 0)


def gather_at_rates(velocities: Tensor, centres: Tensor, window: int, rates: Tensor) -> Tensor:
    """As `gather`, of motion at other speeds; between two frames, velocities are interpolated.

    `centres` (batch,) frames at least `|rates| * (window // 2)` away from either end. `rates`
    (batch,) factors on the speed; below 0, the motion is played backwards.
    """
    steps = torch.arange(window, device=centres.device) - window // 2
    times = steps[:, None] * rates
    below = torch.floor(times)
    share = (times - below).unsqueeze(-1)
    lower = (below.long() + centres).reshape(-1)
    # Where a window ends on the last frame, the one behind it has no weight.
    upper = (lower + 1).clamp(max=len(velocities) - 1)
    before, after = (
        velocities.index_select(0, frames).view(window, len(centres), -1)
        for frames in (lower, upper)
    )
    # In place: fresh memory of this size costs as much as a pass over it.
    windows = before.lerp_(after, share).mul_(rates[:, None])
    windows -= windows.mean(0)
    return windows.permute(1, 2, 0)


def padded(signals: Array, window: int, how: str = "constant") -> Array:
    """(frames + window - 1, channels): signals that go on for half a window on either side.

    `how`: "constant": velocities of a clip whose edge poses are repeated; a repeated pose has no
    velocity, so the padding is zeros. "edge": the first and last frame are repeated.
    """
    half = window // 2
    return np.pad(signals, ((half, half), (0, 0)), mode=how)  # type: ignore[call-overload]


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
    """Phase parameters (windows, channels) of the middle frames of windows from `starts` on."""
    device = next(network.parameters()).device
    data = torch.as_tensor(signals, device=device)
    centres = torch.as_tensor(starts, device=device) + network.window // 2
    on_cpu, parts = device.type == "cpu", []
    most = torch.get_num_threads()
    try:
        for batch in centres.split(_BATCH if on_cpu else _BATCH_ELSEWHERE):
            with encoding_threads.step(most) if on_cpu and len(batch) == _BATCH else nullcontext():
                encoding = network.encode(gather(data, batch, network.window))
            parts.append(_parameters(encoding))
    finally:
        torch.set_num_threads(most)
    return PhaseParameters.joined(parts)


def _parameters(encoding: Encoding) -> PhaseParameters:
    phase, *others = (value.float().cpu().numpy() for value in encoding[:4])
    return PhaseParameters(wrapped(phase), *others)


@torch.inference_mode()
def encode_part(network: PeriodicAutoencoder, signals: Array) -> PhaseParameters:
    """Phase parameters (1, channels) of the middle of a clip that is shorter than a window."""
    frames = len(signals) - 1 + len(signals) % 2
    data = torch.as_tensor(signals[:frames], device=next(network.parameters()).device)
    return _parameters(network.encode_part(data.T[None]))


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
