"""Progress reports of long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int, str], None]
"""Called as (name of the step, units done, units in all, a short remark such as the loss)."""
