"""Command-line options of a command, declared by the parameters of a typed function."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import jsonargparse
import yaml

from deepphase.apps.options.groups import ConfigOption, OptionGroup
from deepphase.apps.terminal import Outcome
from deepphase.config import YAML_ERRORS, parse_yaml
from deepphase.errors import FormatError, ParameterError

REQUIRED = inspect.Parameter.empty
"""Default of an option that has none."""

PARAMETERS, OTHER = "Parameters", "Other Parameters"
"""Sections of docstrings: of the options in --help, and of those that only --help-all lists."""

# Parameter -> its short flag.
_SHORT = {"output": "-o", "k": "-k"}
# Parameters with a default that are positional all the same.
_OPTIONAL_POSITIONALS = ("folder", "source")
# Values that look like flags: the up axes -x, -y and -z.
_AXIS = re.compile(r"-[xyz]")
# A key of a config as a flag of its own.
_KEY = re.compile(r"--(\w[\w-]*\.\w[\w.-]*)(?:=(.*))?", re.DOTALL)
# Parameters with files of ours, and their format where it is always the same.
_FORMATS = {
    "model": None,
    "controller": "deepphase.controller",
    "dancer": "deepphase.controller",
    "database": "deepphase.motion_database",
    "editor": "deepphase.editor",
    "source": None,
}
# Patterns of jsonargparse's and argparse's messages -> their replacements.
_MESSAGES = (
    (r"^the following arguments are required: (.*)\boutput\b", r"missing: \1-o"),
    (r"^the following arguments are required:", "missing:"),
    (r"Expected a <class 'int'>\. Got value:", "expected a whole number, not"),
    (r"Expected a <class 'float'>\. Got value:", "expected a number, not"),
    (
        r"Does not validate .*Expected a <class 'int'>.* Given value:",
        "expected a whole number, not",
    ),
    (r"Does not validate .*Expected a <class 'float'>.* Given value:", "expected a number, not"),
    (r"Expected a typing\.Literal\[(.*)\]\. Got value:", r"expected one of \1, not"),
)


@dataclass(frozen=True)
class Option:
    """One option of a command line.

    Parameters
    ----------
    name
        Name of the parameter; "section.field" for a field of a config section.
    type
        Annotation of the parameter.
    default
        Its default; :data:`REQUIRED` for an option without one.
    help
        One or more sentences.
    heading
        Heading that it is listed under in the help; empty for the command's own options.
    rare
        Whether --help leaves it out, and only --help-all lists it.
    """

    name: str
    type: Any
    default: Any
    help: str
    heading: str = ""
    rare: bool = False

    @property
    def positional(self) -> bool:
        """Whether it is positional, without a flag."""
        if self.name in _OPTIONAL_POSITIONALS:
            return True
        return self.default is REQUIRED and self.name not in _SHORT

    @property
    def is_switch(self) -> bool:
        """Whether it is given without a value."""
        return self.type is bool and not self.is_key

    @property
    def is_key(self) -> bool:
        """Whether it is a key of the config, which --set changes."""
        return "." in self.name

    @property
    def flags(self) -> list[str]:
        """Its flags, the short one first; none if it is positional or a key of the config."""
        if self.positional or self.is_key:
            return []
        flag = self.name.replace("_", "-")
        if self.is_switch and self.default is True:
            return [f"--no-{flag}"]
        return [*([_SHORT[self.name]] if self.name in _SHORT else []), f"--{flag}"]


@dataclass(frozen=True)
class Call:
    """A parsed command line.

    Parameters
    ----------
    arguments
        Keyword arguments of the command.
    quiet
        Whether only warnings and errors are printed.
    json
        Whether a JSON document is printed instead of text.
    config
        With --print-config, the resolved config as YAML; otherwise empty.
    """

    arguments: dict[str, Any]
    quiet: bool = False
    json: bool = False
    config: str = ""


def read_command_line(
    name: str, command: Callable[..., Any], words: Sequence[str], *, check_inputs: bool = False
) -> Call:
    """Parse the command line of a command into its keyword arguments.

    Parameters of the command without a default are positional (a list takes one word or more), and
    so is an optional `folder`. `output` is -o, all others are options. A parameter that is an
    :class:`deepphase.apps.options.groups.OptionGroup` gives one option per field. A parameter whose
    default is a :class:`deepphase.apps.options.groups.ConfigOption` is given the config that
    --config names, with the changes of ``--set SECTION.KEY=VALUE``. Options in the docstring's
    section "Other Parameters" and the keys of configs are listed by --help-all only.

    Parameters
    ----------
    name
        Name of the command, such as "train phase".
    command
        A function whose docstring has the NumPy sections "Parameters" and, for options that few
        need, "Other Parameters", which give the help texts.
    words
        The command line after the command. Flags may have underscores instead of hyphens.
    check_inputs
        Refuse files that are missing or of another format.

    Raises
    ------
    SystemExit
        For --help and --help-all.
    ParameterError
        If an option is unknown, a value is invalid, or the config is.
    FormatError
        With `check_inputs`, if a file or folder to read does not exist.
    CheckpointError
        With `check_inputs`, if a model, controller or the like is another kind of file.
    """
    words = _spelled_as_declared(words)
    given = _config_option(command)
    everything = _is_switched_on("--help-all", words)
    printing = given is not None and _is_switched_on("--print-config", words)
    options = [*options_of(command), *common_options(command)]
    required = not (printing or everything)
    program = f"deepphase {name}"
    parser = _parser(program, command, options, required=required, everything=everything)
    if any(each.positional and each.type == list[Path] for each in options):
        words = _positionals_first(words, parser)
    values = parser.parse_args(words).as_dict()
    common = {each.name: values.pop(each.name, None) for each in common_options(command)}
    if check_inputs and required:
        # Before the config is read, which imports the libraries of its class.
        _check_inputs(options, values)
    if given is not None:
        values["config"] = _config(program, given, values["config"], common.get("set") or [])
    if everything:
        keys = [] if given is None else list(config_keys(values["config"]))
        _parser(program, command, [*options, *keys], required=False, everything=True).print_help()
        raise SystemExit(0)
    types = typing.get_type_hints(command)
    for parameter in inspect.signature(command).parameters:
        if _is_group(types[parameter]):
            group = types[parameter]
            values[parameter] = group(**{f.name: values.pop(f.name) for f in _fields(group)})
    return Call(
        values,
        quiet=common["quiet"],
        json=common.get("json", False),
        config=_as_yaml(values["config"]) if printing else "",
    )


def _config(program: str, given: ConfigOption, named: str, changes: Sequence[str]) -> Any:
    """The config of that name or file, with changes such as "training.seed=1"."""
    kind = given.kind
    config = kind.load(named)
    if not changes:
        return config
    values = {}
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or "." not in key:
            raise ParameterError(
                f"--set {change!r} does not have the form SECTION.KEY=VALUE",
                hint=f"write it as in --set training.seed=1; {program} --help-all lists the keys",
            )
        try:
            values[key.strip().replace("-", "_")] = parse_yaml(value)
        except YAML_ERRORS:
            values[key.strip().replace("-", "_")] = value
    try:
        return kind.load(named, **values)
    except ParameterError as error:
        # The file is not at fault, which the error would name.
        hint = f"{error.hint}; " if error.hint else ""
        raise ParameterError(
            f"--set is refused: {error.fact}", hint=f"{hint}{program} --help-all lists the keys"
        ) from None


def _positionals_first(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """The words with all positional ones first: argparse takes a list from one place only."""
    flags = {flag: action for action in parser._actions for flag in action.option_strings}
    first: list[str] = []
    others: list[str] = []
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return [*first, *others, *words[place:]]
        place += 1
        if not word.startswith("-") or word == "-":
            first.append(word)
            continue
        others.append(word)
        action = flags.get(word)
        if action is None:
            continue
        taken = 1 if action.nargs is None else action.nargs
        if not isinstance(taken, int):
            # A list goes on to the next option.
            rest = words[place:]
            taken = next((i for i, each in enumerate(rest) if each in flags), len(rest))
        others += words[place : place + taken]
        place += taken
    return [*first, *others]


def options_of(command: Callable[..., Any]) -> list[Option]:
    """Options of a command, its own and those of its groups."""
    document = inspect.getdoc(command) or ""
    types, texts = typing.get_type_hints(command), parameter_texts(document)
    rare = parameter_texts(document, OTHER)
    options: list[Option] = []
    grouped: list[Option] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind, default = types[name], parameter.default
        if _is_group(kind):
            grouped += _field_options(kind, default)
            continue
        if isinstance(default, ConfigOption):
            kind, default = str, default.default
        text = texts.get(name, "") or rare.get(name, "")
        options.append(Option(name, kind, default, text, rare=name in rare))
    return [*options, *grouped]


def parameter_texts(docstring: str, section: str = PARAMETERS) -> dict[str, str]:
    """Description of each parameter in a NumPy section of a docstring."""
    _, _, content = docstring.partition(f"\n{section}\n")
    texts: dict[str, list[str]] = {}
    name = ""
    for line in content.partition("\n\n")[0].splitlines()[1:]:
        if line and not line.startswith(" "):
            name = line.strip()
        elif name:
            texts.setdefault(name, []).append(line.strip())
    return {name: " ".join(lines).strip() for name, lines in texts.items()}


def _check_inputs(options: Sequence[Option], values: Mapping[str, Any]) -> None:
    """Refuse files that are missing or of another format, before libraries are imported."""
    for option in options:
        given = values.get(option.name)
        if option.positional:
            for path in given if isinstance(given, list) else [given]:
                if not isinstance(path, Path) or str(path) == "-":
                    continue
                try:
                    path.stat()
                except FileNotFoundError:
                    raise FormatError(
                        "there is no such file or folder", hint="check the path", path=path
                    ) from None
                except (OSError, ValueError):
                    # What reads it says why it cannot be read.
                    continue
        if option.name in _FORMATS and isinstance(given, Path) and given.is_file():
            # Imported here, since --help needs no NumPy.
            from deepphase.formats.array_file import read_header

            read_header(given, _FORMATS[option.name])


def common_options(command: Callable[..., Any]) -> list[Option]:
    """Options that the program adds to a command, such as --quiet, --json and --set."""
    options = [Option("quiet", bool, False, "Print warnings and errors only.")]
    if typing.get_type_hints(command).get("return") is Outcome:
        text = "Print one JSON document to standard output; progress and tables go to stderr."
        options.append(Option("json", bool, False, text))
    given = _config_option(command)
    if given is not None:
        text = "Print the config with all options applied as YAML, for --config FILE, and exit."
        options.append(Option("print_config", bool, False, text))
    if given is not None and given.has_keys:
        text = (
            "Set a key of the config, as in --set training.seed=1; several keys by several --set."
        )
        options.append(Option("set", list[str], None, text))
    text = "Show all options and all keys of the config, and exit."
    options.append(Option("help_all", bool, False, text))
    return options


def _field_options(kind: Any, values: Any, prefix: str = "") -> Iterator[Option]:
    """One option per field of a dataclass; the first line of its docstring is their heading."""
    heading = (inspect.getdoc(kind) or "").partition("\n")[0].rstrip(".")
    types = typing.get_type_hints(kind)
    texts: dict[str, str] = {}
    rare: set[str] = set()
    for base in reversed(kind.__mro__):
        document = inspect.cleandoc(base.__doc__ or "")
        common, other = parameter_texts(document), parameter_texts(document, OTHER)
        texts |= common | other
        rare = (rare - set(common)) | set(other)
    for field in _fields(kind):
        default = getattr(values, field.name)
        text = texts.get(field.name, "")
        hidden = bool(prefix) or field.name in rare
        yield Option(f"{prefix}{field.name}", types[field.name], default, text, heading, hidden)


def _fields(kind: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OptionGroup)


def _config_option(command: Callable[..., Any]) -> ConfigOption | None:
    """The declaration of the command's config; None without one."""
    parameter = inspect.signature(command).parameters.get("config")
    default = None if parameter is None else parameter.default
    return default if isinstance(default, ConfigOption) else None


