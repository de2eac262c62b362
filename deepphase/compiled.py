"""Compilation of functions by numba, with a cache on the disk where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(signature: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a function when it is defined, or called if it has no signature.

    With one signature, processes that compile at the same time store the same code under the same
    name; each file is renamed into its place when it is whole.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        # Its type has no overload for options that are passed on.
        compile_with: Any = njit
        try:
            return compile_with(signature, cache=True, nogil=True, **options)(function)
        except Exception:
            # No folder for a cache, or a file in it that is damaged, which numba reports by many
            # errors: this process compiles for itself.
            return compile_with(signature, nogil=True, **options)(function)

    return compile_
