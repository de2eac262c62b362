"""Registry of periodic autoencoders: the names by which config files and model files know them.

A network of one's own takes one call, made by the program that trains or loads with it::

    class Mine(PeriodicAutoencoder):
        def __init__(self, signals: int, fps: float, config: NetworkConfig) -> None: ...
        def _encode(self, windows: Tensor) -> Encoding: ...
        def _decode(self, latent: Tensor) -> Tensor: ...

    register_autoencoder("mine", Mine)
    model = train_phase(store, PhaseConfig.load("default", **{"network.preset": "mine"}), ...)

A model file only names its network: nothing is imported for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from deepphase.errors import ParameterError
from deepphase.phase.config import ANY_SKELETON, SHIPPED, NetworkConfig, add_preset
from deepphase.phase.networks.autoencoder import PeriodicAutoencoder
from deepphase.phase.networks.paper_autoencoder import (
    VARIANTS,
    EmbeddingAutoencoder,
    PaperAutoencoder,
)
from deepphase.phase.networks.sine_fit_autoencoder import SineFitAutoencoder

Factory = Callable[[int, float, NetworkConfig], PeriodicAutoencoder]

PRESETS: dict[str, Factory] = {
    "sine_fit": SineFitAutoencoder,
    "sine_fit_no_fc": partial(SineFitAutoencoder, phase_layer=False),
    **{name: partial(PaperAutoencoder, variant=each) for name, each in VARIANTS.items()},
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
    add_preset(name)


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
