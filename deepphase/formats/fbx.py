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
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write, check_writable
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.frame_rates import resolve_rate
from deepphase.formats.gltf.reader import load_gltf
from deepphase.formats.gltf.writer import save_gltf
from deepphase.formats.reading import (
    check_writable_body,
    checked_body,
    checked_options,
    foreign_content,
    read_content,
    unit_in_words,
)
from deepphase.motion.clip import Clip, Source
from deepphase.motion.orientation import (
    LARGEST_BODY,
    SMALLEST_BODY,
    body_length,
    infer_up,
    rotate_up,
    scaled,
)
from deepphase.motion.skeleton import Skeleton

VARIABLE = "DEEPPHASE_BLENDER"
# Seconds: the start of Blender takes up to ten.
TIME_LIMIT_S = 300.0
INSTALL = (
    "install it beside deepphase: python3.11 -m venv blender && blender/bin/pip install "
    f"'bpy==4.5.*', then set {VARIABLE}=blender/bin/python"
)
_WORKER = Path(__file__).with_name("fbx_worker.py")
_SIGNATURE = b"Kaydara FBX Binary"
# Joints of this name that carry no motion are end sites.
_END = "_end"
# Metres in a unit of files whose scale was lost on their way, the likeliest first.
_POWERS = (1.0, 0.01, 100.0, 0.001, 1000.0)
# Axes of Blender, whose Z is up, as axes of a motion with Y up.
_AXES = {"x": "x", "y": "-z", "z": "y", "-x": "-x", "-y": "z", "-z": "-y"}


def load_fbx(
    path: str | Path,
    *,
    unit: str | float | None = None,
    up: str | None = None,
    fps: float | None = None,
) -> Clip:
    """Read a binary FBX file as a clip: metres, Y up.

    The largest armature is read, with constraints evaluated, and of bones without a common root
    the largest tree.

    Parameters
    ----------
    unit
        Metres in a unit of Blender. None is 1, or for bodies that are far from the size of one a
        power of ten.
    up
        The up axis in Blender, whose own is "z"; None infers it from the pose.
    fps
        Frames a second, in place of the file's.
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
        glb = Path(name) / "out.glb"
        request = {"task": "read", "input": str(path.resolve())}
        answer = call_blender(request, Path(name), path)
        clip = load_gltf(glb, fps=float(answer["whole_fps"]))
    rate, rate_notes = resolve_rate({"fps": float(answer["fps"])}, fps, path)
    turn, axis_notes = _from_axes(answer["axes"])
    clip = _with_end_sites(_turned(replace(clip, fps=rate), turn))
    if unit_m is None:
        unit_m, unit_notes = _stray_unit(clip.skeleton)
        axis_notes += unit_notes
    clip = checked_body(scaled(clip, unit_m), path)
    axis = "y" if up is None else _AXES[up]
    if up is None:
        axis, note = infer_up(clip)
        if axis != "y":
            axis_notes += (f"the body lies in Blender; {note}",)
    source = Source(
        str(path), unit_m, "y", rate, notes=(*rate_notes, *answer["notes"], *axis_notes)
    )
    return replace(rotate_up(clip, axis), source=source, name=path.stem)


def save_fbx(clip: Clip, path: str | Path) -> None:
    """Write a clip as an FBX file: an armature with one action, and a mesh to see it by.

    End sites become bones named after their joints, with "_end".
    """
    path = Path(path)
    check_writable_body(clip, path)
    check_writable(path)
    body = _with_end_joints(clip)
    names = body.skeleton.names
    if any(len(name.encode()) > 63 for name in names) or len(set(names)) != len(names):
        raise FormatError(
            "a joint name that is longer than 63 bytes, or taken by an end site",
            hint="rename the joint",
            path=path,
        )
    whole = max(1, round(clip.fps))
    with tempfile.TemporaryDirectory(prefix="deepphase-") as name:
        folder = Path(name)
        save_gltf(replace(body, fps=float(whole)), folder / "in.glb")
        fps = [whole, whole / clip.fps]
        call_blender({"task": "write", "fps": fps, "frames": len(clip)}, folder, path)
        content = (folder / "out.fbx").read_bytes()
    with atomic_write(path) as file:
        file.write(content)


def blender_program(path: Path | None = None) -> str | None:
    """Path of the Python with bpy, or of Blender.

    Without one ParameterError names the file that needs it, and None is returned where no path is
    given.
    """
    program = os.environ.get(VARIABLE, "") or shutil.which("blender")
    if program is None and path is not None:
        raise ParameterError(
            f"{path.suffix} files need Blender, which is not installed", hint=INSTALL, path=path
        )
    return program


def call_blender(
    request: dict[str, Any], folder: Path, path: Path, seconds: float = TIME_LIMIT_S
) -> dict[str, Any]:
    """The worker's answer to a request; see `deepphase.formats.fbx_worker`."""
    program = blender_program(path)
    assert program is not None
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    _run(program, folder, path, seconds)
    try:
        answer: dict[str, Any] = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise FormatError(
            "Blender ended without an answer: the file may be damaged",
            hint=f"does {program} have bpy? {INSTALL}",
            path=path,
        ) from None
    if "error" in answer:
        raise FormatError(
            f"Blender cannot do this: {str(answer['error'])[:300]}",
            hint=INSTALL if "ModuleNotFoundError" in answer["error"] else "",
            path=path,
        )
    return answer


