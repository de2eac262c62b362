"""USD files of animated skeletons (UsdSkel), written as text (.usda).

The text form needs no library of USD; usdview, Blender and engines open it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.formats.body_checks import check_writable_body
from deepphase.formats.joint_checks import unique_names
from deepphase.motion.clip import Clip
from deepphase.motion.skeleton import Skeleton

_HEAD = """#usda 1.0
(
    defaultPrim = "Motion"
    metersPerUnit = 1
    upAxis = "Y"
    framesPerSecond = {fps}
    timeCodesPerSecond = {fps}
    startTimeCode = 0
    endTimeCode = {last}
)

def SkelRoot "Motion" (
    prepend apiSchemas = ["SkelBindingAPI"]
)
{{
    def Skeleton "Skeleton" (
        prepend apiSchemas = ["SkelBindingAPI"]
    )
    {{
        uniform token[] joints = [{joints}]
        uniform token[] jointNames = [{names}]
        uniform matrix4d[] bindTransforms = [{bind}]
        uniform matrix4d[] restTransforms = [{rest}]
        rel skel:animationSource = </Motion/Skeleton/Animation>

        def SkelAnimation "Animation"
        {{
            uniform token[] joints = [{joints}]
            half3[] scales = [{scales}]
"""
_TAIL = """        }
    }
}
"""


def save_usd(clip: Clip, path: str | Path) -> None:
    """Write a clip as a UsdSkel skeleton with one animation: metres, Y up, whole or not at all.

    Frame i is time code i. Joints are bound in the rest pose of the offsets. Names that USD does
    not allow are changed in the joints' paths and kept as `jointNames`; end sites are not written.

    Raises
    ------
    FormatError
        If the clip has a rate or lengths that no reader accepts.
    CheckpointError
        If the file cannot be written.
    """
    path = Path(path)
    check_writable_body(clip, path)
    with atomic_write(path) as file:
        for part in _parts(clip):
            file.write(part.encode("utf-8"))


def _parts(clip: Clip) -> Iterator[str]:
    skeleton = clip.skeleton
    yield _HEAD.format(
        fps=_number(clip.fps),
        last=len(clip) - 1,
        joints=", ".join(f'"{each}"' for each in joint_paths(skeleton)),
        names=", ".join(_quoted(name) for name in skeleton.names),
        bind=", ".join(map(_shift, skeleton.rest_positions)),
        rest=", ".join(map(_shift, skeleton.offsets)),
        scales=", ".join(["(1, 1, 1)"] * len(skeleton)),
    )
    # USD has w first.
    rotations = np.roll(clip.rotations, 1, axis=-1)
    for kind, name, values in (
        ("quatf", "rotations", rotations),
        ("float3", "translations", clip.local_positions()),
    ):
        yield f"            {kind}[] {name}.timeSamples = {{\n"
        for frame, rows in enumerate(values):
            yield f"                {frame}: [{', '.join(map(_tuple, rows.tolist()))}],\n"
        yield "            }\n"
    yield _TAIL


def joint_paths(skeleton: Skeleton) -> tuple[str, ...]:
    """Paths of the joints in USD, from the root down, as in "Hips/Spine"."""
    plain = [re.sub(r"[^A-Za-z0-9_]", "_", name) or "_" for name in skeleton.names]
    plain = [f"_{name}" if name[0].isdigit() else name for name in plain]
    unique = [name.replace("#", "_") for name in unique_names(plain)[0]]
    paths: list[str] = []
    for name, parent in zip(unique, skeleton.parents.tolist(), strict=True):
        paths.append(name if parent < 0 else f"{paths[parent]}/{name}")
    return tuple(paths)


def _quoted(name: str) -> str:
    printable = "".join(letter if letter.isprintable() else "_" for letter in name)
    return '"' + printable.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _shift(offset: Array) -> str:
    """A matrix of USD: points are rows, the translation is the last one."""
    x, y, z = map(_number, offset.tolist())
    return f"( (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), ({x}, {y}, {z}, 1) )"


def _tuple(values: Iterable[float]) -> str:
    return f"({', '.join(map(_number, values))})"


def _number(value: float) -> str:
    return f"{value:.9g}"
