"""Shell completion of commands, options, choices and files."""

from __future__ import annotations

import argparse
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import shtab

from deepphase.apps.options.command_line import Option, common_options, options_of
from deepphase.errors import ParameterError

SHELLS = ("bash", "zsh")


def completion_script(shell: str, commands: Mapping[str, tuple[Callable[..., Any], str]]) -> str:
    """Completion script of the program for a shell.

    Parameters
    ----------
    shell
        "bash" or "zsh".
    commands
        Command -> (its function, one line of help).

    Raises
    ------
    ParameterError
        If the shell is another one.
    """
    if shell not in SHELLS:
        raise ParameterError(
            f"there is no completion for the shell {shell!r}", hint=f"shells: {', '.join(SHELLS)}"
        )
    root = argparse.ArgumentParser(prog="deepphase")
    root.add_argument("--version", "-V", action="version", help="Print the version.", version="")
    root.add_argument("--print-completion", choices=SHELLS, help="Print this script.")
    first_words = root.add_subparsers(metavar="COMMAND")
    parsers: dict[str, argparse.ArgumentParser] = {}
    second_words: dict[str, Any] = {}
    for name in sorted(commands, key=lambda name: name.count(" ")):
        command, text = commands[name]
        first, _, second = name.partition(" ")
        if first not in parsers:
            parsers[first] = first_words.add_parser(first, help="" if second else text)
        if second:
            if first not in second_words:
                second_words[first] = parsers[first].add_subparsers(metavar="COMMAND")
            parsers[name] = second_words[first].add_parser(second, help=text)
        for option in (*options_of(command), *common_options(command)):
            _add(parsers[name], option)
    return shtab.complete(root, shell)


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    # argparse formats help texts by %.
    text = option.help.replace("%", "%%")
    if option.positional:
        several = option.type == list[Path]
        action = parser.add_argument(option.name, nargs="*" if several else "?", help=text)
    elif option.is_switch:
        parser.add_argument(*option.flags, action="store_true", help=text)
        return
    else:
        action = parser.add_argument(*option.flags, help=text)
    kinds = (option.type, *typing.get_args(option.type))
    choices = [kind for kind in kinds if typing.get_origin(kind) is Literal]
    if choices:
        action.choices = typing.get_args(choices[0])
    elif Path in kinds:
        action.complete = shtab.FILE  # type: ignore[attr-defined]
