"""Constants of players that no application changes; exported with a database for other runtimes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlayerConstants:
    """Constants of searches and transitions."""

    ending_s: float = 0.25  # Seconds before a clip's end from which on a jump needs no improvement
    # Seconds until the next search where the transition to the chosen row is not smooth.
    retry_s: float = 0.03
    # Seconds that can be played from the target of a jump before moments of other kinds begin, and
    # seconds before them from which on a jump needs no improvement.
    margin_s: float = 0.25
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
    # Half-life of a change of the root's correction, and of its step where feet support it.
    settling_s: float = 0.03
    # Seconds after the begin, and before the end, of a contact in which a limb carries less.
    support_s: float = 0.08
    free: float = 0.1  # Share of the root's own motion beside that of a limb that carries the body
    facing_halflife_s: float = 0.12  # Half-life of the correction of the facing
    # steer_s, most_steer: A body beside its path turns to where the path is in so many seconds, by
    # at most this angle in radians.
    steer_s: float = 0.2
    most_steer: float = 0.35


CONSTANTS = PlayerConstants()