def _run(program: str, folder: Path, path: Path, seconds: float) -> None:
    options = ["--background", "--factory-startup", "--python"]
    if "python" in Path(program).name.lower():
        options = ["-I"]
    # Nothing of the user's settings, nor secrets in variables.
    kept = ("PATH", "SYSTEMROOT", "LANG", "LD_LIBRARY_PATH")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= dict.fromkeys(("HOME", "TMPDIR", "BLENDER_USER_RESOURCES"), str(folder))
    try:
        process = subprocess.Popen(
            [program, *options, str(_WORKER), "--", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise ParameterError(
            f"{program} cannot be started: {error.strerror or error}", hint=INSTALL
        ) from None
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise FormatError(
            f"Blender did not end within {seconds:g} s", hint="the file may be too large", path=path
        ) from None
    finally:
        if process.poll() is None:
            with suppress(ProcessLookupError, PermissionError, AttributeError):
                # The program may be a script that starts Blender; they have their own session.
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()


def _from_axes(axes: Sequence[int]) -> tuple[Array, tuple[str, ...]]:
    """(3, 3) to Y up, facing z, from the axes of an FBX file, and a note if they are odd.

    The axes are numbers and signs of what FBX calls CoordAxis (x here), UpAxis (y) and FrontAxis.
    """
    numbers, signs = axes[::2], axes[1::2]
    if sorted(numbers) != [0, 1, 2] or any(abs(sign) != 1 for sign in signs):
        return np.eye(3), ("the file's axes contradict each other: Y up is assumed",)
    turn = np.eye(3)[list(numbers)] * np.array(signs)[:, None]
    mirrored = np.linalg.det(turn) < 0
    return turn, ("the file's axes are left-handed: they were mirrored",) if mirrored else ()


def _turned(clip: Clip, turn: Array) -> Clip:
    """The clip in other axes, which may mirror it: (3, 3) orthogonal."""
    if (turn == np.eye(3)).all():
        return clip
    # A mirror image of a rotation: its axis is mirrored, and the angle changes its sign.
    rotations = clip.rotations.copy()
    rotations[..., :3] = np.linalg.det(turn) * rotations[..., :3] @ turn.T
    skeleton = replace(
        clip.skeleton,
        offsets=clip.skeleton.offsets @ turn.T,
        end_offsets=clip.skeleton.end_offsets @ turn.T,
    )
    return replace(
        clip, skeleton=skeleton, rotations=rotations, translations=clip.translations @ turn.T
    )


def _stray_unit(skeleton: Skeleton) -> tuple[float, tuple[str, ...]]:
    """Metres in a unit of Blender, 1 unless only a power of ten makes a body of the skeleton."""
    size = body_length(skeleton)
    metres = next((each for each in _POWERS if SMALLEST_BODY <= size * each <= LARGEST_BODY), 1.0)
    if metres == 1.0:
        return metres, ()
    unit = unit_in_words(metres)
    return metres, (f"the body is {size:.3g} m long in Blender: its unit is assumed to be {unit}",)


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
    # A joint above others moves, or they would hang from an end.
    is_end[skeleton.parents[1:]] = False
    kept, ends = np.flatnonzero(~is_end), np.flatnonzero(is_end)
    if not len(ends):
        return clip
    row = np.full(len(skeleton) + 1, -1)
    row[kept] = np.arange(len(kept))
    body = Skeleton(
        tuple(skeleton.names[joint] for joint in kept),
        row[skeleton.parents[kept]],
        skeleton.offsets[kept],
        np.concatenate([row[skeleton.end_parents], row[skeleton.parents[ends]]]),
        np.concatenate([skeleton.end_offsets, skeleton.offsets[ends]]),
    )
    return replace(
        clip,
        skeleton=body,
        rotations=clip.rotations[:, kept],
        translated_joints=row[clip.translated_joints],
    )
