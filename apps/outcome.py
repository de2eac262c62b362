"""Outcome of a command: a JSON document and an exit status."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What a command returns that has the option --json.

    Parameters
    ----------
    document
        The facts of its text output, made of dicts, lists, tuples, strings, numbers and None.
    status
        Exit status of the program.
    """

    document: Mapping[str, Any]
    status: int = 0

    def text(self) -> str:
        """The document as JSON; a number that is not finite becomes null."""
        return json.dumps(_finite(self.document), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
