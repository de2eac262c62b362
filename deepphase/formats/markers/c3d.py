"""C3D: markers of optical systems, in all three byte orders, as integers or as floats.

The reader is written here, since files come from anywhere: a damaged file may not end the process,
nor allocate what it only declares. ezc3d 1.7.2 ends its process on some of them
(docs/measurements/files.md). Analog channels are skipped.

References
----------
The C3D File Format: A Technical User Guide (c3d.org).
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.markers.marker_data import MAX_POINTS, MarkerData
from deepphase.formats.reading import (
    EXPORT_AGAIN,
    decoded,
    foreign_content,
    read_content,
    unit_named,
)

_BLOCK, _KEY = 512, 0x50
# Groups of points that models compute and that are not places: angles and forces stand among the
# markers of many files.
_NO_PLACES = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
# Type of a parameter -> bytes of one value; texts are negative.
_SIZES = {-1: 1, 1: 1, 2: 2, 4: 4}
_MOST_PARAMETERS = 20_000
# Type, dimensions and bytes of a parameter.
Value = tuple[int, tuple[int, ...], bytes]


@dataclass(frozen=True)
class _Processor:
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


# Type of processor, as files have it -> how numbers are stored.
_PROCESSORS = {84: _Processor("<"), 85: _Processor("<", is_dec=True), 86: _Processor(">")}


def is_c3d(content: bytes) -> bool:
    """Whether a file's bytes are those of a C3D file, by its header and that of its parameters."""
    start = (content[0] - 1) * _BLOCK + 3 if _has_header(content) else len(content)
    return start < len(content) and content[start] in _PROCESSORS


def _has_header(content: bytes) -> bool:
    return len(content) >= 2 * _BLOCK and content[1] == _KEY and content[0] >= 2


def read_c3d(path: Path) -> MarkerData:
    """Read the markers of a C3D file."""
    content, fault = read_content(path), partial(FormatError, path=path)
    if not _has_header(content):
        found = foreign_content(content) or "its first bytes are others"
        raise fault(f"this is not a C3D file: {found}")
    parameters = _read_parameters(content, (content[0] - 1) * _BLOCK, path)
    processor = parameters.processor
    points, analog, first, last, *_, block = struct.unpack_from(f"{processor.order}8H", content, 2)
    # Negative where the values are floats.
    scale, rate = (float(processor.floats(content[at : at + 4])[0]) for at in (12, 20))
    if not 0 < points <= MAX_POINTS:
        raise fault(f"there are {points:,} markers", hint=f"1 to {MAX_POINTS:,} are read")
    frames, width = _frame_count(first, last, parameters), 4 * points + analog
    size, begin = 4 if scale < 0 else 2, (block - 1) * _BLOCK
    if block < 2 or begin > len(content) or frames < 1:
        raise fault(f"{frames} frames from block {block}: the header is damaged")
    held = (len(content) - begin) // (width * size)
    if held < frames:
        fact = f"{frames:,} frames declared, but the file ends after {held:,}"
        raise fault(fact, hint=EXPORT_AGAIN)
    data = content[begin : begin + frames * width * size]
    stored = processor.floats(data) if size == 4 else processor.integers(data)
    stored = stored.reshape(frames, width)[:, : 4 * points].reshape(frames, points, 4)
    scale = 1.0 if scale < 0 else scale
    if not 0 < scale < math.inf:
        raise fault(f"a scale of {scale} for whole numbers is not possible", hint=EXPORT_AGAIN)
    with np.errstate(invalid="ignore", over="ignore"):
        positions = stored[..., :3].astype(np.float64) * scale
    # The fourth value is negative where a marker was not seen.
    positions[stored[..., 3] < 0] = np.nan
    positions[np.abs(positions) > np.finfo(np.float32).max] = np.nan
    labels = parameters.long_texts("LABELS")
    names = [*labels[:points], *[""] * (points - len(labels))]
    no_places = {text for group in _NO_PLACES for text in parameters.long_texts(group) if text}
    kept = [point for point, name in enumerate(names) if name not in no_places]
    kept = kept or list(range(points))
    notes = []
    if len(kept) < points:
        notes.append(f"{points - len(kept)} of {points} points were left out: angles and forces")
    word = next(iter(parameters.texts("UNITS")), "").lower()
    up = next(iter(parameters.texts("Y_SCREEN")), "").lower().removeprefix("+")
    if up in ("x", "y", "z", "-x", "-y", "-z"):
        notes.append(f"the file shows {up} upwards on its screen (Y_SCREEN)")
    if word and unit_named(word) is None:
        notes.append(f"the unit {word[:20]!r} is not known")
    rate = parameters.number("RATE") or rate
    rates = {"POINT:RATE": rate} if rate else {}
    markers = MarkerData(tuple(names), positions, rates, unit_named(word), tuple(notes))
    return markers.chosen(kept)


