"""Motion in .npz files: which kind an archive holds, and our own; see docs/formats.md."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.config import checked_labels, checked_text
from deepphase.errors import FormatError, ParameterError, SkeletonError
from deepphase.formats.amass import is_amass, load_amass
from deepphase.formats.array_file import checked_source
from deepphase.formats.load import call_reader
from deepphase.formats.npz.archive import NpzArchive, read_npz, write_npz
from deepphase.formats.npz.joint_arrays import is_joint_arrays, is_npz_motion, load_joint_arrays
from deepphase.formats.points import is_points, load_points_as_clips
from deepphase.formats.reading import (
    check_joint_count,
    check_rate_option,
    check_writable_body,
    checked_body,
    resolve_rate,
)
from deepphase.motion.clip import Clip, Source
from deepphase.motion.skeleton import Skeleton

FORMAT, VERSION = "deepphase.motion", 1
_CONVENTIONS = (
    "metres, seconds; right-handed, Y up; local rotations as quaternions (x, y, z, w); "
    "translations are the local positions of translated_joints, in place of their offsets"
)
_NEEDED = ("names", "parents", "offsets", "rotations", "translations")


def save_npz_motion(clip: Clip, path: str | Path) -> None:
    """Write a clip; reading it gives the same clip, bit by bit, but for the source's first line."""
    check_writable_body(clip, path)
    source = {name: value for name, value in asdict(clip.source).items() if name != "first_line"}
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "name": clip.name,
        "labels": dict(clip.labels),
        "source": source,
        "conventions": _CONVENTIONS,
    }
    skeleton = clip.skeleton
    of_skeleton = ("parents", "offsets", "end_parents", "end_offsets")
    of_clip = ("rotations", "translations", "translated_joints")
    arrays = {
        "names": np.array(skeleton.names, np.str_),
        **{name: getattr(skeleton, name) for name in of_skeleton},
        **{name: getattr(clip, name) for name in of_clip},
        "fps": np.float64(clip.fps),
        "meta": np.array(json.dumps(meta)),
    }
    if tuple(arrays["names"].tolist()) != skeleton.names:
        # NumPy cuts them off.
        raise ParameterError("a joint name that ends in a null character cannot be stored")
    write_npz(path, arrays)


def load_npz_motion(path: str | Path, *, fps: float | None = None) -> Clip:
    """Read a clip; `meta`, end sites and `translated_joints` (then the root) may be missing."""
    check_rate_option(fps)
    path = Path(path)
    archive = read_npz(path)
    for key in _NEEDED:
        if key not in archive:
            raise archive.fault(
                f"no array {key!r}: a motion file has {', '.join(_NEEDED)}", archive.contents
            )
    name, labels, source = _meta(archive)
    stated = {"fps": archive.scalar("fps")} if "fps" in archive else {}
    # The file's own rate is kept to the last bit.
    rate, notes = resolve_rate(stated, fps, path)
    if fps is None:
        rate, notes = stated["fps"], ()
    if notes:
        source = replace(source, notes=(*source.notes, *notes))
    check_joint_count(math.prod(archive.shape("names")), path)
    names = archive.strings("names")
    joints = len(names)
    rotations = archive.array("rotations", (None, joints, 4))
    moving = np.zeros(1, np.int64)
    if "translated_joints" in archive:
        moving = archive.array("translated_joints", (None,), "integer")
    ends: tuple[Any, ...] = ()
    if "end_parents" in archive:
        end_parents = archive.array("end_parents", (None,), "integer")
        ends = (end_parents, archive.array("end_offsets", (len(end_parents), 3)))
    try:
        parents = archive.array("parents", (joints,), "integer")
        skeleton = Skeleton(names, parents, archive.array("offsets", (joints, 3)), *ends)
        translations = archive.array("translations", (len(rotations), len(moving), 3))
        clip = Clip(skeleton, rotations, translations, rate, moving, labels, source, name)
    except (ParameterError, SkeletonError) as error:
        # The file is named already.
        fact = error.fact.removeprefix(f"{name}: ")
        raise FormatError(fact, hint=error.hint, path=path) from None
    return checked_body(clip, path)


def _meta(archive: NpzArchive) -> tuple[str, dict[str, str], Source]:
    """Name, labels and source; what a file without them is called."""
    path = archive.path
    if "meta" not in archive:
        return path.stem, {}, Source(str(path))
    meta = archive.meta(FORMAT, VERSION)
    try:
        return (
            checked_text(meta.get("name", path.stem), "name"),
            checked_labels(meta.get("labels", {})),
            checked_source(meta.get("source", {"path": str(path)})),
        )
    except ParameterError as error:
        raise archive.fault(
            f"array 'meta' has a wrong value: {error.fact}",
            "save the file again with the program that wrote it",
        ) from None


def load_npz(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
    description: Mapping[str, Any] | None = None,
) -> Clip:
    """Read the motion in an .npz: our own, joints with parents, AMASS, or a track of points."""
    archive = read_npz(path)
    given = {"unit": unit, "up": up, "fps": fps, "description": description}
    options = {name: value for name, value in given.items() if value is not None}
    for holds, reader, files in (
        (is_joint_arrays, load_joint_arrays, "files of joints with parents"),
        (is_npz_motion, load_npz_motion, "our own motion files"),
        (is_amass, load_amass, "AMASS files"),
        (is_points, load_points_as_clips, "point tracks"),
    ):
        if holds(archive.keys):
            found: Clip | tuple[Clip, ...] = call_reader(reader, path, options, files)
            return found if isinstance(found, Clip) else found[0]
    raise archive.fault(
        _other_content(archive),
        "motion is poses and trans (AMASS), positions (points), or rotations and parents (joints)",
    )


def _other_content(archive: NpzArchive) -> str:
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
