"""How large a file of each kind may be, and what it may unpack to: readers ask here first.

What a reader makes of n bytes stays within `unpacked_bytes(n)`, so that a small file never takes
much memory, and its time grows no faster than n. Songs have a bound in seconds (music/audio.py),
skeletons one in joints (formats/reading.py).
"""

from __future__ import annotations

from pathlib import Path

from deepphase.errors import DeepPhaseError, FormatError

# Kind of file -> bytes; the largest of each that were met have a tenth of these.
LARGEST_BYTES = {
    "motion": 4_000_000_000,
    "table": 250_000_000,
    "keys": 500_000_000,
    "store header": 500_000_000,
    # The parser of YAML reads about 100,000 bytes a second.
    "config": 200_000,
}
_RATIO, _ALWAYS_ALLOWED = 20, 1 << 24


def unpacked_bytes(size: int) -> int:
    """Bytes that a file of `size` bytes may unpack to."""
    return max(_RATIO * size, _ALWAYS_ALLOWED)


def check_size(path: Path, kind: str, error: type[DeepPhaseError] = FormatError) -> int:
    """Bytes of a file; the error if it is larger than its kind may be, OSError if it is missing."""
    size, largest = path.stat().st_size, LARGEST_BYTES[kind]
    if size > largest:
        raise error(
            f"the file has {size:,} bytes; at most {largest:,} are read",
            hint="cut it into parts",
            path=path,
        )
    return size
