"""FBX files: Blender turns them into .glb and back, in a process of its own.

bpy is licensed under the GPL and needs another NumPy than deepphase, so it is never imported here.
It is found in the Python, or the Blender, that the environment variable DEEPPHASE_BLENDER names,
else in a `blender` on the path. A file that crashes Blender ends that process alone.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.config import checked_mapping, checked_number, checked_texts
from deepphase.errors import FormatError, ParameterError
from deepphase.files import atomic_write, check_writable
from deepphase.formats.gltf.reader import load_gltf
from deepphase.formats.gltf.writer import save_gltf
from deepphase.formats.reading import (
    Unit,
    check_writable_body,
    checked_options,
    foreign_content,
    in_metres_y_up,
    read_content,
    resolve_rate,
    unit_in_words,
)
from deepphase.motion.clip import Clip, Source, without_joints
from deepphase.motion.orientation import LARGEST_BODY, SMALLEST_BODY, body_length, infer_up
from deepphase.motion.skeleton import Skeleton

VARIABLE = "DEEPPHASE_BLENDER"
# Seconds: the start of Blender takes up to ten.
_TIME_LIMIT_S = 300.0
_INSTALL = (
    "install it beside deepphase: python3.11 -m venv blender && blender/bin/pip install "
    f"'bpy==4.5.*', then set {VARIABLE}=blender/bin/python"
)
_WORKER = Path(__file__).with_name("fbx_worker.py")
_SIGNATURE = b"Kaydara FBX Binary"
# Joints of this name that carry no motion are end sites.
_END = "_end"
_LONGEST_NAME = 63
# Metres in a unit of files whose scale was lost on their way, the likeliest first.
_POWERS = (1.0, 0.01, 100.0, 0.001, 1000.0)
# Axes of Blender, whose Z is up, as axes of a motion with Y up.
_AXES = {"x": "x", "y": "-z", "z": "y", "-x": "-x", "-y": "z", "-z": "-y"}


def load_fbx(
    path: str | Path, *, unit: Unit | None = None, up: str | None = None, fps: float | None = None
) -> Clip:
    """Read a binary FBX file as a clip: metres, Y up.

    The largest armature is read, with constraints evaluated, and of bones without a common root
    the largest tree. Unit and up axis are those in Blender: "z", and metres, or for bodies that are
    far from the size of one a power of ten.
    """
    path = Path(path)
    unit_m = checked_options(unit, up, fps)
    content = read_content(path)
    if not content.startswith(_SIGNATURE):
        found = foreign_content(content)
        raise FormatError(
            f"this is not a binary .fbx file{': ' if found else ''}{found}",
            hint="text FBX is not read: export it as binary",
            path=path,
        )
    with tempfile.TemporaryDirectory(prefix="deepphase-") as name:
        request = {"task": "read", "input": str(path.resolve())}
        answer = call_blender(request, Path(name), path)
        try:
            rates = [checked_number(answer.get(key), key) for key in ("fps", "whole_fps")]
            told = checked_texts(answer.get("notes"), "notes")
            clip = load_gltf(Path(name) / "out.glb", fps=rates[1])
        except (FormatError, ParameterError) as error:
            raise FormatError(f"a wrong answer of Blender: {error.fact}", path=path) from None
    rate, notes = resolve_rate({"fps": rates[0]}, fps, path)
    notes = (*notes, *told)
    clip = _with_end_sites(replace(clip, fps=rate))
    if unit_m is None:
        size = body_length(clip.skeleton)
        fitting = [power for power in _POWERS if SMALLEST_BODY <= size * power <= LARGEST_BODY]
        unit_m = fitting[0] if fitting else 1.0
        if unit_m != 1.0:
            assumed = f"its unit is assumed to be {unit_in_words(unit_m)}"
            notes += (f"the body is {size:.3g} m long in Blender: {assumed}",)
    axis = "y" if up is None else _AXES[up]
    if up is None:
        axis, note = infer_up(clip)
        if axis != "y":
            notes += (f"the body lies in Blender; {note}",)
    clip = in_metres_y_up(clip, unit_m, axis, Source(str(path), fps=rate, notes=notes))
    # Writers of other formats keep Y up.
    return replace(clip, source=replace(clip.source, up="y"))


def save_fbx(clip: Clip, path: str | Path) -> None:
    """Write a clip as an FBX file: an armature with one action, and a mesh to see it by.

    End sites become bones named after their joints, with "_end".
    """
    path = Path(path)
    check_writable_body(clip, path)
    check_writable(path)
    body = _with_end_joints(clip)
    names = body.skeleton.names
    if any(len(name.encode()) > _LONGEST_NAME for name in names) or len(set(names)) < len(names):
        raise FormatError(
            f"a joint name that is longer than {_LONGEST_NAME} bytes, or taken by an end site",
            hint="rename the joint",
            path=path,
        )
    whole = max(1, round(clip.fps))
    with tempfile.TemporaryDirectory(prefix="deepphase-") as name:
        folder = Path(name)
        save_gltf(replace(body, fps=float(whole)), folder / "in.glb")
        fps = [whole, whole / clip.fps]
        call_blender({"task": "write", "fps": fps, "frames": len(clip)}, folder, path)
        content = read_content(folder / "out.fbx")
    with atomic_write(path) as file:
        file.write(content)


def blender_program() -> str | None:
    """Path of the Python with bpy, or of Blender; None where neither is found."""
    return os.environ.get(VARIABLE, "") or shutil.which("blender")


def call_blender(
    request: dict[str, Any], folder: Path, path: Path, seconds: float = _TIME_LIMIT_S
) -> dict[str, Any]:
    """The worker's answer to a request; see `deepphase.formats.fbx_worker`."""
    fault = partial(FormatError, path=path)
    program = blender_program()
    if program is None:
        fact = f"{path.suffix} files need Blender, which is not installed"
        raise ParameterError(fact, hint=_INSTALL, path=path)
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    if not _run(program, folder, seconds):
        raise fault(f"Blender did not end within {seconds:g} s", hint="the file may be too large")
    try:
        answer = checked_mapping(json.loads(read_content(folder / "answer.json")), "answer")
    # A pipe or folder of this name is refused as well.
    except (ValueError, RecursionError, FormatError, ParameterError):
        raise fault(
            "Blender ended without an answer: the file may be damaged",
            hint=f"does {program} have bpy? {_INSTALL}",
        ) from None
    if error := str(answer.get("error", "")):
        hint = _INSTALL if "ModuleNotFoundError" in error else ""
        raise fault(f"Blender cannot do this: {error[:300]}", hint=hint)
    return answer


