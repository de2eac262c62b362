"""Packages that only some of deepphase needs, and how it is said that one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deepphase.errors import ParameterError


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
