"""Packages: public names that are imported when they are first used (PEP 562), the folders and the
version of a checkout, and packages that only some of deepphase needs."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deepphase.errors import ParameterError

# In a wheel, apps, controllers and matching lie inside it; in a checkout, beside it.
PACKAGE = Path(__file__).parent


def folders_beside() -> list[str]:
    """Folder in which packages below `deepphase` are found beside its own; none in a wheel."""
    return [] if (PACKAGE / "apps").is_dir() else [str(PACKAGE.parent)]


def version() -> str:
    """Version of deepphase: that of its wheel, or of a checkout that is not installed."""
    # It takes as long to import as all else that `deepphase --help` needs.
    from importlib import metadata

    try:
        return metadata.version("deepphase")
    except metadata.PackageNotFoundError:
        import tomllib

        with (PACKAGE.parent / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, by its imports below TYPE_CHECKING."""
    here = sys.modules[package]
    body = ast.parse(inspect.getsource(here)).body
    guarded = next(node for node in body if isinstance(node, ast.If))
    imports = [node for node in guarded.body if isinstance(node, ast.ImportFrom)]
    modules = {alias.name: str(node.module) for node in imports for alias in node.names}
    public = sorted(modules)

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(modules[name]), name)
        # The next access finds it without this function.
        setattr(here, name, value)
        return value

    def listing() -> list[str]:
        return sorted({*(name for name in vars(here) if name.startswith("__")), *public})

    return attribute, listing, public


EXTRAS = {
    "faiss": "match",
    "sklearn": "control",
    "PIL": "control",
    "librosa": "dance",
    "soundfile": "dance",
    "soxr": "dance",
    "streamlit": "app",
    "kaleido": "app",
    "pyarrow": "app",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "onnxscript": "onnx",
    "tensorboard": "loggers",
    "wandb": "loggers",
    "av": "av",
}
"""Package, as it is imported -> the extra of deepphase that installs it."""


def require_packages(*packages: str) -> None:
    """Raise ModuleNotFoundError for the first package that is missing, without importing any."""
    for package in packages:
        if find_spec(package) is None:
            raise ModuleNotFoundError(name=package)


@contextmanager
def extra_packages(what: str) -> Iterator[None]:
    """Imports within the block; ParameterError where the package of an extra is missing or broken.

    Other import errors pass, since they are not for the user to solve.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        missing = isinstance(error, ModuleNotFoundError)
        state = "is not installed" if missing else f"cannot be imported: {error}"
        raise ParameterError(
            f"the package {package} is needed for {what} and {state}",
            hint=f"install it with pip install 'deepphase[{EXTRAS[package]}]'; on Linux without "
            "a GPU, install torch before it, from https://download.pytorch.org/whl/cpu",
        ) from None
