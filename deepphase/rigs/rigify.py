"""Rigs that Rigify makes, an add-on that comes with Blender."""

from __future__ import annotations

from pathlib import Path

from deepphase.atomic_write import atomic_write, check_writable
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.blender.bridge import TIME_LIMIT_S
from deepphase.formats.blender.session import BlenderSession
from deepphase.temporary_files import temporary_folder

RIGIFY_BODIES = ("human", "basic_human", "basic_quadruped", "wolf", "cat", "horse")
"""Skeletons of Rigify that a rig can be made of."""


def make_rigify(body: str, path: str | Path, seconds: float = TIME_LIMIT_S) -> int:
    """Make the rig of one of Rigify's skeletons as a .blend file; returns its number of bones.

    Parameters
    ----------
    body
        One of `RIGIFY_BODIES`.

    Raises
    ------
    ParameterError
        If there is no such body, or Blender is not installed.
    FormatError
        If Blender cannot make it.
    CheckpointError
        If the file cannot be written.
    """
    path = Path(path)
    if body not in RIGIFY_BODIES:
        raise ParameterError(
            f"Rigify has no body {body!r}", hint=f"it has {', '.join(RIGIFY_BODIES)}"
        )
    if path.suffix.lower() != ".blend":
        raise FormatError(
            f"a rig cannot be written as {path.suffix or path.name}",
            hint="give a file name that ends in .blend",
            path=path,
        )
    check_writable(path)
    with temporary_folder() as folder, BlenderSession(path, seconds) as session:
        output = folder / "rig.blend"
        answer, _ = session.ask({"task": "make", "kind": body, "path": str(output)})
        content = output.read_bytes()
    with atomic_write(path) as file:
        file.write(content)
    return int(answer["bones"])
