"""Import of `deepphase.apps`, `deepphase.controllers` and `deepphase.matching` in a checkout, and
the version of a checkout that is not installed.

In a wheel these packages lie inside `deepphase`. In a checkout their folders lie beside it.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

PACKAGE = Path(__file__).parent


def folders_beside() -> list[str]:
    """Folder in which packages below `deepphase` are found beside its own; none in a wheel."""
    return [] if (PACKAGE / "apps").is_dir() else [str(PACKAGE.parent)]


def version() -> str:
    """Version of deepphase: that of its wheel, or of a checkout that is not installed."""
    try:
        return metadata.version("deepphase")
    except metadata.PackageNotFoundError:
        import tomllib

        with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])