@dataclass(frozen=True)
class _Parameters:
    """Parameters by group and name."""

    processor: _Processor  # How numbers of the file are stored
    values: dict[tuple[str, str], Value]  # By group and name

    def numbers(self, name: str, group: str = "POINT") -> list[float]:
        """The numbers of a parameter; empty if there is none."""
        kind, _, data = self.values.get((group, name), (0, (), b""))
        if kind in (2, 4):
            convert = self.processor.floats if kind == 4 else self.processor.integers
            return [float(value) for value in convert(data)]
        return [float(value) for value in data] if kind == 1 else []

    def number(self, name: str) -> float | None:
        """A parameter of one finite number, or None."""
        numbers = self.numbers(name)
        return numbers[0] if len(numbers) == 1 and math.isfinite(numbers[0]) else None

    def texts(self, name: str) -> list[str]:
        """The texts of a parameter; empty if there is none."""
        kind, dimensions, data = self.values.get(("POINT", name), (0, (), b""))
        if kind != -1 or not data:
            return []
        length = dimensions[0] if dimensions else len(data)
        return [_text(data[start : start + length]) for start in range(0, len(data), length)]

    def long_texts(self, name: str) -> list[str]:
        """The texts of a parameter and of those that continue it: LABELS, LABELS2, ..."""
        found, number = self.texts(name), 2
        while more := self.texts(f"{name}{number}"):
            found += more
            number += 1
        return found


def _frame_count(first: int, last: int, parameters: _Parameters) -> int:
    """Frames; the header holds up to 65,535, longer files state them in parameters."""
    frames = last - first + 1
    starts = parameters.numbers("ACTUAL_START_FIELD", "TRIAL")
    stops = parameters.numbers("ACTUAL_END_FIELD", "TRIAL")
    if len(starts) == len(stops) == 2:
        first, last = (
            int(low) % 65536 + 65536 * (int(high) % 65536) for low, high in (starts, stops)
        )
        return max(frames, last - first + 1)
    stated = parameters.number("FRAMES")
    return int(stated) if last == 65535 and stated and stated > frames else frames


def _read_parameters(content: bytes, begin: int, path: Path) -> _Parameters:
    """The parameters of a section that begins at a byte."""
    fault = partial(FormatError, path=path)
    if begin + 4 > len(content):
        raise fault("the file ends before its parameters", hint=EXPORT_AGAIN)
    processor = _PROCESSORS.get(content[begin + 3])
    if processor is None:
        fact = f"a processor of type {content[begin + 3]}, which is none of 84, 85 and 86"
        raise fault(fact, hint="the file is damaged")
    # Writers of many labels give a smaller number of blocks; parameters end by themselves.
    stop = min(len(content), begin + 256 * _BLOCK)
    groups: dict[int, str] = {}
    found: list[tuple[int, str, Value]] = []
    place = begin + 4
    for _ in range(_MOST_PARAMETERS):
        if place + 2 > stop:
            break
        length, number = map(abs, struct.unpack_from("2b", content, place))
        is_group = content[place + 1] > 127
        after = place + 2 + length
        if length == 0 or number == 0 or after + 2 > stop:
            break
        name = _text(content[place + 2 : after]).upper()
        onward = int(processor.integers(content[after : after + 2])[0])
        if is_group:
            groups[number] = name
        else:
            found.append((number, name, _value(content, after + 2, stop, name, fault)))
        if onward <= 0:
            break
        place = after + onward
    values = {(groups[number], name): value for number, name, value in found if number in groups}
    return _Parameters(processor, values)


def _value(content: bytes, place: int, stop: int, name: str, fault: partial[FormatError]) -> Value:
    damaged = fault(f"parameter {name[:40]!r} is damaged", hint=EXPORT_AGAIN)
    if place + 2 > stop:
        raise damaged
    kind, axes = struct.unpack_from("bB", content, place)
    begin = place + 2 + axes
    dimensions = tuple(content[place + 2 : begin])
    size = math.prod(dimensions) * _SIZES.get(kind, 0)
    if kind not in _SIZES or len(dimensions) < axes or begin + size > stop:
        raise damaged
    return kind, dimensions, content[begin : begin + size]


def _text(data: bytes) -> str:
    return "".join(filter(str.isprintable, decoded(data))).strip()
