"""MVNX: exports of Xsens, segments of the body with their places and orientations.

The markup is read by expat, event by event. Documents with a type declaration are refused, so that
no entity is ever expanded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.frame_rates import CORRECTED, resolve_rate
from deepphase.formats.npz.joint_arrays import fitted_clip, unit_quaternions
from deepphase.formats.reading import (
    check_joint_count,
    checked_options,
    children_of,
    depth_first,
    foreign_content,
    in_metres_y_up,
    read_content,
    unique_names,
)
from deepphase.motion.clip import Clip, Source

_READ = ("orientation", "position")


@dataclass
class _Content:
    """What the events have given so far."""

    rate: str = ""
    segments: list[str] = field(default_factory=list)
    # (segment above, segment below) of each joint.
    joints: list[tuple[str, str]] = field(default_factory=list)
    # Indices of the frames, as written.
    indices: list[str] = field(default_factory=list)
    frames: dict[str, list[Array]] = field(default_factory=lambda: {name: [] for name in _READ})


def load_mvnx(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
) -> Clip:
    """Read the first subject of an MVNX file as a clip: metres, Y up.

    Joints are the segments, at their origins; the calibration poses before the motion are skipped.
    """
    path = Path(path)
    unit_m = checked_options(unit, up, fps) or 1.0
    content = _parsed(path)
    try:
        stated = {"frameRate": float(content.rate)} if content.rate else {}
    except ValueError:
        raise FormatError(
            f"a frameRate of {content.rate[:20]!r} is not possible",
            hint="export the file again, or give the rate: fps=",
            path=path,
        ) from None
    rate, notes = resolve_rate(stated, fps, path)
    names, parents, order = _tree(content, path)
    rotations, positions = (
        _table(content, name, width, path)[:, order]
        for name, width in (("orientation", 4), ("position", 3))
    )
    clip, fit_notes = fitted_clip(
        names,
        parents,
        unit_quaternions(rotations, "<orientation>", path),
        positions,
        rate,
        space="global",
        local_positions=False,
    )
    if clip is None:
        raise FormatError(
            "orientations contradict the positions of the segments",
            hint="export the file again",
            path=path,
        )
    notes = (*notes, *fit_notes, *_missing_frames(content.indices), f"a unit of {unit_m:g} m")
    return in_metres_y_up(clip, unit_m, up, Source(str(path), fps=rate, notes=notes))


def _missing_frames(indices: list[str]) -> tuple[str, ...]:
    """A note on frames that the file leaves out, by the indices of the others."""
    if not all(index.isascii() and index.isdigit() and len(index) < 10 for index in indices):
        return ()
    numbers = np.array([int(index) for index in indices])
    gaps = np.flatnonzero(np.diff(numbers) > 1)
    if not len(gaps):
        return ()
    missing = int((np.diff(numbers)[gaps] - 1).sum())
    return (
        f"{CORRECTED}{missing:,} frames are missing in the file, the first after frame "
        f"{numbers[gaps[0]]}: the motion jumps there",
    )


def _parsed(path: Path) -> _Content:
    content = _Content()
    parser = expat.ParserCreate()
    inside: list[str] = []
    text: list[str] = []
    # Values of the frame that is open.
    frame: dict[str, Array] | None = None
    subjects = 0
    connectors: list[str] = []

    def refuse(fact: str, hint: str = "") -> FormatError:
        return FormatError(fact, hint=hint, path=path, line=parser.CurrentLineNumber)

    def on_doctype(*_: Any) -> None:
        raise refuse(
            "not an MVNX file: a web page or other markup with a document type declaration",
            "declarations are not read: export the file again",
        )

    def on_start(name: str, attributes: dict[str, str]) -> None:
        nonlocal frame, subjects
        name = name.rpartition(":")[2]
        if not inside and name != "mvnx":
            raise refuse(f"not an MVNX file: its first element is {name[:40]!r}")
        inside.append(name)
        text.clear()
        if len(inside) > 32:
            raise refuse("elements that are nested more than 32 deep")
        if name == "subject":
            subjects += 1
            if subjects == 1:
                content.rate = attributes.get("frameRate", "")
        if subjects != 1:
            return
        if name == "segment" and "segments" in inside:
            content.segments.append(attributes.get("label", "").strip())
            check_joint_count(len(content.segments), path, parser.CurrentLineNumber)
        elif name == "joint":
            connectors.clear()
        elif name == "frame" and attributes.get("type", "normal") == "normal":
            frame = {}
            content.indices.append(attributes.get("index", ""))

    def on_text(data: str) -> None:
        if inside and inside[-1] in (*_READ, "connector1", "connector2"):
            text.append(data)

    def on_end(name: str) -> None:
        nonlocal frame
        name = inside.pop()
        if subjects != 1:
            return
        if name in ("connector1", "connector2"):
            connectors.append("".join(text).strip().partition("/")[0])
        elif name == "joint" and len(connectors) == 2:
            content.joints.append((connectors[0], connectors[1]))
        elif name in _READ and frame is not None:
            try:
                # NumPy would need the whole text as one line.
                values = np.array("".join(text).split(), np.float64)
            except ValueError:
                raise refuse(f"<{name}> holds something that is not a number") from None
            width = (4 if name == "orientation" else 3) * len(content.segments)
            if len(values) != width or not np.isfinite(values).all():
                raise refuse(
                    f"<{name}> holds {len(values)} numbers, expected {width} finite ones for "
                    f"{len(content.segments)} segments"
                )
            frame[name] = values
        elif name == "frame" and frame is not None:
            missing = next((each for each in _READ if each not in frame), None)
            if missing is not None:
                raise refuse(
                    f"a frame without <{missing}>", "export segment orientations and positions"
                )
            for each in _READ:
                content.frames[each].append(frame[each])
            frame = None
        text.clear()

    parser.StartDoctypeDeclHandler = on_doctype
    parser.EntityDeclHandler = on_doctype
    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = on_text
    data = read_content(path)
    foreign = foreign_content(data)
    if foreign and not data.lstrip().startswith(b"<"):
        raise FormatError(f"this is not an MVNX file: {foreign}", path=path)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise FormatError(
            f"the file has damaged markup: {expat.ErrorString(error.code)}",
            path=path,
            line=error.lineno,
        ) from None
    except (LookupError, ValueError) as error:
        raise FormatError(f"text that cannot be decoded: {str(error)[:60]}", path=path) from None
    return content


def _tree(content: _Content, path: Path) -> tuple[tuple[str, ...], Array, list[int]]:
    """Names, parents and the order of the segments, parents before children."""
    names, _ = unique_names(content.segments)
    if not names or not content.frames["position"]:
        raise FormatError(
            f"there are {len(names)} segments and {len(content.frames['position'])} frames",
            hint="export at least one segment and one frame",
            path=path,
        )
    index = {name: joint for joint, name in enumerate(names)}
    above: dict[int, int] = {}
    for upper, lower in content.joints:
        if upper not in index or lower not in index:
            raise FormatError(
                f"a joint between {upper[:40]!r} and {lower[:40]!r}, which are not both segments",
                path=path,
            )
        above.setdefault(index[lower], index[upper])
    parents = [above.get(joint, -1) for joint in range(len(names))]
    order = depth_first(parents.index(-1), children_of(parents)) if -1 in parents else []
    if len(order) != len(names):
        raise FormatError(
            "no joint connects some segments to the first",
            hint="export the joints of the body",
            path=path,
        )
    if all(parent < joint for joint, parent in above.items()):
        order = list(range(len(names)))
    place = {joint: row for row, joint in enumerate(order)}
    rows = np.array([-1, *(place[above[joint]] for joint in order[1:])])
    return tuple(names[joint] for joint in order), rows, order


def _table(content: _Content, name: str, width: int, path: Path) -> Array:
    values = np.stack(content.frames[name])
    if np.abs(values).max() > math.sqrt(np.finfo(np.float64).max):
        raise FormatError(
            f"<{name}> holds numbers that are too large", hint="export the file again", path=path
        )
    return values.reshape(len(values), -1, width)
