"""Choice of the moments of a database that a player plays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepphase.arrays import Array
from deepphase.features.moment_kinds import kind_numbers, kind_shares_text
from deepphase.matching.database.database import MotionDatabase


@dataclass(frozen=True)
class MomentFilter:
    """Kinds of moments that are played, and clips of which all moments are.

    Raises ParameterError where a kind is unknown.
    """

    kinds: tuple[str, ...] = ("idle", "locomotion")  # Of `deepphase.features.moment_kinds.KINDS`
    # Label -> value or values: clips that have them are played whole.
    clips: Mapping[str, str | Sequence[str]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        kind_numbers(self.kinds)

    def rows(self, database: MotionDatabase) -> Array:
        """(rows,) bool: rows that are played.

        Raises ParameterError where a label is unknown, or the database has no kinds.
        """
        rows = database.rows_of_kinds(self.kinds)
        return rows | database.rows_with(self.clips) if self.clips else rows


def moments_line(database: MotionDatabase, played: Array | None) -> str:
    """One line on how much of a database is played, and on its moments by kind.

    `played` (rows,) bool: the rows that are played; None for all.
    """
    every = 1.0 if played is None else float(played.mean())
    text = f"{every:.0%} of the frames of the database are played"
    if database.kinds is None:
        return text
    return f"{text}; its moments are {kind_shares_text(database.kinds)}"
