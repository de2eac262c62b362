"""Settings of a folder of fits: what was fitted with the same ones is not fitted again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepphase.atomic_write import atomic_write


def keep_settings(path: Path, settings: Mapping[str, Any]) -> bool:
    """Write settings as JSON; returns whether the file held the same ones before.

    Raises CheckpointError if the file cannot be written.
    """
    text = json.dumps(settings)
    try:
        before = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        before = None
    with atomic_write(path) as file:
        file.write(text.encode())
    return bool(before == json.loads(text))
