"""Ranges of what a body can be, for files of all formats that are read or written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError
from deepphase.formats.frame_rates import is_plausible_rate
from deepphase.motion.clip import Clip, Source
from deepphase.motion.orientation import (
    LARGEST_BODY,
    SMALLEST_BODY,
    infer_unit,
    infer_up,
    rotate_up,
    scaled,
)
from deepphase.motion.skeleton import Skeleton

# Metres, of a bone and from the origin. Beyond this, distances in float32 are off by more than
# 6 cm. A body in millimetres that is taken for metres stays far below.
LARGEST_LENGTH_M = 1e6
# Notes that begin so doubt what was read, and say the way out.
CHECK = "check: "
# No body is faster.
_FASTEST_M_S = 15.0


def checked_body(clip: Clip, path: str | Path) -> Clip:
    """The clip; FormatError if its lengths are not those of a body."""
    checked_skeleton(clip.skeleton, path)
    _check_lengths("a translation", clip.translations, path)
    return clip


def with_doubts(clip: Clip) -> Clip:
    """The clip, with notes where its size or its speed is not that of a body."""
    notes = []
    size = float(np.ptp(clip.skeleton.rest_positions, axis=0).max())
    if size > 0 and not SMALLEST_BODY <= size <= LARGEST_BODY:
        notes.append(f"{CHECK}the body is {size:.3g} m long: give the unit with --unit")
    moved = np.diff(clip.translations[:, 0], axis=0)
    speed = float(np.percentile(np.linalg.norm(moved, axis=-1), 95)) * clip.fps if len(moved) else 0
    if speed > _FASTEST_M_S:
        notes.append(
            f"{CHECK}the root goes at {speed:.3g} m/s: give the unit with --unit, or the rate with "
            "--file-fps"
        )
    if not notes:
        return clip
    return replace(clip, source=replace(clip.source, notes=(*clip.source.notes, *notes)))


def checked_skeleton(skeleton: Skeleton, path: str | Path | None = None) -> Skeleton:
    """The skeleton; FormatError if its lengths are not those of a body."""
    _check_lengths("an offset", skeleton.offsets, path)
    _check_lengths("the offset of an end site", skeleton.end_offsets, path)
    return skeleton


def _check_lengths(what: str, lengths: Array, path: str | Path | None) -> None:
    longest = float(np.abs(lengths).max(initial=0.0))
    if not longest <= LARGEST_LENGTH_M:
        raise FormatError(
            f"{what} of {longest:.3g} m: no body has such a size or place",
            hint="the unit may be wrong: give it with --unit",
            path=path,
        )


def in_metres_y_up(clip: Clip, unit_m: float | None, up: str | None, source: Source) -> Clip:
    """The clip of a file in metres with Y up, named after its file."""
    notes = source.notes
    if unit_m is None:
        unit_m, note = infer_unit(clip.skeleton)
        notes = (*notes, note)
    if up is None:
        up, note = infer_up(clip)
        notes = (*notes, note)
    clip = rotate_up(checked_body(scaled(clip, unit_m), source.path), up)
    source = replace(source, unit_m=unit_m, up=up, notes=notes)
    return replace(clip, source=source, name=Path(source.path).stem)


def check_writable_body(clip: Clip, path: str | Path) -> None:
    """Raise FormatError for a clip that readers would refuse, for its rate or its lengths."""
    checked_body(clip, path)
    if not is_plausible_rate(clip.fps):
        raise FormatError(
            f"readers refuse a clip at {clip.fps:.6g} frames a second",
            hint="resample it, or correct its rate",
            path=path,
        )
