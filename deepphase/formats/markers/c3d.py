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
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.markers.marker_data import MAX_POINTS, MarkerData
from deepphase.formats.reading import METRES_PER_UNIT, foreign_content, read_content

_BLOCK, _KEY = 512, 0x50
# Groups of points that models compute and that are not places: angles and forces stand among the
# markers of many files.
_NO_PLACES = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
_UP = {"+X": "x", "+Y": "y", "+Z": "z", "-X": "-x", "-Y": "-y", "-Z": "-z"}


@dataclass(frozen=True)
class _Header:
    """The first block of a file."""

    points: int
    analog: int
    first: int
    last: int
    scale: float
    data_block: int
    rate: float


def is_c3d(content: bytes) -> bool:
    """Whether a file's bytes are those of a C3D file, by its header and that of its parameters."""
    start = (content[0] - 1) * _BLOCK + 3 if _has_header(content) else len(content)
    return start < len(content) and content[start] in PROCESSORS


def _has_header(content: bytes) -> bool:
    return len(content) >= 2 * _BLOCK and content[1] == _KEY and content[0] >= 2


def read_c3d(path: Path) -> MarkerData:
    """Read the markers of a C3D file.

    Raises FormatError if it cannot be read.
    """
    content = read_content(path)
    if not _has_header(content):
        found = foreign_content(content) or "its first bytes are others"
        raise FormatError(f"this is not a C3D file: {found}", path=path)
    parameters = read_parameters(content, (content[0] - 1) * _BLOCK, path)
    header = _header(content, parameters.processor)
    points = header.points
    if not 0 < points <= MAX_POINTS:
        raise FormatError(
            f"there are {points:,} markers", hint=f"1 to {MAX_POINTS:,} are read", path=path
        )
    frames = _frame_count(header, parameters)
    stored = _stored(content, header, frames, parameters.processor, path)
    scale = 1.0 if header.scale < 0 else header.scale
    if not (math.isfinite(scale) and scale > 0):
        raise FormatError(
            f"a scale of {header.scale} for whole numbers is not possible",
            hint="export the file again",
            path=path,
        )
    with np.errstate(invalid="ignore", over="ignore"):
        positions = stored[..., :3].astype(np.float64) * scale
    # The fourth value is negative where a marker was not seen.
    positions[stored[..., 3] < 0] = np.nan
    positions[np.abs(positions) > np.finfo(np.float32).max] = np.nan
    labels = parameters.long_texts("POINT", "LABELS")
    names = [
        labels[point] if point < len(labels) and labels[point] else f"point_{point:02d}"
        for point in range(points)
    ]
    no_places = {
        text for group in _NO_PLACES for text in parameters.long_texts("POINT", group) if text
    }
    kept = [
        point
        for point, name in enumerate(names)
        if name not in no_places and not name.rpartition(":")[2].startswith("*")
    ]
    notes = []
    if not kept:
        kept = list(range(points))
    if len(kept) < points:
        notes.append(
            f"{points - len(kept)} of {points} points were left out: without a label, or angles "
            "and forces"
        )
    word = next(iter(parameters.texts("POINT", "UNITS")), "").lower()
    up = _UP.get(next(iter(parameters.texts("POINT", "Y_SCREEN")), "").upper())
    if up is not None:
        notes.append(f"the file shows {up} upwards on its screen (Y_SCREEN)")
    if word and word not in METRES_PER_UNIT:
        notes.append(f"the unit {word[:20]!r} is not known")
    rate = parameters.number("POINT", "RATE") or header.rate
    return MarkerData(
        tuple(names[point] for point in kept),
        positions[:, kept],
        {"POINT:RATE": rate} if rate else {},
        METRES_PER_UNIT.get(word),
        notes=tuple(notes),
    )


def _header(content: bytes, processor: Processor) -> _Header:
    words = struct.unpack_from(f"{processor.order}10H", content, 2)
    scale = processor.floats(content[12:16])[0]
    rate = processor.floats(content[20:24])[0]
    return _Header(words[0], words[1], words[2], words[3], float(scale), words[7], float(rate))


def _frame_count(header: _Header, parameters: C3dParameters) -> int:
    """Frames; the header holds up to 65,535, longer files state them in parameters."""
    frames = header.last - header.first + 1
    starts = parameters.numbers("TRIAL", "ACTUAL_START_FIELD")
    stops = parameters.numbers("TRIAL", "ACTUAL_END_FIELD")
    if len(starts) == len(stops) == 2:
        first, last = (
            int(low) % 65536 + 65536 * (int(high) % 65536) for low, high in (starts, stops)
        )
        return max(frames, last - first + 1)
    stated = parameters.number("POINT", "FRAMES")
    if header.last == 65535 and stated and stated > frames:
        return int(stated)
    return frames


def _stored(
    content: bytes, header: _Header, frames: int, processor: Processor, path: Path
) -> Array:
    """(frames, points, 4) of the data section."""
    size = 4 if header.scale < 0 else 2
    values = 4 * header.points + header.analog
    begin = (header.data_block - 1) * _BLOCK
    if header.data_block < 2 or begin > len(content) or frames < 1:
        raise FormatError(
            f"{frames} frames from block {header.data_block}: the header is damaged", path=path
        )
    held = (len(content) - begin) // (values * size)
    if held < frames:
        raise FormatError(
            f"{frames:,} frames declared, but the file ends after {held:,}",
            hint="copy or export the file again",
            path=path,
        )
    data = content[begin : begin + frames * values * size]
    table = (
        processor.floats(data) if size == 4 else np.frombuffer(data, f"{processor.order}i2")
    ).reshape(frames, values)
    return table[:, : 4 * header.points].reshape(frames, header.points, 4)


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
    """Parameters by group and name."""

    # How numbers of the file are stored
    processor: Processor
    # (group, name) -> type, dimensions and bytes
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
        raise FormatError(
            "the file ends before its parameters", hint="copy or export it again", path=path
        )
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
    damaged = FormatError(
        f"parameter {name[:40]!r} is damaged", hint="copy or export the file again", path=path
    )
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
