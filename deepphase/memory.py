"""Steps that may need more memory than there is: a shortage ends one file, not the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from deepphase.errors import OutOfMemoryError

Result = TypeVar("Result")

# PyTorch has no type of error for a shortage of main memory.
_TORCH_SHORTAGE = ("DefaultCPUAllocator", "out of memory")


def within_memory(
    function: Callable[..., Result],
    *args: Any,
    about: str | Path | None = None,
    **options: Any,
) -> Result:
    """The result of a function; OutOfMemoryError, about a file, where memory is short."""
    try:
        return function(*args, **options)
    except MemoryError:
        pass
    except RuntimeError as error:
        if not any(words in str(error) for words in _TORCH_SHORTAGE):
            raise
    # Raised here, the error does not keep the arrays of the failed step alive.
    raise OutOfMemoryError(
        "the memory does not suffice for this file",
        hint="cut the file into shorter ones, or use fewer workers",
        path=about,
    )
