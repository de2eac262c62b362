"""Command lines: the parameters of a typed function are the options of its command."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from deepphase.apps.input_checks import check_inputs
from deepphase.apps.options import ConfigOption, OptionGroup
from deepphase.config import YAML_ERRORS, config_names, parse_yaml
from deepphase.errors import ParameterError

# Parameter -> its short flag.
_SHORT = {"output": "-o", "k": "-k"}
# Parameters with a default that are positional all the same.
_OPTIONAL_POSITIONALS = ("folder", "source")
# Parameter -> its help in every command that says nothing else.
_TEXTS = {
    "allow_truncated": "Use the readable frames of files that end too early.",
    "clip": "Motion file.",
    "clips": "Motion files, folders of motion files, or stores.",
    "store": "A store, a folder of motion files, or one motion file.",
    "config": "Config of the network and its training.",
    "labels": "Use only clips with these labels, as in style=old+happy,action=walk.",
    "output": "Clip to write (.bvh, .glb or .npz).",
    "model": "Phase model of `deepphase train phase`, or a baseline of `deepphase fit phases`.",
    "body": "File (.glb) with a skinned mesh that the character of a page has in place of the "
    "mannequin. Its joints have the names of the model's skeleton, or common ones.",
    "terrain": "Ground that a page or a clip begins on: its kind, or a file with heights (.npz, "
    ".npy or a greyscale image) around the origin. Pages offer all kinds of ground.",
    "workers": "Number of processes; chosen by cores and amount of data if not given.",
    "skeleton": "Name of the skeleton group to use, if the clips have several skeletons; that of "
    "the model if it is not given.",
    "root_motion": "Joint of the written files that carries the travel: root (a joint above the "
    "hips, on the ground, which is added where there is none), hips, or in_place for none. auto is "
    "the topmost joint of the skeleton.",
}
_REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Call:
    """A parsed command line."""

    arguments: dict[str, Any]
    force: bool = False
    config: str = ""


def read_command_line(
    name: str, command: Callable[..., Any], words: Sequence[str], *, checked: bool = False
) -> Call:
    """Parse the command line of a command, by its parameters, into its keyword arguments."""
    parameters = _parameters(command)
    config = _config_option(parameters)
    prints_config = config is not None and "--print-config" in words
    parser = command_parser(f"deepphase {name}", command, required=not prints_config)
    values = vars(parser.parse_intermixed_args(_spelled(words)))
    common = {key: values.pop(key, None) for key in ("force", "print_config", "set")}
    changes, trainer = split_changes(common["set"] or [])
    if checked and not prints_config:
        # Before the config is read, which imports the libraries of its class.
        check_inputs(name, parser, values, changes)
    if config is not None:
        values["config"] = config.load(values["config"], changes)
    elif changes:
        raise ParameterError(
            f"this command has no config with {next(iter(changes))}",
            hint="--set sets options of Lightning's Trainer here, as in trainer.accelerator=gpu",
        )
    for parameter, (kind, _) in parameters.items():
        if _is_group(kind):
            given = {option: values.pop(option) for option in _option_names(kind)}
            values[parameter] = kind(**given, **({"trainer": trainer} if trainer else {}))
    printed = _as_yaml(values["config"]) if prints_config else ""
    return Call(values, bool(common["force"]), printed)


def split_changes(changes: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values of a config and of Lightning's Trainer from texts such as "training.seed=1"."""
    values: dict[str, Any] = {}
    trainer: dict[str, Any] = {}
    for change in changes:
        key, equals, text = change.partition("=")
        key = key.strip().replace("-", "_")
        if not equals or "." not in key:
            raise ParameterError(
                f"--set {change!r} does not have the form SECTION.KEY=VALUE",
                hint="write it as in --set training.seed=1; --print-config lists the keys",
            )
        try:
            value = parse_yaml(text)
        except YAML_ERRORS:
            value = text
        section, _, name = key.partition(".")
        if section == "trainer":
            trainer[name] = value
        else:
            values[key] = value
    return values, trainer


