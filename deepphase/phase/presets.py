"""The periodic autoencoders by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from deepphase.phase.autoencoder import PeriodicAutoencoder
from deepphase.phase.centroid_autoencoder import (
    PAPER,
    RELEASED_V0,
    RELEASED_V1,
    RELEASED_V2,
    CentroidAutoencoder,
)
from deepphase.phase.configuration import NetworkConfig
from deepphase.phase.embedding_autoencoder import EmbeddingAutoencoder
from deepphase.phase.sine_fit_autoencoder import SineFitAutoencoder

PRESETS: dict[str, Callable[[int, float, NetworkConfig], PeriodicAutoencoder]] = {
    "sine_fit": SineFitAutoencoder,
    "sine_fit_no_fc": partial(SineFitAutoencoder, phase_layer=False),
    "paper": partial(CentroidAutoencoder, variant=PAPER),
    "released_v0": partial(CentroidAutoencoder, variant=RELEASED_V0),
    "released_v1": partial(CentroidAutoencoder, variant=RELEASED_V1),
    "released_v2": partial(CentroidAutoencoder, variant=RELEASED_V2),
    "conv_embedding": EmbeddingAutoencoder,
}


def make_autoencoder(
    signals: int, fps: float, config: NetworkConfig | None = None
) -> PeriodicAutoencoder:
    """The network that `config.preset` names, with fresh weights.

    Parameters
    ----------
    signals
        Input channels: three velocities a joint, or the values of a song's features.
    fps
        Frames a second.
    """
    config = NetworkConfig() if config is None else config
    return PRESETS[config.preset](signals, fps, config)
