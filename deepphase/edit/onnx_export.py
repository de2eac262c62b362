"""Export of editors as ONNX, for rows in SI units."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from deepphase.edit.editor import MotionEditor, Restorer
from deepphase.edit.missing import NOISY
from deepphase.export.onnx_file import PARITY_BATCHES, Parity, export_onnx

# Frames of the rows that the file is compared with; a multiple of the network's stride.
_FRAMES = 64


def export_editor(editor: MotionEditor, path: str | Path) -> list[Parity]:
    """Write an editor as ONNX, and compare both at batches of random rows with random gaps.

    The graph is `Restorer`, for a number of frames that is a multiple of 4. The metadata entry
    ``editor`` describes the body; see docs/engines.md.
    """
    generator = torch.Generator().manual_seed(0)
    rows, groups = max(PARITY_BATCHES), len(editor.layout.depends)
    mean, scale = map(torch.from_numpy, vars(editor.normalisation).values())
    noise = torch.randn(rows, _FRAMES, len(mean), generator=generator)
    # Stretches of eight frames are known, noisy or missing.
    draws = torch.rand(rows, _FRAMES // 8, groups, generator=generator).repeat_interleave(8, 1)
    known = torch.where(draws < 0.2, 0.0, torch.where(draws < 0.4, NOISY, 1.0))
    return export_onnx(
        Restorer(editor),
        path,
        inputs={"rows": mean + scale * noise, "known": known},
        outputs=["restored"],
        frames_multiple=editor.network.stride,
        metadata={
            "format": "deepphase.motion_restorer",
            "version": "1",
            "editor": json.dumps(describe_editor(editor), default=np.ndarray.tolist),
        },
    )


def describe_editor(editor: MotionEditor) -> dict[str, object]:
    """What a program needs beside the network to make rows and to read them."""
    space, points = editor.space, editor.space.points
    return {
        "frame_rate": space.fps,
        "stride": editor.network.stride,
        "skeleton": {
            "names": list(space.skeleton.names),
            "parents": space.skeleton.parents,
            "offsets": space.skeleton.offsets,
        },
        "joints": points.joints,
        "joint_parents": points.parents,
        "points": {
            "carriers": points.carriers,
            "joints": points.point_joints,
            "offsets": points.offsets,
        },
        "feet": list(editor.feet),
        "depends": editor.layout.depends.astype(np.int64),
    }
