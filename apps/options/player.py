"""Options of motion-matching players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepphase.apps.options.groups import OptionGroup
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.player.moment_filter import MomentFilter
    from deepphase.matching.player.player import PlayerSettings

_NONE = "none"


@dataclass(frozen=True)
class PlayerOptions(OptionGroup):
    """Motion matching.

    Parameters
    ----------
    weight
        Factors of the weights of features, as in trajectory_direction=0.5,phase_manifold=2; match
        build prints the features.
    keep
        Labels whose values are kept at a cost, separated by commas, or none; if not given, style
        where the database has it.

    Other Parameters
    ----------------
    min_improvement
        Share by which a transition must reduce the cost of continuing the clip.
    change_seconds
        Time in seconds after an abrupt change of the goals in which change_improvement holds.
    change_improvement
        Share by which a transition must reduce the cost after an abrupt change of the goals.
    keep_improvement
        Share by which a moment with other values of these labels must cost less than the best one
        that keeps them.
    adjust_share
        Maximum root correction towards the desired path, as a fraction of the clip's speed.
    adjust_turn
        Maximum correction of the facing in radians per metre travelled.
    """

    weight: str | None = None
    min_improvement: float = 0.3
    change_seconds: float = 0.6
    change_improvement: float = 0.1
    keep: str | None = None
    keep_improvement: float = 0.7
    adjust_share: float = 0.4
    adjust_turn: float = 1.5

    def settings(self, moments: MomentFilter | None = None) -> PlayerSettings:
        """The settings of a player of some moments.

        Raises ParameterError if one of them is impossible.
        """
        from deepphase.matching.player.player import PlayerSettings

        keep = PlayerSettings().keep
        if self.keep is not None:
            keep = () if self.keep == _NONE else self._kept
        return PlayerSettings(
            min_improvement=self.min_improvement,
            change_s=self.change_seconds,
            change_improvement=self.change_improvement,
            keep=keep,
            keep_improvement=self.keep_improvement,
            adjust_share=self.adjust_share,
            adjust_turn=self.adjust_turn,
            moments=moments,
        )

    def check(self, database: MotionDatabase) -> None:
        """Raise ParameterError if labels are to be kept that the database does not have."""
        known = {name for labels in database.labels for name in labels}
        for name in self._kept:
            if name not in (*known, _NONE):
                raise ParameterError(
                    f"no label {name!r} to keep in this database",
                    hint=f"it has {', '.join(sorted(known)) or 'none'}",
                )

    @property
    def _kept(self) -> tuple[str, ...]:
        return tuple(name.strip() for name in self.keep.split(",")) if self.keep else ()

    @property
    def weight_factors(self) -> dict[str, float]:
        """Factors of the weights of features by their names.

        Raises ParameterError if a part of `weight` is not of the form feature=factor.
        """
        factors = {}
        for part in (self.weight or "").split(",") if self.weight else ():
            name, equals, value = part.partition("=")
            try:
                factors[name.strip()] = float(value)
            except ValueError:
                equals = ""
            if not equals:
                raise ParameterError(
                    f"{part.strip()!r} is not of the form feature=factor",
                    hint="write weights as in trajectory_direction=0.5,phase_manifold=2",
                )
        return factors
