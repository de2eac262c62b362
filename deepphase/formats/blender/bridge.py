"""Blender as a process of its own: a request, a time limit, an answer.

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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.errors import FormatError, ParameterError
from deepphase.temporary_files import temporary_folder

TO_Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])
"""(4, 4) from the axes of Blender, whose z is up."""
VARIABLE = "DEEPPHASE_BLENDER"
# Seconds: the start of Blender takes up to ten.
TIME_LIMIT_S = 300.0
INSTALL = (
    "install it beside deepphase: python3.11 -m venv blender && blender/bin/pip install "
    f"'bpy==4.5.*', then set {VARIABLE}=blender/bin/python"
)
_WORKER = Path(__file__).with_name("worker.py")


def blender_program() -> str | None:
    """Path of the Python with bpy, or of Blender; None if there is none."""
    named = os.environ.get(VARIABLE, "")
    return named or shutil.which("blender")


def required_blender(path: Path) -> str:
    """`blender_program` for a file; ParameterError if there is none."""
    program = blender_program()
    if program is None:
        raise ParameterError(
            f"{path.suffix} files need Blender, which is not installed", hint=INSTALL, path=path
        )
    return program


@contextmanager
def asked_blender(
    request: Mapping[str, Any], arrays: Mapping[str, Any], path: Path, seconds: float = TIME_LIMIT_S
) -> Iterator[tuple[dict[str, Any], Path]]:
    """The worker's answer to a request, and the folder of its files, which ends with the block.

    Parameters
    ----------
    request, arrays
        See `deepphase.formats.blender.worker`.
    path
        The file that is read or written, for errors.
    seconds
        Time limit.

    Raises
    ------
    ParameterError
        If Blender is not installed, or cannot be started.
    FormatError
        If Blender cannot read or write the file, crashes, or takes longer.
    """
    program = required_blender(path)
    with temporary_folder() as folder:
        (folder / "request.json").write_text(json.dumps(dict(request)), encoding="utf-8")
        if arrays:
            np.savez(folder / "in.npz", **arrays)
        _run(program, folder, path, seconds)
        try:
            answer = json.loads((folder / "answer.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise FormatError(
                "Blender ended without an answer: the file may be damaged",
                hint=f"does {program} have bpy? {INSTALL}",
                path=path,
            ) from None
        check_answer(answer, path)
        yield answer, folder


def check_answer(answer: Mapping[str, Any], path: Path) -> None:
    """Raise FormatError where Blender answers with an error."""
    if "error" in answer:
        missing = "ModuleNotFoundError" in answer["error"]
        raise FormatError(
            f"Blender cannot do this: {str(answer['error'])[:300]}",
            hint=INSTALL if missing else "",
            path=path,
        )


def _run(program: str, folder: Path, path: Path, seconds: float) -> None:
    process = started_blender(program, _WORKER, folder, subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        raise FormatError(
            f"Blender did not end within {seconds:g} s", hint="the file may be too large", path=path
        ) from None
    finally:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process of `started_blender`, with those that it started."""
    if process.poll() is not None:
        return
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            # The program may be a script that starts Blender; they have a session of their own.
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def started_blender(program: str, script: Path, folder: Path, pipe: int) -> subprocess.Popen[bytes]:
    """A script in Blender's Python as a process.

    Parameters
    ----------
    program
        The Python with bpy, or Blender.
    script
        It gets the folder as its last argument.
    folder
        Its home and temporary folder.
    pipe
        Standard input and output of the process, see `subprocess.Popen`.

    Raises
    ------
    ParameterError
        If it cannot be started.
    """
    command = [program, "-I", str(script), str(folder)]
    if "python" not in Path(program).name.lower():
        command = [
            program,
            "--background",
            "--factory-startup",
            "--python",
            str(script),
            "--",
            str(folder),
        ]
    # Nothing of the user's settings, nor secrets in variables.
    kept = ("PATH", "SYSTEMROOT", "LANG", "LD_LIBRARY_PATH")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    environment |= dict.fromkeys(("HOME", "TMPDIR", "BLENDER_USER_RESOURCES"), str(folder))
    try:
        return subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise ParameterError(
            f"{program} cannot be started: {error.strerror or error}", hint=INSTALL
        ) from None
