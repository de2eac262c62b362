"""The JSON of a glTF file, read with every value's place in it at hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.errors import FormatError
from deepphase.motion.skeleton import Array

# In memory an object takes some 200 bytes, in a file at least two. The glTF that is densest in
# objects, a table of channels, has 25 bytes for each.
_BYTES_PER_OBJECT = 16
_FREE_OBJECTS = 10_000
# No file has as many of anything.
_MOST = 1 << 53
# Numbers beyond this are damage; and their squares would overflow later.
_LARGEST_NUMBER = 1e12


@dataclass(frozen=True, slots=True)
class Item:
    """An object of the document.

    Parameters
    ----------
    value
        Its members.
    place
        Its path, as in "accessors[3].sparse"; empty for the document.
    path
        The file.
    """

    value: dict[str, Any]
    place: str
    path: Path

    def fault(self, fact: str, hint: str = "") -> FormatError:
        """The error that something here is wrong."""
        return FormatError(
            f"{self.place}: {fact}" if self.place else fact, hint=hint, path=self.path
        )

    def _place_of(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def array(self, key: str) -> list[Any]:
        """The list under a key; empty where there is none."""
        value = self.value.get(key, [])
        if not isinstance(value, list):
            raise self.fault(f"{key} is no list")
        return value

    def element(self, key: str, index: int) -> Item:
        """The object at a place of a list that is long enough."""
        return self._item(self.array(key)[index], f"{self._place_of(key)}[{index}]")

    def elements(self, key: str) -> list[Item]:
        """The objects of a list; none where there is no list."""
        return [self.element(key, index) for index in range(len(self.array(key)))]

    def item(self, key: str) -> Item:
        """The object under a key."""
        return self._item(self.value.get(key), self._place_of(key))

    def has(self, key: str) -> bool:
        """Whether there is anything under a key."""
        return key in self.value

    def _item(self, value: Any, place: str) -> Item:
        if not isinstance(value, dict):
            found = "is missing" if value is None else "is no object"
            raise FormatError(f"{place} {found}", path=self.path)
        return Item(value, place, self.path)

    def integer(
        self, key: str, default: int | None = None, *, least: int = 0, below: int | None = None
    ) -> int:
        """A whole number, at least `least` and below `below`; `default` where there is none."""
        value = self.value.get(key, default)
        if value is None:
            raise self.fault(f"{key} is missing")
        if not is_index(value) or not least <= value < (_MOST if below is None else below):
            bounds = f"{least} to {below - 1}" if below else f"at least {least}"
            if below == 0:
                bounds = "nothing: there is none"
            raise self.fault(f"{key} is {_shown(value)}, expected {bounds}")
        return value

    def text(self, key: str, default: str = "") -> str:
        """A text; `default` where there is none."""
        value = self.value.get(key, default)
        if not isinstance(value, str):
            raise self.fault(f"{key} is no text")
        return value.encode("utf-8", "backslashreplace").decode()

    def numbers(self, key: str, default: Array) -> Array:
        """As many finite numbers as `default` has, float64; `default` where there are none."""
        value = self.value.get(key)
        if value is None:
            return default
        if not isinstance(value, list) or len(value) != len(default):
            raise self.fault(f"{key} is no list of {len(default)} numbers")
        if not all(type(number) in (int, float) for number in value):
            raise self.fault(f"{key} holds what is no number")
        if not all(abs(number) <= _LARGEST_NUMBER for number in value):
            raise self.fault(f"{key} holds a number that is not finite, or absurd")
        return np.array(value, np.float64)


def is_index(value: Any) -> bool:
    """Whether a value of JSON is a whole number."""
    return type(value) is int


def parse_document(text: bytes | memoryview, path: Path) -> Item:
    """The document of a glTF file.

    Raises
    ------
    FormatError
        Where it is no JSON, or so dense in objects that it could not be glTF.
    """
    text = bytes(text)
    objects = text.count(b"{") + text.count(b"[")
    if objects > _FREE_OBJECTS + len(text) // _BYTES_PER_OBJECT:
        raise FormatError(
            f"{objects:,} objects in {len(text):,} bytes of JSON: no glTF is so dense",
            hint="export the file again, without empty nodes",
            path=path,
        )
    try:
        value = json.loads(text.decode("utf-8-sig"), parse_constant=_refuse)
    except RecursionError:
        raise FormatError("the JSON is nested too deeply", path=path) from None
    except UnicodeDecodeError:
        raise FormatError("the JSON is not UTF-8", path=path) from None
    except json.JSONDecodeError as error:
        raise FormatError(f"broken JSON: {error.msg}", path=path, line=error.lineno) from None
    except ValueError as error:
        raise FormatError(f"broken JSON: {str(error)[:80]}", path=path) from None
    if not isinstance(value, dict):
        raise FormatError("the JSON is no glTF document", path=path)
    return Item(value, "", path)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number of JSON")


def _shown(value: Any) -> str:
    # str() of an int of thousands of digits raises, and a long text drowns the message.
    if type(value) is int and value.bit_length() > 64:
        return "beyond all counts"
    return repr(value)[:40]
