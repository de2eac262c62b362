"""Packages that only some of deepphase needs, and how it is said that one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from deepphase.errors import ParameterError

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
