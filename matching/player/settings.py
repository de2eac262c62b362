"""Settings of players, their constants, and the moments that they play."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deepphase.arrays import Array, brief_repr
from deepphase.config import ABOVE_0, BELOW_1, require_in
from deepphase.features.moment_kinds import kind_numbers, kind_shares_text
from deepphase.matching.database.database import MotionDatabase
from deepphase.steering.foot_lock import FootLockSettings
from deepphase.steering.springs import spring_rate

_CATCH_SPEED = 0.6


@dataclass(frozen=True)
class PlayerConstants:
    """Constants of searches and transitions."""

    ending_s: float = 0.25  # Seconds before a clip's end from which on a jump needs no improvement
    # Seconds until the next search where the transition to the chosen row is not smooth.
    retry_s: float = 0.03
    # Seconds that can be played from the target of a jump before moments of other kinds begin, and
    # seconds before them from which on a jump needs no improvement.
    margin_s: float = 0.25
    # change_s, change_improvement: For so many seconds after an abrupt change of the goals, a jump
    # must reduce the cost by this share only.
    change_s: float = 0.6
    change_improvement: float = 0.1
    # long_s, long_share: After so many seconds without a jump, a jump needs at most this share of
    # the largest improvement: else characters could play on what does not follow their goals.
    long_s: float = 1.0
    long_share: float = 0.3
    # Rows of the same clip within this many seconds are not targets of a jump.
    neighbourhood_s: float = 0.3
    # candidates, tolerance: Number of nearest rows whose transitions are compared. Rows whose
    # distance exceeds the smallest one by at most this share count as equally good.
    candidates: int = 16
    tolerance: float = 0.15
    # smooth, smooth_per_s, least_smooth: A transition is smooth if its peak acceleration is below
    # this share of the data's 99.9th percentile. The margin covers root motion and foot locking,
    # which the estimate leaves out. The share rises for every second that a character has waited
    # for a smooth transition, up to the last number: otherwise it could go on for a whole clip away
    # from its goals.
    smooth: float = 0.65
    smooth_per_s: float = 0.7
    least_smooth: float = 1.5
    # Seconds after the begin, and before the end, of a contact in which a limb carries less.
    support_s: float = 0.08
    free: float = 0.1  # Share of the root's own motion beside that of a limb that carries the body


CONSTANTS = PlayerConstants()


@dataclass(frozen=True)
class MomentFilter:
    """Kinds of moments that are played, and clips of which all moments are."""

    kinds: tuple[str, ...] = ("idle", "locomotion")  # Of `deepphase.features.moment_kinds.KINDS`
    # Label -> value or values: clips that have them are played whole.
    clips: Mapping[str, str | Sequence[str]] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        kind_numbers(self.kinds)

    def rows(self, database: MotionDatabase) -> Array:
        """(rows,) bool: rows that are played."""
        rows = database.rows_of_kinds(self.kinds)
        return rows | database.rows_with(self.clips) if self.clips else rows


def moments_line(database: MotionDatabase, played: Array | None) -> str:
    """One line on how much of a database is played, and on its moments by kind."""
    every = 1.0 if played is None else float(played.mean())
    text = f"{every:.0%} of the frames of the database are played"
    if database.kinds is None:
        return text
    return f"{text}; its moments are {kind_shares_text(database.kinds)}"


@brief_repr
@dataclass(frozen=True)
class PlayerSettings:
    """Settings of a `Player`.

    Parameters
    ----------
    search_interval_s
        Seconds between two searches. Abruptly changed goals start a search at once.
    transition_halflife_s
        Halflife of the offset that inertializes a jump.
    min_improvement
        A jump must reduce the cost of continuing the clip by this share.
    keep
        Names of labels whose values are kept: rows of clips with other values are jumped to only
        where they reduce the cost by the share `keep_improvement` against the best row that keeps
        them all. Labels that goals ask for, or that the database lacks, are not kept.
    keep_improvement
        See `keep`; 0 keeps nothing.
    adjust_share
        Maximum root correction as a share of the clip's own speed and turning rate.
    adjust_turn
        Additional correction of the facing, in radians per metre travelled.
    foot_lock
        Keep feet in place while they are in contact.
    moments
        The moments that are played; all if None.
    """

    search_interval_s: float = 0.1
    transition_halflife_s: float = 0.12
    min_improvement: float = 0.3
    keep: tuple[str, ...] = ("style",)
    keep_improvement: float = 0.7
    adjust_share: float = 0.4
    adjust_turn: float = 1.5
    foot_lock: bool = True
    moments: MomentFilter | None = None

    @property
    def foot_lock_settings(self) -> FootLockSettings:
        """Settings of the foot lock. Captured contacts are true, also where roots are faster."""
        return FootLockSettings(catch_speed=_CATCH_SPEED)

    def __post_init__(self) -> None:
        spring_rate(self.transition_halflife_s)
        require_in(
            self, search_interval_s=(ABOVE_0, 1e9), min_improvement=(0, BELOW_1),
            keep_improvement=(0, BELOW_1), adjust_share=(0, math.inf), adjust_turn=(0, math.inf),
        )  # fmt: skip
