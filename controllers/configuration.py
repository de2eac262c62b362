"""What a recipe of a controller says: the content of configs/controller/*.yaml."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from controllers.networks.registry import NetworkConfig, network_kind
from controllers.schema_config import SchemaConfig
from controllers.training_config import ControllerTraining
from deepphase.errors import ParameterError
from deepphase.recipes import recipe_path


@dataclass(frozen=True)
class ControllerConfig:
    """A recipe: which network, of which size, on which inputs and outputs.

    Parameters
    ----------
    name
        Of the network, as `registry.NETWORKS` has it.
    network
        Its sizes.
    schema
        Its inputs and outputs.
    training
        How it is trained.
    """

    name: str
    network: NetworkConfig
    schema: SchemaConfig = field(default_factory=SchemaConfig)
    training: ControllerTraining = field(default_factory=ControllerTraining)

    @classmethod
    def load(cls, recipe: str | Path, **changes: Any) -> ControllerConfig:
        """The shipped recipe of that name, or the YAML file at that path, with dotted `changes`.

        ``ControllerConfig.load("experts", **{"network.experts": 4, "schema.label": "style"})``

        Raises
        ------
        ParameterError
            Where there is no such recipe, a key is unknown or a value impossible.
        """
        path = recipe_path("controller", recipe)
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
            raise ParameterError(f"no YAML: {' '.join(str(error).split())}", path=path) from None
        try:
            for key, value in changes.items():
                section, _, inside = key.partition(".")
                _mapping(content, "the recipe").setdefault(section, {})[inside] = value
            return cls.from_mapping(content)
        except ParameterError as error:
            raise ParameterError(error.fact, hint=error.hint, path=path) from None

    @classmethod
    def from_mapping(cls, content: Any) -> ControllerConfig:
        """A recipe from nested mappings, as YAML and the headers of files hold it."""
        known = ("network", "schema", "training")
        sections = _mapping(content, "the recipe")
        _check_known(sections, known, "the recipe")
        values = dict(_mapping(sections.get("network"), "network"))
        if "name" not in values:
            raise ParameterError("network: no name", hint="it says which network this is")
        name = str(values.pop("name"))
        kind = network_kind(name)
        return cls(
            name,
            _made(kind.config, type(kind.config()), values, "network"),
            _made(SchemaConfig, SchemaConfig, sections.get("schema") or {}, "schema"),
            _made(
                ControllerTraining, ControllerTraining, sections.get("training") or {}, "training"
            ),
        )

    def as_mapping(self) -> dict[str, Any]:
        """What `from_mapping` reads."""
        return {
            "network": {"name": self.name, **_plain(asdict(self.network))},
            "schema": _plain(asdict(self.schema)),
            "training": asdict(self.training),
        }


def _made(make: Callable[..., Any], kind: type, values: Any, where: str) -> Any:
    declared = {item.name: str(item.type) for item in fields(kind)}
    values = _mapping(values, where)
    _check_known(values, declared, where)
    typed = {key: _typed(f"{where}.{key}", declared[key], each) for key, each in values.items()}
    return make(**typed)


def _typed(name: str, declared: str, value: Any) -> Any:
    """The value as its field's type: YAML reads 1e-4 as text, and 2 where a float is meant."""
    try:
        if declared.startswith("tuple"):
            if isinstance(value, str):
                raise TypeError
            return tuple(value)
        if value is None and declared.endswith("None"):
            return None
        if declared == "bool" or isinstance(value, bool):
            if declared != "bool" or not isinstance(value, bool):
                raise TypeError
            return value
        if declared.startswith("int"):
            if float(value) != int(float(value)):
                raise ValueError
            return int(float(value))
        return float(value) if declared == "float" else str(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} must be {declared}, not {value!r}") from None


def _mapping(values: Any, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise ParameterError(f"{where} is not a mapping")
    return values


def _check_known(values: Iterable[str], known: Iterable[str], where: str) -> None:
    known = list(known)
    for name in values:
        if name not in known:
            raise ParameterError(
                f"unknown key {name!r} in {where}", hint=f"known: {', '.join(known)}"
            )


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {key: list(each) if isinstance(each, tuple) else each for key, each in values.items()}
