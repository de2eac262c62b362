"""Plug-ins: formats, networks, autoencoders and pages of other installed packages.

A package offers what it adds as an entry point, whose group says what it is::

    [project.entry-points."deepphase.formats"]
    ".xyz" = "my_package.xyz:FORMAT"

Names are listed without an import; what stands behind a name is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from deepphase.errors import ParameterError

Row = TypeVar("Row")


@cache
def plug_ins(group: str) -> tuple[EntryPoint, ...]:
    """The plug-ins of a group, in the order of their names; nothing of theirs is imported."""
    return tuple(sorted(entry_points(group=group), key=lambda each: each.name))


class Registry(MutableMapping[str, Row]):
    """Rows by name: our own and those that programs add, then those of plug-ins.

    A plug-in takes the place of none of our own. `checked` makes the row of a plug-in's name and
    object when it is first used, or raises ParameterError with what is wrong with it.
    """

    def __init__(self, group: str, own: dict[str, Row], checked: Callable[[str, Any], Row]) -> None:
        self.group, self._rows, self._checked = group, own, checked
        self._shipped = frozenset(own)

    def __getitem__(self, name: str) -> Row:
        if name not in self._rows:
            found = [each for each in plug_ins(self.group) if each.name == name]
            if not found:
                raise KeyError(name)
            self._rows[name] = self._loaded(found)
        return self._rows[name]

    def __setitem__(self, name: str, row: Row) -> None:
        self._rows[name] = row

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows or any(each.name == name for each in plug_ins(self.group))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._rows, *(each.name for each in plug_ins(self.group))]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def problems(self) -> list[str]:
        """Sentences on the plug-ins that cannot be used; all of them are imported for it."""
        found = []
        for each in plug_ins(self.group):
            if each.name in self._shipped:
                found.append(
                    f"plug-in {each.name!r} of {package_of(each)} ({self.group}) has a name of "
                    "deepphase's own and is never used: it needs another name"
                )
                continue
            try:
                _ = self[each.name]
            except ParameterError as error:
                found.append(f"{error.fact}: {error.hint}")
        return list(dict.fromkeys(found))

    def _loaded(self, found: list[EntryPoint]) -> Row:
        first, *others = found
        if others:
            raise ParameterError(
                f"{first.name!r} is a plug-in of {' and of '.join(map(package_of, found))} "
                f"({self.group})",
                hint="uninstall all but one of them",
            )
        try:
            return self._checked(first.name, first.load())
        # A plug-in is code of others: whatever it raises, and where it ends the program, the user
        # needs its name.
        except (Exception, SystemExit) as error:
            fact, hint = repr(error), "update it"
            if isinstance(error, ParameterError):
                fact, hint = error.fact, error.hint
            raise ParameterError(
                f"plug-in {first.name!r} of {package_of(first)} ({self.group}: {first.value}) "
                f"cannot be used: {fact}",
                hint=f"{hint}, or uninstall {package_of(first).partition(' ')[0]}",
            ) from error


def package_of(plug_in: EntryPoint) -> str:
    """Name and version of the distribution that a plug-in is part of."""
    found = plug_in.dist
    return "an unknown package" if found is None else f"{found.name} {found.version}"
