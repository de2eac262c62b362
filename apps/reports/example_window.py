"""Example of a window: its input, latent, fitted sinusoids and reconstruction."""

from __future__ import annotations

import numpy as np
import torch

from deepphase.arrays import Array
from deepphase.cycles import wrapped
from deepphase.errors import ParameterError
from deepphase.figures.window_fit import WindowExample
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import PhaseParameters
from deepphase.phase.windows import gather, padded


@torch.inference_mode()
def example_window(
    model: PhaseModel, signals: Array, frame: int, *, clip: str = ""
) -> WindowExample:
    """Encode and decode the window around one frame of signals (frames, signals)."""
    if not 0 <= frame < len(signals):
        raise ParameterError(
            f"the clip has {len(signals)} frames and no frame {frame}",
            hint=f"choose a frame from 0 to {len(signals) - 1}",
        )
    network = model.network
    values = torch.as_tensor(
        padded(signals, model.window, model.signals.PADDING),
        device=next(network.parameters()).device,
    )
    centre = torch.tensor([frame + model.window // 2], device=values.device)
    window = gather(values, centre, model.window)
    encoding = network.encode(window)
    fitted = network.sinusoids(encoding)
    phase, frequency, amplitude, offset = (_numpy(item) for item in encoding[:4])
    times = (np.arange(model.window) - model.window // 2) / model.fps
    parameters = PhaseParameters(wrapped(phase), frequency, amplitude, offset)
    latent_times = network.times.cpu().numpy()
    return WindowExample(
        times=times,
        names=tuple(model.signals.names),
        signals=_numpy(window),
        reconstruction=_numpy(network.decode(fitted)),
        latent=np.stack([np.interp(times, latent_times, each) for each in _numpy(encoding.latent)]),
        fitted=parameters.sinusoid(times),
        parameters=parameters,
        clip=clip,
        unit=model.signals.UNIT,
        at=frame / model.fps,
    )


def _numpy(batch: torch.Tensor) -> Array:
    """The only item of a batch, as an array."""
    return batch[0].float().cpu().numpy()
