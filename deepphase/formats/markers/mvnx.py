"""MVNX of Xsens by expat, event by event; a type declaration, so any entity, is refused."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.markers.marker_data import bridged, frame_numbers, frames_by_time
from deepphase.formats.npz.joint_arrays import fitted_clip, unit_quaternions
from deepphase.formats.reading import (
    ANOTHER_RATE,
    CHECK,
    COMMAS,
    EXPORT_AGAIN,
    Unit,
    check_joint_count,
    checked_options,
    foreign_content,
    frame_rate,
    in_metres_y_up,
    read_content,
    resolve_rate,
    unique_names,
    with_notes,
)
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import parents_first

# Numbers of a segment in the elements that are read.
_WIDTHS = {"orientation": 4, "position": 3}
_CONNECTORS = ("connector1", "connector2")
_DEEPEST = 32
# How far times of frames may be off a stated rate, which are rounded to milliseconds.
_OTHER_RATE = 0.1


def load_mvnx(
    path: str | Path, *, unit: Unit | None = None, up: str | None = None, fps: float | None = None
) -> Clip:
    """Read the first subject of an MVNX file, joints at the segments' origins: metres, Y up."""
    path = Path(path)
    fault = partial(FormatError, hint=EXPORT_AGAIN, path=path)
    unit_m = checked_options(unit, up, fps) or 1.0
    content = _Content(path)
    try:
        stated = {"frameRate": float(content.rate.replace(",", "."))} if content.rate else {}
    except ValueError:
        raise fault(
            f"a frameRate of {content.rate[:20]!r} is not possible",
            hint="export the file again, or give the rate: fps=",
        ) from None
    rate, notes = resolve_rate(stated, fps, path)
    names, parents, order = _tree(content, path)
    tables = {}
    for name, width in _WIDTHS.items():
        values = np.stack(content.frames[name])
        if np.abs(values).max() > math.sqrt(np.finfo(np.float64).max):
            raise fault(f"<{name}> holds numbers that are too large")
        tables[name] = values.reshape(len(values), -1, width)[:, order]
    turns = unit_quaternions(tables["orientation"], "<orientation>", path)
    clip, fit_notes = fitted_clip(
        names, parents, turns, tables["position"], rate, space="global", local_positions=False
    )
    if clip is None:
        raise fault("orientations contradict the positions of the segments")
    if content.has_commas:
        notes = (*notes, COMMAS)
    notes = (*notes, *fit_notes, f"a unit of {unit_m:g} m")
    clip = in_metres_y_up(clip, unit_m, up, Source(str(path), fps=rate, notes=notes))
    numbers, seconds = frame_numbers(content.indices), frame_numbers(content.times) / 1000.0
    step = float(np.median(np.diff(seconds))) if len(seconds) > 2 else 0.0
    if fps is None and step > 0 and abs(step * rate - 1.0) > _OTHER_RATE:
        asked = ANOTHER_RATE(frame_rate(step, decimals=3))
        clip = with_notes(clip, [f"{CHECK}frames are {1000.0 * step:g} ms apart: {asked}"])
    timed = frames_by_time(seconds, rate)
    return bridged(clip, max(numbers, timed, key=lambda each: np.ptp(each) if len(each) else 0))


