"""Checks of single values in the headers of files, before anything is computed with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deepphase.errors import ParameterError
from deepphase.formats.reading import MAX_JOINTS
from deepphase.motion.clip import FASTEST_FPS, SLOWEST_FPS, Source, is_plausible_rate
from deepphase.motion.orientation import AXES

_LARGEST = 1e15
_SHOWN = 40


def checked_number(
    value: Any, name: str, lowest: float = -_LARGEST, highest: float = _LARGEST
) -> float:
    """A finite number within bounds. Raises ParameterError."""
    if type(value) not in (int, float) or not lowest <= value <= highest:
        raise _wrong(value, name, f"a number from {lowest:g} to {highest:g}")
    return float(value)


def checked_rate(value: Any, name: str = "fps") -> float:
    """Frames a second, within the limits of motion files. Raises ParameterError."""
    # The slack of the limits, for reciprocals of frame times.
    if type(value) in (int, float) and is_plausible_rate(value):
        return float(value)
    return checked_number(value, name, SLOWEST_FPS, FASTEST_FPS)


def checked_count(value: Any, name: str, lowest: int = 0, highest: int = int(_LARGEST)) -> int:
    """A whole number within bounds. Raises ParameterError."""
    if type(value) is not int or not lowest <= value <= highest:
        raise _wrong(value, name, f"a whole number from {lowest} to {highest}")
    return value


def checked_text(value: Any, name: str) -> str:
    """A text. Raises ParameterError."""
    # Neither files nor terminals take halves of surrogate pairs.
    if not isinstance(value, str) or value != value.encode(errors="ignore").decode():
        raise _wrong(value, name, "a text")
    return value


def checked_texts(value: Any, name: str) -> tuple[str, ...]:
    """A list of texts. Raises ParameterError."""
    if not isinstance(value, list):
        raise _wrong(value, name, "a list of texts")
    return tuple(checked_text(text, name) for text in value)


def checked_joints(value: Any, name: str = "joints") -> tuple[str, ...]:
    """Names of joints: at least one, none twice. Raises ParameterError."""
    joints = checked_texts(value, name)
    if not 0 < len(joints) <= MAX_JOINTS or len(set(joints)) != len(joints):
        raise ParameterError(
            f"{name}: there are {len(joints)} names, {len(set(joints))} of them different; "
            f"expected 1 to {MAX_JOINTS:,}, each once"
        )
    return joints


def checked_labels(value: Any, name: str = "labels") -> dict[str, str]:
    """Texts by name. Raises ParameterError."""
    if not isinstance(value, Mapping):
        raise _wrong(value, name, "texts by name")
    return {label: checked_text(text, name) for label, text in value.items()}


def checked_mapping(value: Any, name: str) -> dict[str, Any]:
    """A JSON object. Raises ParameterError."""
    if not isinstance(value, dict):
        raise _wrong(value, name, "an object")
    return value


def checked_source(value: Any) -> Source:
    """The origin of a clip, from an object with some of its fields. Raises ParameterError."""
    found = checked_mapping(value, "source")
    plain = Source()
    fields: dict[str, Any] = {
        name: checked_number(found.get(name, getattr(plain, name)), f"source {name}", lowest)
        for name, lowest in (("unit_m", 0.0), ("fps", 0.0), ("song_start_s", -_LARGEST))
    }
    for name in ("rotation_orders", "notes"):
        fields[name] = checked_texts(found.get(name, []), f"source {name}")
    for name in ("path", "up", "song"):
        fields[name] = checked_text(found.get(name, getattr(plain, name)), f"source {name}")
    fields["first_line"] = checked_count(found.get("first_line", 0), "source first_line")
    if fields["up"] not in AXES:
        raise _wrong(fields["up"], "source up", ", ".join(AXES))
    return Source(**fields)


def check_numbers(value: Any) -> None:
    """Raise ParameterError if a number anywhere in a JSON value is not finite or is absurd."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, (int, float)) and not abs(item) <= _LARGEST:
            raise ParameterError(
                f"a number of {_shown(item)} in the header is not possible",
                hint="make the file again",
            )


def _wrong(value: Any, name: str, expected: str) -> ParameterError:
    return ParameterError(f"{name} is {_shown(value)}, expected {expected}")


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    # Python prints no whole numbers of more than 4,300 digits.
    except ValueError:
        text = "of too many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
