"""Names that no two joints share."""

from __future__ import annotations

from collections.abc import Sequence


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
