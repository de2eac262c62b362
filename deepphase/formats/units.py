"""Units, up axes and frame rates of files: checks of options, and rates from rounded times."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from deepphase.errors import FormatError, ParameterError
from deepphase.motion.orientation import AXES

METRES_PER_UNIT = {"m": 1.0, "cm": 0.01, "mm": 0.001, "inch": 0.0254, "foot": 0.3048}


def metres_per_unit(unit: str | float) -> float:
    """Metres in one unit: "m", "cm", "mm", "inch", "foot", or the number itself.

    Raises
    ------
    ParameterError
        If it is neither a known name nor a positive number.
    """
    if isinstance(unit, str):
        known = METRES_PER_UNIT.get(unit.strip().lower())
        if known is not None:
            return known
    try:
        metres = float(unit)
    except (TypeError, ValueError):
        metres = math.nan
    if not (math.isfinite(metres) and metres > 0):
        raise ParameterError(
            f"a unit of {unit!r}",
            hint=f"choose {', '.join(METRES_PER_UNIT)}, or a number of metres",
        )
    return metres


def check_up_option(up: str | None) -> None:
    """Raise ParameterError if an up axis is given that is not one of `AXES`."""
    if up is not None and up not in AXES:
        raise ParameterError(f"an up axis of {up!r}", hint=f"choose one of {', '.join(AXES)}")


def check_rate_option(fps: float | None) -> None:
    """Raise ParameterError if a rate is given that is not positive or too high."""
    # Comparisons with NaN are false.
    if fps is not None and not 0 < fps <= FASTEST_FPS:
        raise ParameterError(
            f"a rate of {fps} frames a second",
            hint=f"give a rate above 0, up to {FASTEST_FPS:,.0f}",
        )


# Film and video rates of NTSC: 24, 30, 60 and 120 frames in 1.001 seconds.
_NTSC_RATES = tuple(rate / 1.001 for rate in (24, 30, 60, 120))
USUAL_RATES = (24, 25, 30, 48, 50, 60, 72, 90, 100, 120, 144, 200, 240)
# A frame time that is off by a thousandth is a rounded one; "0.0333" just meets this.
_TOLERANCE = 1.01e-3
# "0.033" is 1 % off 1/30 and "0.017" 2 % off 1/60: beyond that, rounding is no explanation.
_ROUNDING_TOLERANCE = 0.021
# A rate that a file states as a number: from one frame in minutes to the fastest cameras.
SLOWEST_FPS, FASTEST_FPS = 0.01, 1e5
# Decimals of a frame time that is not rounded.
_EXACT_DECIMALS = 18
_NO_CHANGE = 1e-9


def frame_rate(frame_time: float, decimals: int) -> float:
    """Frames per second of a frame time in seconds that was written with `decimals` decimals.

    The nearest whole or NTSC rate (23.976, 29.97, 59.94, 119.88) within 0.1 %. Where the time
    was written too roughly for that, a usual rate (24, 25, 30, ... 240) whose frame time, rounded
    or cut to as many decimals, is what was written. Else 1 / `frame_time`.
    """
    rate = 1.0 / frame_time
    last_digit = 10.0**-decimals

    def is_written_so(usual: float) -> bool:
        error = 1.0 / usual - frame_time
        return -0.5001 * last_digit <= error < last_digit and (
            abs(error) <= _ROUNDING_TOLERANCE * frame_time
        )

    near = [
        usual
        for usual in (float(max(round(rate), 1)), *_NTSC_RATES)
        if abs(usual - rate) <= _TOLERANCE * usual
    ]
    nearest = min(near, key=lambda usual: abs(usual - rate), default=None)
    if nearest is not None and nearest not in _NTSC_RATES:
        return nearest
    rounded = [usual for usual in USUAL_RATES if is_written_so(usual)]
    if rounded:
        return float(min(rounded, key=lambda usual: abs(usual - rate)))
    return rate if nearest is None else nearest


def resolve_rate(
    stated: Mapping[str, float], given: float | None, path: str | Path
) -> tuple[float, tuple[str, ...]]:
    """Frames per second of a file that states its rate as a number, under one of several names.

    Parameters
    ----------
    stated
        Name -> rate in the file.
    given
        Rate given by the user, already checked; it has precedence.

    Returns
    -------
    The rate, replaced by a whole or NTSC rate within 0.1 %; and notes, one sentence each.

    Raises
    ------
    FormatError
        If no rate is given and the file has none, several, or an impossible one.
    """
    if given is not None:
        said = ", ".join(f"{name} {value:.6g}" for name, value in stated.items())
        instead = f", instead of the file's {said}" if said else ""
        return float(given), (f"{given:g} frames a second as given{instead}",)
    if not stated:
        raise FormatError(
            "no frame rate in the file",
            hint="give it: fps=, or --file-fps on the command line",
            path=path,
        )
    (name, rate), *others = stated.items()
    if any(abs(other - rate) > _TOLERANCE * abs(rate) for _, other in others):
        said = ", ".join(f"{name} {value:.6g}" for name, value in stated.items())
        raise FormatError(
            f"frame rates that differ: {said}",
            hint="give the right one: fps=, or --file-fps on the command line",
            path=path,
        )
    if not SLOWEST_FPS <= rate <= FASTEST_FPS:
        raise FormatError(
            f"{name} {rate:.6g}: an impossible number of frames a second",
            hint="give the right one: fps=, or --file-fps on the command line",
            path=path,
        )
    meant = frame_rate(1.0 / rate, decimals=_EXACT_DECIMALS)
    if abs(meant - rate) < _NO_CHANGE * rate:
        return meant, ()
    return meant, (f"{rate:.9g} frames a second read as {meant:.6g}",)
