"""Options of motion-matching players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deepphase.apps.options.groups import OptionGroup
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.matching.database.database import MotionDatabase
    from deepphase.matching.player.settings import MomentFilter, PlayerSettings

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
    """

    weight: str | None = None
    keep: str | None = None

    def settings(self, moments: MomentFilter | None = None) -> PlayerSettings:
        """The settings of a player of some moments."""
        from deepphase.matching.player.settings import PlayerSettings

        keep = PlayerSettings().keep
        if self.keep is not None:
            keep = () if self.keep == _NONE else self._kept
        return PlayerSettings(keep=keep, moments=moments)

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
