"""The header of a .npy array: what type and shape it declares, parsed without running anything.

References
----------
https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, "Format Version 1.0".
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import IO

import numpy as np

MAGIC = b"\x93NUMPY"
# Plain arrays need 128 bytes; numpy itself refuses headers beyond 10,000.
_LONGEST_HEADER = 10_000
_MOST_DIMENSIONS = 32
_LARGEST_ARRAY = 1 << 62
_PLAIN_TYPE = re.compile(r"[<>|=]?([?biufSU])(\d{0,9})")
_FIELDS = {
    # Records have a list here; whatever they hold, no motion file has them.
    "descr": re.compile(r"""['"]descr['"]\s*:\s*(?:['"]([^'"]*)['"]|(\[))"""),
    "fortran_order": re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)"""),
    # Python 2 wrote long integers as 12L.
    "shape": re.compile(r"""['"]shape['"]\s*:\s*\(([\dL,\s]*)\)"""),
}


@dataclass(frozen=True)
class NpyHeader:
    """What the front of a .npy array declares.

    Parameters
    ----------
    dtype
        Booleans, integers, floats or text; None where it is anything else.
    described
        The type as the file writes it.
    shape
        Length of each axis.
    fortran_order
        Whether the first axis varies fastest.
    begin
        Where the data begins, in bytes.
    """

    dtype: np.dtype | None
    described: str
    shape: tuple[int, ...]
    fortran_order: bool
    begin: int


def parse_npy_header(file: IO[bytes]) -> NpyHeader:
    """Read a header; the file then stands at the array's data.

    Raises
    ------
    ValueError
        Where it is not the header of a .npy array; says what is wrong.
    """
    front = file.read(8)
    if len(front) < 8 or not front.startswith(MAGIC):
        raise ValueError("not a NumPy array")
    version = front[6]
    if version not in (1, 2, 3):
        raise ValueError(f"a NumPy array of unknown version {version}")
    size = 2 if version == 1 else 4
    length_bytes = file.read(size)
    length = int.from_bytes(length_bytes, "little")
    if len(length_bytes) < size or length > _LONGEST_HEADER:
        raise ValueError(f"a NumPy array with a header of {length:,} bytes")
    text = file.read(length).decode("latin-1")
    if len(text) < length:
        raise ValueError("a NumPy array that ends in its header")
    found = {name: pattern.search(text) for name, pattern in _FIELDS.items()}
    missing = [name for name, match in found.items() if match is None]
    if missing:
        raise ValueError(f"a NumPy array whose header has no readable {', '.join(missing)}")
    # A mark of every field was found, which mypy cannot see.
    descr, order, dimensions = (match for match in found.values() if match is not None)
    described = "records" if descr[2] else descr[1]
    shape = _shape(dimensions[1])
    dtype = _plain_dtype(described)
    # Numpy multiplies the sizes other than 0 even where the array is empty.
    largest = math.prod(length or 1 for length in shape) * (dtype.itemsize if dtype else 1)
    if len(shape) > _MOST_DIMENSIONS or largest >= _LARGEST_ARRAY:
        raise ValueError("a NumPy array of an impossible shape")
    return NpyHeader(dtype, described, shape, order[1] == "True", 8 + size + length)


def _shape(text: str) -> tuple[int, ...]:
    parts = [part.strip().removesuffix("L") for part in text.split(",")]
    if parts[-1] == "":
        parts.pop()
    # Nineteen digits are beyond any memory, and long digits are slow to parse.
    if not all(part.isdecimal() and len(part) < 20 for part in parts):
        raise ValueError("a NumPy array of an impossible shape")
    return tuple(map(int, parts))


def _plain_dtype(described: str) -> np.dtype | None:
    if not _PLAIN_TYPE.fullmatch(described):
        return None
    try:
        return np.dtype(described)
    except (TypeError, ValueError, OverflowError):
        return None
