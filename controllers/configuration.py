"""What a recipe of a controller says: the content of configs/controller/*.yaml."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from controllers.networks.network import ControllerNetworkConfig
from controllers.networks.registry import network_kind
from controllers.schema_config import SchemaConfig
from controllers.training_config import ControllerTraining
from deepphase.errors import ParameterError
from deepphase.recipes import as_mapping, check_known, load_recipe, section


@dataclass(frozen=True)
class ControllerConfig:
    """A recipe: which network, of which size, on which inputs and outputs.

    Parameters
    ----------
    name
        Of the network, as `networks.registry` has it.
    network
        Its sizes.
    schema
        Its inputs and outputs.
    training
        How it is trained.
    """

    name: str
    network: ControllerNetworkConfig
    schema: SchemaConfig = field(default_factory=SchemaConfig)
    training: ControllerTraining = field(default_factory=ControllerTraining)

    @classmethod
    def load(cls, recipe: str | Path, **changes: Any) -> ControllerConfig:
        """The shipped recipe of that name, or the YAML file at that path, with dotted `changes`.

        ``ControllerConfig.load("experts", **{"network.experts": 4, "schema.label": "style"})``

        Raises
        ------
        ParameterError
            Where there is no such recipe, its network is not registered, a key is unknown or a
            value impossible.
        """
        return load_recipe("controller", recipe, changes, cls.from_mapping)

    @classmethod
    def from_mapping(cls, content: Any) -> ControllerConfig:
        """A recipe from nested mappings, as YAML and the headers of files hold it."""
        sections = as_mapping(content, "the recipe")
        check_known(sections, ("network", "schema", "training"), "the recipe")
        values = dict(as_mapping(sections.get("network"), "network"))
        if "name" not in values:
            raise ParameterError("network: no name", hint="it says which network this is")
        name = str(values.pop("name"))
        kind = network_kind(name)
        return cls(
            name,
            section(kind.config, values, "network", kind.make_config),
            section(SchemaConfig, sections.get("schema"), "schema"),
            section(ControllerTraining, sections.get("training"), "training"),
        )

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads."""
        return {
            "network": {"name": self.name, **_plain(asdict(self.network))},
            "schema": _plain(asdict(self.schema)),
            "training": asdict(self.training),
        }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {key: list(each) if isinstance(each, tuple) else each for key, each in values.items()}
