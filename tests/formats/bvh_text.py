"""Small BVH files as text, written plainly and without the library's writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deepphase.formats.bvh.reader import load_bvh
from deepphase.motion.clip import Clip

ROOT_CHANNELS = ["Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation"]
JOINT_CHANNELS = ["Zrotation", "Xrotation", "Yrotation"]


def bvh_text(
    joints: list[tuple[str, int, tuple[float, float, float], list[str]]],
    rows: np.ndarray,
    frame_time: str = "0.0333333",
    frames: int | None = None,
) -> str:
    """A file of (name, parent, offset, channels) joints in depth-first order, leaves with ends."""
    lines, stack = ["HIERARCHY"], []
    parents = [parent for _, parent, _, _ in joints]
    for index, (name, parent, offset, channels) in enumerate(joints):
        while stack and stack[-1] != parent:
            stack.pop()
            lines.append("}")
        stack.append(index)
        lines += [f"{'ROOT' if parent < 0 else 'JOINT'} {name}", "{"]
        lines.append("OFFSET " + " ".join(f"{value!r}" for value in map(float, offset)))
        lines.append(" ".join(["CHANNELS", str(len(channels)), *channels]))
        if index not in parents:
            lines += ["End Site", "{", "OFFSET 0 1 0", "}"]
    lines += ["}"] * len(stack)
    rows = np.atleast_2d(rows)
    lines += ["MOTION", f"Frames: {len(rows) if frames is None else frames}"]
    lines.append(f"Frame Time: {frame_time}")
    lines += [" ".join(f"{value!r}" for value in row) for row in rows.tolist()]
    return "\n".join(lines) + "\n"


def two_joints(rows: np.ndarray | None = None, **options) -> str:
    """Hips with six channels and a Chest with three; rows of nine numbers."""
    if rows is None:
        rows = np.arange(27.0).reshape(3, 9)
    joints = [
        ("Hips", -1, (0.0, 0.0, 0.0), ROOT_CHANNELS),
        ("Chest", 0, (0.0, 10.0, 0.0), JOINT_CHANNELS),
    ]
    return bvh_text(joints, rows, **options)


def written(folder: Path, content: str | bytes, name: str = "clip.bvh") -> Path:
    """The path of a file with that content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def raw_bvh(path: Path, **options: Any) -> Clip:
    """A file in its own units and axes."""
    return load_bvh(path, unit=1.0, up="y", **options)