def command_parser(program: str, command: Callable[..., Any], *, required: bool) -> CommandParser:
    """The parser of a command; without `required`, every argument may be left out."""
    document, parameters = inspect.getdoc(command) or "", _parameters(command)
    texts = _TEXTS | parameter_texts(document)
    parser = CommandParser(
        prog=program,
        description=document.partition("\nParameters\n")[0].strip(),
        allow_abbrev=False,
        formatter_class=_HelpFormatter,
    )
    groups = {name: own for name, own in parameters.items() if _is_group(own[0])}
    for name, (kind, default) in parameters.items():
        text = texts.get(name, "")
        if isinstance(default, ConfigOption):
            names, folder = ", ".join(config_names(default.kind)), f"configs/{default.kind}"
            text += f" A YAML file, or one of {folder}: {names}."
            kind, default = str, default.default
        if name not in groups:
            _add(parser, name, kind, default, text, required)
    for kind, default in groups.values():
        heading = (inspect.getdoc(kind) or "").partition("\n")[0].rstrip(".")
        group, hints = parser.add_argument_group(heading), typing.get_type_hints(kind)
        texts = dict(_TEXTS)
        for base in reversed(kind.__mro__):
            texts |= parameter_texts(inspect.cleandoc(base.__doc__ or ""))
        for option in _option_names(kind):
            text = texts.get(option, "")
            _add(group, option, hints[option], getattr(default, option), text, required)
    if "output" in parameters:
        text = "Replace results of earlier commands; of a report with the same inputs it is done."
        parser.add_argument("--force", action="store_true", help=text)
    config = _config_option(parameters)
    if config is not None:
        text = "Print the config with all options applied as YAML, for --config FILE, and exit."
        parser.add_argument("--print-config", action="store_true", help=text)
    if (config is not None and config.has_keys) or "run" in groups:
        text = (
            "Set a key of the config, as in training.seed=1, or of Lightning's Trainer, as in "
            "trainer.accelerator=gpu; several keys by several --set."
        )
        parser.add_argument("--set", action="append", metavar="KEY=VALUE", help=text)
    return parser


def _parameters(command: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Name -> type and default of each parameter of a command."""
    hints, signature = typing.get_type_hints(command), inspect.signature(command)
    return {name: (hints[name], each.default) for name, each in signature.parameters.items()}


def _config_option(parameters: Mapping[str, tuple[Any, Any]]) -> ConfigOption | None:
    """The declaration of a command's config; None without one."""
    defaults = (default for _, default in parameters.values())
    return next((each for each in defaults if isinstance(each, ConfigOption)), None)


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OptionGroup)


def _option_names(group: Any) -> list[str]:
    """The fields of a group that are options."""
    return [each.name for each in dataclasses.fields(group) if each.metadata.get("option", True)]


def parameter_texts(docstring: str) -> dict[str, str]:
    """Description of each parameter in the NumPy section of a docstring."""
    _, _, content = docstring.partition("\nParameters\n")
    texts: dict[str, list[str]] = {}
    name = ""
    for line in content.partition("\n\n")[0].splitlines()[1:]:
        if line and not line.startswith(" "):
            name = line.strip()
        elif name:
            texts.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines).strip() for name, lines in texts.items()}


def _add(parser: Any, name: str, kind: Any, default: Any, text: str, required: bool) -> None:
    """Add the argument of one parameter of this type."""
    settings: dict[str, Any] = {"help": text.replace("%", "%%")}
    if default is not _REQUIRED:
        settings["default"] = default
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        kind = typing.get_args(kind)[0]
    if kind is not bool:
        settings |= _value(kind)
    if name in _OPTIONAL_POSITIONALS or (default is _REQUIRED and name not in _SHORT):
        if settings.get("nargs") == "+":
            settings["nargs"] = "+" if required else "*"
        elif default is not _REQUIRED or not required:
            settings["nargs"] = "?"
        parser.add_argument(name, **settings)
        return
    flag = name.replace("_", "-")
    flags = [f"--{flag}"]
    if kind is bool:
        settings["action"] = "store_false" if default else "store_true"
        flags = [f"--no-{flag}"] if default else flags
    elif default is _REQUIRED:
        settings["required"] = required
    if name in _SHORT:
        flags.insert(0, _SHORT[name])
    parser.add_argument(*flags, dest=name, **settings)


