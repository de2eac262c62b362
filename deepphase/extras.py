"""Packages that only some of deepphase needs, and how it is said that one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
}
"""Package, as it is imported -> the extra of deepphase that installs it."""


@contextmanager
def packages_for(what: str, install: str) -> Iterator[None]:
    """Imports within the block; ParameterError, with the way to install it, where one is missing.

    Parameters
    ----------
    what
        What needs them, in words that begin a sentence.
    install
        What `pip install` is given.
    """
    try:
        yield
    except ImportError as error:
        raise ParameterError(
            f"{what} need a package that is not installed: {error.name}",
            hint=f"install it with pip install '{install}'",
        ) from None


@contextmanager
def named_extras(what: str) -> Iterator[None]:
    """Imports within the block; ParameterError where the package of an extra is missing.

    Other import errors pass, since they are not for the user to solve.

    Parameters
    ----------
    what
        What needs the package, in words that begin a sentence, as "deepphase app".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        raise ParameterError(
            f"{what} needs a package that is not installed: {error.name}",
            hint=f"install it with pip install 'deepphase[{extra}]', or everything with "
            "pip install 'deepphase[all]'",
        ) from None
