"""Real clips for tests: $DEEPPHASE_DATA, or the cache where it is usually unpacked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def real_clips(name: str) -> Path:
    """Folder of one real data set; skips the test where it is absent."""
    root = Path(os.environ.get("DEEPPHASE_DATA") or Path.home() / ".cache" / "deepphase-data")
    folder = root / name
    if not folder.is_dir():
        pytest.skip(f"real data {name!r} is not on this machine (set DEEPPHASE_DATA)")
    return folder
