"""Phases of one clip as a file: a named, versioned .npz, and a .csv for spreadsheets."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.atomic_write import atomic_write
from deepphase.errors import DeepPhaseError, FormatError
from deepphase.phase.model import CONVENTIONS, ClipPhases
from deepphase.phase.parameters import PhaseParameters

FORMAT, VERSION = "deepphase.phases", 1
_ARRAYS = ("phase", "frequency", "amplitude", "offset", "manifold", "time", "interior")


def save_phases(
    phases: ClipPhases, path: str | Path, *, window_s: float, model_sha256: str
) -> None:
    """Write <clip>.phases.npz, whole or not at all.

    Parameters
    ----------
    window_s, model_sha256
        Of the model that made the phases.
    """
    parameters = phases.parameters
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "clip": phases.name,
        "source": phases.source,
        "fps": phases.fps,
        "window_s": window_s,
        "channels": parameters.channels,
        "model_sha256": model_sha256,
        "conventions": CONVENTIONS,
    }
    arrays = {name: getattr(parameters, name) for name in ("phase", "frequency")}
    arrays |= {name: getattr(parameters, name) for name in ("amplitude", "offset")}
    arrays["manifold"] = parameters.manifold()
    arrays = {name: value.astype(np.float32) for name, value in arrays.items()}
    with atomic_write(path) as file:
        np.savez(
            file,
            **arrays,
            time=phases.time,
            interior=phases.interior,
            meta=np.array(json.dumps(meta)),
        )


def load_phases(path: str | Path) -> tuple[ClipPhases, dict[str, Any]]:
    """Read a phases file: the phases and its `meta`.

    Raises
    ------
    FormatError
        Where it is not such a file, of another version, or its arrays do not fit each other.
    """
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name] for name in (*_ARRAYS, "meta")}
        meta = json.loads(str(arrays.pop("meta")))
        if meta["format"] != FORMAT:
            raise FormatError(f"a {meta['format']} file, not {FORMAT}", path=path)
        if meta["version"] > VERSION:
            raise FormatError(
                f"version {meta['version']}, written by a newer deepphase than this one",
                hint=f"this one reads up to version {VERSION}",
                path=path,
            )
        parameters = PhaseParameters(*(arrays[name] for name in _ARRAYS[:4]))
        frames, channels = parameters.phase.shape
        fits = {
            "manifold": (frames, 2 * channels),
            "time": (frames,),
            "interior": (frames,),
        }
        for name, shape in fits.items():
            if arrays[name].shape != shape:
                raise FormatError(f"{name} {arrays[name].shape}, expected {shape}", path=path)
        phases = ClipPhases(
            parameters, arrays["interior"], float(meta["fps"]), meta["clip"], meta["source"]
        )
        return phases, meta
    except FormatError:
        raise
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, DeepPhaseError) as error:
        raise FormatError(
            f"not a phases file: {' '.join(str(error).split())[:160]}",
            hint="phases files are what `deepphase encode` writes",
            path=path,
        ) from None


def save_csv(phases: ClipPhases, path: str | Path) -> None:
    """Write the same values as a table, one row a frame."""
    parameters = phases.parameters
    channels = range(parameters.channels)
    columns = ["time", "interior"]
    blocks = [phases.time[:, None], phases.interior[:, None]]
    for name in ("phase", "frequency", "amplitude", "offset"):
        columns += [f"{name}_{channel}" for channel in channels]
        blocks.append(getattr(parameters, name))
    columns += [f"manifold_{channel}_{part}" for channel in channels for part in ("sin", "cos")]
    blocks.append(parameters.manifold())
    values = np.concatenate(blocks, axis=1, dtype=np.float64)
    formats = ["%.6f", "%d", *["%.6g"] * (len(columns) - 2)]
    with atomic_write(path) as file:
        np.savetxt(file, values, formats, ",", header=",".join(columns), comments="")
