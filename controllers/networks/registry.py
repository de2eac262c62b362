"""Registry of controller networks: the names by which config files and controller files know them.

A network of one's own takes one call, made by the program that trains or loads with it:

    @dataclass(frozen=True)
    class MineConfig(ControllerNetworkConfig):
        hidden: int = 64

    class Mine(ControllerNetwork):
        def __init__(self, dims: NetworkDims, config: MineConfig) -> None: ...
        def forward(self, inputs: Tensor, gate: Tensor) -> Tensor: ...

    register_network("mine", Mine, MineConfig, gate="phase")

From then on ``network: {name: mine, hidden: 32}`` in a config file means it, and controllers that
were saved with it can be loaded. A file only names its network: nothing is ever imported for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from controllers.networks.experts import Experts, ExpertsConfig
from controllers.networks.gaussian_process import GaussianProcess, GaussianProcessConfig
from controllers.networks.network import ControllerNetwork, ControllerNetworkConfig, NetworkDims
from controllers.networks.pfnn import Pfnn, PfnnConfig
from controllers.networks.plain import Plain, PlainConfig
from controllers.networks.recurrent import Recurrent, RecurrentConfig
from controllers.networks.variational import Variational, VariationalConfig
from controllers.schema.config import Gate
from deepphase.errors import ParameterError


class UnregisteredNetworkError(ParameterError):
    """A config file or a controller file names a network that is not registered."""


@dataclass(frozen=True)
class NetworkKind:
    """A registered network.

    Parameters
    ----------
    network
        Its class, called with dimensions and configuration.
    config
        The class of its configuration.
    gate
        What its weights depend on.
    defaults
        Values of the configuration that differ from the class's own.
    """

    network: Callable[[NetworkDims, Any], ControllerNetwork]
    config: type[ControllerNetworkConfig]
    gate: Gate
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_recurrent(self) -> bool:
        """Whether it is trained on sequences; see `ControllerNetwork`."""
        return bool(getattr(self.network, "is_recurrent", False))

    def make_config(self, **values: Any) -> ControllerNetworkConfig:
        """The configuration with these values, and the defaults for all others."""
        return self.config(**{**self.defaults, **values})


NETWORKS: dict[str, NetworkKind] = {
    "pfnn": NetworkKind(Pfnn, PfnnConfig, "phase"),
    "experts": NetworkKind(Experts, ExpertsConfig, "manifold"),
    "mann": NetworkKind(Experts, ExpertsConfig, "feet"),
    "lmp": NetworkKind(Experts, ExpertsConfig, "manifold"),
    "no_phase": NetworkKind(Experts, ExpertsConfig, "goal"),
    "vinn": NetworkKind(Variational, VariationalConfig, "phase"),
    "nn": NetworkKind(Plain, PlainConfig, "none"),
    "nn_phase": NetworkKind(Plain, PlainConfig, "phase"),
    "erd": NetworkKind(Recurrent, RecurrentConfig, "none"),
    "erd_phase": NetworkKind(Recurrent, RecurrentConfig, "phase"),
    "gp": NetworkKind(GaussianProcess, GaussianProcessConfig, "phase"),
    "pfgp": NetworkKind(GaussianProcess, GaussianProcessConfig, "phase", {"phases": 10}),
}
"""lmp is the mixture of experts: its phases are those of contacts, from another phase model."""

_SHIPPED = frozenset(NETWORKS)


def register_network(
    name: str,
    network: Callable[[NetworkDims, Any], ControllerNetwork],
    config: type[ControllerNetworkConfig],
    *,
    gate: Gate,
    **defaults: Any,
) -> NetworkKind:
    """Make a controller network known by a name.

    A name may be registered again, as a notebook does whose cell runs twice: the last one counts.

    Parameters
    ----------
    name
        What config files and controller files call it.
    network
        Its class, called with `NetworkDims` and a `config`.
    config
        The class of its configuration, a frozen dataclass.
    gate
        What its weights depend on: "phase" (one phase, cycles), "manifold" (the phase manifold),
        "feet" (velocities of the feet), "goal" (the desired trajectory), or "none".
    defaults
        Values of the configuration that differ from the class's own.

    Returns
    -------
    What is registered.

    Raises
    ------
    ParameterError
        Where the name is that of a shipped network, a class does not extend its base class, or
        the gate or a default is unknown.
    """
    if name in _SHIPPED:
        raise ParameterError(f"{name!r} is a shipped network", hint="choose another name")
    if not (isinstance(network, type) and issubclass(network, ControllerNetwork)):
        raise ParameterError(
            f"network {name!r}: {network!r} does not extend ControllerNetwork",
            hint="give the class, not an instance or a function",
        )
    if not (isinstance(config, type) and issubclass(config, ControllerNetworkConfig)):
        raise ParameterError(
            f"network {name!r}: {config!r} does not extend ControllerNetworkConfig",
            hint="declare it as @dataclass(frozen=True) class Config(ControllerNetworkConfig)",
        )
    if gate not in get_args(Gate):
        raise ParameterError(f"no gate {gate!r}", hint=f"gates: {', '.join(get_args(Gate))}")
    kind = NetworkKind(network, config, gate, defaults)
    try:
        kind.make_config()
    except TypeError as error:
        raise ParameterError(
            f"network {name!r}: its configuration has no default: {error}",
            hint="give every field a default, in the class or here",
        ) from None
    NETWORKS[name] = kind
    return kind


def network_kind(name: str) -> NetworkKind:
    """The network of that name; raises UnregisteredNetworkError where there is none."""
    if name not in NETWORKS:
        raise UnregisteredNetworkError(
            f"network {name!r} is not registered",
            hint="import the module that registers it first; "
            f"registered networks: {', '.join(NETWORKS)}",
        )
    return NETWORKS[name]


def make_network(
    name: str, dims: NetworkDims, config: ControllerNetworkConfig | None = None
) -> ControllerNetwork:
    """A network of that name with fresh weights.

    Parameters
    ----------
    config
        Of its kind; the paper's sizes if left out.

    Raises
    ------
    ParameterError
        Where there is no such network, or the dimensions or the configuration do not fit it.
    """
    kind = network_kind(name)
    config = kind.make_config() if config is None else config
    if type(config) is not kind.config:
        raise ParameterError(f"a {type(config).__name__} for the network {name!r}")
    return kind.network(dims, config)
