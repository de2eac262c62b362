"""Registry of controller networks: their names in config files and controller files.

The program that trains or loads a network of its own registers it with `register_network`. A file
only names its network: reading it imports no code.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from deepphase.controllers.networks.network import (
    ControllerNetwork,
    ControllerNetworkConfig,
    NetworkDims,
)
from deepphase.controllers.schema.config import SHIPPED_NETWORKS, Gate
from deepphase.errors import ParameterError, UnregisteredError


@dataclass(frozen=True)
class NetworkKind:
    """A registered network."""

    network: Callable[[NetworkDims, Any], ControllerNetwork]
    config: type[ControllerNetworkConfig]
    gate: Gate
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_recurrent(self) -> bool:
        """Whether it is trained on sequences; see `ControllerNetwork`."""
        return bool(getattr(self.network, "is_recurrent", False))

    @property
    def has_page_form(self) -> bool:
        """Whether it runs in live pages; see `ControllerNetwork`."""
        return bool(getattr(self.network, "page_form", ""))

    def make_config(self, **values: Any) -> ControllerNetworkConfig:
        """The config with these values, and the defaults for all others."""
        return self.config(**{**self.defaults, **values})


def _checked(name: str, kind: NetworkKind) -> NetworkKind:
    for each, base in (
        (kind.network, ControllerNetwork),
        (kind.config, ControllerNetworkConfig),
    ):
        if not (isinstance(each, type) and issubclass(each, base)):
            raise ParameterError(
                f"network {name!r}: {each!r} does not extend {base.__name__}",
                hint="give a class that does, not an instance or a function",
            )
    if kind.gate not in get_args(Gate):
        raise ParameterError(
            f"there is no gate {kind.gate!r}", hint=f"gates: {', '.join(get_args(Gate))}"
        )
    try:
        kind.make_config()
    except TypeError as error:
        raise ParameterError(
            f"network {name!r}: a field of its config has no default: {error}",
            hint="give every field a default, in the class or here",
        ) from None
    return kind


def _shipped(name: str, gate: Gate, place: str) -> NetworkKind:
    network, config = (
        pkgutil.resolve_name(f"deepphase.controllers.networks.{place}{end}")
        for end in ("", "Config")
    )
    return _checked(
        name, NetworkKind(network, config, gate, {"phases": 10} if name == "pfgp" else {})
    )


NETWORKS = {name: _shipped(name, *row) for name, row in SHIPPED_NETWORKS.items()}
"""Name -> network: the shipped ones, and those that programs register."""


def register_network(
    name: str,
    network: Callable[[NetworkDims, Any], ControllerNetwork],
    config: type[ControllerNetworkConfig],
    *,
    gate: Gate,
    **defaults: Any,
) -> NetworkKind:
    """Register a controller network by a name.

    A name may be registered again, as by a notebook cell that runs twice; the last one counts.

    Parameters
    ----------
    name
        Its name in config files and controller files.
    network
        Its class, called with `NetworkDims` and a `config`.
    config
        The class of its config, a frozen dataclass.
    gate
        What its weights depend on: "phase" (one phase, cycles), "manifold" (the phase manifold),
        "feet" (velocities of the feet), "goal" (the desired trajectory), or "none".
    defaults
        Values of the config that differ from the defaults of the class.

    Returns
    -------
    The registered network.

    Raises
    ------
    ParameterError
        If the name is that of a shipped network, a class does not extend its base class, or the
        gate or a default is unknown.
    """
    if name in SHIPPED_NETWORKS:
        raise ParameterError(f"{name!r} is a shipped network", hint="choose another name")
    kind = NETWORKS[name] = _checked(name, NetworkKind(network, config, gate, defaults))
    return kind


def network_kind(name: str) -> NetworkKind:
    """The network of that name; raises UnregisteredError if there is none."""
    if name not in NETWORKS:
        raise UnregisteredError(
            f"network {name!r} is not registered",
            hint="first import the module that registers it; "
            f"registered networks: {', '.join(NETWORKS)}",
        )
    return NETWORKS[name]


def make_network(
    name: str, dims: NetworkDims, config: ControllerNetworkConfig | None = None
) -> ControllerNetwork:
    """A network of that name with fresh weights."""
    kind = network_kind(name)
    config = kind.make_config() if config is None else config
    if type(config) is not kind.config:
        raise ParameterError(
            f"the network {name!r} takes a {kind.config.__name__}, not a {type(config).__name__}"
        )
    return kind.network(dims, config)