def config_keys(config: Any) -> Iterator[Option]:
    """The keys of a config: the fields of its sections, which are dataclasses."""
    if not dataclasses.is_dataclass(config):
        return
    for field in _fields(config):
        section = getattr(config, field.name)
        if not dataclasses.is_dataclass(section):
            continue
        if any(dataclasses.is_dataclass(getattr(section, each.name)) for each in _fields(section)):
            yield from config_keys(section)
        else:
            yield from _field_options(type(section), section, prefix=f"{field.name}.")


def _parser(
    program: str,
    command: Callable[..., Any],
    options: Sequence[Option],
    *,
    required: bool,
    everything: bool,
) -> _Parser:
    text = inspect.getdoc(command) or ""
    positionals = [
        f"{option.name} ..." if option.type == list[Path] else option.name
        for option in options
        if option.positional
    ]
    output = ["-o OUTPUT"] if any(each.name == "output" for each in options) else []
    parser = _Parser(
        prog=program,
        usage=" ".join([program, *positionals, *output, "[options]"]),
        description=re.split(f"\n(?:{PARAMETERS}|{OTHER})\n", text)[0].strip(),
        default_env=False,
        allow_abbrev=False,
        formatter_class=_HelpFormatter,
    )
    headings: dict[str, Any] = {"": parser}
    for option in options:
        if option.heading not in headings:
            headings[option.heading] = parser.add_argument_group(option.heading)
        shown = everything or not option.rare
        _add(headings[option.heading], option, required=required, shown=shown)
    return parser