def _run(program: str, folder: Path, seconds: float) -> bool:
    """Run the worker; whether it ended in time."""
    options = ["--background", "--factory-startup", "--python"]
    if "python" in Path(program).name.lower():
        options = ["-I"]
    # Nothing of the user's settings, nor secrets in variables.
    kept = ("PATH", "SYSTEMROOT", "LANG", "LD_LIBRARY_PATH")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= dict.fromkeys(("HOME", "TMPDIR", "BLENDER_USER_RESOURCES"), str(folder))
    nowhere = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            [program, *options, str(_WORKER), "--", str(folder)],
            # Closed when this process ends, however it does: then the worker ends, too.
            stdin=subprocess.PIPE,
            stdout=nowhere,
            stderr=nowhere,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise ParameterError(
            f"{program} cannot be started: {error.strerror or error}", hint=_INSTALL
        ) from None
    try:
        process.wait(seconds)
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError, PermissionError, AttributeError):
                # The program may be a script that starts Blender; they have their own session.
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()


def _with_end_joints(clip: Clip) -> Clip:
    """The clip with its end sites as joints, which are named after their joints."""
    skeleton = clip.skeleton
    names = list(skeleton.names)
    for parent in skeleton.end_parents.tolist():
        name = f"{skeleton.names[parent]}{_END}"
        names.append(name if name not in names else f"{name}{len(names)}")
    body = Skeleton(
        tuple(names),
        np.concatenate([skeleton.parents, skeleton.end_parents]),
        np.concatenate([skeleton.offsets, skeleton.end_offsets]),
    )
    still = np.zeros((len(clip), len(skeleton.end_parents), 4), clip.rotations.dtype)
    still[..., 3] = 1.0
    return replace(clip, skeleton=body, rotations=np.concatenate([clip.rotations, still], axis=1))


def _with_end_sites(clip: Clip) -> Clip:
    """The clip with end sites for joints without children that are called ends and do not move."""
    skeleton = clip.skeleton
    moves = np.abs(clip.rotations[..., :3]).max(axis=(0, 2)) > 1e-3
    moves[clip.translated_joints] = moves[skeleton.parents[1:]] = moves[0] = True
    is_end = ~moves & np.array([_END in name.lower() for name in skeleton.names])
    ends, row = np.flatnonzero(is_end), np.cumsum(~is_end) - 1
    kept = without_joints(clip, ends.tolist())
    body = replace(
        kept.skeleton,
        end_parents=np.append(kept.skeleton.end_parents, row[skeleton.parents[ends]]),
        end_offsets=np.concatenate([kept.skeleton.end_offsets, skeleton.offsets[ends]]),
    )
    return replace(kept, skeleton=body)
