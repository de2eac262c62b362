"""Reading and writing of motion files; the suffix selects the format."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from deepphase.errors import FormatError, ParameterError
from deepphase.formats.doubts import with_doubts
from deepphase.formats.reading import checked_floor, listed, numbered, with_notes
from deepphase.motion.clip import Clip


@dataclass(frozen=True)
class MotionFormat:
    """A format of motion files; functions may be named, as in "package.module:function".

    `load` reads one clip; a format whose files hold several may have `load_all` alone.
    `begins` are first bytes by which an upload is recognized, whatever its name.
    """

    name: str
    load: Callable[..., Clip] | str | None = None
    save: Callable[..., None] | str | None = None
    load_all: Callable[..., tuple[Clip, ...]] | str | None = None
    list_animations: Callable[[str | Path], tuple[tuple[int, str], ...]] | str | None = None
    begins: tuple[bytes, ...] = ()


def _function(given: Callable[..., Any] | str) -> Callable[..., Any]:
    found: Callable[..., Any] = pkgutil.resolve_name(given) if isinstance(given, str) else given
    return found


_MARKERS: dict[str, Any] = {
    "load_all": "deepphase.formats.points:load_points_as_clips",
    "list_animations": "deepphase.formats.points:point_bodies",
}
_GLTF = (
    "deepphase.formats.gltf.reader:load_gltf",
    "deepphase.formats.gltf.writer:save_gltf",
    "deepphase.formats.gltf.reader:load_gltf_clips",
    "deepphase.formats.gltf.reader:gltf_animations",
)
# By suffix, in small letters. Only the readers of the formats that are read get imported.
MOTION_FORMATS: dict[str, MotionFormat] = {
    ".bvh": MotionFormat(
        "BVH motion capture",
        "deepphase.formats.bvh.reader:load_bvh",
        "deepphase.formats.bvh.writer:save_bvh",
        begins=(b"HIERARCHY",),
    ),
    ".npz": MotionFormat(
        "NumPy arrays: AMASS, points, our own",
        "deepphase.formats.npz.motion:load_npz",
        "deepphase.formats.npz.motion:save_npz_motion",
        begins=(b"PK\x03\x04",),
    ),
    ".glb": MotionFormat("glTF, binary", *_GLTF, begins=(b"glTF",)),
    ".gltf": MotionFormat("glTF", *_GLTF),
    ".vrma": MotionFormat("VRM animation", _GLTF[0], None, *_GLTF[2:]),
    ".npy": MotionFormat("joints of motion from text", begins=(b"\x93NUMPY",), **_MARKERS),
    ".c3d": MotionFormat("markers of optical systems", **_MARKERS),
    ".trc": MotionFormat(
        "markers of Motion Analysis and OpenSim", begins=(b"PathFileType",), **_MARKERS
    ),
    ".csv": MotionFormat(
        "markers of Motive",
        save="deepphase.formats.markers.tables:save_places",
        begins=(b"Format Version", b'"Format Version'),
        **_MARKERS,
    ),
    ".mvnx": MotionFormat("segments of Xsens", "deepphase.formats.markers.mvnx:load_mvnx"),
    ".amc": MotionFormat("AMC with its ASF skeleton", "deepphase.formats.amc:load_amc"),
    ".fbx": MotionFormat(
        "FBX, through Blender", "deepphase.formats.fbx:load_fbx", "deepphase.formats.fbx:save_fbx"
    ),
}


def load(path: str | Path, *, floor: float | None = None, **options: Any) -> Clip:
    """Read a motion file; its suffix selects the format, the options are those of its reader.

    `floor` is the height in metres of the floor in the file, which becomes 0. From a file with
    several animations the first is read; `load_all` reads all.

    Folders mix formats: an option of another format's reader that this one lacks is ignored, with
    a note in the clip.

    Raises
    ------
    FormatError
        If the suffix is unknown (the hint lists the known ones) or the file is damaged.
    ParameterError
        If no format's reader has such an option.
    """
    kind = format_of(path)
    if kind.load is not None:
        return _read(kind.load, path, floor, options)[0]
    animation = options.pop("animation", None)
    clips = load_all(path, floor=floor, **options)
    names = [clip.name for clip in clips]
    number = 0 if animation is None else numbered(names, animation, "animation")
    others = listed([f"{i} {name!r}" for i, name in enumerate(names) if i != number], 12)
    note = f"animation {number} {names[number]!r} was read; there are also {others}"
    return with_notes(clips[number], [note] if others and animation is None else [])


def load_all(path: str | Path, *, floor: float | None = None, **options: Any) -> tuple[Clip, ...]:
    """Read all clips of a motion file: the animations of glTF, each with its own name.

    Files of other formats hold one clip. Options and errors are those of `load`.
    """
    kind = format_of(path)
    if kind.load_all is None or options.get("animation") is not None:
        return (load(path, floor=floor, **options),)
    options.pop("animation", None)
    return _read(kind.load_all, path, floor, options)


def _read(
    reader: Callable[..., Any] | str, path: str | Path, floor: float | None, options: dict[str, Any]
) -> tuple[Clip, ...]:
    """Clips of a reader of one or of several, over their floor."""
    function, suffix, height = _function(reader), Path(path).suffix, checked_floor(floor)
    # The readers of other formats are imported only for an option that this one lacks.
    if not options.keys() <= set(option_names(function)):
        others = (kind.load or kind.load_all for kind in MOTION_FORMATS.values())
        names = (option_names(_function(other)) for other in others if other)
        known = dict.fromkeys(chain(option_names(function), *names))
        _check_options(options, tuple(known), "motion files", path)
    clips = call_reader(function, path, options, f"{suffix} files")
    clips = (clips,) if isinstance(clips, Clip) else clips
    return tuple(with_doubts(_over_floor(clip, height)) for clip in clips)


def _over_floor(clip: Clip, height: float) -> Clip:
    if not height:
        return clip
    moved = clip.translations.copy()
    # The first translated joint is the root.
    moved[:, 0, 1] -= height
    return replace(clip, translations=moved)


def option_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The options of a reader or writer: its keyword-only parameters."""
    parameters = inspect.signature(function).parameters.items()
    return tuple(name for name, each in parameters if each.kind is each.KEYWORD_ONLY)


