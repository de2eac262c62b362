"""The networks by the names that recipes and commands call them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from controllers.networks.experts import Experts, ExpertsConfig
from controllers.networks.gaussian_process import GaussianProcess, GaussianProcessConfig
from controllers.networks.network import ControllerNetwork, NetworkDims
from controllers.networks.pfnn import Pfnn, PfnnConfig
from controllers.networks.plain import Plain, PlainConfig
from controllers.networks.recurrent import Recurrent, RecurrentConfig
from controllers.networks.variational import Variational, VariationalConfig
from controllers.schema_config import Gate
from deepphase.errors import ParameterError

NetworkConfig = (
    PfnnConfig
    | ExpertsConfig
    | VariationalConfig
    | PlainConfig
    | RecurrentConfig
    | GaussianProcessConfig
)


@dataclass(frozen=True)
class NetworkKind:
    """What a name stands for.

    Parameters
    ----------
    network
        Its class, called with dimensions and configuration.
    config
        The class of its configuration.
    gate
        What its weights depend on.
    """

    network: Callable[[NetworkDims, Any], ControllerNetwork]
    config: Callable[..., NetworkConfig]
    gate: Gate


def _ten_processes(**values: Any) -> GaussianProcessConfig:
    return GaussianProcessConfig(**{"phases": 10, **values})


NETWORKS: dict[str, NetworkKind] = {
    "pfnn": NetworkKind(Pfnn, PfnnConfig, "phase"),
    "experts": NetworkKind(Experts, ExpertsConfig, "manifold"),
    "mann": NetworkKind(Experts, ExpertsConfig, "feet"),
    "lmp": NetworkKind(Experts, ExpertsConfig, "manifold"),
    "no_phase": NetworkKind(Experts, ExpertsConfig, "wish"),
    "vinn": NetworkKind(Variational, VariationalConfig, "phase"),
    "nn": NetworkKind(Plain, PlainConfig, "none"),
    "nn_phase": NetworkKind(Plain, PlainConfig, "phase"),
    "erd": NetworkKind(Recurrent, RecurrentConfig, "none"),
    "erd_phase": NetworkKind(Recurrent, RecurrentConfig, "phase"),
    "gp": NetworkKind(GaussianProcess, GaussianProcessConfig, "phase"),
    "pfgp": NetworkKind(GaussianProcess, _ten_processes, "phase"),
}
"""lmp is the experts' network: its phases are the contacts', from another phase model."""


def network_kind(name: str) -> NetworkKind:
    """What a name stands for; ParameterError lists the names where it is none."""
    if name not in NETWORKS:
        raise ParameterError(f"no network {name!r}", hint=f"networks: {', '.join(NETWORKS)}")
    return NETWORKS[name]


def make_network(
    name: str, dims: NetworkDims, config: NetworkConfig | None = None
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
    config = kind.config() if config is None else config
    if type(config) is not type(kind.config()):
        raise ParameterError(f"a {type(config).__name__} for the network {name!r}")
    return kind.network(dims, config)
