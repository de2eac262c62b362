"""The file report.json, which every report writes beside its page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepphase.atomic_write import atomic_write
from deepphase.checkout import version

_FORMAT, _VERSION = "deepphase.report", 1


def save_report(
    folder: Path,
    made_with: Mapping[str, Any],
    data: Mapping[str, Any],
    seed: int,
    measures: Sequence[Mapping[str, Any]],
    **more: Any,
) -> None:
    """Write FOLDER/report.json."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "made_with": {"deepphase": version(), **made_with},
        "data": dict(data),
        "seeds": [seed],
        "measures": list(measures),
        **more,
    }
    with atomic_write(folder / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
