"""Import of `deepphase.apps`, `deepphase.controllers` and `deepphase.matching` in a checkout, and
the version of a checkout that is not installed.

In a wheel these packages lie inside `deepphase`. In a checkout their folders lie beside it, where a
search of the package's own folder does not find them.
"""

from __future__ import annotations

import sys
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

_BESIDE = frozenset({"deepphase.apps", "deepphase.controllers", "deepphase.matching"})
PACKAGE = Path(__file__).parent


class _BesideFinder:
    """Finder of the packages that lie beside `deepphase`; see `importlib.abc.MetaPathFinder`."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [str(PACKAGE.parent)]) if name in _BESIDE else None


def find_packages_beside() -> None:
    """Make the packages beside `deepphase` importable below its name; in a wheel, do nothing."""
    if not (PACKAGE / "apps").is_dir() and _BesideFinder not in sys.meta_path:
        sys.meta_path.append(_BesideFinder)  # type: ignore[arg-type]


def version() -> str:
    """Version of deepphase: that of its wheel, or of a checkout that is not installed."""
    try:
        return metadata.version("deepphase")
    except metadata.PackageNotFoundError:
        import tomllib

        with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])
