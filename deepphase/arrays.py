"""Arrays: their type in annotations, computed rows, runs in flags, weights, cycles, pages of files,
compiled functions, and one-line representations of objects that hold them."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray
Class = TypeVar("Class", bound=type)

# Characters of a representation by fields, and of one of its values.
_LINE, _VALUE = 120, 40


class ComputedRows:
    """Rows of an array that are computed from those of another one where they are indexed.

    `source` (rows, ...) may be a mapped file that exceeds the memory; `transform`, such as a
    normalisation, takes rows (..., width). `np.asarray` computes all rows.
    """

    def __init__(self, source: Array, transform: Callable[[Array], Array]) -> None:
        self.source, self.transform = source, transform
        self.dtype, self.shape = source.dtype, source.shape

    def __len__(self) -> int:
        return int(self.shape[0])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the source."""
        return self.source.nbytes

    def __getitem__(self, index: Any) -> Array:
        rows, rest = (index[0], index[1:]) if isinstance(index, tuple) else (index, ())
        values = self._read(rows)
        return values[(*(slice(None),) * (1 + values.ndim - self.ndim), *rest)] if rest else values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self[:], dtype)

    def _read(self, rows: Any) -> Array:
        return self.transform(self.source[rows])


def true_runs(flags: Array) -> list[tuple[int, int]]:
    """First index, and last + 1, of every run of true values in (n,) flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(stop)) for start, stop in edges.reshape(-1, 2)]


def smoothstep(share: Array) -> Array:
    """Weights from 0 at share 0 to 1 at share 1, with slope 0 at both, elementwise."""
    return share * share * (3.0 - 2.0 * share)


def release_pages(array: Array | ComputedRows) -> None:
    """Give the memory of a mapped file back to the system; what was written stays in the file.

    The pages are read again where they are needed. Without this, a pass over a long file makes the
    process appear, and under a memory limit be, as large as the file. Arrays in memory stay.
    """
    array = array.source if isinstance(array, ComputedRows) else array
    owner: Any = array
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    # Changes of a private map, "c", are nowhere else.
    if owner is None or owner.mode == "c" or not array.size or not hasattr(mmap, "MADV_DONTNEED"):
        return
    whole: mmap.mmap = owner._mmap  # type: ignore[attr-defined]
    first = array.__array_interface__["data"][0] - np.frombuffer(whole, np.uint8).ctypes.data
    begin = first // mmap.PAGESIZE * mmap.PAGESIZE
    length = min(first + array.nbytes, len(whole)) - begin
    if 0 <= begin < len(whole) and length > 0:
        whole.madvise(mmap.MADV_DONTNEED, begin, length)


def wrapped(cycles: Array) -> Array:
    """Cycles brought into [-0.5, 0.5), elementwise."""
    turned = cycles - np.floor(cycles + 0.5)
    # Rounding can carry a value just below -0.5 onto +0.5, which the interval leaves out.
    return np.where(turned >= 0.5, turned - 1.0, turned).astype(np.asarray(cycles).dtype)


def compiled(signature: Any = None, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles a function when it is defined, or called if it has no signature."""
    from numba import njit

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


def short_repr(value: object, *facts: str) -> str:
    """`<Type: fact, fact>`: what a `__repr__` returns in place of the arrays."""
    said = ", ".join(fact for fact in facts if fact)
    return f"<{type(value).__name__}: {said}>"


def brief_repr(kind: Class) -> Class:
    """Decorator of a dataclass: its representation has the shapes of arrays, and fits a line.

    Fields that have their default or are empty are left out, and so are the last ones of a long
    line.
    """

    def representation(self: Any) -> str:
        facts = list(_given(self)) or ["defaults"]
        shown = sum(len(", ".join(facts[: end + 1])) <= _LINE for end in range(len(facts)))
        return short_repr(self, *facts[:shown], "..." if shown < len(facts) else "")

    kind.__repr__ = representation  # type: ignore[assignment, method-assign]
    return kind


def _given(value: Any) -> Iterator[str]:
    """Fields of a dataclass that have neither their default nor an empty value."""
    for item in fields(value):
        own = getattr(value, item.name)
        shape = getattr(own, "shape", None)
        if shape is not None:
            yield f"{item.name} {tuple(shape)}"
            continue
        default = None if item.default_factory is MISSING else item.default_factory()
        if own is None or own == item.default or own == default:
            continue
        if len(repr(own)) <= _VALUE:
            yield f"{item.name}={own!r}"
        elif isinstance(own, Mapping | Sequence) and not isinstance(own, str):
            yield counted(len(own), item.name.removesuffix("s"))
        elif not isinstance(own, str):
            yield f"{item.name}=<{type(own).__name__}>"


def counted(number: int, noun: str) -> str:
    """A number and its noun, as in "1 clip" and "1,204 frames"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def timed(frames: int, fps: float) -> str:
    """Frames at a rate with their duration, as in "210 frames at 60 Hz (3.50 s)"."""
    seconds = frames / fps
    duration = f"{seconds:.2f} s" if seconds < 120 else f"{seconds / 60:,.1f} min"
    return f"{counted(frames, 'frame')} at {fps:g} Hz ({duration})"
