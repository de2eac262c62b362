"""Compiled code of the reader of BVH files, loaded where that pays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

# Loading the compiled code takes some .7 s of processor time, once in a process: as long as NumPy
# needs for this much more text than the code does.
_BYTES_BEFORE = 64_000_000
_bytes_read = 0


@dataclass(frozen=True)
class Kernels:
    """The functions of `deepphase.formats.bvh.compiled`."""

    scan_numbers: Callable[..., int]
    rotate_joints: Callable[..., None]


@lru_cache(maxsize=1)
def load_kernels() -> Kernels | None:
    """The compiled code, from numba's cache or compiled now; None where that fails."""
    if sys.byteorder != "little":
        return None
    try:
        from deepphase.formats.bvh.compiled import rotate_joints, scan_numbers
    except Exception:
        # numba knows only some versions of NumPy and of Python, which it reports by many errors.
        return None
    return Kernels(scan_numbers, rotate_joints)


def loaded_kernels() -> Kernels | None:
    """The compiled code if this process has loaded it."""
    return load_kernels() if load_kernels.cache_info().currsize else None


def kernels_for(size: int) -> Kernels | None:
    """The compiled code, once this process has read so much text that loading it pays."""
    global _bytes_read
    _bytes_read += size
    return load_kernels() if _bytes_read >= _BYTES_BEFORE else loaded_kernels()