def _add(group: Any, option: Option, *, required: bool, shown: bool) -> None:
    settings: dict[str, Any] = {"help": option.help if shown else argparse.SUPPRESS}
    if option.default is not REQUIRED:
        settings["default"] = option.default
    if option.positional:
        if option.type == list[Path]:
            settings.update(nargs="+" if required else "*", type=Path)
        else:
            settings["type"] = option.type
            if option.default is not REQUIRED or not required:
                settings["nargs"] = "?"
        group.add_argument(option.name, **settings)
        return
    if option.is_key:
        group.add_argument(f"--{option.name}", **settings)
        return
    if option.name == "set":
        settings["action"] = "append"
    elif option.is_switch:
        settings["action"] = "store_false" if option.default else "store_true"
    elif option.type == list[Path] | None:
        settings.update(nargs="+", type=Path)
    elif option.type == tuple[float, float] | None:
        settings.update(nargs=2, type=float)
    else:
        settings["type"] = option.type
    if option.default is REQUIRED:
        settings["required"] = required
    group.add_argument(*option.flags, dest=option.name, **settings)


class _HelpFormatter(jsonargparse.DefaultHelpFormatter):
    """Help without the names of Python's types, and with defaults as they are typed."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if "." in action.dest:
            return f"--set {action.dest}=..."
        return super()._format_action_invocation(action)

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        default = _as_typed(action.default)
        if not default or action.nargs == 0 or not action.option_strings:
            return text
        return f"{text} (default: {default})".lstrip().replace("%", "%%")


def _as_typed(default: Any) -> str:
    """A default value as on a command line; empty if there is none to show."""
    if default is None or default is argparse.SUPPRESS:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, float):
        return f"{default:.10g}"
    if isinstance(default, list | tuple):
        return f"[{','.join(map(str, default))}]" if default else ""
    return str(default)


class _Parser(jsonargparse.ArgumentParser):
    """A parser that raises ParameterError, with a hint, instead of printing its usage."""

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        fact = " ".join(message.split())
        for pattern, words in _MESSAGES:
            fact = re.sub(pattern, words, fact)
        fact = re.sub(r'^Parser key "([^"]*)":', lambda key: f"{self._flag(key[1])}:", fact)
        hint = f"{self.prog} --help lists its options"
        unknown = re.search(r"unrecognized arguments: (--[\w.-]+)", fact)
        if unknown:
            known = [text for action in self._actions for text in action.option_strings]
            near = difflib.get_close_matches(unknown[1], known, n=1)
            hint = f"did you mean {near[0]}? {hint}" if near else hint
        raise ParameterError(fact, hint=hint) from None

    def _flag(self, name: str) -> str:
        """The flag of an option, or its name if it is positional."""
        for action in self._actions:
            if action.dest == name:
                return action.option_strings[-1] if action.option_strings else name
        return f"--{name}"


def _spelled_as_declared(words: Sequence[str]) -> list[str]:
    """The words with their flags as declared: --min_seconds becomes --min-seconds.

    Raises ParameterError for a key of a config that is written as a flag.
    """
    spelled: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*spelled, *words[index:]]
        if _AXIS.fullmatch(word) and spelled and spelled[-1] == "--up":
            spelled[-1] = f"--up={word}"
        elif key := _KEY.fullmatch(word):
            value = key[2] if key[2] is not None else "".join(words[index + 1 : index + 2])
            raise ParameterError(
                f"there is no option --{key[1]}",
                hint=f"write a key of the config as --set {key[1]}={value or 'VALUE'}",
            )
        elif word.startswith("--"):
            flag, equals, value = word[2:].partition("=")
            spelled.append(f"--{flag.replace('_', '-')}{equals}{value}")
        else:
            spelled.append(word)
    return spelled


def _is_switched_on(flag: str, words: Sequence[str]) -> bool:
    """Whether a flag is among the words before a `--`."""
    return flag in words and flag in words[: words.index("--") if "--" in words else None]


def _as_yaml(config: Any) -> str:
    """The config as YAML."""
    return yaml.safe_dump(_plain(config.as_mapping()), sort_keys=False, allow_unicode=True)


def _plain(value: Any) -> Any:
    """The value with lists instead of tuples, which YAML lacks."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


if sys.flags.optimize > 1:
    raise RuntimeError("help texts are read from docstrings, which -OO removes: run without -OO")
