"""Parameters of C3D files: groups of named texts and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError

_BLOCK = 512
# Type of a parameter -> bytes of one value; texts are negative.
_SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}
_MOST_PARAMETERS = 20_000


@dataclass(frozen=True)
class Processor:
    """How numbers are stored: byte order, and DEC's own floats."""

    order: str
    is_dec: bool = False

    def floats(self, data: bytes) -> Array:
        """Numbers of 4 bytes each."""
        if not self.is_dec:
            return np.frombuffer(data, f"{self.order}f4")
        # The two halves are swapped, and the exponent is greater by two.
        swapped = np.frombuffer(data, "<u2").reshape(-1, 2)[:, ::-1].copy().view("<f4")[:, 0]
        with np.errstate(invalid="ignore", under="ignore"):
            return np.asarray(swapped / np.float32(4.0))

    def integers(self, data: bytes) -> Array:
        """Numbers of 2 bytes each."""
        return np.frombuffer(data, f"{self.order}i2")


PROCESSORS = {84: Processor("<"), 85: Processor("<", is_dec=True), 86: Processor(">")}
"""Type of processor, as files have it -> how numbers are stored."""


@dataclass(frozen=True)
class C3dParameters:
    """Parameters by group and name.

    Parameters
    ----------
    processor
        How numbers of the file are stored.
    values
        (group, name) -> type, dimensions and bytes.
    """

    processor: Processor
    values: dict[tuple[str, str], tuple[int, tuple[int, ...], bytes]]

    def numbers(self, group: str, name: str) -> list[float]:
        """The numbers of a parameter; empty if there is none."""
        kind, _, data = self.values.get((group, name), (0, (), b""))
        if kind == 4:
            return [float(each) for each in self.processor.floats(data)]
        if kind == 2:
            return [float(each) for each in self.processor.integers(data)]
        return [float(each) for each in data] if kind == 1 else []

    def number(self, group: str, name: str) -> float | None:
        """A parameter of one finite number, or None."""
        numbers = self.numbers(group, name)
        return numbers[0] if len(numbers) == 1 and math.isfinite(numbers[0]) else None

    def texts(self, group: str, name: str) -> list[str]:
        """The texts of a parameter; empty if there is none."""
        kind, dimensions, data = self.values.get((group, name), (0, (), b""))
        if kind != -1 or not data:
            return []
        length = dimensions[0] if dimensions else len(data)
        rows = [data[start : start + length] for start in range(0, len(data), length)]
        return [_text(row) for row in rows]

    def long_texts(self, group: str, name: str) -> list[str]:
        """The texts of a parameter and of those that continue it: LABELS, LABELS2, ..."""
        found, number = self.texts(group, name), 2
        while more := self.texts(group, f"{name}{number}"):
            found += more
            number += 1
        return found


def read_parameters(content: bytes, begin: int, path: Path) -> C3dParameters:
    """The parameters of a section that begins at a byte.

    Raises FormatError if the section is damaged.
    """
    if begin + 4 > len(content):
        raise FormatError("the file ends before its parameters", path=path)
    processor = PROCESSORS.get(content[begin + 3])
    if processor is None:
        raise FormatError(
            f"a processor of type {content[begin + 3]}, which is none of 84, 85 and 86",
            hint="the file is damaged",
            path=path,
        )
    stop = min(len(content), begin + max(content[begin + 2], 1) * _BLOCK)
    # Writers of many labels give a smaller number of blocks; parameters end by themselves.
    stop = max(stop, min(len(content), begin + 256 * _BLOCK))
    groups: dict[int, str] = {}
    found: list[tuple[int, str, tuple[int, tuple[int, ...], bytes]]] = []
    place = begin + 4
    for _ in range(_MOST_PARAMETERS):
        if place + 2 > stop:
            break
        length = abs(int.from_bytes(content[place : place + 1], signed=True))
        number = int.from_bytes(content[place + 1 : place + 2], signed=True)
        after = place + 2 + length
        if length == 0 or number == 0 or after + 2 > stop:
            break
        name = _text(content[place + 2 : after]).upper()
        onward = int(processor.integers(content[after : after + 2])[0])
        if number < 0:
            groups[-number] = name
        else:
            found.append((number, name, _value(content, after + 2, stop, name, path)))
        if onward <= 0:
            break
        place = after + onward
    values = {(groups[number], name): value for number, name, value in found if number in groups}
    return C3dParameters(processor, values)


def _value(
    content: bytes, place: int, stop: int, name: str, path: Path
) -> tuple[int, tuple[int, ...], bytes]:
    damaged = FormatError(f"parameter {name[:40]!r} is damaged", path=path)
    if place + 2 > stop:
        raise damaged
    kind = int.from_bytes(content[place : place + 1], signed=True)
    axes = content[place + 1]
    dimensions = tuple(content[place + 2 : place + 2 + axes])
    size = math.prod(dimensions) * _SIZES.get(kind, 0)
    begin = place + 2 + axes
    if kind not in _SIZES or len(dimensions) < axes or begin + size > stop:
        raise damaged
    return kind, dimensions, content[begin : begin + size]


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return "".join(letter for letter in text if letter.isprintable()).strip()
