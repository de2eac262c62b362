"""What a user tells of a file, checked before the file is read."""

from __future__ import annotations

from deepphase.errors import ParameterError
from deepphase.formats.frame_rate import FASTEST_FPS
from deepphase.motion.orientation import AXES


def check_told_up(up: str | None) -> None:
    """Raise ParameterError where an up axis is told that is none of "x", "y", "z", "-x", ..."""
    if up is not None and up not in AXES:
        raise ParameterError(f"an up axis of {up!r}", hint=f"choose one of {', '.join(AXES)}")


def check_told_rate(fps: float | None) -> None:
    """Raise ParameterError where a rate is told that is not finite, not positive or absurd."""
    # Not a number is neither above nor below.
    if fps is not None and not 0 < fps <= FASTEST_FPS:
        raise ParameterError(
            f"a rate of {fps} frames a second", hint=f"at most {FASTEST_FPS:,.0f} are read"
        )
