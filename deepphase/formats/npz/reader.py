""".npz motion files: which kind of motion an archive holds, by its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from deepphase.errors import FormatError
from deepphase.formats.amass import is_amass, load_amass
from deepphase.formats.load import call_reader
from deepphase.formats.npz.archive import NpzArchive, read_npz
from deepphase.formats.npz.joint_arrays import is_joint_arrays, load_joint_arrays
from deepphase.formats.npz.motion import FORMAT, is_npz_motion, load_npz_motion
from deepphase.formats.points import is_points, load_points_as_clip
from deepphase.motion.clip import Clip


def load_npz(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    description: Mapping[str, Any] | None = None,
) -> Clip:
    """Read the motion in an .npz: our own, joints with parents, AMASS, or a track of points.

    Parameters
    ----------
    unit
        The unit of points and of joints; our own files and AMASS are in metres.
    fps
        Frames a second, in place of the file's.
    """
    archive = read_npz(path)
    given = {"unit": unit, "up": up, "fps": fps, "description": description}
    options = {name: value for name, value in given.items() if value is not None}
    if is_joint_arrays(archive.keys):
        return call_reader(load_joint_arrays, path, options, "files of joints with parents")
    if is_npz_motion(archive.keys):
        return call_reader(load_npz_motion, path, options, "our own motion files")
    if is_amass(archive.keys):
        return call_reader(load_amass, path, options, "AMASS files")
    if is_points(archive.keys):
        return call_reader(load_points_as_clip, path, options, "point tracks")
    raise FormatError(
        _what_it_is(archive),
        hint="motion is poses and trans (AMASS), positions (points), or rotations and parents "
        "(joints)",
        path=path,
    )


def _what_it_is(archive: NpzArchive) -> str:
    """One sentence on an archive that holds no motion."""
    if "meta" in archive:
        with suppress(FormatError):
            meta = archive.json("meta")
            found = meta.get("format") if isinstance(meta, dict) else None
            if isinstance(found, str) and found != FORMAT:
                return f"a {found[:60]} file, not motion"
    if "betas" in archive:
        return "the shape of a body without its motion: it has betas and no poses"
    return f"no motion: {archive.contents}"
