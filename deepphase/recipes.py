"""The YAML recipes that ship with deepphase, found by name."""

from __future__ import annotations

from pathlib import Path

from deepphase.errors import ParameterError

_PACKAGE = Path(__file__).parent
# A wheel carries configs/ inside the package; a checkout has it beside the package.
_FOLDER = _PACKAGE / "configs" if (_PACKAGE / "configs").is_dir() else _PACKAGE.parent / "configs"


def recipe_names(kind: str) -> list[str]:
    """Names of the shipped recipes of a kind ("phase", "skeletons")."""
    return sorted(path.stem for path in (_FOLDER / kind).glob("*.yaml"))


def recipe_path(kind: str, name: str | Path) -> Path:
    """The YAML file that `name` means: a path if there is such a file, else a shipped recipe.

    Raises
    ------
    ParameterError
        Where it is neither; the hint lists the shipped names.
    """
    own = Path(name)
    if own.is_file():
        return own
    shipped = _FOLDER / kind / f"{name}.yaml"
    if shipped.is_file():
        return shipped
    raise ParameterError(
        f"no recipe {str(name)!r}: neither a file nor a shipped recipe",
        hint=f"shipped {kind} recipes: {', '.join(recipe_names(kind)) or 'none'}",
    )
