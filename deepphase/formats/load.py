"""Reading and writing of motion files; the suffix selects the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.blender.fbx import load_blender, save_blender
from deepphase.formats.bvh.reader import load_bvh
from deepphase.formats.bvh.writer import save_bvh
from deepphase.formats.gltf.reader import gltf_animations, load_gltf, load_gltf_clips
from deepphase.formats.gltf.writer import save_gltf
from deepphase.formats.markers.mvnx import load_mvnx
from deepphase.formats.npz.motion import save_npz_motion
from deepphase.formats.npz.reader import load_npz
from deepphase.formats.points import load_points_as_clip
from deepphase.formats.reader_options import call_reader, option_names
from deepphase.formats.usd.reader import load_usd
from deepphase.formats.usd.writer import save_usd
from deepphase.motion.clip import Clip


@dataclass(frozen=True)
class MotionFormat:
    """A format of motion files: its name, reader and writer; `save` is None if it is only read.

    `load_all` and `list_animations` are given if a file can hold several clips.
    """

    name: str
    load: Callable[..., Clip]
    save: Callable[..., None] | None = None
    load_all: Callable[..., tuple[Clip, ...]] | None = None
    list_animations: Callable[[str | Path], tuple[tuple[int, str], ...]] | None = None


_GLTF = (load_gltf, save_gltf, load_gltf_clips, gltf_animations)
# By suffix, in small letters.
MOTION_FORMATS: dict[str, MotionFormat] = {
    ".bvh": MotionFormat("BVH motion capture", load_bvh, save_bvh),
    ".npz": MotionFormat("NumPy arrays: AMASS, points, our own", load_npz, save_npz_motion),
    ".glb": MotionFormat("glTF, binary", *_GLTF),
    ".gltf": MotionFormat("glTF", *_GLTF),
    ".c3d": MotionFormat("markers of optical systems", load_points_as_clip),
    ".trc": MotionFormat("markers of Motion Analysis and OpenSim", load_points_as_clip),
    ".csv": MotionFormat("markers of Motive", load_points_as_clip),
    ".mvnx": MotionFormat("segments of Xsens", load_mvnx),
    ".usda": MotionFormat("USD, as text", load_usd, save_usd),
    **dict.fromkeys((".usd", ".usdc", ".usdz"), MotionFormat("USD", load_usd)),
    ".fbx": MotionFormat("FBX, through Blender", load_blender, save_blender),
    ".blend": MotionFormat("Blender", load_blender, save_blender),
}
BLENDER_SUFFIXES = (".fbx", ".blend")
"""Suffixes of the formats that need Blender."""

WRITTEN_SUFFIXES = tuple(
    suffix
    for suffix, each in MOTION_FORMATS.items()
    if each.save is not None and suffix not in BLENDER_SUFFIXES
)
"""Suffixes of the formats that `save` writes without another program."""


def load(path: str | Path, **options: Any) -> Clip:
    """Read a motion file; its suffix selects the format, the options are those of its reader.

    From a file with several animations the first is read; `load_all` reads all.

    Folders mix formats: an option of another format's reader that this one lacks is ignored, with
    a note in the clip.

    Raises
    ------
    FormatError
        If the suffix is unknown (the hint lists the known ones) or the file is damaged.
    ParameterError
        If no format's reader has such an option.
    """
    kind = _format_of(path)
    _check_reader_options(options, kind, path)
    return call_reader(kind.load, path, options, f"{Path(path).suffix} files")


def load_all(path: str | Path, **options: Any) -> tuple[Clip, ...]:
    """Read all clips of a motion file: the animations of glTF, each with its own name.

    Files of other formats hold one clip. Options and errors are those of `load`.
    """
    kind = _format_of(path)
    if kind.load_all is None or options.get("animation") is not None:
        return (load(path, **options),)
    _check_reader_options(options, kind, path)
    given = {name: value for name, value in options.items() if name != "animation"}
    return call_reader(kind.load_all, path, given, f"{Path(path).suffix} files")


def list_animations(path: str | Path) -> tuple[tuple[int, str], ...]:
    """Number and name of each clip that `load_all` reads; `load(animation=)` accepts the number.

    Empty for formats whose files hold one clip; the file is then not opened. Raises FormatError
    as `load`.
    """
    kind = _format_of(path)
    return () if kind.list_animations is None else kind.list_animations(path)


def save(clip: Clip, path: str | Path, **options: Any) -> None:
    """Write a motion file; its suffix selects the format, the options are those of its writer.

    Raises
    ------
    FormatError
        If the suffix is unknown, or of a format that is only read; the hint lists the others.
    ParameterError
        If the format's writer has no such option, or the clip has a name that it cannot write.
    CheckpointError
        If the file cannot be written.
    """
    kind = _format_of(path)
    if kind.save is None:
        raise FormatError(
            f"{Path(path).suffix} files ({kind.name}) are read only",
            hint=f"written are {', '.join((*WRITTEN_SUFFIXES, *BLENDER_SUFFIXES))}",
            path=path,
        )
    _check_options(options, option_names(kind.save), f"{Path(path).suffix} files", path)
    kind.save(clip, path, **options)


def _format_of(path: str | Path) -> MotionFormat:
    suffix = Path(path).suffix
    known = MOTION_FORMATS.get(suffix.lower())
    if known is None:
        formats = ", ".join(f"{suffix} ({kind.name})" for suffix, kind in MOTION_FORMATS.items())
        raise FormatError(
            f"there is no such kind of motion file, {suffix or 'without a suffix'}",
            hint=f"known: {formats}",
            path=path,
        )
    return known


def _check_reader_options(options: Mapping[str, Any], kind: MotionFormat, path: str | Path) -> None:
    known = dict.fromkeys(
        name for each in (kind, *MOTION_FORMATS.values()) for name in option_names(each.load)
    )
    _check_options(options, tuple(known), "motion files", path)


def _check_options(
    options: Mapping[str, Any], known: tuple[str, ...], files: str, path: str | Path
) -> None:
    wrong = next((name for name in options if name not in known), None)
    if wrong is not None:
        raise ParameterError(
            f"{files} have no option {wrong!r}",
            hint=f"options: {', '.join(known) or 'none'}",
            path=path,
        )