class _Content:
    """The first subject of a file, as the events of the parser give it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rate = ""
        self.segments: list[str] = []
        # (segment above, segment below) of each joint.
        self.joints: list[tuple[str, str]] = []
        # Indices of the frames, and their milliseconds, as written.
        self.indices: list[str] = []
        self.times: list[str] = []
        self.frames: dict[str, list[Array]] = {name: [] for name in _WIDTHS}
        self.has_commas = False
        self._subjects = 0
        self._inside: list[str] = []
        self._text: list[str] = []
        self._connectors: list[str] = []
        # Values of the frame that is open.
        self._frame: dict[str, Array] | None = None
        self._parser = parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._on_doctype
        parser.StartElementHandler = self._on_start
        parser.EndElementHandler = self._on_end
        parser.CharacterDataHandler = self._on_text
        data, fault = read_content(path), partial(FormatError, path=path)
        foreign = foreign_content(data)
        if foreign and not data.lstrip().startswith(b"<"):
            raise fault(f"this is not an MVNX file: {foreign}")
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            words = expat.ErrorString(error.code)
            raise fault(f"the file has damaged markup: {words}", line=error.lineno) from None
        except (LookupError, ValueError) as error:
            raise fault(f"text that cannot be decoded: {str(error)[:60]}") from None

    def _fault(self, fact: str, hint: str = "") -> FormatError:
        return FormatError(fact, hint=hint, path=self.path, line=self._parser.CurrentLineNumber)

    def _on_doctype(self, *_: Any) -> None:
        raise self._fault(
            "not an MVNX file: a web page or other markup with a document type declaration",
            "declarations are not read: export the file again",
        )

    def _on_start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if not self._inside and name != "mvnx":
            raise self._fault(f"not an MVNX file: its first element is {name[:40]!r}")
        self._inside.append(name)
        self._text.clear()
        if len(self._inside) > _DEEPEST:
            raise self._fault(f"elements that are nested more than {_DEEPEST} deep")
        if name == "subject":
            self._subjects += 1
            if self._subjects == 1:
                self.rate = attributes.get("frameRate", "")
        if self._subjects != 1:
            return
        if name == "segment" and "segments" in self._inside:
            self.segments.append(attributes.get("label", "").strip())
            check_joint_count(len(self.segments), self.path, self._parser.CurrentLineNumber)
        elif name == "joint":
            self._connectors.clear()
        elif name == "frame" and attributes.get("type", "normal") == "normal":
            self._frame = {}
            self.indices.append(attributes.get("index", ""))
            self.times.append(attributes.get("time", ""))

    def _on_text(self, data: str) -> None:
        if self._inside and self._inside[-1] in (*_WIDTHS, *_CONNECTORS):
            self._text.append(data)

    def _on_end(self, _: str) -> None:
        name = self._inside.pop()
        if self._subjects != 1:
            return
        if name in _CONNECTORS:
            self._connectors.append("".join(self._text).strip().partition("/")[0])
        elif name == "joint" and len(self._connectors) == 2:
            self.joints.append((self._connectors[0], self._connectors[1]))
        elif name in _WIDTHS and self._frame is not None:
            self._frame[name] = self._values(name)
        elif name == "frame" and self._frame is not None:
            missing = next((name for name in _WIDTHS if name not in self._frame), None)
            if missing is not None:
                hint = "export segment orientations and positions"
                raise self._fault(f"a frame without <{missing}>", hint)
            for name, values in self._frame.items():
                self.frames[name].append(values)
            self._frame = None
        self._text.clear()

    def _values(self, name: str) -> Array:
        try:
            # NumPy would need the whole text as one line.
            text = "".join(self._text)
            if "," in text and "." not in text:
                text, self.has_commas = text.replace(",", "."), True
            values = np.array(text.replace(";", " ").split(), np.float64)
        except ValueError:
            raise self._fault(f"<{name}> holds something that is not a number") from None
        width = _WIDTHS[name] * len(self.segments)
        if len(values) != width or not np.isfinite(values).all():
            expected = f"expected {width} finite ones for {len(self.segments)} segments"
            raise self._fault(f"<{name}> holds {len(values)} numbers, {expected}")
        return values


def _tree(content: _Content, path: Path) -> tuple[tuple[str, ...], Array, list[int]]:
    """Names, parents and the order of the segments, parents before children."""
    fault = partial(FormatError, path=path)
    names, _ = unique_names(content.segments)
    if not names or not content.frames["position"]:
        fact = f"there are {len(names)} segments and {len(content.frames['position'])} frames"
        raise fault(fact, hint="export at least one segment and one frame")
    index = {name: joint for joint, name in enumerate(names)}
    above: dict[int, int] = {}
    for upper, lower in content.joints:
        if upper not in index or lower not in index:
            pair = f"{upper[:40]!r} and {lower[:40]!r}"
            raise fault(f"a joint between {pair}, which are not both segments")
        above.setdefault(index[lower], index[upper])
    order, parents = parents_first([above.get(joint, -1) for joint in range(len(names))])
    if len(order) != len(names):
        hint = "export the joints of the body"
        raise fault("no joint connects some segments to the first", hint=hint)
    return tuple(names[joint] for joint in order), parents, order
