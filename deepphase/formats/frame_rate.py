"""The frame rate that a written frame time means."""

from __future__ import annotations

# Film and video rates of NTSC: 24, 30, 60 and 120 frames in 1.001 seconds.
_NTSC_RATES = tuple(rate / 1.001 for rate in (24, 30, 60, 120))
_USUAL_RATES = (24, 25, 30, 48, 50, 60, 72, 90, 100, 120, 144, 200, 240)
# A frame time that is a thousandth off is a rounded one; "0.0333" is that by a hair.
_TOLERANCE = 1.01e-3
# "0.033" is 1 % off 1/30 and "0.017" 2 % off 1/60: beyond that, rounding says nothing.
_ROUNDING_TOLERANCE = 0.021


def frame_rate(frame_time: float, decimals: int) -> float:
    """Frames a second of a frame time in seconds that was written with so many decimals.

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
    rounded = [usual for usual in _USUAL_RATES if is_written_so(usual)]
    if rounded:
        return float(min(rounded, key=lambda usual: abs(usual - rate)))
    return rate if nearest is None else nearest
