"""Checks of a command's inputs before any library is imported, and of its outputs, which --force
alone replaces."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import deepphase as dp
from deepphase.apps.live.sources import live_sources, read_glb
from deepphase.apps.options import OptionGroup, parse_names
from deepphase.config import config_path, read_yaml
from deepphase.corpus.motion_files import (
    SONG_SUFFIXES,
    STORE_FORMAT,
    files_under,
    find_motion_files,
    is_motion_file,
    is_store,
)
from deepphase.errors import CheckpointError, FormatError, ParameterError, SkeletonError
from deepphase.files import atomic_write, check_writable
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.formats.load import MOTION_FORMATS, format_of, holds_points, load
from deepphase.packages import require_packages

# Kinds of deepphase files -> what each is, and the command that makes it.
_KINDS = {
    "phase_model": ("a phase model", "train phase"),
    "contact_phase": ("phases by a rule", "fit phases"),
    "pca_phase": ("phases by a rule", "fit phases"),
    "pfnn_phase": ("phases by a rule", "fit phases"),
    "controller": ("a controller", "train controller"),
    "dancer": ("a dancer", "train dance"),
    "motion_database": ("a motion database", "match build"),
    "matcher": ("a matcher", "train matching"),
    "editor": ("an editor", "train editor"),
    "rig": ("a rig", "train rig"),
}
_PHASES = ("phase_model", "contact_phase", "pca_phase", "pfnn_phase")
# Parameter, or command and parameter -> the kinds that its file may have.
_ACCEPTED = {
    "model": _PHASES,
    "export model": ("phase_model", "controller", "matcher", "editor"),
    "train phase start": _PHASES,
    "controller": ("controller",),
    "dancer": ("dancer",),
    "database": ("motion_database",),
    "editor": ("editor",),
    "match run source": ("motion_database", "matcher"),
    "match run beside": ("motion_database", "matcher", "controller"),
    "live source": ("controller", "matcher"),
    "rig-controls rig": ("rig",),
}
# Parameters with motion: files of it, folders, or stores.
_CLIPS = ("store", "stores", "clips", "clip", "dances", "poses", "rig", "points", "files")
# Formats whose motion always has rotations.
_ROTATED = (".bvh", ".glb", ".gltf", ".vrma", ".fbx", ".amc", ".mvnx")
# Parameters that may have songs in place of motion.
_SONGS = ("train phase stores", "encode files")
# Commands whose networks may need phases -> the folder of their configs.
_CONFIGS = {"train controller": "controller", "train dance": "dance"}


def check_inputs(
    name: str,
    parser: argparse.ArgumentParser,
    values: Mapping[str, Any],
    changes: Mapping[str, Any],
) -> None:
    """Refuse paths that are missing, of another kind or cannot be written, and missing packages."""
    for action in parser._actions:
        value, parameter = values.get(action.dest), action.dest
        if value == action.default or parameter in ("output", "player"):
            continue
        found = value if isinstance(value, list) else [value]
        if parameter == "beside":
            found = [Path(each) for each in parse_names(value)]
        paths = [each for each in found if isinstance(each, Path) and str(each) != "-"]
        for path in paths:
            if _exists(path):
                # The first file of encode may be its model.
                first = name == "encode" and path is found[0] and path.is_file()
                place = "encode model" if first and not is_motion(path) else f"{name} {parameter}"
                _check_kind(place, path, values.get("skeleton"))
        clips = [each for each in paths if parameter in _CLIPS and is_motion(each)]
        # Of several files, those that cannot be read are left out.
        if len(clips) == 1 and clips[0].is_file() and clips[0].suffix.lower() == ".bvh":
            from deepphase.formats.bvh.reader import read_front

            read_front(clips[0])
    if name == "train dance":
        _check_songs(values["dances"], values["songs"])
    if name in _CONFIGS and values["model"] is None:
        _check_phases(name, values, changes)
    if name == "export" and values["web"]:
        live_sources(values["model"])
    elif name == "export":
        require_packages("onnx", "onnxruntime", "onnxscript")
    if isinstance(values.get("output"), Path):
        _check_output(values["output"])


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        fact = "there is no such file or folder"
        raise FormatError(fact, hint="check the path", path=path) from None
    except (OSError, ValueError):
        # What reads it says why it cannot be read.
        return False
    return True


def _check_kind(place: str, path: Path, skeleton: str | None) -> None:
    """Refuse a file of another kind, by its header, and a store without the named skeleton."""
    parameter = place.rpartition(" ")[2]
    accepted = _ACCEPTED.get(place, _ACCEPTED.get(parameter))
    if accepted is not None and not (
        path.is_dir() and place == "live source" and not is_store(path)
    ):
        wanted, makers = (
            " or ".join(dict.fromkeys(_KINDS[kind][place] for kind in accepted)) for place in (0, 1)
        )
        kind = "a store" if is_store(path) else "a folder" if path.is_dir() else "no file"
        if path.is_file():
            header = read_header(path)
            kind = header["format"].removeprefix("deepphase.")
            if parameter == "dancer" and "dance" in header.get("data", ()):
                kind = parameter
        if kind not in accepted:
            hint = f"give a file of deepphase {makers}"
            if kind == "motion_database" and "matcher" in accepted:
                hint = "`deepphase train matching` makes a matcher of it"
            own = _KINDS.get(kind, (kind.replace("_", " "),))[0]
            raise CheckpointError(f"this is {own}, not {wanted}", hint=hint, path=path)
    elif place == "match build stores" and not is_store(path):
        # Says what it is instead.
        dp.corpus.open_store(path)
    elif parameter in _CLIPS:
        _check_motion(place, path, skeleton)
    elif place == "live source":
        live_sources(path)
    elif parameter == "body":
        read_glb(path)
    elif place == "app folder" and not path.is_dir():
        hint = "give the folder of the files, or leave it out for samples"
        raise FormatError("not a folder", hint=hint, path=path)
    elif place == "play song":
        from deepphase.viewer.take import PlayerSong

        PlayerSong.from_file(path)


def is_motion(path: Path) -> bool:
    """Whether a path holds clips or songs, by its name or header, and not a model."""
    if is_array_file(path):
        return bool(read_header(path)["format"] == STORE_FORMAT)
    return path.is_dir() or path.suffix.lower() in (*MOTION_FORMATS, *SONG_SUFFIXES)


def _check_motion(place: str, path: Path, skeleton: str | None) -> None:
    """Refuse what is no motion, and a folder without any; a file's content is for its reader."""
    from deepphase.corpus.motion_files import holds_only_songs, is_song
    from deepphase.corpus.store import groups_with

    sung, suffix, rotated = place in _SONGS, path.suffix.lower(), False
    if skeleton is not None and place.endswith((" clips", " files")) and not is_store(path):
        fact, hint = "--skeleton applies to clips, and these are songs", "leave it out"
        if not holds_only_songs(path):
            fact = "--skeleton names one of the skeletons of a store, and this is none"
            hint += ", or give a store of deepphase prepare"
        raise ParameterError(fact, hint=hint, path=path)
    one = place.startswith(("edit ", "train rig rig"))
    if (one and path.is_dir()) or (is_store(path) and (one or place == "solve points")):
        fact = f"a motion file is meant, and this is a {'store' if is_store(path) else 'folder'}"
        raise FormatError(fact, hint="give a file of it", path=path)
    if one and holds_points(path):
        raise no_rotations(path)
    if path.is_file() and is_array_file(path) and suffix not in MOTION_FORMATS:
        read_header(path, STORE_FORMAT)
    elif is_store(path):
        if skeleton is not None and path.is_dir():
            groups_with(path, skeleton)
    elif path.is_dir():
        read = (is_motion_file(each) or (sung and is_song(each)) for each in files_under(path))
        if not any(read) or place == "solve points":
            found = find_motion_files([path])
            rotated = all(each.path.suffix.lower() in _ROTATED for each in found)
    elif path.is_file() and not (
        (sung and is_song(path)) or (place == "rig-controls clip" and suffix == ".json")
    ):
        format_of(path)
        if not path.stat().st_size or (suffix in (".csv", ".npy") and not is_motion_file(path)):
            # Says what is wrong.
            load(path)
        rotated = suffix in _ROTATED
    if rotated and place == "solve points":
        fact, hint = "the motion has joint rotations already", "give point tracks"
        raise FormatError(fact, hint=f"{hint}: positions of points without rotations", path=path)


