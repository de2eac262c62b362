"""What preparing a corpus did, for a reader."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from deepphase.corpus.store import StoreGroup
from deepphase.motion.glitches import Glitch


@dataclass(frozen=True)
class LeftOut:
    """A file that could not be used, why, the line in it that is to blame, and the way out."""

    file: str
    reason: str
    line: int | None = None
    hint: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.reason}"


@dataclass(frozen=True)
class Preparation:
    """What preparing did.

    Parameters
    ----------
    path
        The store.
    files
        How many files there were.
    groups
        The skeleton groups of the store.
    left_out
        Files that could not be used.
    notes
        (file or group, sentence): what was done beside the usual.
    glitches
        (file, glitch): frames of the captures that look wrong; they are kept as they are.
    """

    path: Path
    files: int
    groups: tuple[StoreGroup, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[tuple[str, str], ...]
    glitches: tuple[tuple[str, Glitch], ...]

    @property
    def clips(self) -> int:
        """Clips of all groups."""
        return sum(group.clips for group in self.groups)

    @property
    def minutes(self) -> float:
        """Minutes of all groups."""
        return sum(group.minutes for group in self.groups)
