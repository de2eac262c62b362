"""Former names of commands and options, accepted without being listed in any help."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deepphase.config import RENAMED_KEYS

RENAMED_COMMANDS: dict[str, str] = {"rig": "solve"}
"""Former name of a command -> its name."""

RENAMED_OPTIONS: dict[str, dict[str, str | None]] = {
    "control": {"stick": "gamepad"},
    "match run": {"stick": "gamepad"},
    "play": {"most": "max-clips"},
    # `export` had a switch --onnx; ONNX is now its only format.
    "export": {"onnx": None},
}
"""Command -> former name of an option, without leading hyphens -> its name; None: ignored."""


def current_words(name: str, words: Sequence[str], known: Collection[str]) -> list[str]:
    """Replace former option names on a command line.

    Names in `known` are not replaced. Former keys of config sections (``--training.x``) are looked
    up in :data:`deepphase.config.RENAMED_KEYS`.

    Parameters
    ----------
    name
        The command.
    words
        The command line after the command, spelled as the options are declared.
    known
        Flags of the command's options, such as ``--min-seconds``.
    """
    renamed = RENAMED_OPTIONS.get(name, {})
    current: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*current, *words[index:]]
        flag, equals, value = word.partition("=")
        if not flag.startswith("--") or flag in known:
            current.append(word)
            continue
        option = flag[2:]
        section, dot, key = option.rpartition(".")
        new = f"{section}.{RENAMED_KEYS.get(key, key)}" if dot else renamed.get(option, option)
        if new is not None:
            current.append(f"--{new}{equals}{value}")
    return current
