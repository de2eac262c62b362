"""How many joints a file may have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deepphase.errors import FormatError


def unique_names(names: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The names, with "#2" and so on behind those that occurred before; and the new ones."""
    taken, unique, renamed = set(names), [], []
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        if seen[name] == 1:
            unique.append(name)
            continue
        while (numbered := f"{name}#{seen[name]}") in taken:
            seen[name] += 1
        taken.add(numbered)
        unique.append(numbered)
        renamed.append(numbered)
    return tuple(unique), renamed


# Ten times the joints of the most detailed figures of films, faces and hands included. What asks
# for more is no body; and a joint takes a few bytes of a file, but a thousand times as many here.
MAX_JOINTS = 10_000


def check_joint_count(joints: int, path: Path, line: int | None = None) -> None:
    """Refuse a skeleton that no body has, before it is built.

    Raises FormatError where there are more than `MAX_JOINTS`.
    """
    if joints > MAX_JOINTS:
        raise FormatError(
            f"a skeleton of more than {MAX_JOINTS:,} joints: no body has as many",
            hint="delete what is no joint in the program that wrote the file",
            path=path,
            line=line,
        )
