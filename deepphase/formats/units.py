"""Units and up axes of files: checks of options."""

from __future__ import annotations

import math

from deepphase.errors import ParameterError
from deepphase.formats.frame_rates import check_rate_option
from deepphase.motion.orientation import AXES

METRES_PER_UNIT = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048}
LARGEST_FLOOR_M = 1000.0
_UNIT_NAMES = {
    "metres": 1.0,
    "centimetres": 0.01,
    "millimetres": 0.001,
    "inches": 0.0254,
    "feet": 0.3048,
}


def metres_per_unit(unit: str | float) -> float:
    """Metres in one unit: "m", "cm", "mm", "inch", "foot", or the number itself."""
    if isinstance(unit, str):
        known = METRES_PER_UNIT.get(unit.strip().lower())
        if known is not None:
            return known
    try:
        # `yes` in a YAML file is not 1 m.
        metres = math.nan if isinstance(unit, bool) else float(unit)
    except (TypeError, ValueError, OverflowError):
        metres = math.nan
    if not (math.isfinite(metres) and metres > 0):
        raise ParameterError(
            f"a unit of {unit!r} is not possible",
            hint=f"choose {', '.join(METRES_PER_UNIT)}, or a number of metres",
        )
    return metres


def checked_options(unit: str | float | None, up: str | None, fps: float | None) -> float | None:
    """Metres in a given unit, None if none is given. Raises ParameterError for a wrong option."""
    if up is not None and up not in AXES:
        raise ParameterError(
            f"an up axis of {up!r} is not possible", hint=f"choose one of {', '.join(AXES)}"
        )
    check_rate_option(fps)
    return None if unit is None else metres_per_unit(unit)


def checked_floor(floor: float | None) -> float:
    """Metres of a given floor; 0 for none. Raises ParameterError for an impossible one."""
    is_number = isinstance(floor, int | float) and not isinstance(floor, bool)
    if floor is not None and not (is_number and abs(floor) <= LARGEST_FLOOR_M):
        raise ParameterError(
            f"a floor at {floor!r} is not possible",
            hint=f"give its height in the files, up to {LARGEST_FLOOR_M:g} m above or below 0",
        )
    return float(floor or 0.0)


def unit_in_words(metres: float) -> str:
    """Plural name of a unit of so many metres, as in "centimetres", or "units of 0.056 m"."""
    for name, size in _UNIT_NAMES.items():
        if math.isclose(metres, size, rel_tol=1e-6):
            return name
    return f"units of {metres:g} m"
