"""Phases beside an animation of a glTF file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError

FORMAT, VERSION = "deepphase.phases", 1
PHASE_CONVENTIONS = (
    "latent(t) = amplitude * sin(2 pi (frequency * t + phase)) + offset, t in seconds from the "
    "frame; frame i is at i / fps seconds; phase in cycles in [-0.5, 0.5); frequency in Hz; each "
    "array is [channel][frame]"
)
_ARRAYS = ("phase", "frequency", "amplitude", "offset")
# Digits that float32 holds and a text needs; phases need as many behind the point.
_DIGITS = 7


@dataclass(frozen=True, eq=False)
class PhaseTrack:
    """Phases of every frame of a clip, as they stand in a file.

    Parameters
    ----------
    fps
        Frames a second: the phase model's rate; the first frame is the animation's first.
    phase
        (frames, channels) cycles in [-0.5, 0.5), growing with time.
    frequency
        (frames, channels) Hz.
    amplitude, offset
        (frames, channels), in the latent's unit.

    Raises
    ------
    ParameterError
        Where shapes differ or a value is not finite.
    """

    fps: float
    phase: Array
    frequency: Array
    amplitude: Array
    offset: Array

    def __post_init__(self) -> None:
        if not (np.isfinite(self.fps) and self.fps > 0):
            raise ParameterError(
                f"the phases have {self.fps} frames a second", hint="give a rate above 0"
            )
        for name in _ARRAYS:
            value = np.asarray(getattr(self, name))
            object.__setattr__(self, name, value)
            if value.ndim != 2 or not value.size or value.shape != self.phase.shape:
                raise ParameterError(
                    f"{name} has shape {value.shape}, but phase {self.phase.shape}: expected "
                    "(frames, channels) of both"
                )
            if not np.isfinite(value).all():
                raise ParameterError(
                    f"{name} holds values that are not finite", hint="encode the clip again"
                )


def phases_extra(phases: PhaseTrack) -> dict[str, Any]:
    """The track as JSON, for an animation's extras."""
    frames, channels = phases.phase.shape
    extra: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "fps": float(phases.fps),
        "frames": frames,
        "channels": channels,
        "conventions": PHASE_CONVENTIONS,
    }
    for name in _ARRAYS:
        columns = getattr(phases, name).T.tolist()
        extra[name] = [[float(f"{value:.{_DIGITS}g}") for value in column] for column in columns]
    return extra


def parse_phases(extra: Any, place: str, path: Path) -> PhaseTrack:
    """What `phases_extra` made, read again.

    Raises
    ------
    FormatError
        Where it is of another format or a newer version, or its arrays do not fit each other.
    """
    try:
        if extra["format"] != FORMAT:
            raise FormatError(f"{place}: the phases have an unknown format", path=path)
        if type(extra["version"]) is not int or extra["version"] > VERSION:
            raise FormatError(
                f"{place}: phases of a newer version than this deepphase reads",
                hint="upgrade deepphase: pip install -U deepphase",
                path=path,
            )
        arrays = [np.array(extra[name], np.float64).T for name in _ARRAYS]
        track = PhaseTrack(float(extra["fps"]), *arrays)
        if track.phase.shape != (extra["frames"], extra["channels"]):
            raise ParameterError(
                f"the arrays have shape {track.phase.shape}, another than declared",
                hint="write the file again",
            )
        if np.abs(track.phase).max() > 0.5:
            raise ParameterError("a phase is outside [-0.5, 0.5)", hint="write the file again")
        return track
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, ParameterError) as error:
        reason = getattr(error, "fact", None) or " ".join(str(error).split())[:120]
        raise FormatError(f"{place}: the phases are damaged: {reason}", path=path) from None
