"""A command is a typed function: its parameters are the program's options."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import jsonargparse

from deepphase.errors import ParameterError
from deepphase.phase.configuration import PhaseConfig
from deepphase.recipes import recipe_path

# Parameter -> its short spelling.
_SHORT = {"output": "-o", "k": "-k"}
# Parameters with a default that are words of their own all the same.
_WORDS_LEFT_OUT = ("folder",)
# The one value that looks like an option: an up axis of a file that stands on its head.
_AXIS = re.compile(r"-[xyz]")
# What jsonargparse says of mistakes -> what a user calls these things.
_WORDS = (
    (r"^the following arguments are required: (.*)\boutput\b", r"missing: \1-o"),
    (r"^the following arguments are required:", "missing:"),
    (r'^Parser key "([^"]*)":', r"--\1:"),
    (r"Expected a <class 'int'>\. Got value:", "expected a whole number, not"),
    (r"Expected a <class 'float'>\. Got value:", "expected a number, not"),
    (
        r"Does not validate .*Expected a <class 'int'>.* Given value:",
        "expected a whole number, not",
    ),
    (r"Does not validate .*Expected a <class 'float'>.* Given value:", "expected a number, not"),
    (r"Expected a typing\.Literal\[(.*)\]\. Got value:", r"expected one of \1, not"),
)


def parsed(
    program: str, command: Callable[..., Any], words: Sequence[str], recipes: Any = PhaseConfig
) -> dict[str, Any]:
    """The command's keyword arguments from the words of a command line.

    Parameters without a default are positional (a list takes one word or more), and so is a folder
    that may be left out; `output` is -o, the others
    are --options, spelled with underscores or hyphens; a dataclass gives one dotted
    option a field. A `config` parameter names a recipe, which `recipes.load` reads, and whose
    values become the defaults of the dotted options; where a parameter may be one of several
    dataclasses, the recipe says which.

    Raises
    ------
    SystemExit
        For --help.
    ParameterError
        Where a word is unknown, a value impossible, or the recipe is.
    """
    words = _plain(words)
    text = inspect.getdoc(command) or ""
    parser = _Parser(
        prog=program,
        description=text.split("\nParameters\n")[0].strip(),
        default_env=False,
        allow_abbrev=False,
        formatter_class=_HelpFormatter,
    )
    parameters = inspect.signature(command).parameters
    types = typing.get_type_hints(command)
    texts = _parameter_texts(text)
    sections: dict[str, Any] = {
        name: kind
        for name, kind in types.items()
        if any(dataclasses.is_dataclass(each) for each in (kind, *typing.get_args(kind)))
    }
    recipe = None
    # Without dotted options a recipe is the command's own to read.
    if "config" in parameters and sections:
        recipe = recipes.load(_named_recipe(words, parameters["config"].default))
        sections = {name: type(getattr(recipe, name)) for name in sections}
    for name, parameter in parameters.items():
        if name in sections:
            _add_section(parser, name, sections[name], getattr(recipe, name))
            continue
        required = parameter.default is inspect.Parameter.empty
        settings: dict[str, Any] = {"type": types[name], "help": texts.get(name, "")}
        if name in _SHORT:
            extra = {"required": True} if required else {"default": parameter.default}
            parser.add_argument(_SHORT[name], f"--{name}", **settings, **extra)
        elif required and types[name] == list[Path]:
            parser.add_argument(name, nargs="+", type=Path, help=settings["help"])
        elif required:
            parser.add_argument(name, **settings)
        elif name in _WORDS_LEFT_OUT:
            parser.add_argument(name, nargs="?", default=parameter.default, **settings)
        elif types[name] is bool:
            parser.add_argument(
                f"--{name}", action="store_true", default=False, help=settings["help"]
            )
        else:
            parser.add_argument(f"--{name}", default=parameter.default, **settings)
    options = parser.parse_args(words).as_dict()
    for name, kind in sections.items():
        options[name] = kind(**options[name])
    return options


class _HelpFormatter(jsonargparse.DefaultHelpFormatter):
    """Help without the names of Python's types; a default where it says something."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        # By identity: 0 is a default worth telling, and equals False.
        silent = any(action.default is each for each in (None, False, argparse.SUPPRESS))
        if silent or not action.option_strings:
            return text
        return f"{text} (default: %(default)s)".lstrip()


class _Parser(jsonargparse.ArgumentParser):
    """A parser whose errors are ours: one fact and one hint, no usage in front of them."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        fact = " ".join(message.split())
        for pattern, words in _WORDS:
            fact = re.sub(pattern, words, fact)
        hint = f"{self.prog} --help tells its options"
        unknown = re.search(r"unrecognized arguments: (--[\w.]+)", fact)
        if unknown:
            known = [text for action in self._actions for text in action.option_strings]
            near = difflib.get_close_matches(unknown[1], known, n=1)
            hint = f"did you mean {near[0]}? {hint}" if near else hint
        raise ParameterError(fact, hint=hint) from None


def _add_section(parser: _Parser, name: str, kind: Any, values: Any) -> None:
    """One dotted option a field of a dataclass."""
    text = inspect.getdoc(kind) or ""
    group = parser.add_argument_group(text.partition("\n")[0].rstrip("."))
    texts, types = _parameter_texts(text), typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        group.add_argument(
            f"--{name}.{field.name}",
            type=types[field.name],
            default=getattr(values, field.name),
            help=texts.get(field.name, ""),
        )


def _plain(words: Sequence[str]) -> list[str]:
    """The words with options as they are declared: --min-seconds is --min_seconds."""
    plain: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*plain, *words[index:]]
        if _AXIS.fullmatch(word) and plain and plain[-1] == "--up":
            plain[-1] = f"--up={word}"
        elif word.startswith("--"):
            option, equals, value = word.partition("=")
            plain.append(f"--{option[2:].replace('-', '_')}{equals}{value}")
        else:
            plain.append(word)
    return plain


def _named_recipe(words: Sequence[str], default: str) -> str:
    """The value of --config, before the parser that needs it exists."""
    named = default
    for index, word in enumerate(words):
        if word == "--config" and index + 1 < len(words):
            named = words[index + 1]
        elif word.startswith("--config="):
            named = word.removeprefix("--config=")
    return named


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


def told_skeleton(name: str | None) -> dict[str, Any] | None:
    """The skeleton description that an option names: a YAML file, or a shipped one's name."""
    from deepphase.motion.skeleton_description import load_description

    return None if name is None else load_description(recipe_path("skeletons", name))


def refuse_for_songs(**told: Any) -> None:
    """Raise ParameterError where an option was told that songs do not have."""
    for name, value in told.items():
        if value not in (None, False):
            raise ParameterError(
                f"--{name.replace('_', '-')} is for motion, and these are songs",
                hint="leave it out",
            )


if sys.flags.optimize > 1:
    raise RuntimeError("deepphase reads its options' help from docstrings: run without -OO")
