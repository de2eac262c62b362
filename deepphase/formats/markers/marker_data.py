"""Markers as a file states them, before units and axes are settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.errors import FormatError
from deepphase.formats.reading import unique_names

# Same limit as of point tracks: all pairs of points are compared.
MAX_POINTS = 4096
# What programs write for a coordinate of a marker that was not seen; others write 0 for all three.
_UNSEEN = 9_999_999
# Markers that are seen in a smaller share of the frames are left out: their gaps cannot be bridged.
_LEAST_SEEN = 0.1
_LISTED = 8


@dataclass(frozen=True, eq=False)
class MarkerData:
    """The content of a file of markers."""

    # (points,) labels
    names: tuple[str, ...]
    # (frames, points, 3) in units of the file; NaN where a marker is not seen
    positions: Array
    # Rates that the file states, by name
    rates: Mapping[str, float]
    # Metres in one unit of the file; None if it states none
    unit_m: float | None = None
    # The up axis that the file states, or None
    up: str | None = None
    # What was assumed, one sentence each
    notes: tuple[str, ...] = ()


def seen_markers(data: MarkerData, path: Path) -> tuple[MarkerData, Array]:
    """Markers that are seen often enough, and (frames, points) whether each was seen.

    Gaps are bridged by straight lines; before the first and after the last sight, a marker stays in
    place.
    """
    names, renamed = unique_names(data.names)
    notes = [*data.notes]
    if renamed:
        notes.append(f"repeated labels were numbered: {_listed(renamed)}")
    positions = np.array(data.positions, np.float64)
    positions[~np.isfinite(positions).all(axis=-1)] = np.nan
    unlabelled = [name.rpartition(":")[2].startswith("*") for name in names]
    if 2 <= unlabelled.count(False) < len(names):
        labelled = np.flatnonzero(~np.array(unlabelled))
        notes.append(f"{len(names) - len(labelled)} markers without a label were left out")
        names, positions = tuple(names[point] for point in labelled), positions[:, labelled]
    zeros = (positions == 0).all(axis=-1)
    # A point that is always there may be the origin of the others.
    unseen = (zeros & ~zeros.all(axis=0)) | (np.abs(positions) >= _UNSEEN).any(axis=-1)
    if unseen.any():
        notes.append(f"{unseen.sum():,} places of zeros or from {_UNSEEN:,} on are gaps")
        positions[unseen] = np.nan
    frames, points = positions.shape[:2]
    fault = partial(FormatError, path=path)
    if frames == 0 or points == 0:
        raise fault(
            f"there are {frames} frames of {points} markers",
            hint="export at least one frame with two markers",
        )
    if points > MAX_POINTS:
        raise fault(f"one body has {points:,} points", hint=f"the limit is {MAX_POINTS:,}")
    present = np.isfinite(positions[..., 0])
    is_kept = present.mean(axis=0) >= max(_LEAST_SEEN, 1.0 / frames)
    if is_kept.sum() < 2:
        raise fault(
            f"{is_kept.sum()} of {points} markers are seen in a tenth of the frames",
            hint="label and fill the markers in the program of the capture",
        )
    if not is_kept.all():
        left = [name for name, kept in zip(names, is_kept, strict=True) if not kept]
        notes.append(
            f"markers that are seen in less than {_LEAST_SEEN:.0%} of the frames were left out: "
            f"{_listed(left)}"
        )
    names = tuple(name for name, kept in zip(names, is_kept, strict=True) if kept)
    positions, present = positions[:, is_kept], present[:, is_kept]
    gaps = ~present
    shares = gaps.mean(axis=0)
    if gaps.any():
        lengths = [stop - start for column in gaps.T for start, stop in true_runs(column)]
        worst = np.argsort(-shares, kind="stable")[:3].tolist()
        said = ", ".join(f"{names[point]} {shares[point]:.1%}" for point in worst if shares[point])
        notes.append(
            f"gaps in {gaps.mean():.1%} of the marker frames, the longest of {max(lengths)} "
            f"frames, most in {said}: bridged by straight lines"
        )
    index = np.arange(frames)
    for point in np.flatnonzero(shares).tolist():
        gap, seen = gaps[:, point], present[:, point]
        for axis in range(3):
            places = positions[seen, point, axis]
            positions[gap, point, axis] = np.interp(index[gap], index[seen], places)
    return replace(data, names=names, positions=positions, notes=tuple(notes)), present


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