def _check_songs(dances: Path, songs: Path | None) -> None:
    """Raise ParameterError where no song lies beside the motion files of dances."""
    from deepphase.corpus.motion_files import is_song
    from deepphase.corpus.songs import BESIDE_CLIPS

    if is_store(dances):
        return
    folder = songs or (dances if dances.is_dir() else dances.parent)
    found = filter(is_song, files_under(folder))
    if not any(dances.is_dir() or each.stem == dances.stem for each in found):
        raise ParameterError("no clip has a song beside it", hint=BESIDE_CLIPS, path=folder)


def no_rotations(path: Path) -> SkeletonError:
    """The error of what is to be turned, and is points."""
    return SkeletonError(
        "these are points without rotations",
        hint="make a skeleton with rotations of them first: deepphase solve",
        path=path,
    )


def _check_phases(name: str, values: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Raise ParameterError where the network of a config needs phases and there is no model."""
    from deepphase.controllers.schema.config import GATES_OF_PHASES, SHIPPED_NETWORKS

    content = read_yaml(config_path(_CONFIGS[name], values["config"]))
    section = content.get("network") if isinstance(content, dict) else None
    named = section.get("name") if isinstance(section, dict) else None
    network = changes.get("network.name", named)
    if SHIPPED_NETWORKS.get(network, ("none",))[0] not in GATES_OF_PHASES:
        return
    hint = "give --model: the file of `deepphase train phase` or `deepphase fit phases`"
    if name == "train dance":
        hint = f"first: deepphase train phase {values['dances']} --config dance -o dance.model; "
        hint += "of points, after deepphase solve; then repeat this with --model dance.model"
    raise ParameterError(f"{network} needs phases, and no phase model is given", hint=hint)


def _check_output(output: Path) -> None:
    """Refuse an output below a file, or in a folder that cannot be written."""
    for folder in (output, *output.absolute().parents):
        if folder.is_dir():
            try:
                with tempfile.TemporaryFile(dir=folder):
                    return
            except OSError as error:
                reason = error.strerror or error
        elif folder.exists() and folder != output:
            reason = f"{folder} is not a folder"
        else:
            continue
        fact = f"it cannot be written: {reason}"
        raise FormatError(fact, hint="choose another path", path=output)


# Last line of a page: hash of the command and the inputs that it was made of.
_LAST_LINE = "\n<!-- inputs: {} -->\n"
# Parameters that are no inputs: results, and settings of one and the same run.
_NO_INPUTS = ("output", "player", "terrain", "root_motion")
# A file that a command adds to where it is the output as well.
_GROWN = "editor"


@dataclass
class _Command:
    """The command that runs: its mark on pages, the file that it adds to, and its pages."""

    last_line: str
    grown: list[str]
    force: bool
    pages: set[Path] = field(default_factory=set)


_running: _Command | None = None


@contextmanager
def protected(name: str, arguments: Mapping[str, Any], *, force: bool) -> Iterator[None]:
    """Context of a command that replaces results by `force` alone, pages also by its own inputs."""
    global _running
    given = {key: list(_texts(value)) for key, value in arguments.items() if key not in _NO_INPUTS}
    digest = hashlib.sha256(json.dumps([name, given]).encode(errors="backslashreplace"))
    grown = given.get(_GROWN, [])
    _running = own = _Command(_LAST_LINE.format(digest.hexdigest()), grown, force)
    try:
        yield
        for page in filter(Path.is_file, own.pages):
            content = page.read_bytes()
            with atomic_write(page) as file:
                file.write(content + own.last_line.encode())
    finally:
        _running = None


def claim_folder(folder: Path, parts: Iterable[str] = ()) -> None:
    """Refuse, before long work, a folder that cannot be written or has another report.

    A folder without one may not have files of the names of its parts either.
    """
    claim_file(folder / "index.html")
    if not (folder / "index.html").exists():
        for name in chain(["report.json"], parts):
            claim(folder / name)


def claim_file(path: Path, example: str = "file", **how: Any) -> None:
    """Refuse, before long work, a file that cannot be written or took work."""
    check_writable(path, example, **how)
    claim(path)


def new_folder(path: Path) -> None:
    """Make a folder, which may only have files if results are replaced by --force."""
    force = _running is not None and _running.force
    if path.exists() and not (path.is_dir() and (force or not any(path.iterdir()))):
        hint = "name a new one" + (", or write into it with --force" if path.is_dir() else "")
        raise ParameterError("this is not an empty folder", hint=hint, path=path)
    check_writable(path / "index.html")


def claimed(paths: list[Path]) -> list[Path]:
    """The paths of clips, none of which took work."""
    for path in paths:
        claim(path)
    return paths


def claim(path: Path, beside: Path | None = None) -> None:
    """Refuse a file or a store that took work; one `beside` a file that grows goes with it."""
    if _running is None:
        return
    is_page = path.suffix.lower() == ".html"
    free = _running.force or os.path.realpath(beside or path) in _running.grown
    free = free or not (path.is_file() or is_store(path))
    if not free and not (is_page and path.read_bytes().endswith(_running.last_line.encode())):
        raise ParameterError(
            f"there is a {'page of other inputs' if is_page else 'result'} already",
            hint="choose another name with -o, or replace it with --force",
            path=path,
        )
    if is_page:
        _running.pages.add(path.absolute())


def _texts(value: Any) -> Iterator[str]:
    """The files and texts of an argument."""
    if isinstance(value, OptionGroup):
        value = [each for name, each in vars(value).items() if name not in _NO_INPUTS]
    if isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif isinstance(value, str | Path):
        yield os.path.realpath(value) if os.path.exists(value) else str(value)
