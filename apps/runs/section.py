"""Section of a run's page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Section:
    """A table of a run's page with a text, and its entries for report.json."""

    heading: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    entries: Sequence[dict[str, Any]]
