"""Phases of one clip as a file: a named, versioned .npz, and a .csv for spreadsheets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.header_values import checked_rate, checked_text
from deepphase.formats.npz.archive import read_npz, write_npz
from deepphase.phase.model import CONVENTIONS, CURVES, ClipPhases
from deepphase.phase.parameters import PhaseParameters

FORMAT, VERSION = "deepphase.phases", 1
# Rounding of a phase just below half a cycle.
_MAX_PHASE = 0.5 + 1e-6
_TOLERANCE = 1e-4


def save_phases(
    phases: ClipPhases,
    path: str | Path,
    *,
    window_s: float,
    model_sha256: str,
) -> None:
    """Write <clip>.phases.npz, whole or not at all.

    Parameters
    ----------
    window_s, model_sha256
        Of the model that made the phases.
    """
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "clip": phases.name,
        "source": phases.source,
        "fps": phases.fps,
        "window_s": window_s,
        "channels": phases.parameters.channels,
        "model_sha256": model_sha256,
        "conventions": CONVENTIONS,
    }
    arrays = {
        name: value if name in ("time", "interior") else value.astype(np.float32)
        for name, value in phases.to_numpy().items()
    }
    write_npz(path, arrays | {"meta": np.array(json.dumps(meta))})


def load_phases(path: str | Path) -> tuple[ClipPhases, dict[str, Any]]:
    """Read a phases file: the phases and its `meta`.

    Raises
    ------
    FormatError
        Where it cannot be read, is not such a file, is of another version, or its arrays do not fit
        each other.
    """
    archive = read_npz(path)
    meta = archive.meta(FORMAT, VERSION)
    try:
        fps = checked_rate(meta["fps"])
        clip, source = (checked_text(meta[name], name) for name in ("clip", "source"))
        phase = archive.array("phase", (None, None))
        frames, channels = phase.shape
        others = [archive.array(name, (frames, channels)) for name in CURVES[1:]]
        parameters = PhaseParameters(phase, *others)
        manifold = archive.array("manifold", (frames, 2 * channels))
        time = archive.array("time", (frames,))
        interior = archive.array("interior", (frames,), "bool")
        _check_agreement(parameters, manifold, time, fps)
        return ClipPhases(parameters, interior, fps, clip, source), meta
    except (KeyError, ValueError, ParameterError) as error:
        fact = f"there is no {error} in its 'meta'" if isinstance(error, KeyError) else str(error)
        raise FormatError(
            f"this is not a phases file: {fact}",
            hint="phases files are what `deepphase encode` writes",
            path=path,
        ) from None


def _check_agreement(parameters: PhaseParameters, manifold: Array, time: Array, fps: float) -> None:
    """Raise ValueError unless the arrays of a file describe the same phases."""
    if not (np.abs(parameters.phase) <= _MAX_PHASE).all():
        raise ValueError("its phases are outside [-0.5, 0.5]")
    tolerance = _TOLERANCE * max(1.0, float(np.abs(parameters.amplitude).max(initial=0.0)))
    # Differences that overflow are not within the tolerance.
    with np.errstate(over="ignore", invalid="ignore"):
        apart = np.abs(parameters.manifold() - manifold).max(initial=0.0)
        late = np.abs(np.arange(len(time)) - time * fps).max(initial=0.0)
    if not apart <= tolerance:
        raise ValueError("its manifold is not that of its phases")
    if not late <= _TOLERANCE * max(len(time), 1):
        raise ValueError(f"its times are not those of {fps:g} frames a second")


def save_csv(phases: ClipPhases, path: str | Path) -> None:
    """Write the same values as a table, one row a frame."""
    columns = phases.columns()
    values = np.stack(list(columns.values()), axis=1, dtype=np.float64)
    formats = ["%.6f", "%d", *["%.6g"] * (len(columns) - 2)]
    with atomic_write(path) as file:
        np.savetxt(file, values, formats, ",", header=",".join(columns), comments="")