def _value(kind: Any) -> dict[str, Any]:
    """How argparse reads a value of this type."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return {"choices": arguments}
    if origin is list:
        return {"nargs": "+", "type": arguments[0]}
    if origin is tuple:
        return {"nargs": len(arguments), "type": _number}
    return {"type": {float: _number, int: _whole}.get(kind, kind)}


def _whole(text: str) -> int:
    value = int(text)
    # Seeds and numbers of things; beyond these numpy and torch raise errors of their own.
    if not 0 <= value < 1 << 31:
        raise ValueError(text)
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Help with the defaults that say something."""

    def _get_help_string(self, action: argparse.Action) -> str:
        default, text = action.default, action.help or ""
        if default in (None, argparse.SUPPRESS) or action.nargs == 0 or not action.option_strings:
            return text
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        return f"{text} (default: {shown.replace('%', '%%')})"


class CommandParser(argparse.ArgumentParser):
    """A parser that raises ParameterError, with a hint, instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        """Raise the error of a message."""
        fact = re.sub(r"^argument (?:-\w/)?", "", message)
        fact = fact.replace("the following arguments are required:", "missing:")
        fact = re.sub(
            r"invalid choice: (.*) \(choose from (.*)\)", r"expected one of \2, not \1", fact
        )
        fact = re.sub(r"invalid _whole value:", "expected a whole number from 0, not", fact)
        fact = re.sub(r"invalid _number value:", "expected a number, not", fact)
        hint = f"{self.prog} --help lists its options"
        unknown = re.search(r"unrecognized arguments: (--[\w.-]+)", fact)
        if unknown:
            known = [text for action in self._actions for text in action.option_strings]
            near = difflib.get_close_matches(unknown[1], known, n=1)
            hint = f"did you mean {near[0]}? {hint}" if near else hint
        raise ParameterError(fact, hint=hint)


def _spelled(words: Sequence[str]) -> list[str]:
    """The words with their flags as declared: --min_seconds becomes --min-seconds."""
    spelled: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*spelled, *words[index:]]
        if word in ("-x", "-y", "-z") and spelled and spelled[-1] == "--up":
            spelled[-1] = f"--up={word}"
            continue
        flag, equals, value = word.partition("=")
        spelled.append(
            f"{flag.replace('_', '-')}{equals}{value}" if word.startswith("--") else word
        )
    return spelled


def _as_yaml(config: Any) -> str:
    """The config as YAML, with lists instead of tuples."""
    import json

    import yaml

    plain = json.loads(json.dumps(config.as_mapping()))
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)


SHELLS = ("bash", "zsh")


def completion_script(shell: str, commands: Mapping[str, tuple[Callable[..., Any], str]]) -> str:
    """Completion script for a shell, by command -> (its function, a line of help)."""
    import shtab

    if shell not in SHELLS:
        raise ParameterError(
            f"there is no completion for the shell {shell!r}", hint=f"shells: {', '.join(SHELLS)}"
        )
    root = argparse.ArgumentParser(prog="deepphase")
    root.add_argument("--quiet", action="store_true", help="Print warnings and errors only.")
    root.add_argument("--version", "-V", action="version", help="Print the version.", version="")
    root.add_argument("--print-completion", choices=SHELLS, help="Print this script.")
    words = root.add_subparsers(metavar="COMMAND")
    seconds: dict[str, Any] = {}
    for name in sorted(commands, key=lambda name: name.count(" ")):
        command, text = commands[name]
        first, _, second = name.partition(" ")
        parser = command_parser(f"deepphase {name}", command, required=False)
        for action in parser._actions:
            if action.type is Path:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        settings: dict[str, Any] = {"parents": [parser], "add_help": False, "help": text}
        if not second:
            words.add_parser(first, **settings)
            continue
        if first not in seconds:
            seconds[first] = words.add_parser(first, help="").add_subparsers(metavar="COMMAND")
        seconds[first].add_parser(second, **settings)
    return shtab.complete(root, shell)


if sys.flags.optimize > 1:
    raise RuntimeError("help texts are read from docstrings, which -OO removes: run without -OO")