def call_reader(
    reader: Callable[..., Any], path: str | Path, options: Mapping[str, Any], files: str
) -> Any:
    """The clip, or clips, read with the options that a reader has; notes name the others."""
    known = option_names(reader)
    found = reader(path, **{name: value for name, value in options.items() if name in known})
    # False and None are defaults, not options that were ignored.
    notes = [
        f"{name} {value} does not apply to {files}"
        for name, value in options.items()
        if name not in known and value not in (None, False)
    ]
    if isinstance(found, Clip):
        return with_notes(found, notes)
    return tuple(with_notes(clip, notes) for clip in found)


def holds_points(path: str | Path) -> bool:
    """Whether a file is a point track, damaged or not, to choose its reader."""
    suffix = Path(path).suffix.lower()
    if suffix != ".npz":
        return suffix in MOTION_FORMATS and MOTION_FORMATS[suffix].load_all == _MARKERS["load_all"]
    from deepphase.formats.points import is_point_archive

    return is_point_archive(Path(path))


def list_animations(path: str | Path) -> tuple[tuple[int, str], ...]:
    """Number and name of each clip that `load_all` reads; empty where a file holds one clip."""
    kind = format_of(path)
    if kind.list_animations is None:
        return () if kind.load else tuple(enumerate(clip.name for clip in load_all(path)))
    found: tuple[tuple[int, str], ...] = _function(kind.list_animations)(path)
    return found


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
    kind, suffix = format_of(path), Path(path).suffix
    if kind.save is None:
        written = [suffix for suffix, kind in MOTION_FORMATS.items() if kind.save]
        hint = f"written are {', '.join(written)}"
        raise FormatError(f"{suffix} files ({kind.name}) are read only", hint=hint, path=path)
    writer = _function(kind.save)
    _check_options(options, option_names(writer), f"{suffix} files", path)
    writer(clip, path, **options)


def format_of(path: str | Path) -> MotionFormat:
    """The format of a motion file by its suffix; FormatError where it has none."""
    suffix = Path(path).suffix
    known = MOTION_FORMATS.get(suffix.lower())
    if suffix.lower() in (".pkl", ".pickle"):
        raise FormatError(
            "pickles are not read: opening one may run any program in it",
            hint="where you trust it, save its arrays with numpy.savez under their names: "
            "smpl_poses, smpl_trans and smpl_scaling of AIST++, poses and trans of SMPL",
            path=path,
        )
    if known is None:
        formats = ", ".join(f"{suffix} ({kind.name})" for suffix, kind in MOTION_FORMATS.items())
        fact = f"there is no such kind of motion file, {suffix or 'without a suffix'}"
        raise FormatError(fact, hint=f"known: {formats}", path=path)
    return known


def _check_options(
    options: Mapping[str, Any], known: tuple[str, ...], files: str, path: str | Path
) -> None:
    wrong = next((name for name in options if name not in known), None)
    if wrong is not None:
        hint = f"options: {', '.join(known) or 'none'}"
        raise ParameterError(f"{files} have no option {wrong!r}", hint=hint, path=path)
