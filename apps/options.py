"""A command is a typed function: its parameters are the program's options."""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonargparse

from deepphase.phase.configuration import PhaseConfig

# Parameter -> its short spelling.
_SHORT = {"output": "-o"}


def parsed(program: str, command: Callable[..., Any], words: Sequence[str]) -> dict[str, Any]:
    """The command's keyword arguments from the words of a command line.

    Parameters without a default are positional (a list takes one word or more), `output` is -o,
    the others are --options; a dataclass gives one dotted option a field. A `config` parameter
    names a recipe, whose values become the defaults of the dotted options.

    Raises
    ------
    SystemExit
        For --help, and with status 2 where a word is unknown or a value impossible.
    ParameterError
        Where the recipe is.
    """
    parser = jsonargparse.ArgumentParser(
        prog=program, description=inspect.getdoc(command), default_env=False
    )
    parameters = inspect.signature(command).parameters
    types = typing.get_type_hints(command)
    texts = _parameter_texts(inspect.getdoc(command) or "")
    for name, parameter in parameters.items():
        required = parameter.default is inspect.Parameter.empty
        settings: dict[str, Any] = {"type": types[name], "help": texts.get(name, "")}
        if name in _SHORT:
            extra = {"required": True} if required else {"default": parameter.default}
            parser.add_argument(_SHORT[name], f"--{name}", **settings, **extra)
        elif required and types[name] == list[Path]:
            parser.add_argument(name, nargs="+", type=Path, help=settings["help"])
        elif required:
            parser.add_argument(name, **settings)
        elif types[name] is bool:
            parser.add_argument(
                f"--{name}", action="store_true", default=False, help=settings["help"]
            )
        elif hasattr(types[name], "__dataclass_fields__"):
            parser.add_class_arguments(types[name], name)
        else:
            parser.add_argument(f"--{name}", default=parameter.default, **settings)
    parser.description = (inspect.getdoc(command) or "").split("\nParameters\n")[0].strip()
    if "config" in parameters:
        recipe = PhaseConfig.load(_named_recipe(words, parameters["config"].default))
        parser.set_defaults(_flat(asdict(recipe)))
    options = parser.parse_args(list(words))
    return {**parser.instantiate_classes(options).as_dict()}


def _named_recipe(words: Sequence[str], default: str) -> str:
    """The value of --config, before the parser that needs it exists."""
    for index, word in enumerate(words):
        if word == "--config" and index + 1 < len(words):
            return words[index + 1]
        if word.startswith("--config="):
            return word.removeprefix("--config=")
    return default


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{prefix}{key}"
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def _parameter_texts(docstring: str) -> dict[str, str]:
    """Parameter -> its text, of a docstring with a NumPy "Parameters" section."""
    _, _, section = docstring.partition("\nParameters\n")
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section.splitlines()[1:]:
        if line and not line.startswith(" "):
            names = [part.strip() for part in line.split(",")]
        else:
            for name in names:
                texts.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines).strip() for name, lines in texts.items()}


if sys.flags.optimize > 1:
    raise RuntimeError("deepphase reads its options' help from docstrings: run without -OO")
