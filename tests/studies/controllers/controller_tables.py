"""What was measured of compared controllers, as tables of Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Measures = Mapping[str, Any]

_PATHS = ("wave", "square", "circle")


def tables(rows: Mapping[str, Measures]) -> str:
    """All tables of the rows, in their order; a measure that a row lacks is left empty."""
    made = ((title, _lines(columns, rows)) for title, columns in _TABLES.items())
    return "\n\n".join(f"{title}\n\n" + "\n".join(lines) for title, lines in made if lines)


def _lines(
    columns: Mapping[str, Callable[[Measures], str]], rows: Mapping[str, Measures]
) -> list[str]:
    """A table; nothing where no row has any of its measures."""
    found = []
    for name, measures in rows.items():
        cells = [_cell(read, measures) for read in columns.values()]
        if any(cells):
            found.append((name, *cells))
    if not found:
        return []
    lines = [("row", *columns), ("---",) * (len(columns) + 1), *found]
    return [f"| {' | '.join(line)} |" for line in lines]


def _cell(read: Callable[[Measures], str], measures: Measures) -> str:
    try:
        return read(measures)
    except KeyError:
        return ""


def _number(*keys: str, digits: int = 2) -> Callable[[Measures], str]:
    def read(measures: Measures) -> str:
        value: Any = measures
        for key in keys:
            value = value[key]
        return "" if value is None else f"{value:.{digits}f}"

    return read


def _interval(*keys: str, digits: int = 2) -> Callable[[Measures], str]:
    def read(measures: Measures) -> str:
        value: Any = measures
        for key in keys:
            value = value[key]
        mean, low, high = (f"{each:.{digits}f}" for each in value)
        return f"{mean} [{low}, {high}]"

    return read


def _path(name: str, measure: str) -> Callable[[Measures], str]:
    """One measure of a path at all blends, from little to much of the wish."""

    def read(measures: Measures) -> str:
        found: Sequence[Measures] = [each for each in measures["paths"] if each["path"] == name]
        return " → ".join(f"{each[measure]:.1f}" for each in found)

    return read


_TABLES: dict[str, dict[str, Callable[[Measures], str]]] = {
    "Clips held out": {
        "parameters": lambda measures: f"{measures['parameters']:,}",
        "training, s": _number("seconds", digits=0),
        "one step: explained": _number("health", "explained", digits=3),
        "joints, cm": _number("health", "position_cm"),
        "run of 4 s: joints, cm": _number("health", "run_position_cm"),
        "in movement, cm": _number("health", "movement_position_cm"),
        "at rest, cm": _number("health", "rest_position_cm"),
        "mean pose, cm": _number("health", "mean_position_cm"),
        "movement": _number("health", "run_movement", digits=3),
    },
    "Runs along clips held out": {
        "joint rotation, deg/s": _interval("along_clips", "joint_rotation", digits=1),
        "of the clips": _interval("along_clips", "joint_rotation_of_the_clips", digits=1),
        "skating": _interval("along_clips", "skating", digits=3),
        "of the data": _number("data", "skating", digits=3),
        "jerk, m/s^3": _interval("along_clips", "jerk", digits=0),
        "of the data ": _number("data", "jerk", digits=0),
        "jerk below 8 Hz, m/s^3": _interval("along_clips", "jerk_below_8_hz", digits=0),
        "alive": _number("along_clips", "alive"),
    },
    "Paths at three blends: nearest place, cm": {
        each: _path(each, "nearest_cm") for each in _PATHS
    },
    "Paths at three blends: place of the clock, cm": {
        each: _path(each, "clock_cm") for each in _PATHS
    },
    "Ten minutes": {
        "survived": _number("ten_minutes", "survived", digits=3),
        "joint rotation, deg/s": _number("ten_minutes", "joint_rotation", digits=1),
        "last minute": _number("ten_minutes", "last", "joint_rotation", digits=1),
        "weaker than the data": _number("ten_minutes", "weaker", digits=3),
        "stronger": _number("ten_minutes", "stronger", digits=3),
        "frozen": _number("ten_minutes", "frozen", digits=3),
        "limb change": _number("ten_minutes", "limb_change", digits=5),
        "skating": _number("ten_minutes", "skating", digits=3),
    },
    "Variation of a hundred runs from one moment": {
        each.replace("_", " "): _number("variation", each, digits=4)
        for each in ("inter_pose", "inter_step", "intra_pose", "intra_step", "smooth", "drift")
    },
    "The same, drawn anew each frame": {
        each.replace("_", " "): _number("redrawn_each_frame", each, digits=4)
        for each in ("inter_pose", "inter_step", "intra_pose", "intra_step", "smooth", "drift")
    },
    "Phase": {
        "norm of dy/dp, a radian": _number("sensitivity", "norm"),
        "an output": _number("sensitivity", "per_output", digits=3),
    },
}
