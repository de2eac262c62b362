"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int, str], None]
"""Called as (what is done, how much of it, of how much, a word on how it goes)."""
